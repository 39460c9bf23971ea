"""The frames of a notebook as one HTML file with everything in it: reveal.js, MathJax and the figures.

nbconvert writes slides that fetch reveal.js, MathJax and more from other servers; jupyterlab-rise shows them in a
running JupyterLab only; sphinx-revealjs wants a Sphinx project, but its wheel brings reveal.js whole. So the scripts
come from its wheel and that of sphinx-mathjax-offline, and one function puts them into one file that opens from disk.
"""

import base64
import html
from collections.abc import Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

from uqlib.figures import PALETTE
from uqlib.kit import code, words
from uqlib.kit.frames import Deck, Frame
from uqlib.kit.tagged import Picture

_REVEAL = ("sphinx_revealjs", "_static/revealjs")
_MATHJAX = ("sphinx-mathjax-offline", "static/mathjax/tex-svg.js")
_escape = partial(html.escape, quote=False)
STYLE = {
    "text": lambda text: _escape(text).replace("★", '<span class="star">★</span>'),
    "number": lambda text: f'<b class="figure">{text}</b>',
    "strong": lambda text: f"<strong>{text}</strong>",
    "em": lambda text: f"<em>{text}</em>",
    "code": lambda text: f"<code>{_escape(text)}</code>",
    "math": lambda formula: rf"\({_escape(formula)}\)",
    "display": lambda formula: rf'<span class="display" data-prevent-swipe>\[{_escape(formula)}\]</span>',
}


def to_html(deck: Deck, figures: Mapping[str, Path], looks: Path) -> str:
    """One page that needs no network; `figures` are the folders of PNGs by theme, `looks` has our css and js.

    Raises ValueError if the packages with the scripts are not installed, FileNotFoundError for a figure without PNG.
    """
    colours = "".join(f"--{theme}-{name}: {value};" for theme in PALETTE for name, value in PALETTE[theme].items())
    styles = [_part(_REVEAL, "dist/reset.css"), _part(_REVEAL, "dist/reveal.css"), f":root {{{colours}}}"]
    styles.append((looks / "deck.css").read_text(encoding="utf-8"))
    scripts = [_part(_REVEAL, "dist/reveal.js"), _part(_REVEAL, "plugin/notes/notes.js")]
    scripts += [(looks / "deck.js").read_text(encoding="utf-8"), _part(_MATHJAX)]
    title = html.escape(deck.title)
    slides = "\n".join(_slide(frame, figures) for frame in deck.every)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<!-- Text and figures: CC BY 4.0. In this file: reveal.js (MIT licence) and MathJax"
        " (Apache License 2.0). Keys: D light or dark, S speaker's notes, F full screen. -->\n"
        + "".join(f"<style>\n{style}\n</style>\n" for style in styles)
        + f'</head>\n<body>\n<div class="reveal"><div class="slides">\n{slides}\n</div></div>\n'
        + "".join(f"<script>\n{script}\n</script>\n" for script in scripts)
        + "</body>\n</html>\n"
    )


@cache
def _part(package: tuple[str, str], file: str = "") -> str:
    """A script or style sheet as it lies in an installed package; the package itself is not imported."""
    name, folder = package
    spec = find_spec(name)
    if spec is None:
        raise ValueError(f"decks: expected the package {name}, got none; install it: python -m pip install '.[kit]'")
    path = Path(spec.submodule_search_locations[0]) / folder / file
    return path.read_text(encoding="utf-8").replace("</script", "<\\/script")


def _html(markdown: str, *, numbers: bool = False) -> str:
    return words.walk(markdown, STYLE, numbers=numbers)


def _slide(frame: Frame, figures: Mapping[str, Path]) -> str:
    note = "<br>".join(map(_html, frame.note.split("\n")))
    note = f'<aside class="notes">{note}</aside>' if note else ""
    if frame.kind == "claim":
        number = f'<div class="number">{frame.label[:2]}</div>'
        return _section(frame, f"{number}<h1>{_html(frame.title)}</h1><p>{_html(frame.text[0])}</p>")
    listed = frame.kind in ("reading", "takeaway")
    parts = [_html(sentence, numbers=frame.kind == "reading") for sentence in frame.text]
    text = "".join(f"<li>{part}</li>" for part in parts) if listed else " ".join(parts)
    text = (f"<ul>{text}</ul>" if listed else f"<p>{text}</p>") if text else ""
    body = _code(frame) + text if frame.kind == "reading" else text + _code(frame)
    body += _picture(frame.picture, figures) if frame.picture else ""
    body += f'<p class="exercise">{_html(frame.last)}</p>' if frame.last else ""
    options = "".join(f"<li>{_html(option)}</li>" for _, option in frame.options)
    body += f'<ol class="options">{options}</ol>' if options else ""
    return _section(frame, body, f"<h2>{_html(frame.title)}</h2>", note)


def _section(frame: Frame, body: str, head: str = "", note: str = "") -> str:
    kind = f"{frame.kind}{' shown' * bool(frame.picture)}{' large' * frame.large}"
    credit = '<div class="credit">uqlib course, CC BY 4.0</div>'
    return f'<section class="{kind}" id="{frame.label}">{head}<div class="body">{body}</div>{credit}{note}</section>'


def _picture(picture: Picture, figures: Mapping[str, Path]) -> str:
    """One image, or the steps of a figure in one place: each takes the place of the one before."""
    if not picture.steps:
        return f'<div class="stack">{_image(picture.name, picture.alt, figures)}</div>'
    images = []
    for step in range(1, picture.steps + 1):
        way = "fade-out" if step == 1 else "fade-in" if step == picture.steps else "fade-in-then-out"
        more = f' class="fragment {way}" data-fragment-index="{max(step - 2, 0)}"'
        images.append(_image(f"{picture.name}-{step}", picture.alt, figures, more))
    return f'<div class="stack">{"".join(images)}</div>'


def _image(name: str, alt: str, figures: Mapping[str, Path], more: str = "") -> str:
    light, dark = (_data(figures[theme] / f"{name}.png") for theme in ("light", "dark"))
    return f'<img{more} src="{light}" data-dark="{dark}" alt="{html.escape(alt)}">'


def _data(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def _code(frame: Frame) -> str:
    if not frame.code:
        return ""
    lines = code.fitted(frame.code, python=frame.python)
    body = code.coloured(
        lines,
        python=frame.python,
        escape=_escape,
        mark=lambda kind, text: f'<span class="{kind}">{text}</span>',
    )
    return f'<pre data-prevent-swipe style="--long: {max(map(len, lines))}">{body}</pre>'
