"""Slides of the course: a folder of beamer files that compiles anywhere, and one HTML deck for each notebook."""

from collections.abc import Iterable
from pathlib import Path

from uqlib import _files
from uqlib.kit import beamer, decks, frames, gallery

LOOKS = Path("docs") / "slides"  # our style file for beamer, and the css and script of the decks
THEMES = ("light", "dark")


def build(root: Path, paths: Iterable[Path], target: Path) -> list[tuple[str, int, int]]:
    """Write TARGET/beamer and TARGET/reveal for the notebooks given; return name, pages and figure files of each.

    Everything is read first: a notebook that cannot become slides raises ValueError before a file is written.
    """
    figures = gallery.collect(root / "notebooks")
    made = [frames.collect(path, figures) for path in paths]
    texts = [(beamer.to_tex(deck), decks.to_html(deck, root / "figures", root / LOOKS)) for deck in made]
    style = "uqlib-beamer.sty"
    _files.write(target / "beamer" / style, (root / LOOKS / style).read_bytes())
    built = []
    for deck, (tex, page) in zip(made, texts, strict=True):
        names = files_of(deck)
        for theme in THEMES:
            for name in names:
                source = root / "figures" / theme / f"{name}.pdf"
                _files.write(target / "beamer" / theme / source.name, source.read_bytes())
        _files.write(target / "beamer" / f"{deck.name}.tex", tex.encode())
        _files.write(target / "reveal" / f"{deck.name}.html", page.encode())
        built.append((deck.name, beamer.pages(deck), len(names)))
    return built


def files_of(deck: frames.Deck) -> list[str]:
    """Names of the figure files that a deck shows, without theme and suffix."""
    names = {}
    for picture in (frame.picture for frame in deck.frames if frame.picture):
        steps = range(1, picture.steps + 1)
        names |= dict.fromkeys([f"{picture.name}-{step}" for step in steps] if steps else [picture.name])
    return list(names)
