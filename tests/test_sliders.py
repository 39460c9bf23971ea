"""Sliders draw their picture again, and stand still where nobody can move them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from uqlib.kit import sliders

ROOT = Path(__file__).parents[1]


def test_a_slider_draws_its_picture_again(monkeypatch):
    boxes, seen = [], []
    monkeypatch.setattr("IPython.display.display", boxes.append)
    sliders.explore("std", lambda ax, std: seen.append(std) or ax.plot([0, std]), 0.05, 1.0, value=0.201)
    slider, picture = boxes[0].children
    before = picture.value
    start = 0.05 * 20 ** (37 / 80)  # 0.1998, the step nearest to 0.201
    assert slider.value == pytest.approx(start) and (slider.description, before[:4]) == ("std", b"\x89PNG")
    slider.value = 0.5
    assert seen == [pytest.approx(start), 0.5] and picture.value != before
    assert 10**slider.min == pytest.approx(0.05) and 10**slider.max == pytest.approx(1.0)


@pytest.mark.bad_input
def test_explore_refuses_and_stands_still_where_nobody_can_move_it(monkeypatch, capsys):
    with pytest.raises(ValueError, match="expected 0 < low <= value <= high, got 0, 1, 2"):
        sliders.explore("std", lambda ax, std: None, 0, 2, value=1)
    with monkeypatch.context() as patch:
        patch.setenv("UQLIB_STATIC", "1")
        sliders.explore("std", lambda ax, std: None, 0.05, 1.0, value=0.2)
    assert capsys.readouterr().out == "In JupyterLab a slider moves std from 0.05 to 1.\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", ["01", "10"])
def test_the_sliders_of_the_notebooks_draw_at_both_ends(number, tmp_path):
    """The callback of the notebook itself, called as a moving slider would."""
    (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    notebook = json.loads(path.read_text())
    place = next(i for i, cell in enumerate(notebook["cells"]) if cell["id"] == "explore")
    spy = (
        "import os, IPython.display as shown\nos.environ.pop('UQLIB_STATIC')\nboxes = []\nshown.display = boxes.append"
    )
    check = "slider, picture = boxes[0].children\nseen = {picture.value}\nfor end in (slider.min, slider.max):\n"
    check += "    slider.value = 10**end\n    seen.add(picture.value)\nassert len(seen) == LEFT, len(seen)"
    check = check.replace("LEFT", {"01": "3", "10": "2"}[number])  # the slider of 10 starts at its lower end
    code = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    notebook["cells"][place:] = [
        code | {"id": "spy", "source": spy},
        notebook["cells"][place],
        code | {"id": "check", "source": check},
    ]
    (tmp_path / path.name).write_text(json.dumps(notebook))
    copy = str(tmp_path / path.name)
    job = f"from pathlib import Path; from uqlib.kit import kernel; print(kernel.execute(Path({copy!r}), {{}})[1])"
    done = subprocess.run([sys.executable, "-c", job], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
