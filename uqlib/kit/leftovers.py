"""What a killed run leaves behind, and what to say where nothing can be written."""

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_WRITTEN = ("notebooks", "figures", "dist", *(f"build/{name}" for name in ("notebooks", "html", "figures", "slides")))
_PROBE = 65536  # bytes; less room than that is a full disk
_NOT_OURS = (errno.EROFS, errno.EACCES, errno.EPERM)
_FULL = (errno.ENOSPC, errno.EDQUOT)


def alive(name: str) -> bool:
    """Whether the process that a temporary file or folder is named after, as .PID-xxx.part, still runs."""
    if os.name == "nt":  # there, signal 0 would interrupt it
        return True
    try:
        number = int(name.lstrip(".").split("-")[0])
        os.kill(number, 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:  # somebody else's process
        return True
    with contextlib.suppress(OSError):  # a dead one keeps its number until somebody asks for it: in containers, nobody
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return True


def sweep(root: Path, *more: Path) -> None:
    """Remove the unfinished files and folders of runs that are no more; a run at the same time keeps its own.

    `more` are folders to look through beside those of the checkout.
    """
    for part in list(_parts(root, more)):
        if alive(part.name):
            continue
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            try:
                part.unlink()
            except OSError:  # gone already, or read-only: it harms nobody
                continue


def _parts(root: Path, more: Iterable[Path]) -> Iterator[Path]:
    yield from (root / "build").glob(".*.part")
    yield from (root / "build" / "figures-part").glob("*-*")
    for folder in [*(root / name for name in _WRITTEN), root / "build" / "site-source", *more]:
        yield from folder.rglob(".*.part")


def check(folder: Path) -> None:
    """Raise OSError if nothing can be written to a folder, which need not be there: before minutes go into a run."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    handle, name = tempfile.mkstemp(dir=there, prefix=f".{os.getpid()}-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(b"\0" * _PROBE)
    finally:
        Path(name).unlink()


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """For what is not written in one step: waits while another run is at it, and says whether the last one finished.

    The lock goes with its process, however that ends; the word in the file stays unless it ended well.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+") as file:
        with contextlib.suppress(ImportError):  # Windows has no such locks
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sys.stderr.write("Another run is making this; waiting until it has ended.\n")
                fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        unfinished = file.read() != ""
        file.truncate(0)
        file.write("unfinished")
        file.flush()
        yield not unfinished
        file.truncate(0)


def told(trouble: OSError) -> str:
    """One line: what could not be written, and what to do."""
    if isinstance(trouble, shutil.Error):  # of a tree: the first of its files will do
        return f"cannot copy: {trouble.args[0][0][2]}"
    named = Path(os.fsdecode(trouble.filename)) if isinstance(trouble.filename, str | bytes) else None
    if trouble.errno in _FULL:
        return f"{trouble.strerror}{_at(named)}: free some of it, then run this again; what was finished is kept"
    if trouble.errno in _NOT_OURS:
        return f"cannot write{_at(named)}: {trouble.strerror}; run this in a copy of the course that is yours"
    return f"{type(trouble).__name__}: {trouble}"


def _at(named: Path | None) -> str:
    """The file, or the folder of an unfinished one, whose own name tells nobody anything."""
    return "" if named is None else f" in {named.parent}" if named.suffix == ".part" else f" {named}"
