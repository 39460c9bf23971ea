"""Two ideas that move: a band that settles while its net is trained, and functions drawn from a posterior.

Each as a gif for slides, light and dark, and as an HTML player for the site, written by matplotlib's own writers.
"""

import copy
import html
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib.animation import HTMLWriter, PillowWriter
from torch import Tensor

from uqlib import _files, datasets, figures, laplace, losses, models, plotting, runtime, training
from uqlib.predictive import Predictive

_DPI, _PACE = 104, 8  # pixels an inch, frames a second
_HOLD = 12  # how often the last frame is shown before it all begins again
# The player of matplotlib loads an icon font from elsewhere; these signs are in every font.
_SIGNS = {
    "minus": "−",
    "fast-backward": "«",
    "step-backward": "◂",
    "play fa-flip-horizontal": "◀",
    "pause": "‖",
    "play": "▶",
    "step-forward": "▸",
    "fast-forward": "»",
    "plus": "+",
}
# Narrow screens: the picture and the slider shrink with their frame.
_HEAD = (
    '<!DOCTYPE html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<style>body {font-family: sans-serif} .animation, .animation img {max-width: 100%}"
    " .animation input[type=range].anim-slider {width: 374px; max-width: 100%; box-sizing: border-box}</style>"
)


def make(out: Path) -> list[Path]:
    """Write the animations below `out`: THEME/NAME.gif and NAME.html, each whole or not at all."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        written = {}
        for name, (count, draw, alt) in {"band-settling": settling(), "posterior-draws": sampling()}.items():
            for theme in figures.PALETTE:
                written[out / theme / f"{name}.gif"] = _film(draw, count, theme, PillowWriter(_PACE), hold=_HOLD)
            player = HTMLWriter(_PACE, embed_frames=True, default_mode="once")
            written[out / f"{name}.html"] = _offline(_film(draw, count, "light", player), name, alt)
    finally:
        torch.set_default_dtype(before)
    for path, content in written.items():
        _files.write(path, content)
    return list(written)


def _film(draw: Callable, count: int, theme: str, writer: PillowWriter | HTMLWriter, hold: int = 0) -> bytes:
    """All frames of an animation as one file; the axes stay where the last frame has put them."""
    figure = figures.build(lambda ax: draw(ax, count - 1), theme=theme)
    page = figures.PALETTE[theme]["page"]
    suffix = ".gif" if isinstance(writer, PillowWriter) else ".html"
    with tempfile.TemporaryDirectory() as folder, mpl.rc_context(figures.style(theme)):
        path = Path(folder) / f"film{suffix}"
        with writer.saving(figure, path, _DPI):
            for frame in [*range(count), *[count - 1] * hold]:
                figure.axes[0].clear()
                draw(figure.axes[0], frame)
                writer.grab_frame(facecolor=page)
        return path.read_bytes()


def _offline(player: bytes, name: str, alt: str) -> bytes:
    """The player as a page that asks for nothing from elsewhere and says what it shows."""
    text = re.sub(r"<link rel=\"stylesheet\"\s*href=\"https:[^>]*>", "", player.decode())
    text = re.sub(r"_anim_(\w+?)[0-9a-f]{32}", rf"_anim_\1_{name}", text)  # the same names each time
    text = re.sub(r"\banim[0-9a-f]{32}", "anim_" + name.replace("-", "_"), text)
    for icon, sign in _SIGNS.items():
        text = text.replace(f'<i class="fa fa-{icon}"></i>', sign)
    text = _HEAD + text
    return text.replace("<img id=", f'<img alt="{html.escape(alt)}" id=').encode()


def settling() -> tuple[int, Callable, str]:
    """Notebook 03's net, seen after 0 to 500 steps: number of frames, how to draw one, and what it shows."""
    toy = datasets.toy("heteroskedastic")
    x, y = toy.training(n=100, generator=runtime.seed(10))
    query = datasets.query_grid(x)
    net = models.MeanNoiseNet(models.MLP(1, (10, 10), 2, generator=runtime.seed(0)))
    seen, moments, calls = [], [round(500 * (i / 40) ** 2) for i in range(41)], iter(range(501))

    def nll(x: Tensor, y: Tensor) -> Tensor:
        if next(calls) in moments:  # few steps apart at first, when much happens
            seen.append(models.predict(copy.deepcopy(net), query))
        mean, log_std = net(x)
        return losses.gaussian_nll(mean, y, log_std=log_std)

    training.fit(nll, net.parameters(), (x, y), steps=500, lr=1e-2)
    seen.append(models.predict(net, query))
    shown = sorted(set(moments))

    def draw(ax, frame: int) -> None:
        plotting.data(ax, x, y)
        plotting.truth(ax, query, toy.f(query))
        plotting.band(ax, query, seen[frame])
        plotting.mean(ax, query, seen[frame])
        ax.set(xlabel="$x$", ylabel="$y$", xlim=(-1.25, 1.25), ylim=(-3.6, 3.9))
        ax.set_title(f"after {shown[frame]} steps", loc="right")
        plotting.legend(ax, ncols=4)

    return len(seen), draw, "A wide, even band closes on the points while its net is trained, and becomes a fan."


def sampling() -> tuple[int, Callable, str]:
    """Notebook 08's posterior, one function after the other, until they fill the epistemic band."""
    toy = datasets.toy("homoskedastic")
    x, y = toy.training(n=100, generator=runtime.seed(10))
    net = models.MLP(1, (10, 10), 1, generator=runtime.seed(0))
    options = {"steps": 500, "lr": 1e-2, "weight_decay": 1 / 100}
    training.fit(lambda x, y: losses.gaussian_nll(net(x), y, std=0.2), net.parameters(), (x, y), **options)
    posterior = laplace.fit_head(net, (x, y), noise_std=0.2, prior_precision=1.0)
    query = torch.linspace(-2, 2, 201)[:, None]
    told = posterior.predict(query)
    doubt = Predictive(told.mean, 0.0, told.epistemic_std)
    functions = posterior.sample_functions(query, 40, runtime.seed(1))

    def draw(ax, frame: int) -> None:
        plotting.no_data(ax, -2, -1, label="")
        plotting.no_data(ax, 1, 2)
        plotting.data(ax, x, y)
        plotting.band(ax, query, doubt, part="epistemic")
        plotting.draws(ax, query, functions[: frame + 1])
        ax.set(xlabel="$x$", ylabel="$y$", xlim=(-2, 2), ylim=(-0.9, 2.0))
        ax.set_title(f"{frame + 1} of 40 functions", loc="right")
        plotting.legend(ax, ncols=3)

    return 40, draw, "Functions drawn from the posterior of a net, one after the other, fill its epistemic band."
