"""A notebook in JupyterLab, as `make lab` starts it: opened as stored, run, and its slider moved."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[1]
TOKEN = "only-for-this-test"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab with the options of `make lab`, in a folder of its own, which holds notebook 01."""
    home = tmp_path_factory.mktemp("lab")
    (home / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "01_fixed_noise.ipynb", home / "notebooks")
    options = re.search(r"(?m)^QUIET = (.*)$", (ROOT / "Makefile").read_text())[1].split()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", str(home / "notebooks"), "--ip=127.0.0.1", f"--port={port}"]
    command += [*options, "--no-browser", "--allow-root", f"--IdentityProvider.token={TOKEN}"]
    world = {k: v for k, v in os.environ.items() if k not in ("UQLIB_STATIC", "PYTHONPATH")}
    world |= {"HOME": str(home), "JUPYTER_PLATFORM_DIRS": "1", "OMP_NUM_THREADS": "1"}
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=world, cwd=home)
        try:
            _wait(server, f"http://127.0.0.1:{port}/api", home / "log")
            yield f"http://127.0.0.1:{port}/lab/tree/01_fixed_noise.ipynb?token={TOKEN}"
        finally:
            server.terminate()
            server.wait(30)


def _wait(server, address, log):
    for _ in range(120):
        assert server.poll() is None, log.read_text()
        try:
            with urlopen(address) as answer:
                assert answer.status == 200
                return
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(log.read_text())


def test_a_notebook_opens_as_stored_and_runs_with_its_slider(lab, watch, screenshots):
    page = watch(lab, wait="load")
    page.set_default_timeout(90_000)
    page.wait_for_selector(".jp-Notebook mjx-container")
    picture = page.locator(".jp-Notebook .jp-RenderedImage img").first
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("one => one.naturalWidth") > 700
    page.screenshot(path=screenshots / "lab-stored.png")
    assert page.locator(".jp-Notebook mjx-merror, .jp-Notebook [data-mjx-error]").count() == 0

    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    cell = page.locator(".jp-Cell", has_text="sliders.explore").last
    slider = cell.locator(".widget-slider [role=slider]")
    slider.wait_for()
    slider.scroll_into_view_if_needed()
    shown = cell.locator(".widget-image")
    before = shown.get_attribute("src")
    assert cell.locator(".widget-readout").text_content() == "0.491"  # the step nearest to 0.5
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("([one, old]) => one.src !== old", arg=[shown.element_handle(), before])
    page.wait_for_timeout(1000)
    page.screenshot(path=screenshots / "lab-slider.png")
    assert float(cell.locator(".widget-readout").text_content()) == pytest.approx(0.05 * 20 ** (56 / 80), abs=0.001)
    assert shown.evaluate("one => one.naturalWidth") > 700
    assert page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.error"]').count() == 0
