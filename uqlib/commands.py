"""The command line: every notebook from a fresh kernel, two at a time, one line of progress each."""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NoReturn

from uqlib import _files

CELL_TIMEOUT = 300  # seconds; the longest cell takes a few


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and return the exit code: 0, 1 if a notebook failed, 2 for wrong usage."""
    parser = _Parser(prog="python -m uqlib", description="The course from the terminal.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for name, text in (
        ("list", "list the notebooks"),
        ("run", "run notebooks; write executed copies, HTML and figures below build/"),
        ("execute", "run notebooks, the longest first, and write nothing: do they run, and how fast?"),
        ("refresh", "run notebooks and renew their stored outputs in place"),
        ("figures", "run notebooks and export their figures to figures/"),
        ("site", "build the web site from the stored outputs, below build/site"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name not in ("list", "site"):
            command.add_argument("number", nargs="*", help="notebook numbers, such as 03; all if left out")
    asked = parser.parse_args(arguments)
    root = _root()
    if root is None:
        print("no notebooks here: run this in a checkout of the course", file=sys.stderr)
        return 2
    known = {path.name[:2]: path for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))}
    if asked.command == "list":
        for number, path in known.items():
            print(number, title(path))
        return 0
    if asked.command == "site":
        return _site(root)
    unknown = [number for number in asked.number if number not in known]
    if unknown:
        print(f"no notebook {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    paths = [known[number] for number in dict.fromkeys(asked.number or known)]
    if asked.command == "execute":  # two workers end together only if no long notebook starts last
        paths.sort(key=lambda path: path.stat().st_size, reverse=True)
    try:
        failed = _run_all(asked.command, paths, root)
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept", file=sys.stderr)
        return 130
    if not failed and asked.command != "execute":
        print(_next_step(asked.command, root))
    elif failed:
        print(f"{len(failed)} of {len(paths)} failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def title(path: Path) -> str:
    """The heading of a notebook without its number."""
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    return first.splitlines()[0].lstrip("# ").split("·", 1)[-1].strip()


def _root() -> Path | None:
    """The checkout: the current folder or the one that holds the package."""
    for folder in (Path.cwd(), Path(__file__).parents[1]):
        if list((folder / "notebooks").glob("[0-9][0-9]_*.ipynb")):
            return folder
    return None


def _run_all(command: str, paths: list[Path], root: Path) -> list[str]:
    """Run every notebook, print one line each in order, and return the numbers of those that failed."""
    failed = []
    width = max(len(title(path)) for path in paths)
    with ProcessPoolExecutor(max_workers=min(2, os.cpu_count() or 1, len(paths))) as pool:
        jobs = [pool.submit(_one, command, path, root) for path in paths]
        for path, job in zip(paths, jobs, strict=True):
            try:
                seconds, error = job.result()
            except Exception as trouble:  # a dead kernel or a full disk must not stop the other notebooks
                seconds, error = float("nan"), f"{type(trouble).__name__}: {trouble}".splitlines()[0]
            failed += [path.name[:2]] if error else []
            print(f"{path.name[:2]}  {title(path):<{width}}  {seconds:5.1f} s  {error or 'ok'}", flush=True)
    return failed


def _one(command: str, path: Path, root: Path) -> tuple[float, str]:
    """Run one notebook and write what the command asks for; return the seconds and the failing cell, if any."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    start = time.perf_counter()
    notebook = nbformat.read(path, as_version=4)
    build = root / "build"
    os.environ["TQDM_DISABLE"] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # two kernels of two threads each are ten times slower on two cores
    os.environ["UQLIB_PAGES"] = str((build / "figures").absolute()) if command == "run" else ""
    os.environ["UQLIB_FIGURES"] = str((root / "figures").absolute()) if command == "figures" else ""
    client = NotebookClient(
        notebook,
        config=Config({"KernelManager": {"transport_encryption": "auto"}}),  # other users cannot listen
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
        error = ""
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as trouble:
        error = _failing_cell(notebook, trouble)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    content = nbformat.writes(notebook, version=4).rstrip("\n").encode() + b"\n"
    if command == "run":
        from uqlib.pages import to_html

        _files.write(build / "notebooks" / path.name, content)
        _files.write(build / "html" / f"{path.stem}.html", to_html(notebook, title(path)).encode())
    elif command == "refresh" and not error and content != path.read_bytes():
        _files.write(path, content)
    return time.perf_counter() - start, error


def _failing_cell(notebook: object, trouble: Exception) -> str:
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                reason = (output.evalue.strip() or " ").splitlines()[0]
                return f"FAILED in cell {number} ({cell.id}): {output.ename}: {reason}"
    return f"FAILED: {type(trouble).__name__}: {str(trouble).strip().splitlines()[0]}"


def _site(root: Path) -> int:
    """Build the web site; what a missing package or a warning means in one line."""
    try:
        from uqlib.kit import site

        print(f"Open {site.build(root).relative_to(root)} in a browser.")
    except ImportError as missing:
        print(f"{missing}; the site needs the extra `kit`: pip install '.[kit]'", file=sys.stderr)
        return 1
    except RuntimeError as trouble:
        print(trouble, file=sys.stderr)
        return 1
    return 0


def _next_step(command: str, root: Path) -> str:
    if command == "run":
        first = sorted((root / "build" / "html").glob("*.html"))[0]
        return f"Open {first.relative_to(root)} in a browser to read, or type `make lab` to work in the notebooks."
    if command == "refresh":
        return "Stored outputs are renewed; `git diff --stat notebooks` shows what changed."
    return "Figures are in figures/light and figures/dark."
