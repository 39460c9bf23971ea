"""The comparison of stored outputs bites, also while weights are moved and figures are measured."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def compared(folder, **environment):
    """Run nbval on a folder as `make nbval` does on the course; the texts of what failed, by notebook."""
    shutil.copy(ROOT / "notebooks" / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "--nbval-cell-timeout", "300", "-q"]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "UQLIB_", "PYTHONPATH"))}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", f"--junitxml={folder / 'report.xml'}", folder],
        env=clean | environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    failed = {path.stem: [] for path in folder.glob("*.ipynb")}
    for case in ElementTree.parse(folder / "report.xml").iter("testcase"):
        found = [*case.iter("failure"), *case.iter("error")]
        failed[case.get("classname").removesuffix(".ipynb")] += [one.text or one.get("message") for one in found]
    return failed


def write(folder, name, stored="0.123\n", source="print(0.123)", **change):
    """A notebook of one cell, with what is stored in it as the test wants it."""
    output = {"output_type": "stream", "name": "stdout", "text": [stored]}
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "id": "only", "outputs": [output]}
    content = {"cells": [cell | {"source": [source]} | change], "nbformat": 4, "nbformat_minor": 5}
    content["metadata"] = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    (folder / f"{name}.ipynb").write_text(json.dumps(content))


def course(folder, number):
    """A copy of a notebook of the course."""
    (source,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    return Path(shutil.copy(source, folder))


def test_what_differs_fails_and_so_does_what_was_never_run(tmp_path):
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    write(tmp_path, "equal")
    write(tmp_path, "digit", "0.124\n")
    write(tmp_path, "unexecuted", execution_count=None, outputs=[])
    raises = {"source": "raise ValueError('no')", "metadata": {"tags": ["raises-exception"]}}
    write(tmp_path, "error", outputs=[error], **raises)
    real = course(tmp_path, "00")
    content = json.loads(real.read_text())
    first = next(o for c in content["cells"] for o in c.get("outputs", []) if o["output_type"] == "stream")["text"]
    assert "std 0.20" in first[0]  # the first float that notebook 00 prints
    first[0] = first[0].replace("std 0.20", "std 0.21")
    real.write_text(json.dumps(content))

    failed = compared(tmp_path)
    assert failed["equal"] == []
    assert len(failed["digit"]) == len(failed["unexecuted"]) == len(failed["error"]) == len(failed[real.stem]) == 1
    assert "0.124" in failed["digit"][0] and "std 0.21" in failed[real.stem][0]
    assert "was never executed" in failed["unexecuted"][0] and "holds a stored error" in failed["error"][0]


def test_the_tolerance_comes_from_the_environment_and_spares_integers(tmp_path):
    write(tmp_path, "near", "0.124\n")
    write(tmp_path, "far", "0.125\n")
    write(tmp_path, "integer", "124\n", "print(123)")
    write(tmp_path, "words", "a 0.123\n")
    failed = compared(tmp_path, UQLIB_NBVAL_LAST_DIGIT="1")
    assert {name: len(texts) for name, texts in failed.items()} == {"near": 0, "far": 1, "integer": 1, "words": 1}


def asked_by_make():
    """The variables that `make nbval` sets, as the shell sees them."""
    command = subprocess.run(["make", "-n", "nbval", "VENV="], cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = [line for line in command.stdout.splitlines() if "--nbval-current-env" in line]
    return dict(word.split("=", 1) for word in shlex.split(line.partition("-m pytest")[0]) if "=" in word)


def test_make_moves_the_weights_and_measures_the_figures(tmp_path):
    """Weights given to an optimiser move by 1e-10 (1 + |w|), the stand-in for other kernels and for CUDA; with a large
    size notebook 02 must print other digits, and a small text must be seen: else `make nbval` proves less than it says.
    """
    asked = asked_by_make()
    assert asked["UQLIB_PERTURB"] == "1e-10"
    moved = course(tmp_path, "02")
    source = (
        "from uqlib import figures\nfigures.show('00-x', lambda ax: ax.text(0.5, 0.5, 'small', fontsize=7), alt='A.')"
    )
    write(tmp_path, "small", source=source, outputs=[])
    failed = compared(tmp_path, **asked | {"UQLIB_PERTURB": "1e-2"})
    assert len(failed[moved.stem]) > 3
    assert len(failed["small"]) == 1 and "'small' is 7 pt" in failed["small"][0]
