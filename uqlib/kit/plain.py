"""The code of a notebook without a kernel, for the files that it writes: nothing is shown, no message is exchanged."""

import json
import linecache
import multiprocessing
import os
import signal
import sys
import types
from multiprocessing.connection import Connection, wait
from pathlib import Path

from uqlib.kit import kernel

# Loaded once by a process that runs nothing; each notebook starts as a copy of it.
_LOADED = ["torch", "seaborn", "IPython.display", "uqlib.laplace", "uqlib.plotting", "uqlib.training"]


def run(path: Path, variables: dict[str, str], last: str = "") -> str:
    """Run the code of a notebook, to the cell `last` if one is named; return what failed, or nothing.

    In a process of its own, as fresh as a kernel, with `variables` in its environment. Call it in a process of its own
    as well: the environment of this one changes too.
    """
    kernel.surroundings(variables)
    copies = sys.platform == "linux"  # elsewhere a copy of a process that has loaded this much is not safe to use
    context = multiprocessing.get_context("forkserver" if copies else "spawn")
    if copies:
        context.set_forkserver_preload(_LOADED)
    news, sender = context.Pipe(duplex=False)
    process = context.Process(target=_cells, args=(path, variables, last, sender))
    process.start()
    sender.close()
    try:
        told = None
        while told is None:  # None comes after each cell, a text at the end
            told = _next(news, process)
    finally:
        _end(process)
    return told


def _next(news: Connection, process: multiprocessing.Process) -> str | None:
    """What the process says next, or what became of it."""
    if not wait([news, process.sentinel], kernel.CELL_TIMEOUT):
        return f"FAILED: a cell took more than {kernel.CELL_TIMEOUT} s"
    try:
        if news.poll():
            return news.recv()
    except (EOFError, OSError):
        pass  # it has ended, which the next line tells
    process.join()
    return f"FAILED: its process ended with exit code {process.exitcode}"


def _end(process: multiprocessing.Process) -> None:
    """End the process, and what it has started: it has said all that it has to say."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):  # Windows knows no groups; or it has ended, or has not made its own group yet
        process.kill()
    process.join()


def _cells(path: Path, variables: dict[str, str], last: str, sender: Connection) -> None:
    """Run cell by cell in this process, as its main module, and send what failed."""
    if hasattr(os, "setsid"):
        os.setsid()
    kernel.end_with_the_run()
    kernel.surroundings(variables | {"MPLBACKEND": "agg"})
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.chdir(path.parent)
    sys.path.insert(0, "")
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            source, name = "".join(cell["source"]), f"<cell {cell['id']}>"
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
            try:
                exec(compile(source, name, "exec"), main.__dict__)
            except (Exception, SystemExit) as trouble:
                sender.send(kernel.failing(number, cell["id"], type(trouble).__name__, str(trouble)))
                return
            sender.send(None)
        if cell["id"] == last:
            break
    sender.send("")
