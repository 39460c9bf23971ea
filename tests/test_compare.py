"""The comparison of stored outputs bites, and stored outputs survive what another processor would do to them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def nbval(folder, *options, **environment):
    """Run nbval as `make nbval` does, and return the finished process."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "--nbval-cell-timeout", "300", "-q"]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "UQLIB_NBVAL"))}
    return subprocess.run(
        [*command, "-p", "no:cacheprovider", *options, folder],
        env=clean | environment, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """An empty folder whose notebooks are compared as those of the course are."""
    shutil.copy(ROOT / "notebooks" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.fixture
def copy(folder):
    """Writes a notebook of one cell that prints 0.123, with what is stored in it as the test wants it."""

    def write(second="0.123\n", **change):
        output = {"output_type": "stream", "name": "stdout", "text": [second]}
        cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "id": "only", "outputs": [output]}
        cell["source"] = ["print(0.123)"]
        content = {"cells": [cell | change], "nbformat": 4, "nbformat_minor": 5}
        content["metadata"] = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        (folder / "small.ipynb").write_text(json.dumps(content))
        return folder

    return write


def test_equal_outputs_pass(copy):
    assert nbval(copy()).returncode == 0


def test_another_last_digit_fails(copy):
    result = nbval(copy("0.124\n"))
    assert result.returncode == 1
    assert "0.124" in result.stdout


def test_the_tolerance_comes_from_the_environment_and_spares_integers(copy):
    assert nbval(copy("0.124\n"), UQLIB_NBVAL_LAST_DIGIT="1").returncode == 0
    assert nbval(copy("0.125\n"), UQLIB_NBVAL_LAST_DIGIT="1").returncode == 1
    assert nbval(copy("124\n", source=["print(123)"]), UQLIB_NBVAL_LAST_DIGIT="1").returncode == 1
    assert nbval(copy("a 0.123\n"), UQLIB_NBVAL_LAST_DIGIT="1").returncode == 1


def test_an_unexecuted_cell_fails(copy):
    result = nbval(copy(execution_count=None, outputs=[]))
    assert result.returncode == 1
    assert "was never executed" in result.stdout


def test_a_stored_error_fails(copy):
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    result = nbval(copy(source=["raise ValueError('no')"], outputs=[error], metadata={"tags": ["raises-exception"]}))
    assert result.returncode == 1
    assert "holds a stored error" in result.stdout


def test_one_changed_digit_in_a_real_notebook_fails(folder):
    """The last digit of the first float that notebook 00 prints."""
    (source,) = (ROOT / "notebooks").glob("00_*.ipynb")
    content = json.loads(source.read_text())
    line = next(o for c in content["cells"] for o in c.get("outputs", []) if o["output_type"] == "stream")["text"]
    assert "std 0.20" in line[0]
    line[0] = line[0].replace("std 0.20", "std 0.21")
    (folder / source.name).write_text(json.dumps(content))
    result = nbval(folder)
    assert result.returncode == 1
    assert "1 failed" in result.stdout


def test_stored_outputs_survive_a_perturbation_of_all_initial_weights():
    """The stand-in for other kernels and for CUDA: weights given to an optimiser move by 1e-10 (1 + |w|)."""
    result = nbval(
        ROOT / "notebooks", "-n", "2", "--dist", "loadscope",
        PYTHONPATH=str(ROOT / "tests" / "perturbed"), UQLIB_PERTURB="1e-10",
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-3000:]


def test_the_perturbation_reaches_the_kernels(folder):
    """With a large size the same machinery must change what notebook 02 prints: else the test above proves nothing."""
    (source,) = (ROOT / "notebooks").glob("02_*.ipynb")
    shutil.copy(source, folder)
    result = nbval(folder, PYTHONPATH=str(ROOT / "tests" / "perturbed"), UQLIB_PERTURB="1e-2")
    assert result.returncode == 1
    assert "failed" in result.stdout
