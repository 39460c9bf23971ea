"""Artists for data, truth, means, bands, stds and losses. They take tensors and an axes, and compute nothing.

What is not finite is an error, named: matplotlib would leave it out without a word.

Black is the world, colour is the model. Colours come from the style in force: the text colour is the ink, and the
colour cycle holds mean and total (C0), aleatoric (C1), epistemic (C2), so one draw function serves light and dark.
"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from torch import Tensor, tensor

from uqlib import _checks, _columns
from uqlib._columns import flat, in_order
from uqlib._overlays import named
from uqlib.predictive import Predictive, known

COLOURS = {"total": "C0", "aleatoric": "C1", "epistemic": "C2"}
_Range = tuple[float | int, float | int]
_LINES = {"total": ":", "aleatoric": "-", "epistemic": "--"}


def ink() -> str:
    """The colour of the world (data, truth, text) in the style in force."""
    return mpl.rcParams["text.color"]


def data(ax: Axes, x: Float[Tensor, "n 1"], y: Float[Tensor, "n 1"], *, label: str = "data", size: float = 2.8) -> None:
    """Draw the points (x, y), each (n, 1), as ink dots; the axis limits are taken from them and not from lines."""
    points = flat("x", x), flat("y", y)
    named("data", ax.plot(*points, "o", ms=size, mew=0, alpha=0.7, color=ink(), label=label, zorder=2))


def misses(ax: Axes, x: Float[Tensor, "n 1"], y: Float[Tensor, "n 1"], *, label: str) -> None:
    """Ring the points (x, y), each (n, 1), that a prediction missed."""
    points = flat("x", x), flat("y", y)
    named("misses", ax.plot(*points, "o", ms=6.5, mfc="none", mec=COLOURS["aleatoric"], mew=1.3, label=label, zorder=5))


def truth(ax: Axes, x: Float[Tensor, "n 1"], values: Float[Tensor, "n 1"], *, label: str = "truth") -> None:
    """Draw the true curve, `values` at x, each (n, 1), as a dashed ink line."""
    named("truth", ax.plot(*in_order(x, values), "--", lw=1.2, color=ink(), label=label, zorder=4))


def mean(ax: Axes, x: Float[Tensor, "n 1"], predictive: Predictive, *, label: str = "mean") -> None:
    """Draw the predicted mean at x, (n, 1), as a line."""
    x, values = in_order(x, known(predictive).mean)
    named("mean", ax.plot(x, values, lw=1.8, color=COLOURS["total"], label=label, zorder=3))


def band(ax: Axes, x: Float[Tensor, "n 1"], predictive: Predictive, *, part: str = "total", stds: float = 2.0) -> None:
    """Draw mean +- `stds` stds at x, (n, 1), edges included; the label says which std and how many.

    `part` is total, aleatoric or epistemic. A single fitted net has epistemic std zero: its total is its noise.
    """
    _checks.positive_number("stds", stds)
    x, centre, spread = in_order(x, known(predictive).mean, getattr(predictive, f"{_known(part)}_std"))
    low, high, colour = centre - stds * spread, centre + stds * spread, COLOURS[part]
    name = "std" if part == "total" else f"{part} std"
    fill = ax.fill_between(x, low, high, color=colour, alpha=0.3, lw=0, label=f"mean ± {stds:g} {name}", zorder=1)
    named(part, [fill, *(line for edge in (low, high) for line in ax.plot(x, edge, lw=1.2, color=colour, zorder=1))])


def std(
    ax: Axes, x: Float[Tensor, "n 1"], values: Float[Tensor, "n 1"], *, part: str = "total", label: str = ""
) -> None:
    """Draw a std at x, both (n, 1), from zero upward, its name (`label`, else the part) written at its right end."""
    x, values = in_order(x, values)
    _checks.not_negative("values", values)
    named(part, ax.plot(x, values, _LINES[_known(part)], lw=1.7, color=COLOURS[part]))
    named(part, [end_label(ax, x[-1].item(), values[-1].item(), label or part, colour=COLOURS[part])])


def std_panel(ax: Axes, x: Float[Tensor, "n 1"], predictive: Predictive, *, top: float) -> None:
    """Draw aleatoric, epistemic and total std at x, (n, 1), from 0 to `top`, their names at the right, kept apart."""
    _checks.positive_number("top", top)
    ends = []
    for part in ("aleatoric", "epistemic", "total"):
        place, values = in_order(x, getattr(known(predictive), f"{part}_std"))
        named(part, ax.plot(place, values, _LINES[part], lw=1.7, color=COLOURS[part]))
        ends.append((values[-1].item(), part))
    heights, gap = [], 0.075 * top
    for value, _ in sorted(ends):  # kept apart upwards, then pushed down from the top
        heights.append(max(value, heights[-1] + gap) if heights else value)
    for i in (2, 1, 0):
        heights[i] = min(heights[i], top - gap * (2 - i))
    for height, (_, part) in zip(heights, sorted(ends), strict=True):
        named(part, [end_label(ax, place[-1].item(), height, part, colour=COLOURS[part])])
    ax.set(title="standard deviation", ylim=(0, top))


def draws(ax: Axes, x: Float[Tensor, "n 1"], functions: Float[Tensor, "s n 1"], *, label: str = "draws") -> None:
    """Draw each of s functions at x as a thin line; together they have one entry in the legend."""
    if not isinstance(functions, Tensor) or functions.ndim != 3 or not functions.numel():
        raise ValueError(f"functions: expected a tensor of shape (s, n, 1), got {_checks.kind(functions)}")
    for one in functions:
        curve = in_order(x, one, name="functions")
        named("draws", lines := ax.plot(*curve, lw=0.8, alpha=0.6, color=COLOURS["epistemic"], zorder=1))
    lines[0].set_label(label)


def heatmap(ax: Axes, matrix: Float[Tensor, "p p"], names: Sequence[str], *, limit: float) -> None:
    """Draw a covariance or correlation matrix as coloured squares from -limit to limit, every second row named."""
    import seaborn  # takes a second to import, and few notebooks need it

    if not isinstance(matrix, Tensor) or matrix.shape != (len(names), len(names)) or not limit > 0:
        raise ValueError(
            f"matrix: expected shape ({len(names)}, {len(names)}), one row for each name, and limit > 0, "
            f"got {_checks.kind(matrix)} and limit {limit}"
        )
    _checks.finite("matrix", matrix)
    # In these maps zero has the colour of the page: white, or nearly black.
    colours = "vlag" if mpl.colors.to_rgb(ink())[0] < 0.5 else "icefire"
    scale = ax.inset_axes((1.05, 0.0, 0.06, 1.0))  # beside the squares, whatever room there is
    options = {"vmin": -limit, "vmax": limit, "cbar_ax": scale, "cbar_kws": {"ticks": [-limit, 0, limit]}}
    seaborn.heatmap(matrix.detach().cpu().numpy(), ax=ax, cmap=colours, **options)
    ax.set_box_aspect(1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([i + 0.5 for i in range(0, len(names), 2)], names[::2], rotation=0)
        axis.set_tick_params(length=0)


def cloud(ax: Axes, points: Float[Tensor, "n 2"], *, xlim: _Range, ylim: _Range, bins: int = 45) -> None:
    """Draw many points in the plane, (n, 2), as a two-dimensional histogram that fades into the page."""
    import seaborn  # takes a second to import, and few notebooks need it

    if not isinstance(points, Tensor) or points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(f"points: expected a tensor of shape (n, 2), got {_checks.kind(points)}")
    _checks.finite("points", points)
    fading = [mpl.colors.to_rgba(COLOURS["epistemic"], alpha) for alpha in (0.1, 1.0)]
    colours = mpl.colors.LinearSegmentedColormap.from_list("fading", fading)
    across, up = points.detach().cpu().T.numpy()
    seaborn.histplot(x=across, y=up, ax=ax, bins=bins, binrange=(xlim, ylim), cmap=colours, thresh=0)
    ax.set(xlim=xlim, ylim=ylim)


def end_label(ax: Axes, x: float, y: float, text: str, *, colour: str | None = None) -> Annotation:
    """Write the name of a line just right of its end at (x, y), and return it; the layout makes room for it."""
    _checks.finite("x, y", tensor([x, y], device="cpu"))
    label = ax.annotate(
        text, (x, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9, color=colour or ink()
    )
    if text.isalpha():  # the label of the truth comes and goes with it
        named(text, [label])
    return label


def loss(
    ax: Axes,
    train: Float[Tensor, " steps"],
    held_out: Float[Tensor, " steps"] | None = None,
    *,
    floor: float | None = None,
    fresh_label: str = "fresh",
) -> None:
    """Draw loss curves against the step: training, held-out and, dashed in ink, the floor on fresh data."""
    if floor is not None:
        _checks.finite("floor", tensor(floor, device="cpu"))
        ax.axhline(floor, ls="--", lw=1.2, color=ink(), label="floor")
    if held_out is not None:
        ax.plot(_columns.line("held_out", held_out), lw=1.8, color=COLOURS["epistemic"], label=fresh_label)
    ax.plot(_columns.line("train", train), lw=1.5, color=COLOURS["total"], label="training", zorder=3)
    ax.set(xlabel="step", ylabel="loss (nats a point)", xlim=(0, len(train)))


def strip(ax: Axes, groups: Mapping[str, Float[Tensor, " seeds"]], *, colour: str = "C0", size: float = 3.8) -> None:
    """Draw one dot a seed for each named group, side by side, and a bar at each group's mean."""
    import seaborn  # takes a second to import, and few notebooks need it

    lines = {name: _columns.line(name, values).double().numpy() for name, values in groups.items()}
    seaborn.swarmplot(lines, ax=ax, color=colour, size=size, alpha=0.8, legend=False)
    for place, values in enumerate(lines.values()):
        ax.plot([place - 0.28, place + 0.28], [values.mean()] * 2, lw=2, color=ink(), zorder=5)
    ax.set(xlabel="", xlim=(-0.6, len(groups) - 0.4))


def no_data(ax: Axes, low: float, high: float, *, label: str = "no data") -> None:
    """Shade the range of x from low to high, where nothing was measured, and say so at its foot."""
    _checks.finite("low, high", tensor([low, high], device="cpu"))
    ax.axvspan(low, high, color=ink(), alpha=0.07, lw=0, zorder=0)
    ax.text((low + high) / 2, 0.02, label, transform=ax.get_xaxis_transform(), ha="center", va="bottom", fontsize=8.5)


def legend(ax: Axes, **options: object) -> None:
    """Draw the legend of an axes, without frame, each label once; call it once a figure."""
    tight = {"handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 0.9, "borderaxespad": 0.3}
    once = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ax.legend(**{"loc": "upper left", "handles": [*once.values()], "labels": [*once]} | tight | options)


def _known(part: str) -> str:
    if part not in COLOURS:
        raise ValueError(f"part: expected one of {', '.join(COLOURS)}, got {part!r}")
    return part
