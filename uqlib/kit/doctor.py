"""What is installed and found here, whether it will do, and the one command that mends what will not."""

import importlib.metadata
import os
import platform
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

_INSTALL = "python -m pip install -c constraints.txt -e '.[test,kit]'"
Row = tuple[str, str, str, str]  # name, what was found, ok/note/TROUBLE, what to do


def report(root: Path) -> tuple[list[str], bool]:
    """The lines to print, and whether all that is needed is here. Loads torch and matplotlib, changes nothing."""
    rows = [*_python(root), *_packages(root)]
    if all(state != "TROUBLE" for _, _, state, _ in rows):
        rows += [*_machine(), *_font(), *_data()]
    rows += [*_kernel(), *_programs()]
    width, found_width = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    lines = []
    for name, found, state, cure in rows:
        lines.append(f"{name:<{width}}  {found:<{found_width}}  {state}".rstrip())
        lines += [f"{'':<{width}}  -> {cure}"] if cure else []
    fine = all(state != "TROUBLE" for _, _, state, _ in rows)
    return [*lines, _verdict(root, fine)], fine


def _python(root: Path) -> Iterator[Row]:
    wanted = _project(root)["requires-python"].removeprefix(">=")
    enough = sys.version_info[:2] >= tuple(map(int, wanted.split(".")))
    state, cure = (
        ("ok", "")
        if enough
        else ("TROUBLE", f"install Python {wanted} or newer, then `make PYTHON=python{wanted} lab`")
    )
    yield "python", f"{platform.python_version()}, {sys.executable}", state, cure
    yield "machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores", "ok", ""


def _packages(root: Path) -> Iterator[Row]:
    """Each package that the course needs; of the extras only what is missing."""
    project = _project(root)
    for requirement in map(Requirement, project["dependencies"]):
        found = _version(requirement.name)
        if not found:
            yield requirement.name, "not installed", "TROUBLE", _INSTALL
        elif not requirement.specifier.contains(found.partition("+")[0], prereleases=True):
            yield requirement.name, f"{found}, needs {requirement.specifier}", "TROUBLE", _INSTALL
        elif requirement.name in ("torch", "numpy", "matplotlib", "jupyterlab"):
            yield requirement.name, found, "ok", ""
    for extra, purpose in (("test", "`make test`"), ("kit", "`make slides` and `make site`")):
        names = [Requirement(one).name for one in project["optional-dependencies"][extra]]
        missing = [name for name in names if not _version(name)]
        if missing:
            yield f"extra {extra}", f"without {', '.join(missing)}", "note", f"for {purpose}: {_INSTALL}"


def _machine() -> Iterator[Row]:
    import torch

    from uqlib import runtime

    try:
        device = str(runtime.device())
        told = os.environ.get("UQLIB_DEVICE", "").strip() or "auto"
        yield "device", f"{device} (UQLIB_DEVICE: {told})", "ok", ""
    except (ValueError, RuntimeError) as trouble:
        yield "device", str(trouble), "TROUBLE", "unset UQLIB_DEVICE"
    threads = torch.get_num_threads()
    state, cure = ("ok", "") if threads == 1 else ("note", "tiny nets run fastest on one: export OMP_NUM_THREADS=1")
    yield "threads", str(threads), state, cure


def _font() -> Iterator[Row]:
    from matplotlib import font_manager

    from uqlib import figures

    family = figures.style()["font.sans-serif"][0]
    try:
        path = font_manager.findfont(family, fallback_to_default=False)
        yield "font", f"{family}, {Path(path).name}", "ok", ""
    except ValueError:
        yield (
            "font",
            f"{family} is not found",
            "TROUBLE",
            "python -m pip install --force-reinstall fontpkg-roboto-condensed",
        )


def _data() -> Iterator[Row]:
    from uqlib import datasets

    try:
        names = list(datasets._TABLES)
        for name in names:
            datasets.load(name)
        yield "data", f"{', '.join(names)}; checksums agree", "ok", ""
    except (OSError, ValueError) as trouble:
        yield "data", str(trouble), "TROUBLE", "git checkout -- data"


def _kernel() -> Iterator[Row]:
    """Jupyter starts notebooks in the environment of its `python3` kernel, which need not be this one."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return
    cure = "python -m ipykernel install --sys-prefix"
    try:
        program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        yield "kernel", "no python3 kernel", "TROUBLE", cure
        return
    same = program in ("python", "python3") or Path(program).absolute() == Path(sys.executable).absolute()
    yield "kernel", "this environment" if same else program, "ok" if same else "TROUBLE", "" if same else cure


def _programs() -> Iterator[Row]:
    """What only some commands use."""
    for names, purpose, package in (
        (("chromium", "chromium-browser", "google-chrome"), "the tests that open pages", "chromium"),
        (("pdflatex",), "compiling beamer slides", "texlive-latex-recommended texlive-latex-extra lmodern"),
    ):
        if not any(map(shutil.which, names)):
            yield names[0], "not found", "note", f"only for {purpose}; Debian and Ubuntu: apt install {package}"


def _verdict(root: Path, fine: bool) -> str:
    """Whether the stored outputs should come out here."""
    if not fine:
        return "Mend what is marked TROUBLE, then run `python -m uqlib doctor` again."
    import torch

    from uqlib import runtime

    made = next(
        line.removeprefix("torch==").strip()
        for line in (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("torch==")
    )
    here, device = torch.__version__.partition("+")[0], runtime.device().type
    if here == made and device == "cpu":
        return f"The stored outputs, made with torch {made} on the CPU, should come out here to the last digit."
    return (
        f"Made with torch {made} on the CPU, stored outputs may differ in a last digit here: torch {here} on {device}."
    )


def _project(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
