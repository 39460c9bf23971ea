"""The figure factory: every figure as files, only what has changed, and never half a file."""

import hashlib
import importlib.metadata
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from uqlib import _files
from uqlib.kit import gallery, kernel, leftovers, plain

SUFFIXES = ("pdf", "svg", "png")
FOLDERS = {"16:9": "", "4:3": "4x3", "paper": "paper"}
_PACKAGES = ("torch", "numpy", "matplotlib", "tueplots", "seaborn", "fontpkg-roboto-condensed")
_NOT_DRAWN = ("commands.py", "pages.py", "__main__.py", "kit/")  # what no figure depends on


def make(root: Path, names: list[str], out: Path, medium: str) -> list[str]:
    """Export figures below `out`: all, those of some notebooks (03), or single ones (03-noise-fan).

    A notebook whose figures are there, and which has not changed since (nor the package, the data or a library), is
    not run. Returns the numbers of the notebooks that failed. Raises ValueError for a name that no figure has,
    and OSError before anything is run if nothing can be written.
    """
    wanted = _wanted(gallery.collect(root / "notebooks"), names)
    target = out / FOLDERS[medium]
    common = _common(root, medium)
    stale = []
    for notebook, records in wanted.items():
        path = root / "notebooks" / notebook
        fingerprint = _fingerprint(path, common)
        if not _is_current(target, records, fingerprint, medium):
            stale.append((path, records, fingerprint))
    if not stale:
        return []
    leftovers.check(target)
    leftovers.check(root / "build")
    by_path = {path: (records, fingerprint) for path, records, fingerprint in stale}
    return kernel.each(_one, kernel.longest_first(list(by_path)), by_path, root, target, medium)


def files(record: dict, medium: str = "16:9") -> list[str]:
    """The files of a figure, relative to their folder: each theme, whole and in steps, as pdf, svg and png."""
    themes = ("light",) if medium == "paper" else ("light", "dark")
    stems = [record["name"], *(f"{record['name']}-{count + 1}" for count in range(len(record["steps"])))]
    return [f"{theme}/{stem}.{suffix}" for theme in themes for stem in stems for suffix in SUFFIXES]


def _wanted(records: list[dict], names: list[str]) -> dict[str, list[dict]]:
    """The figures that were asked for, by notebook."""
    known = {record["name"] for record in records} | {record["notebook"][:2] for record in records}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"no figure or notebook {', '.join(unknown)}; figures/README.md lists them")
    chosen = {}
    for record in records:
        if not names or record["name"] in names or record["notebook"][:2] in names:
            chosen.setdefault(record["notebook"], []).append(record)
    return chosen


def _common(root: Path, medium: str) -> "hashlib._Hash":
    """What all figures depend on: the package, the data, the libraries and the medium."""
    digest = hashlib.sha256(medium.encode())
    for folder in (Path(__file__).parents[1], root / "data"):
        for path in sorted(folder.rglob("*.*")):
            name = path.relative_to(folder).as_posix()
            if not name.startswith(_NOT_DRAWN) and path.suffix in (".py", ".csv", ".json"):
                digest.update(name.encode() + path.read_bytes())
    for package in _PACKAGES:
        digest.update(f"{package}=={importlib.metadata.version(package)}".encode())
    return digest


def _fingerprint(path: Path, common: "hashlib._Hash") -> str:
    """Of the code of a notebook and all that it depends on; its text and stored outputs do not count."""
    digest = common.copy()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            digest.update("".join(cell["source"]).encode() + b"\0")
    return digest.hexdigest()


def _is_current(target: Path, records: list[dict], fingerprint: str, medium: str) -> bool:
    """Whether each file is the one that this very code has written."""
    seen = _stamps(target)
    paths = [name for record in records for name in files(record, medium)]
    return all(seen.get(name) == [fingerprint, *_facts(target / name)] for name in paths)


def _facts(path: Path) -> list[int]:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return []
    return [facts.st_size, facts.st_mtime_ns]


def _stamps(target: Path) -> dict[str, list]:
    """What was written there, by which code; empty if nobody knows."""
    stamps = {}
    for path in target.glob(".made-*.json"):
        stamps |= _read(path)
    return stamps


def _read(path: Path) -> dict[str, list]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _one(path: Path, by_path: dict, root: Path, target: Path, medium: str) -> tuple[float, str]:
    """Run one notebook into a folder of its own, then move the finished files to their places."""
    start = time.perf_counter()
    records, fingerprint = by_path[path]
    (root / "build" / "figures-part").mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=root / "build" / "figures-part", prefix=f"{os.getpid()}-"))
    variables = {"UQLIB_FIGURES": str(part), "UQLIB_MEDIUM": medium}
    if len(records) == 1:
        variables["UQLIB_FIGURE"] = records[0]["name"]
    try:
        error = plain.run(path, variables, last=records[-1]["cell"])
        if not error:
            stamps = {}
            for name in (name for record in records for name in files(record, medium)):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                _move(part / name, target / name)
                stamps[name] = [fingerprint, *_facts(target / name)]
            stamp = target / f".made-{path.name[:2]}.json"
            _files.write(stamp, json.dumps(_read(stamp) | stamps).encode())
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return time.perf_counter() - start, error


def _move(source: Path, target: Path) -> None:
    """Put a finished file in its place in one step, also onto another disk."""
    try:
        source.replace(target)
    except OSError:
        _files.write(target, source.read_bytes())
