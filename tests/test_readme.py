"""Every command that the README names is there; the quick ones are run, the others are run by tests of their own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from uqlib.kit import gallery, kernel

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"python -m uqlib ([a-z][^`#\n]*?)(?=`|  +#|\n)", README)))
TARGETS = sorted(set(re.findall(r"(?m)(?:^|`)make ((?:[A-Z]+=\S+ )*[a-z-]+(?: [A-Z]+=[^`\s]+)*)(?=`|  +#|$)", README)))


def done(*command, **options):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


def test_commands_were_found():
    assert {"list", "run 00", "progress", "doctor", "figures 03-noise-fan --out DIR"} <= set(COMMANDS)
    assert {"notebooks", "test", "slides", "student", "figures SIZE=4:3", "figures STYLE=paper"} <= set(TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_python_commands_run(command, tmp_path):
    """As written, with a folder of the test's own; `run` writes below build/, which is nobody's."""
    world = os.environ | {"UQLIB_PROGRESS": str(tmp_path / "progress.json")}
    words = [str(tmp_path / "DIR") if word == "DIR" else word for word in shlex.split(command)]
    result = done(sys.executable, "-m", "uqlib", *words, env=world)
    assert result.returncode == 0, result
    if "figures" in words:
        assert (tmp_path / "DIR" / "light" / "03-noise-fan.pdf").exists()
    if "run" in words:
        assert (ROOT / "build" / "html" / "00_reading_a_prediction.html").exists()


@pytest.mark.parametrize("target", TARGETS)
def test_make_targets_do_what_their_name_says(target):
    """What make would run: a command of the package, pytest or ruff; all of these are run by other tests."""
    planned = done("make", "--dry-run", "VENV=", f"PYTHON={sys.executable}", *shlex.split(target))
    assert planned.returncode == 0, planned.stderr
    words = [word for word in shlex.split(target) if "=" not in word]
    module = {"notebooks": "-m uqlib run", "lab": "-m jupyterlab", "test": "-m pytest", "nbval": "--nbval"}
    module |= {"bench": "tests/bench.py", "bench-peers": "tests/bench_peers.py", "test-matrix": "tests/matrix.py"}
    for word in words:
        assert module.get(word, f"-m uqlib {word}") in planned.stdout


def test_the_table_shows_the_figure_that_the_slides_show():
    records = {record["name"]: record for record in gallery.collect(ROOT / "notebooks")}
    rows = re.findall(
        r"(?m)^\| (\d\d) \|.*thumbs/dark/([\w-]+)\.png\".*thumbs/light/([\w-]+)\.png\".*alt=\"([^\"]+)\"", README
    )
    assert [number for number, *_ in rows] == [path.name[:2] for path in kernel.stored(ROOT / "notebooks")]
    for number, dark, light, alt in rows:
        assert dark == light and dark.startswith(number) and records[dark]["alt"] == alt


def test_the_minutes_are_those_that_the_notebooks_and_the_plan_give():
    words = {"twenty": 20, "twenty-five": 25, "thirty": 30, "forty": 40, "fifty": 50}
    plan = dict(
        re.findall(r"(?m)^\| \d \| (\d\d) \| (\d+) \| 10 \|", (ROOT / "docs/lecture-plan.md").read_text("utf-8"))
    )
    shown = dict(re.findall(r"(?m)^\| (\d\d) \|[^|]*\|[^|]*\| (\d+) \|", README))
    assert shown == plan and len(shown) == 16
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]}
        (said,) = re.findall(r"([A-Z][a-z-]+) minutes", cells["goals"])
        assert words[said.lower()] == int(shown[path.name[:2]]), path.name


def test_the_symptoms_are_those_of_notebook_13():
    (notebook,) = (ROOT / "notebooks").glob("13_*.ipynb")
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]}
    wanted = [row for name in ("map", "map-elsewhere") for row in re.findall(r"(?m)^\|(.*)\|$", cells[name])[2:]]
    shown = re.findall(r"(?m)^\|(.*)\|$", re.search(r"(?s)## What do you see\?.*?(?=\n## )", README)[0])[2:]
    assert len(wanted) == len(shown) >= 20
    for row, own in zip(wanted, shown, strict=True):
        assert row.split("|")[:2] == own.split("|")[:2]
        section, linked = row.split("|")[2].strip(), re.search(r"notebooks/(\d\d)_\S+\.ipynb(?:#(\d)-)?", own)
        if section.isdigit():
            assert linked.groups() == ("13", section)
        elif "README" not in row:
            assert linked[0].removeprefix("notebooks/") in row
