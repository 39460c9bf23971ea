"""The command line: every notebook from a fresh kernel, two at a time, one line of progress each."""

import argparse
import sys
import time
from pathlib import Path
from typing import NoReturn

from uqlib import _files
from uqlib.kit import factory, gallery, kernel


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
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name == "figures":
            command.add_argument("name", nargs="*", help="figures or notebooks, such as 03-noise-fan or 03; else all")
            command.add_argument("--out", type=Path, help="another folder than figures/", metavar="DIR")
            command.add_argument("--size", choices=["16:9", "4:3"], default="16:9", help="of the slide; redrawn")
            command.add_argument("--style", choices=["slide", "paper"], default="slide", help="slide or paper")
        elif name in ("run", "execute", "refresh", "slides"):
            command.add_argument("number", nargs="*", help="notebook numbers, such as 03; all if left out")
    asked = parser.parse_args(arguments)
    root = _root()
    if root is None:
        print("no notebooks here: run this in a checkout of the course", file=sys.stderr)
        return 2
    known = {path.name[:2]: path for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))}
    if asked.command == "list":
        for number, path in known.items():
            print(number, kernel.title(path))
        return 0
    unknown = [number for number in getattr(asked, "number", []) if number not in known]
    if unknown:
        print(f"no notebook {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    try:
        if asked.command == "figures":
            return _figures(asked, root)
        if asked.command in ("animations", "release", "site"):
            return _kit(asked.command, root)
        paths = [known[number] for number in dict.fromkeys(asked.number or known)]
        if asked.command == "slides":
            return _slides(paths, root)
        paths = [one for path in paths for one in (path, path.parent / "solutions" / path.name) if one.exists()]
        if asked.command == "execute":  # two workers end together only if no long notebook starts last
            paths.sort(key=lambda path: path.stat().st_size, reverse=True)
        failed = kernel.each(_one, paths, asked.command, root)
        return _end(failed, len(paths), _next_step(asked.command, root))
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept", file=sys.stderr)
        return 130


def _end(failed: list[str], count: int, good_news: str) -> int:
    """The last line, and the exit code."""
    if failed:
        print(f"{len(failed)} of {count} failed: {', '.join(failed)}", file=sys.stderr)
    elif good_news:
        print(good_news)
    return 1 if failed else 0


def _figures(asked: argparse.Namespace, root: Path) -> int:
    """Make the figures that were asked for, and the gallery when that is all of them in their own place."""
    medium = "paper" if asked.style == "paper" else asked.size
    out = asked.out or root / "figures"
    try:
        failed = factory.make(root, list(dict.fromkeys(asked.name)), out.absolute(), medium)
    except ValueError as trouble:
        print(trouble, file=sys.stderr)
        return 2
    if not failed and not asked.name and medium == "16:9":
        gallery.write(root, out)
    count = len({name[:2] for name in asked.name}) or len(list((root / "notebooks").glob("[0-9][0-9]_*.ipynb")))
    return _end(failed, count, f"Figures are in {out / factory.FOLDERS[medium]}, in light/ and dark/.")


def _slides(paths: list[Path], root: Path) -> int:
    """Nothing is run: a second for all sixteen."""
    from uqlib.kit import slides

    target = root / "build" / "slides"
    try:
        built = slides.build(root, paths, target)
    except (ValueError, OSError) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    for name, pages, figures in built:
        print(f"{name:<32} 9 frames, {pages:2} pages in beamer, {figures} figures")
    print(f"In {target.relative_to(root)}/reveal open a page; {target.relative_to(root)}/beamer compiles by pdflatex.")
    return 0


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _root() -> Path | None:
    """The checkout: the current folder or the one that holds the package."""
    for folder in (Path.cwd(), Path(__file__).parents[1]):
        if list((folder / "notebooks").glob("[0-9][0-9]_*.ipynb")):
            return folder
    return None


def _kit(command: str, root: Path) -> int:
    """Make what is made without running notebooks."""
    from uqlib.kit import animations, release, site  # torch takes its second only where it is needed

    try:
        if command == "animations":
            made = animations.make(root / "figures" / "animations")
        else:
            made = [site.build(root) if command == "site" else release.make(root)]
    except (ImportError, RuntimeError, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    print(*(path.relative_to(root) for path in made), sep="\n")
    return 0


def _one(path: Path, command: str, root: Path) -> tuple[float, str]:
    """Run one notebook and write what the command asks for; return the seconds and the failing cell, if any."""
    import nbformat

    start = time.perf_counter()
    build = root / "build"
    pages = {"UQLIB_PAGES": str((build / "figures").absolute())} if command == "run" else {}
    notebook, error = kernel.execute(path, pages)
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
        first = sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))[0].stem
        return f"Open build/html/{first}.html in a browser to read, or type `make lab` to work in the notebooks."
    if command == "refresh":
        return "Stored outputs are renewed; `git diff --stat notebooks` shows what changed."
    return ""
