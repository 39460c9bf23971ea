"""The command line: every notebook from a fresh start, two at a time, one line of progress each."""

import argparse
import sys
import time
from pathlib import Path
from typing import NoReturn

from uqlib import _files, _making
from uqlib.kit import kernel, leftovers

# Where a command writes, if that is all it is for; figures that are there already are not written again.
_PLACES = {
    **dict.fromkeys(("run", "slides", "site", "student", "instructor"), "build"),
    "refresh": "notebooks",
    "figures": "",
    "animations": "figures/animations",
    "release": "dist",
}


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and return the exit code: 0, 1 if a notebook failed, 2 for wrong usage."""
    parser = _Parser(prog="python -m uqlib", description="The course from the terminal.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for name, text in (
        ("list", "list the notebooks"),
        ("run", "run notebooks; write executed copies, HTML and figures below build/"),
        ("execute", "run notebooks, the longest first, and write nothing: do they run, and how fast?"),
        ("refresh", "run notebooks and renew their stored outputs in place"),
        ("figures", "export figures for slides to figures/, those that are not there yet"),
        ("animations", "write two animations for slides and web pages to figures/animations/"),
        ("slides", "make slides from the stored notebooks: build/slides/beamer and build/slides/reveal"),
        ("site", "build the web site from the stored outputs: build/site"),
        ("release", "pack all figures into a zip below dist/"),
        ("student", "copies to hand out: build/student without outputs and solutions, build/live for live coding"),
        ("instructor", "a copy with outputs, solutions and nbgrader's metadata: build/instructor"),
        ("progress", "show which exercises you have solved"),
        ("doctor", "say what is installed and found here, and how to mend what will not do"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name == "figures":
            command.add_argument("name", nargs="*", help="figures or notebooks, such as 03-noise-fan or 03; else all")
            command.add_argument("--out", type=Path, help="another folder than figures/", metavar="DIR")
            command.add_argument("--size", choices=["16:9", "4:3"], default="16:9", help="of the slide; redrawn")
            command.add_argument("--style", choices=["slide", "paper"], default="slide", help="slide or paper")
        elif name == "progress":
            command.add_argument("--forget", action="store_true", help="delete the file in which it is kept")
        elif name in ("run", "execute", "refresh", "slides"):
            command.add_argument("number", nargs="*", help="notebook numbers, such as 03; all if left out")
            if name == "slides":
                told = "one deck of the notebooks given; without any, a way of the plan: 90-minutes, lecture-1, ..."
                command.add_argument("--join", metavar="NAME", help=told)
    asked = parser.parse_args(arguments)
    root = _root()
    if root is None:
        print("no notebooks here: run this in a checkout of the course", file=sys.stderr)
        return 2
    known = {path.name[:2]: path for path in kernel.stored(root / "notebooks")}
    if asked.command == "list":
        for number, path in known.items():
            print(number, kernel.title(path))
        return 0
    unknown = [number for number in getattr(asked, "number", []) if number not in known]
    if unknown:
        print(f"no notebook {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    if asked.command in _PLACES:
        leftovers.sweep(root, *([asked.out] if getattr(asked, "out", None) else []))
    try:
        if place := _PLACES.get(asked.command):
            leftovers.check(root / place)
        if asked.command == "figures":
            return _making.figures(asked, root)
        if asked.command == "progress":
            return _making.progress(known, asked.forget)
        if asked.command in ("animations", "release", "site", "student", "instructor", "doctor"):
            return _making.kit(asked.command, root)
        paths = [known[number] for number in dict.fromkeys(asked.number or known)]
        if asked.command == "slides":
            return _making.slides(paths if asked.number or not asked.join else [], asked.join, root)
        paths = [one for path in paths for one in (path, path.parent / "solutions" / path.name) if one.exists()]
        if asked.command == "execute":
            paths = kernel.longest_first(paths)
        failed = kernel.each(_one, paths, asked.command, root, len(paths) <= 2 and sys.stderr.isatty())
        return _making.end(failed, len(paths), _next_step(asked.command, root))
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # a reader that has gone away: __main__ knows
        raise
    except OSError as trouble:  # of what is written here; a notebook's own is told in its line
        print(leftovers.told(trouble), file=sys.stderr)
        return 1


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _root() -> Path | None:
    """The checkout: the current folder or the one that holds the package."""
    for folder in (Path.cwd(), Path(__file__).parents[1]):
        if kernel.stored(folder / "notebooks"):
            return folder
    return None


def _one(path: Path, command: str, root: Path, watched: bool) -> tuple[float, str]:
    """Run one notebook and write what the command asks for; return the seconds and the failing cell, if any."""

    def told(cell: int, cells: int) -> None:
        print(f"\r{path.name[:2]}  cell {cell} of {cells} \r", end="", file=sys.stderr, flush=True)

    import nbformat

    start = time.perf_counter()
    build = root / "build"
    pages = {"UQLIB_PAGES": str((build / "figures").absolute())} if command == "run" else {}
    shown = watched and path.parent.name == "notebooks"  # its solutions, beside it, take a moment
    notebook, error = kernel.execute(path, pages, told=told if shown else None)
    content = nbformat.writes(notebook, version=4).rstrip("\n").encode() + b"\n"
    if command == "run":
        from uqlib.pages import to_html

        place = path.relative_to(root / "notebooks")
        _files.write(build / "notebooks" / place, content)
        _files.write((build / "html" / place).with_suffix(".html"), to_html(notebook, kernel.title(path)).encode())
    elif command == "refresh" and not error and content != path.read_bytes():
        _files.write(path, content)
    return time.perf_counter() - start, error


def _next_step(command: str, root: Path) -> str:
    if command == "run":
        first = kernel.stored(root / "notebooks")[0].stem
        return f"Open build/html/{first}.html in a browser to read, or type `make lab` to work in the notebooks."
    if command == "refresh":
        return "Stored outputs are renewed; `git diff --stat notebooks` shows what changed."
    return ""
