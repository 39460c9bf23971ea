"""What the commands make beside running notebooks: figures, slides, the site, copies, and reports in the terminal."""

import argparse
import sys
from pathlib import Path

from uqlib.kit import factory, gallery, kernel


def end(failed: list[str], count: int, good_news: str) -> int:
    """The last line, and the exit code."""
    if failed:
        print(f"{len(failed)} of {count} failed: {', '.join(failed)}", file=sys.stderr)
    elif good_news:
        print(good_news)
    return 1 if failed else 0


def figures(asked: argparse.Namespace, root: Path) -> int:
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
    count = len({name[:2] for name in asked.name}) or len(kernel.stored(root / "notebooks"))
    return end(failed, count, f"Figures are in {out / factory.FOLDERS[medium]}, in light/ and dark/.")


def slides(paths: list[Path], name: str | None, root: Path) -> int:
    """A deck for each notebook, or one deck of that name. Nothing is run: a few seconds for all of them."""
    from uqlib.kit import slides

    target = root / "build" / "slides"
    try:
        built = slides.join(root, paths, name, target) if name else slides.build(root, paths, target)
    except (ImportError, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    for stem, frames, pages, figures in built:
        print(f"{stem:<32} {frames:2} frames, {pages:2} pages in beamer, {figures:2} figure files")
    print(f"In {target.relative_to(root)}/reveal open a page; {target.relative_to(root)}/beamer compiles by pdflatex.")
    return 0


def kit(command: str, root: Path) -> int:
    """Make what is made without running notebooks."""
    try:
        if command == "doctor":
            from uqlib.kit import doctor

            lines, fine = doctor.report(root)
            print(*lines, sep="\n")
            return 0 if fine else 1
        from uqlib.kit import animations, handouts, release, site  # torch takes its second only where it is needed

        made = {
            "animations": lambda: animations.make(root / "figures" / "animations"),
            "site": lambda: [site.build(root)],
            "release": lambda: [release.make(root)],
            "student": lambda: handouts.student(root),
            "instructor": lambda: handouts.instructor(root),
        }[command]()
    except (ImportError, RuntimeError, ValueError) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    print(*(path.relative_to(root) for path in made), sep="\n")
    return 0


def progress(known: dict[str, Path], forget: bool) -> int:
    """A line for each notebook: what is solved of its three exercises."""
    from uqlib.checks import _progress as progress

    if forget:
        print(f"Deleted {progress.place()}." if progress.forget() else "There was nothing to forget.")
        return 0
    solved = progress.solved()
    width = max(len(kernel.title(path)) for path in known.values())
    for number, path in known.items():
        marks = " ".join("★" * k if f"{number}_{k}" in solved else "·" * k for k in (1, 2, 3))
        print(f"{number}  {kernel.title(path):<{width}}  {marks}")
    print(f"{len(solved)} of {3 * len(known)} solved; kept in {progress.place()}, deleted by --forget")
    return 0
