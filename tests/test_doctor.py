"""First contact: the doctor finds what is wrong and says the one command; progress is shown and forgotten."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from uqlib.kit import doctor

ROOT = Path(__file__).parents[1]


def told(*arguments, **variables):
    world = {name: value for name, value in os.environ.items() if not name.startswith("UQLIB_")} | variables
    command = [sys.executable, "-m", "uqlib", *arguments]
    return subprocess.run(command, cwd=ROOT, env=world, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_all_is_well_here():
    done = told("doctor")
    assert done.returncode == 0 and done.stderr == "", done
    lines = done.stdout.splitlines()
    for name in ("python", "torch", "numpy", "matplotlib", "jupyterlab", "device", "font", "data", "kernel"):
        (line,) = [line for line in lines if line.split()[0] == name]
        assert line.endswith("  ok")
    assert "TROUBLE" not in done.stdout and "torch 2.13.0" in lines[-1]


@pytest.mark.slow
def test_troubles_come_with_a_command():
    done = told("doctor", UQLIB_DEVICE="gpu", OMP_NUM_THREADS="2")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("device"))
    assert "UQLIB_DEVICE='gpu': expected auto, cpu" in lines[place] and lines[place].endswith("TROUBLE")
    assert lines[place + 1].strip() == "-> unset UQLIB_DEVICE"
    assert any("export OMP_NUM_THREADS=1" in line for line in lines)
    assert lines[-1].startswith("Mend what is marked TROUBLE")


def test_missing_and_old_packages_are_named(monkeypatch):
    real = importlib.metadata.version

    def version(name):
        if name == "seaborn":
            raise importlib.metadata.PackageNotFoundError(name)
        return {"torch": "1.9.0"}.get(name) or real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    lines, fine = doctor.report(ROOT)
    text = "\n".join(lines)
    assert not fine and "1.9.0, needs <3,>=2.13" in text
    assert any(line.split()[:3] == ["seaborn", "not", "installed"] and line.endswith("TROUBLE") for line in lines)
    assert text.count("-> python -m pip install -c constraints.txt -e '.[test,kit]'") >= 2


def test_another_kernel_and_a_missing_program_are_named(monkeypatch):
    from jupyter_client import kernelspec

    other = kernelspec.KernelSpec(argv=["/somewhere/else/python", "-m", "ipykernel_launcher"])
    monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", lambda self, name: other)
    assert list(doctor._kernel()) == [
        ("kernel", "/somewhere/else/python", "TROUBLE", "python -m ipykernel install --sys-prefix")
    ]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert [(row[0], row[2]) for row in doctor._programs()] == [("chromium", "note"), ("pdflatex", "note")]


@pytest.mark.slow
def test_progress_is_shown_and_forgotten(tmp_path):
    place = tmp_path / "progress.json"
    place.write_text(json.dumps({"03_1": "2026-01-01", "03_3": "2026-01-02"}))
    done = told("progress", UQLIB_PROGRESS=str(place))
    lines = done.stdout.splitlines()
    notebooks = len(list((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")))
    assert len(lines) == notebooks + 1 and lines[3].split("  ")[0] == "03" and lines[3].endswith("★ ·· ★★★")
    assert lines[-1] == f"2 of {3 * notebooks} solved; kept in {place}, deleted by --forget"
    assert told("progress", "--forget", UQLIB_PROGRESS=str(place)).stdout == f"Deleted {place}.\n"
    assert not place.exists()
    assert told("progress", "--forget", UQLIB_PROGRESS=str(place)).stdout == "There was nothing to forget.\n"
