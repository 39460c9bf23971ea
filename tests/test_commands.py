"""The command line: one line a notebook, a failure stops nothing, wrong usage says what is right."""

import json
import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def write(folder, number, title, *code):
    cells = [{"cell_type": "markdown", "id": "title", "metadata": {}, "source": [f"# {number} · {title}\n", "$x^2$"]}]
    cells += [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": [line]}
        for i, line in enumerate(code)
    ]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": metadata}
    (folder / f"{number}_{title.lower()}.ipynb").write_text(json.dumps(content))


@pytest.fixture
def course(tmp_path):
    (tmp_path / "notebooks").mkdir()
    write(tmp_path / "notebooks", "00", "First", "print(1 / 4)")
    write(tmp_path / "notebooks", "01", "Broken", "x = 1", "x / 0")
    names = "('TQDM_DISABLE', 'OMP_NUM_THREADS')"
    write(tmp_path / "notebooks", "02", "Last", f"import os; print(*(f'{{n}}={{os.environ[n]}}' for n in {names}))")
    return tmp_path


def uqlib(folder, *arguments, **variables):
    command = [sys.executable, "-m", "uqlib", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | variables
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_failing_notebook_stops_no_other(course):
    result = uqlib(course, "run")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert re.fullmatch(r"00  First   +\d+\.\d s  ok", lines[0])
    assert re.fullmatch(
        r"01  Broken  +\d+\.\d s  FAILED in cell 2 \(c1\): ZeroDivisionError: division by zero", lines[1]
    )
    assert re.fullmatch(r"02  Last    +\d+\.\d s  ok", lines[2])
    assert "1 of 3 failed: 01" in result.stderr
    assert {path.name for path in course.iterdir()} == {"notebooks", "build"}
    page = (course / "build" / "html" / "00_first.html").read_text()
    assert "0.25" in page
    assert "<math" in page
    assert not re.findall(r'(?:src|href)="https?://', page), "the page must need no network"
    assert json.loads((course / "notebooks" / "00_first.ipynb").read_text())["cells"][1]["outputs"] == []


def test_refresh_is_in_place_and_repeatable(course):
    (course / "notebooks" / "01_broken.ipynb").unlink()
    assert uqlib(course, "refresh").returncode == 0
    assert "TQDM_DISABLE=1 OMP_NUM_THREADS=1" in (course / "notebooks" / "02_last.ipynb").read_text()
    first = {path.name: path.read_bytes() for path in (course / "notebooks").iterdir()}
    assert b"0.25" in first["00_first.ipynb"]
    assert uqlib(course, "refresh").returncode == 0
    assert {path.name: path.read_bytes() for path in (course / "notebooks").iterdir()} == first
    assert {path.name for path in course.iterdir()} == {"notebooks"}


def test_refresh_leaves_a_failing_notebook_as_it_was(course):
    before = (course / "notebooks" / "01_broken.ipynb").read_bytes()
    assert uqlib(course, "refresh", "01").returncode == 1
    assert (course / "notebooks" / "01_broken.ipynb").read_bytes() == before


def test_a_number_of_threads_that_was_asked_for_is_kept(course):
    assert uqlib(course, "refresh", "02", OMP_NUM_THREADS="2").returncode == 0
    assert "TQDM_DISABLE=1 OMP_NUM_THREADS=2" in (course / "notebooks" / "02_last.ipynb").read_text()


def test_usage(course):
    assert uqlib(course, "list").stdout == "00 First\n01 Broken\n02 Last\n"
    wrong = uqlib(course, "run", "07")
    assert (wrong.returncode, wrong.stderr) == (2, "no notebook 07; there are 00, 01, 02\n")
    assert uqlib(course, "dance").returncode == 2


def test_a_reader_that_goes_away_ends_it_quietly():
    """As `python -m uqlib list | head -1` does."""
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as pipe:
        result = subprocess.run(
            [sys.executable, "-m", "uqlib", "list"], stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (result.returncode, result.stderr) == (1, "")
