"""A notebook run from a fresh kernel, and many of them, two at a time, with one line of progress each."""

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from uqlib.kit import leftovers

_NOT_STARTED = ("died before replying to kernel_info", "didn't respond in")
CELL_TIMEOUT = 300  # seconds; the longest cell takes a few


def stored(folder: Path) -> list[Path]:
    """The notebooks in a folder, in the order of the series; a file without a number is none of them."""
    return sorted(folder.glob("[0-9][0-9]_*.ipynb"))


def longest_first(paths: list[Path]) -> list[Path]:
    """Two workers end together only if no long notebook starts last; a large file is a long notebook, about."""
    return sorted(paths, key=lambda path: path.stat().st_size, reverse=True)


def title(path: Path) -> str:
    """The heading of a notebook without its number."""
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    return first.splitlines()[0].lstrip("# ").split("·", 1)[-1].strip()


def each(job: Callable[..., tuple[float, str]], paths: list[Path], *arguments: object) -> list[str]:
    """Call `job(path, *arguments)` for every notebook, print one line each, and return the numbers that failed.

    A job returns its seconds and what went wrong, or nothing. A failure stops no other.
    """
    failed = []
    width = max(len(title(path)) for path in paths)
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1, len(paths)), initializer=end_with_the_run) as pool:
        jobs = [pool.submit(job, path, *arguments) for path in paths]
        for path, one in zip(paths, jobs, strict=True):
            try:
                seconds, error = one.result()
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            except OSError as trouble:  # a full disk must not stop the other notebooks: some may have their room
                seconds, error = float("nan"), leftovers.told(trouble)
            except Exception as trouble:  # nor a dead kernel
                seconds, error = float("nan"), f"{type(trouble).__name__}: {trouble}".splitlines()[0]
            failed += [path.name[:2]] if error else []
            print(f"{path.name[:2]}  {title(path):<{width}}  {seconds:5.1f} s  {error or 'ok'}", flush=True)
    return failed


def end_with_the_run() -> None:
    """End this worker with the run that started it, which may be killed; a kernel ends when its worker does."""

    def wait() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback of its own


def execute(
    path: Path, variables: dict[str, str], last: str = "", told: Callable[[int, int], object] | None = None
) -> tuple[object, str]:
    """Run a notebook, to the cell with the id `last` if one is named; return it with its outputs, and what failed.

    `told(cell, cells)` is called after each cell that was run. `variables` go into the environment of this process and
    the kernel's: call it in a process of its own.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    notebook = nbformat.read(path, as_version=4)
    if last:
        end = next(place for place, cell in enumerate(notebook.cells) if cell.id == last)
        notebook.cells = notebook.cells[: end + 1]
    surroundings(variables)
    client = NotebookClient(
        notebook,
        config=Config({"KernelManager": {"transport_encryption": "auto"}}),  # other users cannot listen
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    if told:
        client.on_cell_executed = lambda cell, cell_index, execute_reply: told(cell_index + 1, len(notebook.cells))
    try:
        _execute(client)
        error = ""
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as trouble:
        error = _failing_cell(notebook, trouble)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook, error


def surroundings(variables: dict[str, str]) -> None:
    """Set the environment that a notebook runs in: this process's, which a kernel inherits."""
    os.environ["TQDM_DISABLE"] = "1"
    os.environ["UQLIB_STATIC"] = "1"  # a slider needs somebody to move it
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two kernels of two threads each are ten times slower on two cores
    for name in ("UQLIB_PAGES", "UQLIB_FIGURES", "UQLIB_FIGURE", "UQLIB_MEDIUM"):
        os.environ.pop(name, None)
    os.environ.update(variables)


def failing(number: int, name: str, error: str, message: str) -> str:
    """A cell that failed, and its error, in one line."""
    return f"FAILED in cell {number} ({name}): {error}: {(message.strip() or ' ').splitlines()[0]}"


def _execute(client: object, tries: int = 3) -> None:
    """Jupyter looks for free ports before the kernel takes them; if another took one first it dies or hangs."""
    try:
        client.execute()
    except RuntimeError as trouble:  # before any cell is run
        if tries == 1 or not any(sign in str(trouble) for sign in _NOT_STARTED):
            raise
        client.km = None
        _execute(client, tries - 1)


def _failing_cell(notebook: object, trouble: Exception) -> str:
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return failing(number, cell.id, output.ename, output.evalue)
    return f"FAILED: {type(trouble).__name__}: {str(trouble).strip().splitlines()[0]}"
