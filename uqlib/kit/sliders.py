"""A slider in JupyterLab that has a figure drawn again: for moving a std or a prior by hand, in class."""

import math
import os
from collections.abc import Callable

from uqlib import _exports, figures

_DPI, _WIDTH = 130, 717  # pixels of a full-width figure
_STEPS = 80


def explore(
    label: str, draw: Callable[..., object], low: float, high: float, *, value: float, **layout: object
) -> None:
    """Show a slider, logarithmic from `low` to `high` in 80 steps, and redraw `draw(*axes, number)` while it moves.

    It starts at the step nearest to `value`; `layout` are the options of `figures.build`. Where the environment
    variable UQLIB_STATIC is set, as in tests and stored outputs, one line of text stands in its place: put a figure
    with `figures.show` before it, so that nothing is lost. Raises ValueError unless 0 < low <= value <= high.
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
    step = (high - low) / _STEPS
    value = 10 ** (low + step * round((math.log10(value) - low) / step))  # the browser would move it there anyway
    slider = FloatLogSlider(value, min=low, max=high, step=step, description=label, readout_format=".3g")
    slider.layout.width = f"{_WIDTH}px"
    image = Image(value=picture(value), format="png", width=_WIDTH)
    slider.observe(lambda change: setattr(image, "value", picture(change["new"])), names="value")
    display(VBox([slider, image]))
