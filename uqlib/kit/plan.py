"""The lecture plan as slides need it: the votes of each notebook, and what each way through the course shows."""

import re
from dataclasses import dataclass
from pathlib import Path

PLACE = Path("docs") / "lecture-plan.md"
WAYS = ("90-minutes", "lecture-1", "lecture-2", "lecture-3")  # each has a table of its own


@dataclass(frozen=True)
class Option:
    """One answer: what a hand for it tells, and what to say next."""

    letter: str
    text: str
    right: bool
    tells: str
    say: str


@dataclass(frozen=True)
class Vote:
    """A question for the audience and its three or four options."""

    question: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Row:
    """What a way shows of one notebook: figures by name, and whether there is a vote."""

    number: str
    figures: tuple[str, ...]
    vote: bool


def votes(text: str) -> dict[str, list[Vote]]:
    """The votes of each notebook, by its number, from the text of the plan.

    Raises ValueError for a vote whose table does not mark one right option.
    """
    found = {}
    for number, section in re.findall(r"(?ms)^## (\d\d) · (.*?)(?=^## |\Z)", text):
        for place, question, table in re.findall(r"(?ms)^\*\*Vote (\d)\.\*\* (.+?)\n\n(\|.+?)(?=\n\n|\Z)", section):
            options = tuple(_option(line) for line in table.splitlines()[2:])
            if sum(one.right for one in options) != 1:
                raise ValueError(f"lecture plan, {number}, vote {place}: expected one option marked ✓")
            found.setdefault(number, []).append(Vote(" ".join(question.split()), options))
    return found


def way(text: str, name: str) -> list[Row]:
    """The rows of a way's table that are about a notebook; ValueError for a way that the plan does not have."""
    heading = re.search(rf"(?mi)^(?:### |\*\*){name.replace('-', ' ')}\b", text) if name in WAYS else None
    if heading is None:
        raise ValueError(f"no way {name}; the lecture plan has {', '.join(WAYS)}")
    table = re.search(r"(?m)^\|.*(?:\n\|.*)*", text[heading.end() :])[0]
    rows = [_cells(line) for line in table.splitlines()]
    return [
        Row(number, tuple(re.findall(r"`([\w-]+)`", figures)), not re.search("no vote|question only", part))
        for _, _, number, part, figures in rows
        if re.fullmatch(r"\d\d", number)
    ]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _option(line: str) -> Option:
    letter, text, tells, say = _cells(line)
    letter = letter.strip("*").strip()
    return Option(letter[0], text, "✓" in letter, tells.rstrip("."), say)
