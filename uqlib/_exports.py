"""Figures as files for slides: pdf, svg and png at exact size, in every theme, whole and in steps."""

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from uqlib import _files, _overlays
from uqlib._styles import PALETTE, style

# Matplotlib draws a figure that may still be laid out twice for each file.
SETTLED = {"figure.constrained_layout.use": False}
_INLINE_DPI, _INLINE_SCALE = 220.0, 130.0  # pixels an inch that are stored, and that the page shows


def inline(figure: Figure, name: str, alt: str) -> None:
    """Show a figure in the notebook, and write UQLIB_PAGES/NAME.png if that names a folder.

    The plain-text form is the alt text, so terminals and nbval see it. A script has nothing to show an image in.
    """
    import IPython  # only a notebook needs it
    from IPython.display import display

    pages, shown = os.environ.get("UQLIB_PAGES", ""), IPython.get_ipython() is not None
    if pages or shown:
        facts, page = {"Title": name, "Description": alt}, PALETTE["light"]["page"]
        png = image(figure, "png", facts, style(), dpi=_INLINE_DPI, facecolor=page)
    if shown:
        facts = {"alt": alt, "width": round(figure.get_figwidth() * _INLINE_SCALE)}
        display({"image/png": png, "text/plain": alt}, metadata={"image/png": facts}, raw=True)
    else:
        display(f"{name}: {alt}")  # outside of IPython that is a print
    if pages:
        _files.write(Path(pages) / f"{name}.png", png)


def export(
    figure: Figure, stem: Path, alt: str, *, theme: str = "light", medium: str = "16:9", dpi: float | int = 300
) -> list[Path]:
    """Write a figure as STEM.pdf, .svg and .png, the same bytes each time, and return the three paths.

    `theme` and `medium` are those that the figure was built in: colours of lines and fonts of formulas are looked up
    when they are saved. `alt` goes into the metadata of each file. A file appears under its name only when complete.
    """
    metadata = {
        "pdf": {"Title": stem.name, "Subject": alt, "CreationDate": None},
        "svg": {"Title": stem.name, "Description": alt, "Date": None},
        "png": {"Title": stem.name, "Description": alt},
    }
    rc = style(theme, medium=medium)
    rendered = {
        stem.with_name(f"{stem.name}.{suffix}"): image(figure, suffix, facts, rc, dpi=dpi)
        for suffix, facts in metadata.items()
    }
    for target, content in rendered.items():
        _files.write(target, content)
    return list(rendered)


def image(
    figure: Figure, suffix: str, metadata: dict, rc: dict, *, dpi: float | int = 300, facecolor: str = "none"
) -> bytes:
    """A figure as the bytes of one file, drawn under the rcParams that it was built in."""
    buffer = io.BytesIO()
    with mpl.rc_context(rc | SETTLED):
        figure.savefig(buffer, format=suffix, dpi=dpi, metadata=metadata, facecolor=facecolor)
    return buffer.getvalue()


def everything(
    themed: Mapping[str, Figure], folder: Path, name: str, alt: str, steps: Sequence[str], medium: str
) -> None:
    """Write FOLDER/THEME/NAME.pdf, .svg and .png for each theme's figure, and NAME-1 ... for the steps.

    The figures come drawn, all of them: a draw that fails leaves no half set.
    """
    for theme, figure in themed.items():
        for count in range(len(steps) + 1):
            _overlays.reveal(figure, steps, count or len(steps))
            export(figure, folder / theme / f"{name}{-count or ''}", alt, theme=theme, medium=medium)
