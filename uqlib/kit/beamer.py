"""The frames of a notebook as a beamer file; the look and the notation are in docs/slides/uqlib-beamer.sty."""

import math
import re

from uqlib.kit import code, words
from uqlib.kit.frames import Deck, Frame
from uqlib.kit.tagged import Picture

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {sign: f"\\{sign}" for sign in "&%$#_{}"} | {"<": r"\textless{}", ">": r"\textgreater{}"}
_IN_CODE = {"\\": r"\uqbackslash{}", "{": r"\uqleftbrace{}", "}": r"\uqrightbrace{}"}
# The notebooks' symbols and the macros that stand for them, so that a lecturer can use others.
NOTATION = (
    (r"\\mu(?![a-zA-Z])", r"\\uqmean"),
    (r"\\sigma(?![a-zA-Z])", r"\\uqnoise"),
    (r"(?<![\\a-zA-Z_^{])s(?=\(|\^|$)", r"\\uqepistemic"),
    (r"\\tau(?![a-zA-Z])", r"\\uqtau"),
    (r"\\phi(?![a-zA-Z])", r"\\uqfeatures"),
    (r"\\Phi(?=\\Big|\()", r"\\uqcdf"),
    (r"\\Phi(?![a-zA-Z])", r"\\uqdesign"),
    (r"\\Sigma(?![a-zA-Z])", r"\\uqcov"),
    (r"\\gamma(?![a-zA-Z])", r"\\uqsettled"),
    (r"\\mathcal N(?![a-zA-Z])", r"\\uqnormal"),
    (r"\\mathbb E(?![a-zA-Z])", r"\\uqexpect"),
    (r"\\mathrm\{NLL\}", r"\\uqnll"),
    (r"\\mathrm\{KL\}", r"\\uqkl"),
)
_LINE = 70  # characters of text in a line of a slide, about
_WIDTH = 398.0  # points of text in a line; a character of code is 0.525 of its size wide


def notation(formula: str) -> str:
    """A formula with our symbols replaced by macros."""
    for symbol, macro in NOTATION:
        formula = re.sub(symbol, macro, formula)
    return formula


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(sign, sign) for sign in text)


STYLE = {
    "text": _escape,
    "number": lambda text: rf"\uqnumber{{{text}}}",
    "strong": lambda text: rf"\textbf{{{text}}}",
    "em": lambda text: rf"\emph{{{text}}}",
    "code": lambda text: rf"\texttt{{{_escape(text)}}}",
    "math": lambda formula: f"${notation(formula)}$",
    "display": lambda formula: f"\n\\uqformula{{{notation(formula)}}}\n",
}


def to_tex(deck: Deck) -> str:
    """One beamer document. It needs uqlib-beamer.sty and the folders light and dark beside it, and pdflatex."""
    head = (
        f"% {deck.name}: made from the notebooks' tagged cells and the lecture plan. Text and figures: CC BY 4.0.\n"
        "\\documentclass[aspectratio=169,11pt]{beamer}\n"
        "\\usepackage[light,credit]{uqlib-beamer} % or dark, nocredit\n"
        "% Notation of yours goes here, for example: \\renewcommand{\\uqnoise}{\\varsigma}\n"
        "% The speaker's notes, on a page behind each frame: \\setbeameroption{show notes}\n"
        f"% Some frames only, by their labels: \\includeonlyframes{{{deck.every[0].label},{deck.every[1].label}}}\n"
        f"\\title{{{_tex(deck.title)}}}\n"
        "\\begin{document}\n\n"
    )
    return head + "\n".join(map(_frame, deck.every)) + "\n\\end{document}\n"


def pages(deck: Deck) -> int:
    """How many pages the document has: one a frame, and one more for each further step of a figure."""
    return sum(max(frame.picture.steps if frame.picture else 0, 1) for frame in deck.every)


def _tex(markdown: str, *, numbers: bool = False) -> str:
    return words.walk(markdown, STYLE, numbers=numbers).strip()


def _frame(frame: Frame) -> str:
    note = "\\par\n".join(map(_tex, frame.note.split("\n")))
    note = f"\\note{{{note}}}\n" if note else ""
    if frame.kind == "claim":
        body = f"\\uqclaim{{{frame.label[:2]}}}{{{_tex(frame.title)}}}{{{_tex(frame.text[0])}}}\n"
        return f"\\begin{{frame}}[plain,label={frame.label}]\n{body}{note}\\end{{frame}}\n"
    body = {"reading": _list, "takeaway": _list, "predict": _large, "vote": _vote}.get(frame.kind, _running)(frame)
    options = f"[{'fragile,' if frame.code else ''}label={frame.label}]"
    return f"\\begin{{frame}}{options}{{{_tex(frame.title)}}}\n{body}{note}\\end{{frame}}\n"


def _running(frame: Frame) -> str:
    """Sentences as one paragraph, then what is shown."""
    text = " ".join(map(_tex, frame.text))
    if frame.picture:
        lines = math.ceil(len(words.plain(" ".join(frame.text))) / _LINE)
        return (f"{text}\n\n\\uqroom{{{lines}}}\n" if text else "") + _figure(frame.picture)
    size = "\\large " if frame.large else ""
    return f"{size}{text}\n\n" + _code(frame)


def _figure(picture: Picture) -> str:
    steps = f"[{picture.steps}]" if picture.steps else ""
    return f"\\uqfigure{steps}{{{picture.name}}} % {picture.alt}\n"


def _list(frame: Frame) -> str:
    """What was printed, then a sentence an item, then the exercise."""
    numbers = frame.kind == "reading"
    items = "".join(f"  \\item {_tex(sentence, numbers=numbers)}\n" for sentence in frame.text)
    size = "\\large" if numbers and not frame.code else ""
    text = f"{size}\\begin{{itemize}}\n  \\setlength\\itemsep{{1.2ex}}\n{items}\\end{{itemize}}\n" if items else ""
    return _code(frame) + text + (f"\\uqexercise{{{_tex(frame.last)}}}\n" if frame.last else "")


def _large(frame: Frame) -> str:
    return f"\\vfill{{\\Large {' '.join(map(_tex, frame.text))}\\par}}\\vfill\\vfill\n"


def _vote(frame: Frame) -> str:
    items = "".join(f"  \\item[{letter}] {_tex(text)}\n" for letter, text in frame.options)
    return f"\\uqask{{{_tex(frame.text[0])}}}\n\\begin{{uqvote}}\n{items}\\end{{uqvote}}\n"


def _code(frame: Frame) -> str:
    """Code or printed output, as large as its longest line allows."""
    if not frame.code:
        return ""
    lines = code.fitted(frame.code, python=frame.python)
    size = min(13.0, math.floor(10 * _WIDTH / (0.526 * max(map(len, lines)))) / 10)
    body = code.coloured(
        lines,
        python=frame.python,
        escape=lambda text: "".join(_IN_CODE.get(sign, sign) for sign in text),
        mark=lambda kind, text: rf"\uq{kind}{{{text}}}",
    )
    return f"\\begin{{uqcode}}[fontsize=\\uqsize{{{size}}}]\n{body}\n\\end{{uqcode}}\n"
