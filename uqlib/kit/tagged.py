"""The tagged cells of a notebook as stored: which cell serves which slide, and the words, lines and figure in it.

A tag slide-KIND says what a cell is for. A cell's metadata may choose parts of it, for example
`"slide": {"question": [1, 3], "lines": [2, 5], "data": "08-band-1"}`: sentences of a text cell by number, ranges of
lines of code, lines of printed output by number, or a figure by name. Without it a rule takes what fits. A string in
such a list stands on the slide as it is: where the notebook's words need their surroundings, the slide has its own.
"""

import ast
import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uqlib.kit import words

_ONE = ("question", "data", "equation", "predict", "figure", "breaks", "takeaway", "exercise")
_SOME = ("lines", "reading")  # their cells are joined: a code cell and a text cell, say
_PERHAPS = ("breaks-figure",)
LIMITS = {  # characters of plain words on one frame; formulas on display do not count
    "claim": 200,
    "question": 320,
    "equation": 360,
    "predict": 420,
    "reading": 420,
    "breaks": 280,
    "breaks, alone": 420,
    "takeaway": 440,
    "exercise": 360,
}
LINES, OUTPUT, WIDTH = 6, 7, 100  # of code, of printed output, characters a line


@dataclass(frozen=True)
class Picture:
    """A figure by the name of its files; `steps` above zero: NAME-1, NAME-2, ... come one after the other."""

    name: str
    alt: str
    steps: int = 0


@dataclass(frozen=True)
class Tagged:
    """A notebook's name, all its cells, those of each tag, and the records of all figures by name."""

    name: str
    every: list[dict]
    cells: dict[str, list[dict]]
    figures: dict[str, dict]

    def wrong(self, kind: str, cell: dict, message: str) -> ValueError:
        """One line that says where, what was expected and what arrived."""
        return ValueError(f"{self.name}, slide-{kind}, cell {cell['id']}: {message}")

    def record(self, name: str) -> dict:
        """What `gallery.collect` knows of a figure; a step has the record of its figure."""
        return self.figures.get(name) or self.figures[re.sub(r"-\d+$", "", name)]

    def fits(self, kind: str, sentences: Sequence[str], cell: dict) -> tuple[str, ...]:
        """The sentences, if they fit the frame."""
        count, most = _length(sentences), self._limit(kind)
        if not sentences or count > most:
            raise self.wrong(kind, cell, f"expected 1 to {most} characters of text, got {count}")
        return tuple(sentences)

    def code(self, kind: str, lines: Sequence[str], most: int) -> tuple[str, ...]:
        """The lines, if they fit the frame; blank ones are free."""
        count, width = sum(bool(line.strip()) for line in lines), max(map(len, lines), default=0)
        if not 1 <= count <= most or width > WIDTH:
            where = self.cells[kind][0]
            raise self.wrong(kind, where, f"expected 1 to {most} lines of {WIDTH} characters, got {count} of {width}")
        return tuple(lines)

    def chosen(self, kind: str, cell: dict) -> list | str | None:
        """What the cell's metadata choose for this slide, if anything."""
        return cell["metadata"].get("slide", {}).get(kind)

    def own(self, kind: str, cell: dict) -> bool:
        """Whether the cell's metadata have words of their own for this slide."""
        chosen = self.chosen(kind, cell)
        return isinstance(chosen, list) and any(isinstance(part, str) for part in chosen)

    def sentences(self, kind: str, cell: dict) -> list[str]:
        """The sentences that are chosen, or all; what asks for a prediction is left out."""
        text = re.sub(r"\*\*Figure \d\d\.\d+\.\*\* ", "", source(cell).split("**Predict.**")[0])
        found, places = words.sentences(text), self.chosen(kind, cell)
        return self._picked(kind, cell, found, places) if places else found

    def first(self, kind: str) -> tuple[str, ...]:
        """The chosen sentences; without a choice, the first ones that fit."""
        cell = self.cells[kind][0]
        found = self.sentences(kind, cell)
        while not self.chosen(kind, cell) and len(found) > 1 and _length(found) > self._limit(kind):
            found = found[:-1]
        return self.fits(kind, found, cell)

    def output(self, kind: str, cell: dict) -> list[str]:
        """What the cell printed, or the lines of it that are chosen."""
        lines = "".join("".join(part.get("text", [])) for part in cell.get("outputs", [])).splitlines()
        places = self.chosen(kind, cell)
        return self._picked(kind, cell, lines, places) if isinstance(places, list) else lines

    def lines(self, cell: dict) -> list[str]:
        """The chosen ranges of lines, each moved to the left margin; they must stand alone as Python.

        `"code"` in the metadata has lines for the slide in their place; the copy for live coding blanks the ranges.
        """
        if own := self.chosen("code", cell):
            return own
        lines = source(cell).splitlines()
        ends = self.chosen("lines", cell) or [1, len(lines)]
        chosen = []
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            chosen += [""] if chosen and chosen[-1].startswith(" ") else []  # a body ends, another statement begins
            chosen += textwrap.dedent("\n".join(lines[first - 1 : last])).splitlines()
        try:
            ast.parse("\n".join(chosen))
        except SyntaxError as error:
            raise self.wrong("lines", cell, f"expected whole statements, got {error.text.strip()!r}") from None
        return [re.sub(r"(?<=\S) {3,}(?=# )", "  ", line) for line in chosen]  # comments need no common margin here

    def picture(self, kind: str) -> Picture | None:
        """The figure that the cell shows or names, or None; a data frame shows the first step of one with steps."""
        (cell,) = self.cells[kind]
        shown = [
            one["name"] for one in self.figures.values() if (one["notebook"], one["cell"]) == (self.name, cell["id"])
        ]
        name = self.chosen(kind, cell) or (shown[0] if shown else None)
        if not isinstance(name, str):
            return None
        if name not in self.figures and re.sub(r"-\d+$", "", name) not in self.figures:
            raise self.wrong(kind, cell, f"expected the name of a figure of the series, got {name!r}")
        steps = self.record(name)["steps"] if name in self.figures else []
        if kind == "data" and steps:
            name, steps = f"{name}-1", []
        return Picture(name, self.record(name)["alt"], len(steps))

    def _limit(self, kind: str) -> int:
        """Characters on the frame; without a figure the words have its room as well."""
        return LIMITS["breaks, alone" if kind == "breaks" and not self.cells["breaks-figure"] else kind]

    def _picked(self, kind: str, cell: dict, found: list[str], places: list[int | str]) -> list[str]:
        if not all(isinstance(place, str) or 1 <= place <= len(found) for place in places):
            raise self.wrong(kind, cell, f"expected places from 1 to {len(found)}, got {places}")
        return [place if isinstance(place, str) else found[place - 1] for place in places]


def read(path: Path, figures: Sequence[dict]) -> Tagged:
    """The cells of each tag; ValueError with one line if a tag is missing, doubled or unknown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    name, found = path.name, {kind: [] for kind in (*_ONE, *_SOME, *_PERHAPS)}
    for cell in cells:
        for tag in cell["metadata"].get("tags", []):
            kind = tag.removeprefix("slide-")
            if kind != tag and kind not in found:
                raise ValueError(f"{name}, cell {cell['id']}: expected slide-{', slide-'.join(found)}, got {tag}")
            if kind != tag:
                found[kind].append(cell)
    for kind, holders in found.items():
        if not holders and kind not in _PERHAPS:
            raise ValueError(f"{name}: expected a cell tagged slide-{kind}, got none")
        if len(holders) > 1 and kind not in _SOME:
            places = ", ".join(cell["id"] for cell in holders)
            raise ValueError(f"{name}: expected one cell tagged slide-{kind}, got {len(holders)}: {places}")
    return Tagged(name, cells, found, {record["name"]: record for record in figures})


def source(cell: dict) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def _length(sentences: Sequence[str]) -> int:
    return len(" ".join(words.plain(re.sub(r"\$\$.+?\$\$", "", sentence)) for sentence in sentences))
