"""The code of a notebook without a kernel, for the files that it writes: nothing is shown, no message is exchanged."""

import contextlib
import io
import json
import multiprocessing
import os
from multiprocessing.connection import Connection
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
    copies = "forkserver" in multiprocessing.get_all_start_methods()
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
            told = news.recv() if news.poll(kernel.CELL_TIMEOUT) else f"FAILED: over {kernel.CELL_TIMEOUT} s in a cell"
    except EOFError:
        process.join()
        told = f"FAILED: its process ended with exit code {process.exitcode}"
    process.kill()  # it has said all that it has to say
    process.join()
    return told


def _cells(path: Path, variables: dict[str, str], last: str, sender: Connection) -> None:
    """Run cell by cell in this process, and send what failed."""
    kernel.end_with_the_run()
    kernel.surroundings(variables)
    os.chdir(path.parent)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    exec(compile("".join(cell["source"]), f"<cell {cell['id']}>", "exec"), names)
            except Exception as trouble:
                sender.send(kernel.failing(number, cell["id"], type(trouble).__name__, str(trouble)))
                return
            sender.send(None)
        if cell["id"] == last:
            break
    sender.send("")
