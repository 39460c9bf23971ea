"""What the figures are: name, place, one sentence, alt text, size and steps, read from the notebooks as stored."""

import ast
import json
import re
from pathlib import Path

_CAPTION = re.compile(r"\*\*Figure (?P<number>\d\d\.\d+)\.\*\* \*(?P<title>[^*]+)\*")


def collect(notebooks: Path) -> list[dict]:
    """One record for each figure of the series, in the order of the pages; nothing is run.

    Keys: name (03-noise-fan), notebook (its file), cell (the id of the cell that shows it), number (03.1), title (the
    caption's sentence, in Markdown), alt, steps (names of the parts that come one by one on slides, perhaps none).
    Raises ValueError for a figure without stored output or without a caption.
    """
    return [record for path in sorted(notebooks.glob("[0-9][0-9]_*.ipynb")) for record in _figures(path)]


def _figures(path: Path) -> list[dict]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    records = []
    for place, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or "figures.show(" not in source:
            continue
        for call, output in zip(_calls(source), _outputs(cell), strict=True):
            name, steps = call
            records.append(
                {"name": name, "notebook": path.name, "cell": cell["id"], **_caption(path, cells[place + 1 :], name)}
                | {"alt": "".join(output["data"]["text/plain"]), "steps": steps}
            )
    return records


def _calls(source: str) -> list[tuple[str, list[str]]]:
    """Name and steps of each `figures.show(...)` in a cell, in order."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "figures.show":
            steps = [list(ast.literal_eval(word.value)) for word in node.keywords if word.arg == "steps"]
            found.append((ast.literal_eval(node.args[0]), steps[0] if steps else []))
    return found


def _outputs(cell: dict) -> list[dict]:
    return [output for output in cell["outputs"] if "image/png" in output.get("data", {})]


def _caption(path: Path, following: list[dict], name: str) -> dict[str, str]:
    """Number and sentence of the next caption."""
    for cell in following:
        if cell["cell_type"] == "markdown" and (found := _CAPTION.search("".join(cell["source"]))):
            return found.groupdict()
    raise ValueError(f"{path.name}: expected a caption '**Figure NN.M.** *sentence*' below figure {name}, found none")
