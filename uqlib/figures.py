"""Styles as plain dictionaries, and one call that shows a figure in the notebook and exports it for slides."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from uqlib import _exports, _overlays
from uqlib._exports import export
from uqlib._styles import MEDIA, PALETTE, WIDTHS, style

__all__ = ["MEDIA", "PALETTE", "WIDTHS", "build", "export", "show", "style"]


def build(
    draw: Callable[..., object],
    *,
    theme: str = "light",
    medium: str = "16:9",
    width: str = "full",
    height: float | int = 2.6,
    panels: int | tuple[int, int] = 1,
    ratios: Sequence[float | int] | None = None,
    sharex: bool = False,
    sharey: bool = False,
) -> Figure:
    """One figure in one theme: make the axes, call `draw(*axes)`, lay out. The caller's rcParams come back.

    `panels` is the number of columns, or (rows, columns); `ratios` are the widths of the columns.
    """
    with mpl.rc_context(style(theme, width=width, height=height, medium=medium) | _exports.SETTLED):
        figure = Figure(layout="constrained")
        axes = figure.subplots(
            *((1, panels) if isinstance(panels, int) else panels),
            sharex=sharex,
            sharey=sharey,
            squeeze=False,
            gridspec_kw={"width_ratios": ratios},
        )
        draw(*axes.flat)
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine(None)  # settled once, so that every format shows the same layout
    return figure


def show(name: str, draw: Callable[..., object], *, alt: str, steps: Sequence[str] = (), **layout: object) -> None:
    """Draw a figure in the notebook and, when the environment variable UQLIB_FIGURES names a folder, export it.

    `draw` receives one `matplotlib.axes.Axes` a panel and may be called several times: once for the page, once for
    the dark theme. It must therefore draw and not compute. `alt` is what someone hears who can't see the figure.
    The layout options are those of `build`. `steps` builds the exported figure up, for slides: NAME-1 shows the first
    of the named parts (data, misses, mean, aleatoric, epistemic, total, draws, truth), NAME-2 the first two, and so on.

    Exports go to FOLDER/light/NAME.pdf, .svg, .png and FOLDER/dark/..., at exact size with transparent background,
    each written whole or not at all; UQLIB_MEDIUM asks for another medium than 16:9 slides, UQLIB_FIGURE for the figure
    of one name only. UQLIB_PAGES names a folder for the image that the page shows, NAME.png. A script, which shows no
    images, prints NAME and `alt`.
    Raises ValueError for a name that is no plain file name or an empty alt text.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
        raise ValueError(f"name: expected letters, digits and dashes, such as 03-noise-fan, got {name!r}")
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError("alt: expected a sentence that says what the figure shows, got nothing")
    figure = build(draw, **layout)
    _overlays.reveal(figure, steps, len(steps))
    _exports.inline(figure, name, alt)
    if (folder := os.environ.get("UQLIB_FIGURES", "")) and os.environ.get("UQLIB_FIGURE", name) == name:
        medium = os.environ.get("UQLIB_MEDIUM", "16:9")
        plain = {("light", "16:9"): figure}  # drawn already
        themes = ("light",) if medium == "paper" else PALETTE
        themed = {t: plain.get((t, medium)) or build(draw, theme=t, medium=medium, **layout) for t in themes}
        _exports.everything(themed, Path(folder).expanduser(), name, alt, steps, medium)
