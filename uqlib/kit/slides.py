"""Slides of the course: a folder of beamer files that compiles anywhere, and one HTML deck for each notebook."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from uqlib import _files
from uqlib.figures import PALETTE
from uqlib.kit import beamer, decks, frames, gallery, kernel, plan

LOOKS = Path("docs") / "slides"  # our style file for beamer, and the css and script of the decks


def build(root: Path, paths: Iterable[Path], target: Path) -> list[tuple[str, int, int, int]]:
    """Write TARGET/beamer and TARGET/reveal for the notebooks; return name, frames, pages and figure files of each.

    Everything is read first: a notebook that cannot become slides raises ValueError before a file is written.
    """
    return _write(root, _collected(root, paths), target)


def join(root: Path, paths: Sequence[Path], name: str, target: Path) -> list[tuple[str, int, int, int]]:
    """The same as one deck NAME: all frames of the notebooks given.

    Without notebooks NAME is a way of the lecture plan, and the deck has what its table lists. Raises ValueError for a
    way that there is not.
    """
    if paths:
        chosen = [frame for deck in _collected(root, paths) for frame in deck.every]
    else:
        rows = plan.way((root / plan.PLACE).read_text(encoding="utf-8"), name)
        known = {path.name[:2]: path for path in kernel.stored(root / "notebooks")}
        made = _collected(root, [known[row.number] for row in rows])
        chosen = [frame for row, deck in zip(rows, made, strict=True) for frame in _taught(deck, row)]
    return _write(root, [frames.Deck(name, name.replace("-", " ").capitalize(), tuple(chosen))], target)


def _collected(root: Path, paths: Iterable[Path]) -> list[frames.Deck]:
    figures = gallery.collect(root / "notebooks")
    place = root / plan.PLACE
    votes = plan.votes(place.read_text(encoding="utf-8")) if place.exists() else {}
    return [frames.collect(path, figures, votes.get(path.name[:2], ())) for path in paths]


def _taught(deck: frames.Deck, row: plan.Row) -> Iterator[frames.Frame]:
    """Claim, question and idea of a notebook, the figures of a row of the plan, the first vote, the takeaway."""
    by_kind = {frame.kind: frame for frame in reversed(deck.every)}
    yield from (by_kind[kind] for kind in ("claim", "question", "equation"))
    shown = {frame.picture.name: frame for frame in reversed(deck.every) if frame.picture}
    yield from (shown[name] for name in row.figures if shown[name].kind != "question")
    yield from ([by_kind["vote"]] if row.vote else [])
    yield by_kind["takeaway"]


def _write(root: Path, made: Sequence[frames.Deck], target: Path) -> list[tuple[str, int, int, int]]:
    dark = target / "dark"
    for name in {name for deck in made for name in files_of(deck)}:
        gallery.draw(root / "figures" / "dark" / f"{name}.pdf", dark / f"{name}.png")
    images = {"light": root / "figures" / "light", "dark": dark}
    texts = [(beamer.to_tex(deck), decks.to_html(deck, images, root / LOOKS)) for deck in made]
    style = "uqlib-beamer.sty"
    _files.write(target / "beamer" / style, (root / LOOKS / style).read_bytes())
    built = []
    for deck, (tex, page) in zip(made, texts, strict=True):
        names = files_of(deck)
        for theme in PALETTE:
            for name in names:
                source = root / "figures" / theme / f"{name}.pdf"
                _files.write(target / "beamer" / theme / source.name, source.read_bytes())
        _files.write(target / "beamer" / f"{deck.name}.tex", tex.encode())
        _files.write(target / "reveal" / f"{deck.name}.html", page.encode())
        built.append((deck.name, len(deck.every), beamer.pages(deck), len(names)))
    return built


def files_of(deck: frames.Deck) -> list[str]:
    """Names of the figure files that a deck shows, without theme and suffix."""
    names = {}
    for picture in (frame.picture for frame in deck.every if frame.picture):
        steps = range(1, picture.steps + 1)
        names |= dict.fromkeys([f"{picture.name}-{step}" for step in steps] if steps else [picture.name])
    return list(names)
