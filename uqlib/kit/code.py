"""Code and printed output for slides, coloured lightly: keywords, strings, comments, and the numbers of outputs."""

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence

from pygments import lex
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Operator, String

WIDTH = 75  # characters a line: 10 points in beamer
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


def fitted(lines: Sequence[str], *, python: bool) -> list[str]:
    """The lines for a slide: none wider than WIDTH if that can be had without a smaller letter.

    Of code, a comment behind a long line moves above it, and a line that is still too long breaks inside brackets. Of
    printed output, blank columns get narrower, and +- becomes ±.
    """
    if python:
        tokens = list(tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline))
        return [part for row, line in enumerate(lines, 1) for part in _broken(line, row, tokens)]
    lines = [_signed(line) for line in lines]
    for kept in (3, 2, 1):
        if max(map(len, lines)) > WIDTH:
            lines = _closer(lines, kept)
    return lines


def _broken(line: str, row: int, tokens: Sequence[tokenize.TokenInfo]) -> Iterator[str]:
    indent = len(line) - len(line.lstrip())
    comments = [one for one in tokens if one.type == tokenize.COMMENT and one.start[0] == row and one.start[1] > indent]
    if len(line) > WIDTH and comments:
        yield line[:indent] + comments[0].string
        line = line[: comments[0].start[1]].rstrip()
    places, depth = [], 0
    for token in tokens:
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        if token.end[0] == row and depth and token.string in "([{," and token.end[1] <= WIDTH:
            places.append((-depth, token.end[1]))
    if len(line) > WIDTH and places:
        place = max(places)[1]
        yield line[:place].rstrip()
        line = " " * (indent + 8) + line[place:].lstrip()
    yield line


def _signed(line: str) -> str:
    """With ±, and numbers in a column where they were."""
    line = re.sub(r"(?<=  )([\d.−-]+) \+- (?=\d)", r" \1 ± ", line)
    return re.sub(r" \+- (?=\d)", " ± ", line)


def _closer(lines: Sequence[str], kept: int) -> list[str]:
    """Columns that are blank in every row go, but for the first few of each run; a line of words is no row."""
    rows = [line for line in lines if re.search(r"\S {2,}\S", line)]
    run, columns = 0, []
    for place in range(max(map(len, rows), default=0)):
        run = run + 1 if all(row[place : place + 1] in ("", " ") for row in rows) else 0
        columns += [place] if run <= kept else []
    return ["".join(line[place : place + 1] for place in columns) if line in rows else line for line in lines]


def coloured(
    lines: Sequence[str], *, python: bool, escape: Callable[[str], str], mark: Callable[[str, str], str]
) -> str:
    """The lines in another language: `escape` for the characters, `mark(kind, text)` for a coloured piece of a line."""
    parts = []
    for kind, text in pieces(lines, python=python):
        rows = [escape(row) for row in text.split("\n")]
        parts.append("\n".join(mark(kind, row) if kind and row else row for row in rows))
    return "".join(parts)
