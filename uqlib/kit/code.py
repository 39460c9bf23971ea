"""Code and printed output for slides, coloured lightly: keywords, strings, comments, and the numbers of outputs."""

import re
from collections.abc import Callable, Iterator, Sequence

from pygments import lex
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Operator, String

_NUMBER = re.compile(r"(?<![\w.])[−+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?: ?%)?(?![\w.]*\w)")


def pieces(lines: Sequence[str], *, python: bool) -> Iterator[tuple[str, str]]:
    """(kind, text) in order; kind is keyword, string, comment, number or empty. Texts join to the lines."""
    source = "\n".join(lines)
    if python:
        for token, text in lex(source, PythonLexer(stripnl=False, ensurenl=False)):
            word = token in Keyword or token is Operator.Word
            kind = "keyword" if word else "string" if token in String else "comment" if token in Comment else ""
            yield kind, text
        return
    end = 0
    for match in _NUMBER.finditer(source):
        yield "", source[end : match.start()]
        yield "number", match[0]
        end = match.end()
    yield "", source[end:]


def coloured(
    lines: Sequence[str], *, python: bool, escape: Callable[[str], str], mark: Callable[[str, str], str]
) -> str:
    """The lines in another language: `escape` for the characters, `mark(kind, text)` for a coloured piece of a line."""
    parts = []
    for kind, text in pieces(lines, python=python):
        rows = [escape(row) for row in text.split("\n")]
        parts.append("\n".join(mark(kind, row) if kind and row else row for row in rows))
    return "".join(parts)
