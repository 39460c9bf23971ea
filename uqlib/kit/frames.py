"""What is on the nine slides of a notebook: taken from its tagged cells as stored, word for word; nothing is run.

A tag slide-KIND says what a cell is for. A cell's metadata may choose parts of it, for example
`"slide": {"question": [1, 3], "lines": [2, 5], "data": "08-band-1"}`: sentences of a text cell by number, ranges of
lines of code, lines of printed output by number, or a figure by name. Without it a rule takes what fits.
"""

import ast
import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uqlib.kit import words

KINDS = ("claim", "question", "equation", "lines", "predict", "figure", "reading", "breaks", "takeaway")
_ONE = ("question", "data", "equation", "predict", "figure", "breaks", "takeaway", "exercise")
_SOME = ("lines", "reading")  # their cells are joined: a code cell and a text cell, say
_PERHAPS = ("breaks-figure",)
LIMITS = {  # characters of plain words on one frame; formulas on display do not count
    "claim": 200, "question": 320, "equation": 360, "predict": 420, "reading": 420, "breaks": 280, "breaks, alone": 420, "takeaway": 440,
    "exercise": 360,
}  # fmt: skip
LINES, OUTPUT, WIDTH = 6, 7, 100  # of code, of printed output, characters a line
_TITLES = {"question": "Question", "equation": "Idea", "lines": "Code", "predict": "Predict", "reading": "Reading"}
_TITLES |= {"breaks": "Where it breaks", "takeaway": "Takeaway"}


@dataclass(frozen=True)
class Picture:
    """A figure by the name of its files; `steps` above zero: NAME-1, NAME-2, ... come one after the other."""

    name: str
    alt: str
    steps: int = 0


@dataclass(frozen=True)
class Frame:
    """One slide. Text is Markdown, a sentence each; `last` is the exercise, `note` what only the speaker sees."""

    kind: str
    title: str
    text: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    picture: Picture | None = None
    last: str = ""
    note: str = ""


@dataclass(frozen=True)
class Deck:
    """The nine frames of one notebook, and its number and file name without suffix."""

    number: str
    name: str
    frames: tuple[Frame, ...]


def collect(path: Path, figures: Sequence[dict]) -> Deck:
    """The frames of one notebook, in the order of KINDS; `figures` are the records of `gallery.collect`.

    Raises ValueError with notebook, tag and cell, for a tag that is missing, doubled or unknown, for a cell that has
    not what its tag promises, and for words or lines that are too many for a slide.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    notebook = _Notebook(path.name, _tagged(path.name, cells), {record["name"]: record for record in figures})
    heading, claim = _source(cells[0]).splitlines()[:2]
    number, _, title = heading.lstrip("# ").partition(" · ")
    question, answer = _predict(notebook)
    shown = notebook.picture("figure")
    caption = notebook.record(shown.name)["title"]
    lines = [line for cell in notebook.cells["lines"] for line in _lines(notebook, cell)]
    parts = {
        "claim": Frame("claim", title, (notebook.fits("claim", [claim], cells[0])[0],)),
        "question": _shown(notebook, "question", "data"),
        "equation": Frame("equation", _TITLES["equation"], _equation(notebook)),
        "lines": Frame("lines", _TITLES["lines"], code=notebook.code("lines", lines, LINES)),
        "predict": Frame("predict", _TITLES["predict"], (question,), note=answer),
        "figure": Frame("figure", caption, picture=shown),
        "reading": _reading(notebook),
        "breaks": _shown(notebook, "breaks", "breaks-figure"),
        "takeaway": Frame("takeaway", _TITLES["takeaway"], notebook.all("takeaway"), last=_exercise(notebook)),
    }
    return Deck(number, path.stem, tuple(parts[kind] for kind in KINDS))


@dataclass(frozen=True)
class _Notebook:
    """A notebook's tagged cells, and the lookups that name the place when something is missing."""

    name: str
    cells: dict[str, list[dict]]
    figures: dict[str, dict]

    def wrong(self, kind: str, cell: dict, message: str) -> ValueError:
        return ValueError(f"{self.name}, slide-{kind}, cell {cell['id']}: {message}")

    def record(self, name: str) -> dict:
        return self.figures.get(name) or self.figures[re.sub(r"-\d+$", "", name)]

    def limit(self, kind: str) -> int:
        """Characters on the frame; without a figure the words have its room as well."""
        return LIMITS["breaks, alone" if kind == "breaks" and not self.cells["breaks-figure"] else kind]

    def fits(self, kind: str, sentences: Sequence[str], cell: dict) -> tuple[str, ...]:
        """The sentences, if they fit the frame."""
        count, most = _length(sentences), self.limit(kind)
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
        return cell["metadata"].get("slide", {}).get(kind)

    def sentences(self, kind: str, cell: dict) -> list[str]:
        """The sentences that the cell's metadata choose, or all; what asks for a prediction is left out."""
        text = re.sub(r"\*\*Figure \d\d\.\d+\.\*\* ", "", _source(cell).split("**Predict.**")[0])
        found, places = words.sentences(text), self.chosen(kind, cell)
        try:
            return [found[place - 1] for place in places] if places else found
        except IndexError:
            raise self.wrong(kind, cell, f"expected sentences among 1 to {len(found)}, got {places}") from None

    def first(self, kind: str, cell: dict) -> tuple[str, ...]:
        """The chosen sentences; without a choice, the first ones that fit."""
        found = self.sentences(kind, cell)
        while not self.chosen(kind, cell) and len(found) > 1 and _length(found) > self.limit(kind):
            found = found[:-1]
        return self.fits(kind, found, cell)

    def all(self, kind: str) -> tuple[str, ...]:
        return self.fits(kind, self.sentences(kind, self.cells[kind][0]), self.cells[kind][0])

    def output(self, kind: str, cell: dict) -> list[str]:
        """What the cell printed, or the lines of it that are chosen."""
        lines = "".join("".join(part.get("text", [])) for part in cell.get("outputs", [])).splitlines()
        places = self.chosen(kind, cell)
        return [lines[place - 1] for place in places] if isinstance(places, list) else lines

    def picture(self, kind: str) -> Picture | None:
        """The figure that the cell shows or names, or None; a data frame shows the first step of one with steps."""
        (cell,) = self.cells[kind]
        found = re.search(r'figures\.show\(\s*"([^"]+)"', _source(cell))
        name = self.chosen(kind, cell) or (found[1] if found else None)
        if not isinstance(name, str):
            if kind == "figure":
                raise self.wrong(kind, cell, "expected a cell that shows a figure, got none")
            return None
        steps = self.record(name)["steps"] if name in self.figures else []
        if kind == "data" and steps:
            name, steps = f"{name}-1", []
        return Picture(name, self.record(name)["alt"], len(steps))


def _tagged(name: str, cells: list[dict]) -> dict[str, list[dict]]:
    """The cells of each tag; one line of complaint if a tag is missing, doubled or unknown."""
    found = {kind: [] for kind in (*_ONE, *_SOME, *_PERHAPS)}
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
    return found


def _source(cell: dict) -> str:
    return "".join(cell["source"])


def _length(sentences: Sequence[str]) -> int:
    return len(" ".join(words.plain(re.sub(r"\$\$.+?\$\$", "", sentence)) for sentence in sentences))


def _shown(notebook: _Notebook, kind: str, seen: str) -> Frame:
    """Words, with the figure of the cell tagged for it or, if that has none, with what it printed."""
    text = notebook.first(kind, notebook.cells[kind][0])
    if not notebook.cells[seen]:
        return Frame(kind, _TITLES[kind], text)
    picture = notebook.picture(seen)
    code = () if picture else notebook.code(seen, notebook.output(seen, notebook.cells[seen][0]), OUTPUT)
    return Frame(kind, _TITLES[kind], text, code, picture)


def _equation(notebook: _Notebook) -> tuple[str, ...]:
    (cell,) = notebook.cells["equation"]
    found = notebook.first("equation", cell)
    if "$" not in "".join(found):
        raise notebook.wrong("equation", cell, "expected a formula among the first sentences, got none")
    return found


def _lines(notebook: _Notebook, cell: dict) -> list[str]:
    """The chosen ranges of lines, each moved to the left margin; they must stand alone as Python."""
    lines = _source(cell).splitlines()
    ends = notebook.chosen("lines", cell) or [1, len(lines)]
    pieces = [lines[first - 1 : last] for first, last in zip(ends[::2], ends[1::2], strict=True)]
    chosen = []
    for piece in pieces:
        chosen += [""] if chosen and chosen[-1].startswith(" ") else []  # a body ends, another statement begins
        chosen += textwrap.dedent("\n".join(piece)).splitlines()
    try:
        ast.parse("\n".join(chosen))
    except SyntaxError as error:
        raise notebook.wrong("lines", cell, f"expected whole statements, got {error.text.strip()!r}") from None
    return [re.sub(r"(?<=\S) {3,}(?=# )", "  ", line) for line in chosen]  # comments need no common margin here


def _predict(notebook: _Notebook) -> tuple[str, str]:
    """The question put to the audience, after what leads to it if that is chosen, and the folded answer."""
    (cell,) = notebook.cells["predict"]
    found = re.search(
        r"\*\*Predict\.\*\* (.+?)<details><summary>.*?</summary>(.+?)</details>", _source(cell), re.DOTALL
    )
    if not found:
        raise notebook.wrong("predict", cell, "expected '**Predict.** question <details>answer</details>', got neither")
    question, answer = (" ".join(part.split()) for part in found.groups())
    lead = notebook.sentences("predict", cell) if notebook.chosen("predict", cell) else []
    return " ".join(notebook.fits("predict", [*lead, question], cell)), answer


def _reading(notebook: _Notebook) -> Frame:
    """Up to three sentences that hold numbers, or what was printed, or both."""
    text, code = [], []
    for cell in notebook.cells["reading"]:
        if cell["cell_type"] == "code":
            code += notebook.output("reading", cell)
        else:
            found = notebook.sentences("reading", cell)
            text += found if notebook.chosen("reading", cell) else [one for one in found if re.search(r"\d", one)][:3]
    if text:
        notebook.fits("reading", text, notebook.cells["reading"][0])
    if not re.search(r"\d.*\d.*\d", words.plain(" ".join([*text, *code])), re.DOTALL):
        raise notebook.wrong("reading", notebook.cells["reading"][0], "expected three numbers, got fewer")
    return Frame("reading", _TITLES["reading"], tuple(text), notebook.code("reading", code, OUTPUT) if code else ())


def _exercise(notebook: _Notebook) -> str:
    """The exercise with its stars; what stands before it and any folded hint are left out."""
    (cell,) = notebook.cells["exercise"]
    found = re.search(r"★.*", re.sub(r"<details>.*?</details>", "", _source(cell), flags=re.DOTALL), re.DOTALL)
    if not found:
        raise notebook.wrong("exercise", cell, "expected an exercise that begins with ★, got none")
    return notebook.fits("exercise", [" ".join(found[0].split())], cell)[0]
