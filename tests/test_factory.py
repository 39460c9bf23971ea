"""The figure factory: only what has changed, never half a file, one figure alone, and a gallery that is true."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from uqlib.kit import factory, gallery

ROOT = Path(__file__).parents[1]
RECORDS = gallery.collect(ROOT / "notebooks")
MANIFEST = json.loads((ROOT / "figures" / "manifest.json").read_text())
pytestmark = pytest.mark.slow

DRAW = """import torch
from uqlib import figures, plotting
torch.set_default_dtype(torch.float64)
x = torch.linspace(0, 1, 5)[:, None]

def draw(ax):
    plotting.data(ax, x, SLOPE * x)
    plotting.truth(ax, x, x)
    ax.set(xlabel="$x$", ylabel="$y$")
"""


def write(folder, number, *names, slope=1, text="words"):
    """A notebook with one figure a name; the first comes in two steps."""
    cells = [{"cell_type": "markdown", "id": "title", "metadata": {}, "source": [f"# {number} · Title\n", text]}]
    code = {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": []}
    cells.append(code | {"id": "setup", "source": DRAW.replace("SLOPE", str(slope)).splitlines(keepends=True)})
    for place, name in enumerate(names):
        steps = "" if place else 'steps=("data", "truth"), '
        shown = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "", "text/plain": ["Alt."]}}
        source = [f'figures.show("{name}", draw, {steps}alt="Alt.")']
        cells.append(code | {"id": f"fig-{place}", "source": source, "outputs": [shown]})
        caption = f"**Figure {number}.{place + 1}.** *A sentence.*"
        cells.append({"cell_type": "markdown", "id": f"text-{place}", "metadata": {}, "source": [caption]})
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": metadata}
    (folder / f"{number}_title.ipynb").write_text(json.dumps(content))


@pytest.fixture
def course(tmp_path):
    """Two notebooks, three figures."""
    (tmp_path / "notebooks").mkdir()
    write(tmp_path / "notebooks", "00", "00-one", "00-two")
    write(tmp_path / "notebooks", "01", "01-one")
    return tmp_path


def run(course, *arguments):
    command = [sys.executable, "-m", "uqlib", "figures", *arguments]
    return subprocess.run(command, cwd=course, capture_output=True, text=True, check=False)


def written(course):
    """Each exported file with the moment at which it was written."""
    folder = course / "figures"
    return {p.relative_to(folder).as_posix(): p.stat().st_mtime_ns for p in folder.glob("*/*.*")}


def test_only_what_has_changed_is_made_again(course):
    assert run(course).returncode == 0
    first = written(course)
    assert sorted(first) == sorted(name for r in gallery.collect(course / "notebooks") for name in factory.files(r))
    assert len(first) == 2 * 3 * (3 + 1 + 3)
    assert run(course).stdout.count("ok") == 0
    write(course / "notebooks", "00", "00-one", "00-two", text="other words")
    assert run(course).stdout.count("ok") == 0
    assert written(course) == first

    write(course / "notebooks", "01", "01-one", slope=2)
    assert re.findall(r"^\d\d", run(course).stdout, flags=re.MULTILINE) == ["01"]
    changed = {name for name, moment in written(course).items() if moment != first[name]}
    assert changed == {name for name in first if "/01-" in name}

    (course / "figures" / "dark" / "00-two.svg").unlink()
    assert re.findall(r"^\d\d", run(course).stdout, flags=re.MULTILINE) == ["00"]
    assert written(course).keys() == first.keys()


def test_what_fails_is_named_and_stops_no_other(course):
    """An error in a cell, and a process that ends: one line each, and the third notebook is made."""
    for number, line in (("00", "raise ValueError('no\\nmore')"), ("01", "import os; os._exit(3)")):
        path = course / "notebooks" / f"{number}_title.ipynb"
        content = json.loads(path.read_text())
        content["cells"][1]["source"].append(f"\n{line}\n")
        path.write_text(json.dumps(content))
    write(course / "notebooks", "02", "02-one")
    result = run(course)
    assert result.returncode == 1 and result.stderr == "2 of 3 failed: 00, 01\n"
    told = re.findall(r"(?m)^(\d\d)  Title +[\d.]+ s  (.*)$", result.stdout)
    assert sorted(told) == [
        ("00", "FAILED in cell 1 (setup): ValueError: no"),
        ("01", "FAILED: its process ended with exit code 3"),
        ("02", "ok"),
    ]
    assert {path.stem for path in (course / "figures").glob("*/*.*")} == {"02-one", "02-one-1", "02-one-2"}


def test_a_figure_alone(course):
    (course / "elsewhere").mkdir()
    assert run(course, "00-one", "--out", "elsewhere").returncode == 0
    stems = {path.stem for path in (course / "elsewhere").glob("*/*.*")}
    assert stems == {"00-one", "00-one-1", "00-one-2"}
    assert not (course / "figures").exists()


def test_other_sizes_have_a_folder_of_their_own(course):
    assert run(course, "01", "--size", "4:3").returncode == 0
    assert run(course, "01", "--style", "paper").returncode == 0
    widths = {}
    for path in (course / "figures").glob("*/*/01-one.pdf"):
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+)", path.read_bytes())
        widths[path.relative_to(course / "figures").parts[:2]] = round(float(box[1]) / 72, 3)
    assert widths == {("4x3", "light"): 4.252, ("4x3", "dark"): 4.252, ("paper", "light"): 6.75}


def test_an_unknown_figure_is_named(course):
    result = run(course, "00-one", "03-nothing")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "no figure or notebook 03-nothing; figures/README.md lists them\n"


def is_whole(path):
    content = path.read_bytes()
    endings = {".pdf": b"%%EOF\n", ".svg": b"</svg>\n", ".png": b"IEND\xaeB`\x82", ".json": b"}"}
    return content.endswith(endings[path.suffix])


@pytest.fixture
def started(course):
    """A run that has begun to write figures."""
    command = [sys.executable, "-m", "uqlib", "figures"]
    process = subprocess.Popen(command, cwd=course, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not list((course / "build" / "figures-part").glob("*/*/*")):
        assert process.poll() is None
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.5])
def test_killed_at_any_moment_no_half_file_stays(course, started, seconds):
    time.sleep(seconds)
    assert started.poll() is None
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert all(is_whole(path) for path in (course / "figures").rglob("*.*"))
    time.sleep(1)  # the workers of a killed run end with it, see test_leftovers
    assert run(course).returncode == 0
    names = [name for record in gallery.collect(course / "notebooks") for name in factory.files(record)]
    assert all(is_whole(course / "figures" / name) for name in names)


def test_ctrl_c_ends_it_at_once_in_one_line(course, started):
    os.killpg(started.pid, signal.SIGINT)
    start = time.monotonic()
    _, told = started.communicate(timeout=60)
    assert (started.returncode, told) == (130, "interrupted; what was finished is kept\n")
    assert time.monotonic() - start < 10


def test_the_manifest_and_the_gallery_are_those_of_the_notebooks():
    facts = [{k: v for k, v in record.items() if k != "inches"} for record in MANIFEST["figures"]]
    assert facts == RECORDS
    assert (ROOT / "figures" / "README.md").read_text() == gallery.page(MANIFEST, ROOT / "notebooks")
    for target in re.findall(r'\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"', (ROOT / "figures" / "README.md").read_text()):
        assert (ROOT / "figures" / "".join(target)).exists(), target


def test_every_figure_is_there_at_its_exact_size_and_its_text_is_text():
    """Half and full text width of a 16:9 slide; no outlines in place of letters; a transparent background."""
    from PIL import Image

    kept = {name for record in RECORDS for name in factory.files(record) if name.endswith("pdf")}
    assert {path.relative_to(ROOT / "figures").as_posix() for path in (ROOT / "figures").glob("*/*.pdf")} == kept
    inches = {record["name"]: record["inches"] for record in MANIFEST["figures"]}
    for name in kept:
        content = (ROOT / "figures" / name).read_bytes()
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", content)
        stem = Path(name).stem
        width, height = inches.get(stem) or inches[re.sub(r"-\d+$", "", stem)]
        assert [float(side) for side in box.groups()] == pytest.approx([72 * width, 72 * height], abs=0.01), name
        assert min(abs(width - 5.5118), abs(width - 2.7559)) < 1e-3
        assert b"/Type3" not in content and b"RobotoCondensed" in content, name
    for record in RECORDS:
        with Image.open(ROOT / "figures" / "light" / f"{record['name']}.png") as image:
            assert image.convert("RGBA").getpixel((2, 2))[3] == 0, record["name"]
            assert image.text["Description"] == record["alt"]


def test_a_figure_without_caption_is_refused(course):
    path = course / "notebooks" / "01_title.ipynb"
    path.write_text(path.read_text().replace("**Figure 01.1.**", "Figure"))
    with pytest.raises(ValueError, match=r"01_title\.ipynb: expected a caption .* below figure 01-one"):
        gallery.collect(course / "notebooks")
