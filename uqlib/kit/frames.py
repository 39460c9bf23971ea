"""What is on the slides of a notebook: nine from its tagged cells as stored, then its votes and its other figures.

Nothing is run. The votes are those of the lecture plan; a figure that the nine do not show has a slide of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from uqlib.kit import tagged, words
from uqlib.kit.plan import Vote
from uqlib.kit.tagged import Picture, Tagged, source

KINDS = ("claim", "question", "equation", "lines", "predict", "figure", "reading", "breaks", "takeaway")


@dataclass(frozen=True)
class Frame:
    """One slide. Text is Markdown, a sentence each; `last` is the exercise, `options` are those of a vote.

    `note` is what only the speaker sees, `label` names the slide in the course: 03-claim, 03-vote-1, figure-03-loss.
    """

    kind: str
    title: str
    text: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    picture: Picture | None = None
    last: str = ""
    note: str = ""
    options: tuple[tuple[str, str], ...] = ()
    label: str = ""

    @property
    def python(self) -> bool:
        """Whether the code is Python, not printed output."""
        return self.kind == "lines" or any(line.startswith("def ") for line in self.code)

    @property
    def large(self) -> bool:
        """Whether there are so few words, and nothing else, that they may be larger."""
        if self.picture or self.code or self.kind not in ("predict", "breaks", "equation"):
            return False
        return self.kind != "equation" or len(words.plain(" ".join(self.text))) < 220


@dataclass(frozen=True)
class Deck:
    """The nine frames of one notebook and those after them: its votes, and figures that the nine do not show.

    A deck that joins several has all frames in `frames`.
    """

    name: str
    title: str
    frames: tuple[Frame, ...]
    after: tuple[Frame, ...] = ()

    @property
    def every(self) -> tuple[Frame, ...]:
        """All frames in their order."""
        return self.frames + self.after


def collect(path: Path, figures: Sequence[dict], votes: Sequence[Vote] = ()) -> Deck:
    """The frames of one notebook, in the order of KINDS; `figures` are the records of `gallery.collect`.

    Raises ValueError with notebook, tag and cell, for a tag that is missing, doubled or unknown, for a cell that has
    not what its tag promises, and for words or lines that are too many for a slide.
    """
    notebook = tagged.read(path, figures)
    number = path.name[:2]
    made = (_claim, _question, _equation, _lines, _predict, _figure, _reading, _breaks, _takeaway)
    nine = tuple(replace(frame, label=f"{number}-{frame.kind}") for frame in (make(notebook) for make in made))
    shown = {frame.picture.name for frame in nine if frame.picture}
    more = [record for record in figures if record["notebook"] == path.name and record["name"] not in shown]
    after = [_vote(number, place, vote) for place, vote in enumerate(votes, 1)] + [_more(record) for record in more]
    return Deck(path.stem, f"{number} · {nine[0].title}", nine, tuple(after))


def _vote(number: str, place: int, vote: Vote) -> Frame:
    """A question with its options; for the speaker what each hand tells, and what to say next."""
    options = tuple((one.letter, one.text) for one in vote.options)
    note = "\n".join(f"**{one.letter}{' ✓' * one.right}** {one.tells}. Say: {one.say}" for one in vote.options)
    return Frame("vote", f"Vote {place}", (vote.question,), note=note, options=options, label=f"{number}-vote-{place}")


def _more(record: dict) -> Frame:
    picture = Picture(record["name"], record["alt"], len(record["steps"]))
    return Frame("more", record["title"], picture=picture, label=f"figure-{record['name']}")


def _claim(notebook: Tagged) -> Frame:
    """The title and the line below it: the first cell of a notebook needs no tag."""
    heading, claim = source(notebook.every[0]).splitlines()[:2]
    return Frame("claim", heading.partition(" · ")[2], notebook.fits("claim", [claim], notebook.every[0]))


def _question(notebook: Tagged) -> Frame:
    return _shown(notebook, "question", "Question", "data")


def _breaks(notebook: Tagged) -> Frame:
    return _shown(notebook, "breaks", "Where it breaks", "breaks-figure")


def _shown(notebook: Tagged, kind: str, title: str, seen: str) -> Frame:
    """Words, with the figure of the cell tagged for it or, if that has none, with what it printed."""
    text = notebook.first(kind)
    if not notebook.cells[seen]:
        return Frame(kind, title, text)
    picture = notebook.picture(seen)
    printed = () if picture else notebook.output(seen, notebook.cells[seen][0])
    return Frame(kind, title, text, () if picture else notebook.code(seen, printed, tagged.OUTPUT), picture)


def _equation(notebook: Tagged) -> Frame:
    found = notebook.first("equation")
    if "$" not in "".join(found):
        cell = notebook.cells["equation"][0]
        raise notebook.wrong("equation", cell, "expected a formula among the first sentences, got none")
    return Frame("equation", "Idea", found)


def _lines(notebook: Tagged) -> Frame:
    lines = []
    for cell in notebook.cells["lines"]:
        lines += [""] if lines and lines[-1].startswith(" ") else []  # a body ends, another cell begins
        lines += notebook.lines(cell)
    return Frame("lines", "Code", code=notebook.code("lines", lines, tagged.LINES))


def _predict(notebook: Tagged) -> Frame:
    """The question put to the audience, after what leads to it if that is chosen; the answer is for the speaker."""
    (cell,) = notebook.cells["predict"]
    whole = r"\*\*Predict\.\*\* (.+?)<details><summary>.*?</summary>(.+?)</details>"
    found = re.search(whole, source(cell), re.DOTALL)
    if not found:
        raise notebook.wrong("predict", cell, "expected '**Predict.** question <details>answer</details>', got neither")
    question, answer = (" ".join(part.split()) for part in found.groups())
    lead = notebook.sentences("predict", cell) if notebook.chosen("predict", cell) else []
    if notebook.own("predict", cell):
        answer = notebook.chosen("answer", cell) or answer
    else:
        lead = [*lead, question]
    return Frame("predict", "Predict", notebook.fits("predict", lead, cell), note=answer)


def _figure(notebook: Tagged) -> Frame:
    """The headline figure under the sentence of its caption."""
    picture = notebook.picture("figure")
    if picture is None:
        raise notebook.wrong("figure", notebook.cells["figure"][0], "expected a cell that shows a figure, got none")
    return Frame("figure", notebook.record(picture.name)["title"], picture=picture)


def _reading(notebook: Tagged) -> Frame:
    """Up to three sentences that hold numbers, or what was printed, or both."""
    text, code = [], []
    for cell in notebook.cells["reading"]:
        if cell["cell_type"] == "code":
            code += notebook.output("reading", cell)
        else:
            found = notebook.sentences("reading", cell)
            text += found if notebook.chosen("reading", cell) else [one for one in found if re.search(r"\d", one)][:3]
    cell = notebook.cells["reading"][0]
    if text:
        notebook.fits("reading", text, cell)
    numbers = len(re.findall(r"\d+(?:\.\d+)?", words.plain(" ".join(text)) + " ".join(code)))
    if numbers < 3:
        raise notebook.wrong("reading", cell, f"expected three numbers, got {numbers}")
    return Frame("reading", "Reading", tuple(text), notebook.code("reading", code, tagged.OUTPUT) if code else ())


def _takeaway(notebook: Tagged) -> Frame:
    (cell,) = notebook.cells["takeaway"]
    text = notebook.fits("takeaway", notebook.sentences("takeaway", cell), cell)
    return Frame("takeaway", "Takeaway", text, last=_exercise(notebook))


def _exercise(notebook: Tagged) -> str:
    """The exercise with its stars; what stands before it and any folded hint are left out."""
    (cell,) = notebook.cells["exercise"]
    found = re.search(r"★.*", re.sub(r"<details>.*?</details>", "", source(cell), flags=re.DOTALL), re.DOTALL)
    if not found:
        raise notebook.wrong("exercise", cell, "expected an exercise that begins with ★, got none")
    return notebook.fits("exercise", [" ".join(found[0].split())], cell)[0]
