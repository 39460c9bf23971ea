"""Films show what the package computes, ask for nothing from elsewhere, and come out the same each time."""

import io
import re
import zipfile
from pathlib import Path

import pytest
import torch
from matplotlib.animation import HTMLWriter, PillowWriter
from PIL import Image

from uqlib import figures
from uqlib.kit import animations, release

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def settling():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield animations.settling()
    torch.set_default_dtype(before)


def test_the_band_settles(settling):
    """Wide at first, at the end about as wide as the true noise in the valley and right of it."""
    count, draw, _ = settling
    widths, titles = [], []
    for frame in (0, count - 1):
        (ax,) = figures.build(lambda ax, frame=frame: draw(ax, frame)).axes
        titles.append(ax.get_title(loc="right"))
        edges = [torch.tensor(line.get_xydata()) for line in ax.lines if (line.get_gid() or "").startswith("total")]
        low, high = sorted(edges, key=lambda edge: edge[:, 1].mean())
        at = [(low[:, 0] - place).abs().argmin().item() for place in (-0.25, 0.6, 1.0)]
        widths.append([((high - low)[i, 1] / 4).item() for i in at])
    assert titles == ["after 0 steps", "after 500 steps"]
    assert min(widths[0]) > 0.8
    for seen, true in zip(widths[1], (0.0, 0.34, 0.5), strict=True):
        assert abs(seen - true) < 0.06


def test_a_player_fits_a_phone(settling, watch, tmp_path):
    _, draw, alt = settling
    film = animations._film(draw, 2, "light", HTMLWriter(8, embed_frames=True))
    (tmp_path / "film.html").write_bytes(animations._offline(film, "name", alt))
    (tmp_path / "page.html").write_text(
        '<iframe src="film.html" style="width: 342px; height: 320px; border: 0"></iframe>'
    )
    player = watch((tmp_path / "page.html").as_uri(), "phone").frames[1]
    for part in ("img", ".anim-slider", ".anim-buttons"):
        box = player.locator(f".animation {part}").first.evaluate("one => one.getBoundingClientRect().right")
        assert box <= 342, part
    assert player.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_films_are_the_same_each_time_and_need_nothing_from_elsewhere(settling):
    _, draw, alt = settling
    first, again = (animations._film(draw, 2, "dark", PillowWriter(8)) for _ in range(2))
    assert first == again
    with Image.open(io.BytesIO(first)) as film:
        assert film.n_frames == 2
        assert film.convert("RGB").getpixel((2, 2)) == tuple(bytes.fromhex(figures.PALETTE["dark"]["page"][1:]))
    pages = [
        animations._offline(animations._film(draw, 2, "light", HTMLWriter(8, embed_frames=True)), "name", alt)
        for _ in range(2)
    ]
    assert pages[0] == pages[1]
    text = pages[0].decode()
    assert f'alt="{alt}"' in text and "fa fa-" not in text
    assert not re.findall(r"""(?:src|href)=["']?https?:""", text)


def test_the_release_holds_every_pdf_and_is_the_same_each_time(tmp_path):
    for name in ("figures", "LICENSE"):
        (tmp_path / name).symlink_to(ROOT / name)
    path = release.make(tmp_path)
    first = path.read_bytes()
    assert release.make(tmp_path).read_bytes() == first
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = {name.removeprefix("uqlib-figures/") for name in archive.namelist()}
    kept = {
        p.relative_to(ROOT).as_posix() for p in (ROOT / "figures").glob("*/*.pdf") if p.parent.name in ("light", "dark")
    }
    assert kept < names and {"LICENSE", "figures/README.md", "figures/manifest.json"} < names
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="run `make figures`"):
        release.make(tmp_path / "empty")
