"""What the figures are: name, place, one sentence, alt text, size and steps; and the page that shows them all."""

import ast
import html
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from uqlib import _files
from uqlib.kit import kernel

_CAPTION = re.compile(r"\*\*Figure (?P<number>\d\d\.\d+)\.\*\* \*(?P<title>[^*]+)\*")

_DPI = 220.0  # that of the images stored in notebooks
_FITS = r"width=\textwidth,height=.8\textheight,keepaspectratio"
LICENCE = "CC BY 4.0; on a slide, the line 'uqlib course, CC BY 4.0' is enough"
_HEAD = rf"""# Figures

Every figure of the series, for slides: text width of a 16:9 beamer slide, transparent background, light and dark.
The PDFs are here; `make figures` writes svg and png beside them, `make figures SIZE=4:3` redraws all for 4:3 slides and
`make figures STYLE=paper` for a paper. One figure alone: `python -m uqlib figures 03-noise-fan --out DIR`.

In LaTeX, once: `\graphicspath{{{{figures/light/}}}}`, or `dark`; steps need `\usepackage{{pgffor}}`. Then copy the line
below a figure: it keeps the figure inside the frame, also those few that are taller than a slide. `manifest.json` holds
the same facts for programs.

Licence: {LICENCE}. See [LICENSE](../LICENSE).
"""


def collect(notebooks: Path) -> list[dict]:
    """One record for each figure of the series, in the order of the pages; nothing is run.

    Keys: name (03-noise-fan), notebook (its file), cell (the id of the cell that shows it), number (03.1), title (the
    caption's sentence, in Markdown), alt, steps (names of the parts that come one by one on slides, perhaps none).
    Raises ValueError for a figure without stored output or without a caption.
    """
    return [record for path in kernel.stored(notebooks) for record in _figures(path)]


def write(root: Path, figures: Path) -> None:
    """Write manifest.json, README.md and thumbnails for the figures in a folder; what is right already stays."""
    manifest = {"licence": LICENCE, "figures": [_measured(record, figures) for record in collect(root / "notebooks")]}
    renew(figures / "manifest.json", (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())
    renew(figures / "README.md", page(manifest, root / "notebooks").encode())
    sources = [(theme, record) for record in manifest["figures"] for theme in ("light", "dark")]
    with ThreadPoolExecutor(2) as threads:  # Pillow works without Python's lock
        list(threads.map(lambda one: _thumbnail(figures, *one), sources))


def page(manifest: dict, notebooks: Path) -> str:
    """The gallery in Markdown: one block a figure, in the order of the series."""
    blocks, current = [_HEAD], ""
    for record in manifest["figures"]:
        if record["notebook"] != current:
            current = record["notebook"]
            blocks.append(f"## {current[:2]} · [{kernel.title(notebooks / current)}](../notebooks/{current})\n")
        blocks.append(_block(record))
    return "\n".join(blocks)


def _block(record: dict) -> str:
    name, alt, count = record["name"], html.escape(record["alt"]), len(record["steps"])
    width, height = record["inches"]
    steps = f", {count} steps: {', '.join(record['steps'])}" if count else ""
    return f"""### {name}

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="thumbs/dark/{name}.png">
  <img src="thumbs/light/{name}.png" width="{round(80 * width)}" alt="{alt}">
</picture>

*{record["title"]}* Figure {record["number"]}, {width:.2f} × {height:.2f} in{steps}.
PDF: [light](light/{name}.pdf), [dark](dark/{name}.pdf).

```latex
{latex(record)}
```
"""


def latex(record: dict) -> str:
    """The line for LaTeX, no wider and no taller than a slide; the steps of a figure come one after the other."""
    name, count = record["name"], len(record["steps"])
    if count:
        return rf"\foreach \n in {{1,...,{count}}}{{\includegraphics<\n>[{_FITS}]{{{name}-\n}}}}"
    return rf"\includegraphics[{_FITS}]{{{name}}}"


def draw(pdf: Path, png: Path) -> None:
    """Write the page of a PDF as a PNG with transparent background, unless there is one that is not older."""
    if _is_current(png, pdf):
        return
    import pypdfium2  # only site and slides need it

    with pypdfium2.PdfDocument(pdf) as document:
        bitmap = document[0].render(scale=_DPI / 72, fill_color=(0, 0, 0, 0), maybe_alpha=True)
        buffer = io.BytesIO()
        bitmap.to_pil().save(buffer, format="png")
    _files.write(png, buffer.getvalue())


def renew(path: Path, content: bytes) -> None:
    """Write a file unless it holds just that: what does not change keeps its time, and is not made again."""
    if not path.exists() or path.read_bytes() != content:
        _files.write(path, content)


def _measured(record: dict, figures: Path) -> dict:
    """The record with the size of its PDF in inches."""
    box = re.search(
        rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", (figures / "light" / f"{record['name']}.pdf").read_bytes()
    )
    return record | {"inches": [round(float(side) / 72, 4) for side in box.groups()]}


def _is_current(copy: Path, source: Path) -> bool:
    return copy.exists() and copy.stat().st_mtime_ns >= source.stat().st_mtime_ns


def _thumbnail(figures: Path, theme: str, record: dict) -> None:
    """A small copy of a PNG for the page, 100 pixels an inch, unless there is one that is not older."""
    source, inches = figures / theme / f"{record['name']}.png", record["inches"][0]
    target = figures / "thumbs" / theme / source.name
    if not source.exists() or _is_current(target, source):
        return
    from PIL import Image

    with Image.open(source) as image:
        size = round(100 * inches), round(100 * inches * image.height / image.width)
        small = image.resize(size, Image.Resampling.LANCZOS).quantize(128, method=Image.Quantize.FASTOCTREE)
    buffer = io.BytesIO()
    small.save(buffer, format="PNG", optimize=True)
    _files.write(target, buffer.getvalue())


def _figures(path: Path) -> list[dict]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    records = []
    for place, cell in enumerate(cells):
        for name, steps, output in shown(cell):
            records.append(
                {"name": name, "notebook": path.name, "cell": cell["id"], **_caption(path, cells[place + 1 :], name)}
                | {"alt": "".join(output["data"]["text/plain"]), "steps": steps}
            )
    return records


def shown(cell: dict) -> list[tuple[str, list[str], dict]]:
    """Name, steps and stored output of each `figures.show(...)` in a cell, in order."""
    source, calls = "".join(cell["source"]), []
    if cell["cell_type"] != "code" or "figures.show(" not in source:
        return []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "figures.show":
            steps = [list(ast.literal_eval(word.value)) for word in node.keywords if word.arg == "steps"]
            calls.append((ast.literal_eval(node.args[0]), steps[0] if steps else []))
    images = [output for output in cell["outputs"] if "image/png" in output.get("data", {})]
    return [(*call, image) for call, image in zip(calls, images, strict=True)]


def _caption(path: Path, following: list[dict], name: str) -> dict[str, str]:
    """Number and sentence of the next caption."""
    for cell in following:
        if cell["cell_type"] == "markdown" and (found := _CAPTION.search("".join(cell["source"]))):
            return found.groupdict()
    raise ValueError(f"{path.name}: expected a caption '**Figure NN.M.** *sentence*' below figure {name}, found none")
