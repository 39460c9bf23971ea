"""With UQLIB_MEASURE=1 every figure that a notebook draws is measured, and a fault stops the notebook.

Nothing may be cut off at the edge, no two texts may touch, no text may be too small for the last row, and means, bands,
stds and truths stay inside their axes. (A loss in its first steps and a draw from a wide prior may be cropped.)
"""

import importlib.machinery
import itertools
import math
import os
import sys

LEAST, LABEL = 8.0, 10.0  # points
TOUCH = 1.0  # pixels of a hundredth of an inch that two boxes may share: letters rarely fill their boxes


def faults(figure, rc):
    """What is wrong with a figure, one sentence each; `rc` are the rcParams that it was built in."""
    import matplotlib as mpl

    with mpl.rc_context(rc):
        boxes = drawn_texts(figure)
    found = [*too_small(figure, boxes), *cut_off(figure, boxes), *touching(boxes)]
    for ax in figure.axes:
        found += [f"{line.get_gid()} leaves its axes" for line in ax.lines if leaves(ax, line)]
    return found


def drawn_texts(figure):
    """Each text that is really drawn, with its box in pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    boxes, plain = {}, Text.draw
    canvas = FigureCanvasAgg(figure)

    def draw(text, renderer):
        plain(text, renderer)
        if text.get_visible() and text.get_text().strip():
            boxes[text] = Text.get_window_extent(text, renderer)

    Text.draw = draw
    try:
        canvas.draw()
    finally:
        Text.draw = plain
    return boxes


def too_small(figure, boxes):
    """Texts below 8 pt, and axis labels and titles below 10 pt."""
    labels = [label for ax in figure.axes for label in (ax.xaxis.label, ax.yaxis.label)]
    for text in boxes:
        least = LABEL if text in labels else LEAST
        if text.get_fontsize() < least:
            yield f"{text.get_text()!r} is {text.get_fontsize():g} pt, at least {least:g} are wanted"


def cut_off(figure, boxes):
    """Texts that leave the figure."""
    for text, box in boxes.items():
        if box.x0 < -0.5 or box.y0 < -0.5 or box.x1 > figure.bbox.x1 + 0.5 or box.y1 > figure.bbox.y1 + 0.5:
            yield f"{text.get_text()!r} leaves the figure"


def touching(boxes):
    """Pairs of texts that overlap; slanted ones by their slanted boxes."""
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > TOUCH and up > TOUCH and outline(one, a).intersects_path(outline(other, b)):
            yield f"{one.get_text()!r} and {other.get_text()!r} overlap by {across:.0f} x {up:.0f} pixels"


def outline(text, box):
    """The box of a text as a path, turned as the text is."""
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    angle = math.radians(text.get_rotation())
    if abs(math.sin(2 * angle)) < 1e-9:
        return Path(box.corners()[[0, 1, 3, 2, 0]])
    # A rectangle w x h, turned, fills a box of (w cos + h sin) x (w sin + h cos).
    cos, sin = abs(math.cos(angle)), abs(math.sin(angle))
    across, up = ((cos * side - sin * other) / (cos**2 - sin**2) for side, other in (box.size, box.size[::-1]))
    middle = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    flat = Path(
        [(-across / 2, -up / 2), (-across / 2, up / 2), (across / 2, up / 2), (across / 2, -up / 2)], closed=False
    )
    return flat.transformed(Affine2D().rotate(angle).translate(*middle))


def leaves(ax, line):
    """Whether a named part goes above or below its axes where it is within them in x."""
    part = (line.get_gid() or "").split("-")[0]
    if part in ("", "draws") or line.get_transform() != ax.transData:
        return False
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    x, y = line.get_xydata().T
    here = (x >= left) & (x <= right)
    room = 1e-9 * (high - low)
    return bool(((y[here] < low - room) | (y[here] > high + room)).any())


def measure(module):
    """Make `figures.build` look at what it has built."""
    plain = module.build

    def build(draw, **options):
        figure = plain(draw, **options)
        looks = {name: value for name, value in options.items() if name in ("theme", "width", "height", "medium")}
        if found := faults(figure, module.style(**looks)):
            raise AssertionError("; ".join(found))
        return figure

    module.build = build


class AfterImport:
    """Patches the module once it is loaded, so that processes without figures do not pay for it."""

    def find_spec(self, name, path=None, target=None):
        """Find the module as usual, and add the patch to its loader."""
        if name != "uqlib.figures":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (load(module), measure(module))
        return spec


def start():
    """Measure in this process, if it is asked for."""
    if os.environ.get("UQLIB_MEASURE", "") not in ("", "0"):
        sys.meta_path.insert(0, AfterImport())
