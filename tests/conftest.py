"""Fixtures for all tests: the series' dtype, a check that nothing global has moved, and a headless browser."""

import os
import re
import shutil
from pathlib import Path

import matplotlib
import numpy
import pytest
import torch

LONGEST = ["test_site.py", "test_factory.py", "test_slides.py", "test_lab.py", "test_readme.py", "test_reference.py"]


def pytest_collection_modifyitems(items):
    """The files that take longest first, so that two workers with a file each (`--dist loadfile`) end together."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(autouse=True)
def unchanged_world():
    """Every test runs in float64 and must leave rcParams, generators, grad mode, threads and environment alone."""
    torch.set_default_dtype(torch.float64)
    before = _world()
    yield
    after = _world()
    for name, old in before.items():
        assert after[name] == old, f"{name} was changed"
    torch.set_default_dtype(torch.float32)


def _world():
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "TORCHINDUCTOR_"))}
    return {
        "rcParams": dict(matplotlib.rcParams),
        "torch generator": torch.get_rng_state()[:64].tolist(),
        "numpy generator": [*numpy.random.get_state()[1][:8].tolist(), numpy.random.get_state()[2]],  # noqa: NPY002
        "grad mode": torch.is_grad_enabled(),
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "environment": environment,
    }


SIZES = {"laptop": {"width": 1366, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium that can reach this machine only."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no chromium on this machine: Debian and Ubuntu, `apt install chromium`")
    rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
    with api.sync_playwright() as playwright:
        # Chromium's sandbox refuses root, which is who runs in a container; the pages are ours.
        opened = playwright.chromium.launch(executable_path=program, args=[rules, "--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def watch(browser):
    """Open an address at a size and in a theme; at the end nothing may have failed or gone to another host."""
    contexts, troubles = [], []
    here = re.compile(r"(data|blob|file):|(https?|wss?)://127\.0\.0\.1[:/]")

    def opened(address, size="laptop", theme="light", *, wait="networkidle", first=False):
        context = browser.new_context(viewport=SIZES[size], color_scheme=theme)
        if not first:  # a first visit: no theme has been chosen
            chosen = f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')"
            context.add_init_script(chosen)
        page = context.new_page()
        page.on("console", lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("requestfailed", lambda request: troubles.append(f"failed: {request.url}"))
        page.on("response", lambda one: troubles.append(f"{one.status}: {one.url}") if one.status >= 400 else None)
        page.on("request", lambda one: None if here.match(one.url) else troubles.append(f"elsewhere: {one.url}"))
        page.goto(address, wait_until=wait)
        contexts.append(context)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def screenshots():
    folder = Path(__file__).parents[1] / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
