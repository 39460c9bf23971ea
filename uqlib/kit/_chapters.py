"""Stored notebooks as pages of the site: links, folded answers, and figures in a light and a dark version."""

import base64
import html
import json
import re
from pathlib import Path

from uqlib.kit import gallery

# An answer that begins in the middle of a line, perhaps of a list item, becomes a block of its own: only there may it
# hold paragraphs and formulas.
_FOLDED = re.compile(
    r"^(?P<mark>\d+\. )?(?P<before>.*?)<details><summary>(?P<head>.*?)</summary>\s*(?P<body>.*?)\s*</details>",
    re.DOTALL | re.MULTILINE,
)
# A formula on lines of its own, in the middle of a paragraph.
_DISPLAYED = re.compile(r"^(?P<lead>[> ]*)\$\$\s*(?P<formula>.*?)\s*\$\$ *$", re.DOTALL | re.MULTILINE)


def page(path: Path, up: str, pictures: Path) -> bytes:
    """The notebook that Sphinx reads: as stored, but for links, answers and figures. `up` leads to the site's root.

    `pictures` is the folder whose light/ and dark/ hold the images.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = notebook["cells"]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = folded(displayed(relinked("".join(cell["source"]), up)))
        else:
            _pair_images(cell, up, pictures)
    load = (
        f'<p class="chapter-links"><a href="{up}downloads/{path.name}" download>Download this notebook</a> (.ipynb)</p>'
    )
    cells[0]["source"] += f"\n\n{load}"
    if up.count("/") > 1:  # a solution stands in no list of chapters
        notebook["metadata"]["orphan"] = True
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode()


def images(path: Path) -> dict[str, bytes]:
    """The PNG of each figure in a notebook as stored, by the figure's name."""
    return {
        name: base64.b64decode("".join(output["data"]["image/png"]))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for name, _, output in gallery.shown(cell)
    }


def texts(path: Path) -> list[str]:
    """The Markdown cells of a notebook, in order."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def table(path: Path, cell: str) -> str:
    """The Markdown table in a cell of a notebook, found by the cell's id."""
    for one in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if one["id"] == cell:
            return "\n".join(line for line in "".join(one["source"]).splitlines() if line.startswith("|"))
    raise ValueError(f"{path.name}: expected a cell with the id {cell!r}, found none")


def folded(text: str) -> str:
    """Markdown whose folded answers stand in blocks of their own."""

    def block(found: re.Match) -> str:
        indent = " " * len(found["mark"] or "")
        lines = [
            "",
            f"<details><summary>{found['head']}</summary>",
            "",
            *found["body"].splitlines(),
            "",
            "</details>",
            "",
        ]
        return (
            (found["mark"] or "") + found["before"] + "\n" + "\n".join(indent + line if line else "" for line in lines)
        )

    return _FOLDED.sub(block, text)


def displayed(text: str) -> str:
    """Markdown whose displayed formulas stand between blank lines, where MyST finds them."""
    return _DISPLAYED.sub(r"\g<lead>\n\g<lead>$$\n\g<lead>\g<formula>\n\g<lead>$$\n\g<lead>", text)


def relinked(text: str, up: str) -> str:
    """Markdown whose links lead to pages of the site, not to files of the repository."""
    text = re.sub(r"\]\((?:\.\./)+README\.md\)", f"]({up}index.md)", text)
    text = re.sub(r"\]\((?:\.\./)+data/README\.md", f"]({up}data.md", text)
    return re.sub(r"\]\(#([\w-]+)\)", lambda found: f"](#{found[1].lower()})", text)


def picture(name: str, alt: str, width: int, up: str, pictures: Path) -> str:
    """Two images, of which the theme shows one; without a dark one, the light one on a white card."""
    size = f'alt="{html.escape(alt)}" width="{width}" loading="lazy"'
    if not (pictures / "dark" / f"{name}.png").exists():
        return f'<img class="dark-light white-card" src="{up}pictures/light/{name}.png" {size}>'
    themes = ("light", "dark")
    return "".join(f'<img class="only-{one}" src="{up}pictures/{one}/{name}.png" {size}>' for one in themes)


def _pair_images(cell: dict, up: str, pictures: Path) -> None:
    for name, _, output in gallery.shown(cell):
        facts = output["metadata"]["image/png"]
        pair = picture(name, facts["alt"], facts["width"], up, pictures)
        output["data"] = {"text/html": f'<div class="figure-pair" id="{name}">{pair}</div>'}
        output["metadata"] = {}
