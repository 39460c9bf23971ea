"""Styles as plain dictionaries, and one call that shows a figure in the notebook and exports it for slides."""

import io
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from cycler import cycler
from matplotlib import font_manager
from matplotlib.figure import Figure
from tueplots import bundles

from uqlib import _files, _overlays

PALETTE = {
    "light": {"ink": "#222222", "total": "#882255", "aleatoric": "#CC7A00", "epistemic": "#0072B2", "page": "#FFFFFF"},
    "dark": {"ink": "#F2F2F2", "total": "#E58BB3", "aleatoric": "#F2B24C", "epistemic": "#6CB6E8", "page": "#1E2227"},
}
WIDTHS = {"full": 1.0, "half": 0.5}
_INLINE_DPI, _INLINE_SCALE = 220.0, 130.0  # pixels an inch that are stored, and that the page shows


def style(theme: str = "light", *, width: str = "full", height: float | int = 2.6) -> dict[str, object]:
    """The rcParams of a slide figure: tueplots' beamer size and font, our palette, labels 10 pt, ticks 8.5 pt.

    `theme` is light or dark, `width` full (5.51 in, the text width of a 16:9 beamer slide) or half, `height` is in
    inches. A plain dictionary for `matplotlib.rc_context`; nothing global changes. Raises ValueError for an unknown
    theme or width, or a height that is not above zero.
    """
    for name, value, known in (("theme", theme, PALETTE), ("width", width, WIDTHS)):
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    if not height > 0:
        raise ValueError(f"height: expected inches above 0, got {height}")
    _register_font()
    rc = bundles.beamer_moml(rel_width=WIDTHS[width])
    rc["figure.figsize"] = (rc["figure.figsize"][0], height)
    # tueplots asks for a light weight that the packaged font lacks; matplotlib would warn for each text drawn.
    rc |= dict.fromkeys(("font.weight", "axes.labelweight", "axes.titleweight"), "normal")
    rc |= {"mathtext.cal": "sans:italic", "mathtext.bf": "sans", "mathtext.bfit": "sans:italic"}
    rc |= {"font.sans-serif": ["Roboto Condensed", "DejaVu Sans"]}
    colours = PALETTE[theme]
    ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
    rc |= dict.fromkeys(ink, colours["ink"])
    rc["axes.prop_cycle"] = cycler(color=[colours[name] for name in ("total", "aleatoric", "epistemic")])
    rc |= dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize"), 10)
    rc |= dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 8.5)
    rc |= {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left", "legend.frameon": False}
    rc |= dict.fromkeys(("figure.facecolor", "savefig.facecolor"), "none")
    # Fixed ids and embedded TrueType: equal bytes for an equal figure, and text that stays text.
    return rc | {"pdf.fonttype": 42, "svg.hashsalt": "uqlib", "axes.unicode_minus": True, "savefig.bbox": None}


def build(
    draw: Callable[..., object],
    *,
    theme: str = "light",
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
    rows, columns = (1, panels) if isinstance(panels, int) else panels
    with mpl.rc_context(style(theme, width=width, height=height)):
        figure = Figure(layout="constrained")
        axes = figure.subplots(
            rows, columns, sharex=sharex, sharey=sharey, squeeze=False, gridspec_kw={"width_ratios": ratios}
        )
        draw(*axes.flat)
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")  # settled once, so that every format shows the same layout
    return figure


def show(name: str, draw: Callable[..., object], *, alt: str, steps: Sequence[str] = (), **layout: object) -> None:
    """Draw a figure in the notebook and, when the environment variable UQLIB_FIGURES names a folder, export it.

    `draw` receives one `matplotlib.axes.Axes` a panel and may be called several times: once for the page, once for
    the dark theme. It must therefore draw and not compute. `alt` is what someone hears who can't see the figure.
    The layout options are those of `build`. `steps` builds the exported figure up, for slides: NAME-1 shows the first
    of the named parts (data, misses, mean, aleatoric, epistemic, total, draws, truth), NAME-2 the first two, and so on.

    Exports go to FOLDER/light/NAME.pdf, .svg, .png and FOLDER/dark/..., at exact size with transparent background,
    each written whole or not at all. UQLIB_PAGES names a folder for the image that the page shows, NAME.png.
    Raises ValueError for a name that is no plain file name or an empty alt text.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
        raise ValueError(f"name: expected letters, digits and dashes, such as 03-noise-fan, got {name!r}")
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError("alt: expected a sentence that says what the figure shows, got nothing")
    figure = build(draw, **layout)
    _overlays.reveal(figure, steps, len(steps))
    page = PALETTE["light"]["page"]
    png = _rendered(figure, "png", {"Title": name, "Description": alt}, dpi=_INLINE_DPI, facecolor=page)
    _display(png, alt, round(figure.get_figwidth() * _INLINE_SCALE))
    if pages := os.environ.get("UQLIB_PAGES", ""):
        _files.write(Path(pages) / f"{name}.png", png)
    if folder := os.environ.get("UQLIB_FIGURES", ""):
        # All themes are drawn before the first file is written: a draw that fails leaves no half set.
        themed = {theme: figure if theme == "light" else build(draw, theme=theme, **layout) for theme in PALETTE}
        for theme, one in themed.items():
            for count in range(len(steps) + 1):
                _overlays.reveal(one, steps, count or len(steps))
                export(one, Path(folder).expanduser() / theme / f"{name}{-count or ''}", alt, theme=theme)


def export(figure: Figure, stem: Path, alt: str, *, theme: str = "light") -> list[Path]:
    """Write a figure as STEM.pdf, .svg and .png, the same bytes each time, and return the three paths.

    `theme` is the one that the figure was built in: the colours of lines are looked up when they are saved. `alt` goes
    into the metadata of each file. A file appears under its name only when it is complete.
    """
    metadata = {
        "pdf": {"Title": stem.name, "Subject": alt, "CreationDate": None},
        "svg": {"Title": stem.name, "Description": alt, "Date": None},
        "png": {"Title": stem.name, "Description": alt},
    }
    targets = [stem.with_name(f"{stem.name}.{suffix}") for suffix in metadata]
    rendered = [_rendered(figure, suffix, facts, theme=theme) for suffix, facts in metadata.items()]
    for target, content in zip(targets, rendered, strict=True):
        _files.write(target, content)
    return targets


def _rendered(
    figure: Figure, suffix: str, metadata: dict, *, theme: str = "light", dpi: float = 300.0, facecolor: str = "none"
) -> bytes:
    buffer = io.BytesIO()
    with mpl.rc_context(style(theme)):  # cycle colours and the fonts of formulas are looked up while saving
        figure.savefig(buffer, format=suffix, dpi=dpi, metadata=metadata, facecolor=facecolor)
    return buffer.getvalue()


def _display(png: bytes, alt: str, width: int) -> None:
    """Show an image with alt text; the plain-text form is the alt text too, so terminals and nbval see it."""
    from IPython.display import display  # only a notebook needs it

    display({"image/png": png, "text/plain": alt}, metadata={"image/png": {"alt": alt, "width": width}}, raw=True)


def _register_font() -> None:
    """Tell matplotlib where the packaged Roboto Condensed is, once."""
    import fontpkg_roboto_condensed

    if "Roboto Condensed" not in {font.name for font in font_manager.fontManager.ttflist}:
        for file in sorted((fontpkg_roboto_condensed.ROOT / "files").glob("*.ttf")):
            font_manager.fontManager.addfont(file)
