"""Markdown for slides: cut into sentences, read as plain words, and walked once for LaTeX and for HTML."""

import re
from collections.abc import Callable, Mapping
from functools import cache

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

_KEPT = re.compile(r"`[^`]*`|\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)  # a full stop in there ends no sentence
_MARK = "\x01{}\x02"
_MARKED = re.compile("\x01(\\d+)\x02\x03?")
_STOP = re.compile('(?<=[.!?\x03])["”*)]*\\s+(?=["“*(\\[]*[A-Z\x01])')
_ITEM = re.compile(r"(?m)^(?:\d+\.|[*-]) +(?=\S)")
_NUMBER = re.compile(r"(?<![\w.])(?<!notebook )(?<!notebooks )[−+±-]?\d[\d,]*(?:\.\d+)?(?: \d{3}\b)*(?: ?%)?")


def paragraphs(markdown: str) -> list[str]:
    """The paragraphs and list items of a cell; headings, tables, folded answers and quote marks are left out."""
    text = re.sub(r"<details>.*?</details>", "", markdown, flags=re.DOTALL)
    text = re.sub(r"(?m)^>[ ]?", "", text)
    text = re.sub(r"(?m)^(#+ .*|\|.*)$", "\n", text)
    text = _ITEM.sub("\n\n", text)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(markdown: str) -> list[str]:
    """Whole sentences, in order; one that opens an emphasis or a bracket runs on until it is closed."""
    found = []
    for paragraph in paragraphs(markdown):
        kept = []

        def hide(match: re.Match, kept: list[str] = kept) -> str:
            kept.append(match[0])
            ends = match[0].startswith("$$") and match[0].strip("$ ").endswith(".")
            return _MARK.format(len(kept) - 1) + "\x03" * ends

        hidden, start, pieces = _KEPT.sub(hide, paragraph), 0, []
        for stop in _STOP.finditer(hidden):
            piece = hidden[start : stop.end()]
            if piece.count("*") % 2 == 0 and piece.count("**") % 2 == 0 and piece.count("(") == piece.count(")"):
                pieces.append(piece.strip())
                start = stop.end()
        pieces.append(hidden[start:].strip())
        found += [_MARKED.sub(lambda match, kept=kept: kept[int(match[1])], piece) for piece in pieces if piece]
    return found


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").use(dollarmath_plugin, allow_space=True, allow_digits=True, double_inline=True)


def walk(markdown: str, style: Mapping[str, Callable[[str], str]], *, numbers: bool = False) -> str:
    """A line of Markdown in another language: `style` has one function each for text, number, strong, em, code, math
    and display. Links keep their words. `numbers` hands the numbers of the text to style["number"]."""

    def text(content: str) -> str:
        if not numbers:
            return style["text"](content)
        parts, end = [], 0
        for match in _NUMBER.finditer(content):
            parts += [style["text"](content[end : match.start()]), style["number"](style["text"](match[0]))]
            end = match.end()
        return "".join(parts) + style["text"](content[end:])

    stack = [[]]
    leaves = {"code_inline": "code", "math_inline": "math", "math_inline_double": "display"}
    for token in _parser().parseInline(markdown)[0].children or []:
        if token.type == "text":
            stack[-1].append(text(token.content))
        elif token.type in leaves:
            stack[-1].append(style[leaves[token.type]](token.content.strip()))
        elif token.type in ("softbreak", "hardbreak"):
            stack[-1].append(" ")
        elif token.nesting == 1:
            stack.append([])
        elif token.nesting == -1:
            inner, name = "".join(stack.pop()), token.type.removesuffix("_close")
            stack[-1].append(style[name](inner) if name in style else inner)
    return "".join(stack[0])


def plain(markdown: str) -> str:
    """The words without their marks; formulas and code as they are written."""
    same = dict.fromkeys(("text", "number", "strong", "em", "code", "math", "display"), str)
    return walk(markdown, same)
