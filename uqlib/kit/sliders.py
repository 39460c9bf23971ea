"""A slider in JupyterLab that has a figure drawn again: for moving a std or a prior by hand, in class."""

import math
import os
from collections.abc import Callable

from uqlib import _exports, figures

_DPI = 130  # an image of a full-width figure is then 717 pixels wide


def explore(
    label: str, draw: Callable[..., object], low: float, high: float, *, value: float, **layout: object
) -> None:
    """Show a slider, logarithmic from `low` to `high`, and redraw `draw(*axes, number)` while it moves.

    `layout` are the options of `figures.build`. Where the environment variable UQLIB_STATIC is set, as in tests and
    stored outputs, one line of text stands in its place: put a figure with `figures.show` before it, so that nothing is
    lost.
    Raises ValueError unless 0 < low <= value <= high.
    """
    if not 0 < low <= value <= high:
        raise ValueError(f"value: expected 0 < low <= value <= high, got {low}, {value}, {high}")
    if os.environ.get("UQLIB_STATIC", ""):
        print(f"In JupyterLab a slider moves {label} from {low:g} to {high:g}.")
        return
    from IPython.display import display  # only a notebook needs these
    from ipywidgets import FloatLogSlider, Image, VBox

    def picture(number: float) -> bytes:
        figure = figures.build(lambda *axes: draw(*axes, number), **layout)
        return _exports.image(figure, "png", {}, figures.style(), dpi=_DPI, facecolor=page)

    page = figures.PALETTE["light"]["page"]
    low, high = math.log10(low), math.log10(high)
    slider = FloatLogSlider(value, min=low, max=high, step=(high - low) / 80, description=label, readout_format=".3g")
    image = Image(value=picture(value), format="png", width=717)
    slider.observe(lambda change: setattr(image, "value", picture(change["new"])), names="value")
    display(VBox([slider, image]))
