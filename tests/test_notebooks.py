"""The shape of every notebook: cells short enough to teach from, headings in order, outputs that can be compared."""

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest

import uqlib
from uqlib import datasets, figures, flows, laplace, losses, metrics, models, plotting, predictive, runtime, training

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
HEADINGS = ["Question", "Idea", "Where it breaks", "Takeaway", "Exercises", "References"]
MODULES = (datasets, figures, flows, laplace, losses, metrics, models, plotting, predictive, runtime, training)
EXPORTED = set(uqlib.__all__) | {name for module in MODULES for name in vars(module) if name[0] != "_"}


def cells(path, kind):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def source(cell):
    return "".join(cell["source"])


@pytest.fixture(params=NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def notebook(request):
    return request.param


def test_code_cells_are_short(notebook):
    for cell in cells(notebook, "code"):
        lines = source(cell).splitlines()
        assert len(lines) <= 15, f"{cell['id']}: {len(lines)} lines"
        assert max(map(len, lines)) <= 100, f"{cell['id']}: a line of {max(map(len, lines))} characters"


def test_text_cells_are_short(notebook):
    for cell in cells(notebook, "markdown"):
        prose = [
            line for line in source(cell).splitlines() if not line.startswith("|")
        ]  # tables are looked up, not read
        assert len(" ".join(prose).split()) <= 120, cell["id"]


def test_headings_in_order(notebook):
    text = "\n".join(source(cell) for cell in cells(notebook, "markdown"))
    found = [h for h in re.findall(r"^## (.+)$", text, flags=re.MULTILINE) if h in HEADINGS]
    assert found == HEADINGS
    assert re.match(r"# \d\d · ", source(cells(notebook, "markdown")[0]))
    assert "**Predict.**" in text
    assert text.count("<details>") == text.count("</details>") >= 2


def test_set_up_comes_first(notebook):
    first, *others = cells(notebook, "code")
    assert first["id"] == "setup"
    assert len(source(first).splitlines()) <= 10
    assert "torch.set_default_dtype(torch.float64)" in source(first)
    for cell in others:
        assert not re.search(r"^(import|from) ", source(cell), flags=re.MULTILINE), f"{cell['id']} imports"


def test_only_cells_by_hand_redefine_what_uqlib_exports(notebook):
    for cell in cells(notebook, "code"):
        if "by-hand" in cell["metadata"].get("tags", []):
            continue
        for node in ast.walk(ast.parse(source(cell))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert node.name not in EXPORTED, f"{cell['id']} redefines {node.name}: tag it by-hand"


def test_cells_are_plain_python(notebook):
    """The figure factory runs them without IPython."""
    for cell in cells(notebook, "code"):
        compile(source(cell), cell["id"], "exec")  # no magics, no await
        names = {node.id for node in ast.walk(ast.parse(source(cell))) if isinstance(node, ast.Name)}
        assert not names & {"display", "get_ipython", "In", "Out"}, cell["id"]
        assert not {"raises-exception", "skip-execution"} & set(cell["metadata"].get("tags", [])), cell["id"]


def test_outputs_can_be_compared(notebook):
    """Executed from top to bottom, no error, nothing that differs by machine, nothing on stderr."""
    code = cells(notebook, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        for output in cell["outputs"]:
            assert output["output_type"] in ("stream", "display_data"), f"{cell['id']}: {output['output_type']}"
            assert output.get("name", "stdout") == "stdout", cell["id"]
            plain = "".join(output.get("text", [])) + "".join(output.get("data", {}).get("text/plain", []))
            assert not re.search(r"tensor\(|0x[0-9a-f]{6}|cuda|<[\w.]+ object|/home/", plain), cell["id"]
            if "non-finite" not in cell["metadata"].get("tags", []):  # a cell that is about them says so
                assert not re.search(r"\bnan\b|\binf\b", plain), cell["id"]
            if "data" in output:
                assert output["metadata"]["image/png"]["alt"] == "".join(output["data"]["text/plain"])


def test_figures_are_named_after_their_notebook(notebook):
    names = re.findall(r'figures\.show\("([^"]+)"', "\n".join(source(cell) for cell in cells(notebook, "code")))
    assert len(names) == len(set(names)) > 0
    assert all(name.startswith(notebook.stem[:2] + "-") for name in names)


def test_committed_figures_are_those_of_the_notebooks():
    """Each figure, and one file more for each step that builds it up."""
    names = set()
    for cell in (cell for path in NOTEBOOKS for cell in cells(path, "code")):
        for name, options in re.findall(r'figures\.show\("([^"]+)"(.*?)alt=', source(cell), flags=re.DOTALL):
            steps = re.search(r"steps=\(([^)]*)\)", options)
            names |= {name} | {f"{name}-{k + 1}" for k in range(len(re.findall(r'"\w+"', steps[1])) if steps else 0)}
    for theme in figures.PALETTE:
        assert {path.stem for path in (ROOT / "figures" / theme).glob("*.pdf")} == names


def test_formulas_can_be_rendered_without_the_network(notebook):
    """The pages turn formulas into MathML, which sets braces with text tiny and knows no formula in a heading."""
    for cell in cells(notebook, "markdown"):
        assert not re.search(r"\\(under|over)brace|\\texttt|^#+ .*\$", source(cell), flags=re.MULTILINE), cell["id"]


def test_words_that_talk_down(notebook):
    for cell in cells(notebook, "markdown"):
        assert not re.search(r"\b(simply|obviously|of course|trivial(ly)?)\b", source(cell), flags=re.IGNORECASE), cell[
            "id"
        ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_stored_file_is_normal(path):
    """What `make refresh` writes, to the byte: no timing, no version of the machine, one newline at the end.

    Else the first refresh after an edit by hand changes cells that nobody has touched.
    """
    text = path.read_text()
    content = json.loads(text)
    assert content["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert all(set(cell["metadata"]) <= {"tags", "slide"} for cell in content["cells"])
    assert text == nbformat.writes(nbformat.read(path, as_version=4), version=4).rstrip("\n") + "\n"
