"""How figures look: palette, sizes and fonts, as one plain dictionary for each medium and theme."""

from cycler import cycler
from matplotlib import font_manager, rcParamsDefault
from tueplots import bundles

from uqlib import _checks

PALETTE = {
    "light": {"ink": "#222222", "total": "#882255", "aleatoric": "#CC7A00", "epistemic": "#0072B2", "page": "#FFFFFF"},
    "dark": {"ink": "#F2F2F2", "total": "#D66692", "aleatoric": "#FFCE61", "epistemic": "#4BC7FF", "page": "#1E2227"},
}
WIDTHS = {"full": 1.0, "half": 0.5}
# The text width of a beamer slide (16:9 is tueplots' own), and the two columns of a paper, in inches.
MEDIA = {"16:9": None, "4:3": 4.252, "paper": 6.75}


def style(
    theme: str = "light", *, width: str = "full", height: float | int = 2.6, medium: str = "16:9"
) -> dict[str, object]:
    """All rcParams of a figure: tueplots' beamer size and font, our palette, labels 10 pt, ticks 8.5 pt.

    `theme` is light or dark, `medium` a 16:9 slide (text 5.51 in wide), a 4:3 slide (4.25 in) or paper (6.75 in, serif,
    9 pt), `width` full or half of that, `height` in inches. The rest are matplotlib's defaults, so that a matplotlibrc
    changes no figure. A plain dictionary for `matplotlib.rc_context`; nothing global changes. Raises ValueError for an
    unknown theme, width or medium, or a height that is not above zero.
    """
    for name, value, known in (("theme", theme, PALETTE), ("width", width, WIDTHS), ("medium", medium, MEDIA)):
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    _checks.positive_number("height", height)
    _register_font()
    rc = {key: value for key, value in dict.items(rcParamsDefault) if key != "backend"}
    rc |= bundles.beamer_moml(rel_width=WIDTHS[width])
    inches = rc["figure.figsize"][0] if MEDIA[medium] is None else MEDIA[medium] * WIDTHS[width]
    rc["figure.figsize"] = (inches, height)
    # tueplots asks for a light weight that the packaged font lacks; matplotlib would warn for each text drawn.
    rc |= dict.fromkeys(("font.weight", "axes.labelweight", "axes.titleweight"), "normal")
    rc |= {
        "mathtext.cal": "sans:italic",
        "mathtext.bf": "sans",
        "mathtext.bfit": "sans:italic",
        "font.sans-serif": ["Roboto Condensed", "DejaVu Sans"],
    }
    colours = PALETTE[theme]
    rc |= dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"),
        colours["ink"],
    )
    rc["axes.prop_cycle"] = cycler(color=[colours[name] for name in ("total", "aleatoric", "epistemic")])
    rc |= dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize"), 10)
    rc |= dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 8.5)
    if medium == "paper":
        rc |= {"font.family": "serif", "font.serif": ["STIXGeneral", "DejaVu Serif"], "mathtext.fontset": "stix"}
        rc |= dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize"), 9)
        rc |= dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 8)
    rc |= {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
    }
    # Fixed ids and embedded TrueType: equal bytes for an equal figure, and text that stays text.
    return rc | {"pdf.fonttype": 42, "svg.hashsalt": "uqlib", "axes.unicode_minus": True, "savefig.bbox": None}


def _register_font() -> None:
    """Tell matplotlib where the packaged Roboto Condensed is, once."""
    import fontpkg_roboto_condensed

    if "Roboto Condensed" not in {font.name for font in font_manager.fontManager.ttflist}:
        for file in sorted((fontpkg_roboto_condensed.ROOT / "files").glob("*.ttf")):
            font_manager.fontManager.addfont(file)
