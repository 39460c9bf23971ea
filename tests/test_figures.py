"""Exported figures: exact size, same bytes, text as text, alt text, no warning, nothing global changed."""

import itertools
import logging
import re

import matplotlib as mpl
import pytest
import torch
from coloraide import Color
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from uqlib import Predictive, _overlays, figures, plotting, runtime

X = torch.linspace(-1, 1, 40, dtype=torch.float64)[:, None]


def draw(left, right, seeds):
    """One of every artist, a formula, and a minus sign."""
    prediction = Predictive(X.square(), 0.2, X.abs())
    plotting.data(left, X, X.square() + 0.1)
    plotting.misses(left, X[:2], X[:2], label="outside")
    plotting.truth(left, X, X.square())
    plotting.mean(left, X, prediction)
    plotting.band(left, X, prediction)
    plotting.no_data(left, -0.5, 0.0)
    plotting.legend(left)
    left.set(xlabel="$x$", ylabel=r"$\sigma(x)$ − minus", xlim=(-1.2, 1.2))
    plotting.std(right, X, prediction.epistemic_std, part="epistemic")
    plotting.draws(right, X, torch.stack([X, -X]))
    plotting.std_panel(right, X, prediction, top=1.2)
    plotting.strip(seeds, {"a": X[:3, 0], "b": X[4:9, 0]})


def image(path):
    """An image, loaded, its file closed."""
    with Image.open(path) as opened:
        opened.load()
        return opened


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    for theme in figures.PALETTE:
        figure = figures.build(draw, theme=theme, panels=3, ratios=(2, 1, 1))
        figures.export(figure, folder / theme / "name", "What it shows.", theme=theme)
    return folder


SIZES = {"16:9": 5.5118, "4:3": 4.252, "paper": 6.75}


@pytest.mark.parametrize(("width", "share"), [("full", 1.0), ("half", 0.5)])
@pytest.mark.parametrize("medium", SIZES)
def test_exact_size(tmp_path, medium, width, share):
    inches = SIZES[medium] * share
    figure = figures.build(lambda ax: ax.plot([0, 1]), medium=medium, width=width, height=2.0)
    figures.export(figure, tmp_path / "name", "alt", medium=medium)
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", (tmp_path / "name.pdf").read_bytes())
    assert float(box[1]) == pytest.approx(inches * 72, abs=0.01)
    assert float(box[2]) == pytest.approx(144, abs=0.01)
    assert image(tmp_path / "name.png").size == (int(inches * 300), 600)


def test_same_bytes_twice(exported, tmp_path):
    figure = figures.build(draw, theme="dark", panels=3, ratios=(2, 1, 1))
    for again in figures.export(figure, tmp_path / "name", "What it shows.", theme="dark"):
        assert again.read_bytes() == (exported / "dark" / again.name).read_bytes()


def test_text_stays_text_and_fonts_are_embedded(exported):
    pdf = (exported / "light" / "name.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert b"RobotoCondensed" in pdf


def test_background_is_transparent(exported):
    for theme in figures.PALETTE:
        assert image(exported / theme / "name.png").convert("RGBA").getpixel((2, 2))[3] == 0


def test_each_theme_has_its_own_colours(exported):
    for theme, other in (("light", "dark"), ("dark", "light")):
        svg = (exported / theme / "name.svg").read_text().lower()
        for name in ("ink", "total", "epistemic"):
            assert figures.PALETTE[theme][name].lower() in svg
            assert figures.PALETTE[other][name].lower() not in svg


def test_alt_text_is_in_each_file(exported):
    assert image(exported / "light" / "name.png").text["Description"] == "What it shows."
    assert "What it shows." in (exported / "light" / "name.svg").read_text()
    assert b"What it shows." in (exported / "light" / "name.pdf").read_bytes()


def test_no_font_warning(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, logger="matplotlib"):
        figures.export(figures.build(draw, panels=3), tmp_path / "name", "alt")
    assert caplog.records == []


def test_rcparams_come_back_even_after_an_error():
    before = dict(mpl.rcParams)

    def broken(ax):
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        figures.build(broken)
    assert dict(mpl.rcParams) == before


def test_an_interrupted_export_leaves_no_file(tmp_path, monkeypatch):
    figure = figures.build(lambda ax: ax.plot([0, 1]))
    monkeypatch.setattr("pathlib.Path.replace", lambda self, target: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        figures.export(figure, tmp_path / "name", "alt")
    assert list(tmp_path.iterdir()) == []


def test_show_displays_and_exports(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **options: shown.append((data, options)))
    monkeypatch.setattr("IPython.get_ipython", lambda: "a shell")
    with monkeypatch.context() as patch:
        patch.setenv("UQLIB_FIGURES", str(tmp_path / "figures"))
        patch.setenv("UQLIB_PAGES", str(tmp_path / "pages"))
        figures.show("00-x", draw, alt="An alt text.", panels=3)
    data, options = shown[0]
    assert data["text/plain"] == "An alt text."
    assert options["metadata"]["image/png"]["alt"] == "An alt text."
    assert data["image/png"] == (tmp_path / "pages" / "00-x.png").read_bytes()
    names = sorted(str(path.relative_to(tmp_path / "figures")) for path in (tmp_path / "figures").glob("*/*"))
    assert names == sorted(f"{theme}/00-x.{suffix}" for theme in ("light", "dark") for suffix in ("pdf", "svg", "png"))


def test_a_script_gets_the_files_and_a_line(tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setenv("UQLIB_FIGURES", str(tmp_path))
        figures.show("00-x", draw, alt="An alt text.", panels=3)
    assert capsys.readouterr().out == "00-x: An alt text.\n"
    assert len(list(tmp_path.glob("*/00-x.*"))) == 6


def test_labels_are_large_enough_for_the_last_row():
    for theme in figures.PALETTE:
        for name in ("font.size", "axes.titlesize", "legend.fontsize", "xtick.labelsize", "ytick.labelsize"):
            assert figures.style(theme)[name] >= 8
        assert figures.style(theme)["axes.labelsize"] == 10


@pytest.mark.parametrize(("theme", "page"), [("light", "#FFFFFF"), ("dark", "#1E2227"), ("dark", "#000000")])
def test_contrast(theme, page):
    """WCAG contrast against the page: at least 3.2 for lines and marks, 7 for text."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for name, colour in figures.PALETTE[theme].items():
        if name != "page":
            low, high = sorted((luminance(colour), luminance(page)))
            assert (high + 0.05) / (low + 0.05) > (7 if name == "ink" else 3.2)


@pytest.mark.parametrize("theme", figures.PALETTE)
@pytest.mark.parametrize("sight", [None, "protan", "deutan", "tritan"])
def test_colours_are_told_apart_by_everybody(theme, sight):
    """CIEDE2000 between any two colours of a figure, as people with each kind of colour blindness see them."""
    colours = [Color(colour) for colour in figures.PALETTE[theme].values()]
    if sight:
        colours = [colour.filter(sight, method=how) for how in ("brettel", "machado") for colour in colours]
    for seen in (colours[:5], colours[5:]):
        for (i, one), (j, other) in itertools.combinations(enumerate(seen), 2):
            # The ink is told from the wine of the mean by dashes and dots as well.
            assert one.delta_e(other, method="2000") > (14.5 if (i, j) == (0, 1) and theme == "light" else 20)


def boxes(figure, theme="light"):
    """What each axes covers with its labels, measured in the style: fonts are looked up when text is drawn."""
    with mpl.rc_context(figures.style(theme)):
        renderer = FigureCanvasAgg(figure).get_renderer()
        return [ax.get_tightbbox(renderer) for ax in figure.axes]


def test_nothing_is_clipped_at_the_edge_of_the_figure():
    """End labels stand outside the axes; the layout must make room for them."""
    figure = figures.build(draw, panels=3)
    for box in boxes(figure):
        # Layout rounds to a fraction of a pixel; here a pixel is a hundredth of an inch.
        assert figure.bbox.x0 - 0.5 <= box.x0 < box.x1 <= figure.bbox.x1 + 0.5
        assert figure.bbox.y0 - 0.5 <= box.y0 < box.y1 <= figure.bbox.y1 + 0.5


@pytest.mark.bad_input
def test_refuses():
    cases = [
        (lambda: figures.style("sepia"), "theme: expected one of light, dark"),
        (lambda: figures.style(width="third"), "width: expected one of full, half"),
        (lambda: figures.style(height=0), "height: expected a finite number above 0"),
        (lambda: figures.style(medium="A4"), "medium: expected one of 16:9, 4:3, paper, got 'A4'"),
        (lambda: figures.show("a/b", draw, alt="x"), "name: expected letters, digits and dashes"),
        (lambda: figures.show("a", draw, alt=" "), "alt: expected a sentence"),
    ]
    for call, words in cases:
        with pytest.raises(ValueError, match=words):
            call()


def test_bands_and_lines_do_not_depend_on_the_order_of_x():
    """An unsorted x would draw a zigzag; the artists sort."""
    order = torch.randperm(40, generator=runtime.seed(0))
    curves = []
    for rows in (torch.arange(40), order):
        prediction = Predictive(X[rows].square(), X[rows].abs())

        def one(ax, prediction=prediction, rows=rows):
            plotting.band(ax, X[rows], prediction)
            plotting.mean(ax, X[rows], prediction)

        curves.append([line.get_xydata() for line in figures.build(one).axes[0].lines])
    for first, second in zip(*curves, strict=True):
        assert (first == second).all()


@pytest.mark.bad_input
def test_plotting_refuses():
    cases = [
        (lambda ax: plotting.data(ax, X[:, 0], X), r"x: expected a tensor of shape \(n, 1\), got \(40,\)"),
        (lambda ax: plotting.truth(ax, X, X[:3]), "x has 40 points but the values have 3"),
        (lambda ax: plotting.band(ax, X, Predictive(X, 1.0), part="sum"), "part: expected one of total, aleatoric"),
    ]
    for one, words in cases:
        with pytest.raises(ValueError, match=words):
            figures.build(one)


def test_plotting_takes_tensors_with_gradient():
    figures.build(lambda ax: plotting.data(ax, X.clone().requires_grad_(), X))


def test_std_panel_keeps_its_names_apart_and_draws_have_one_entry():
    prediction = Predictive(X, 0.2, 0.01)

    def draw(ax):
        plotting.std_panel(ax, X, prediction, top=0.5)
        plotting.draws(ax, X, torch.zeros(7, 40, 1))

    (ax,) = figures.build(draw).axes
    heights = sorted(text.xy[1] for text in ax.texts)
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 0.0375 - 1e-12
    assert ax.get_ylim() == (0, 0.5)
    (full,) = figures.build(lambda ax: plotting.std_panel(ax, X, Predictive(X, 0.88, 0.05), top=0.9)).axes
    assert max(text.xy[1] for text in full.texts) <= 0.9
    assert len(ax.get_legend_handles_labels()[1]) == 1 and len(ax.lines) == 3 + 7


@pytest.mark.parametrize("theme", figures.PALETTE)
def test_heatmap_fits_and_zero_has_the_colour_of_the_page(theme):
    names = [f"w{i}" for i in range(11)]

    def draw(left, right):
        plotting.heatmap(left, torch.eye(11), names, limit=1.0)
        right.plot([0, 1])

    figure = figures.build(draw, theme=theme, panels=2)
    room = figure.bbox.padded(0.5)
    assert all(room.contains(*corner) for box in boxes(figure, theme) for corner in box.corners()[[0, 3]])
    mesh = figure.axes[0].collections[0]
    page = mpl.colors.to_rgb(figures.PALETTE[theme]["page"])
    assert max(abs(a - b) for a, b in zip(mesh.cmap(0.5), page, strict=False)) < 0.1
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == names[::2]
    with pytest.raises(ValueError, match="one row for each name"):
        figures.build(lambda ax: plotting.heatmap(ax, torch.eye(3), names, limit=1.0))


@pytest.mark.parametrize("theme", figures.PALETTE)
def test_cloud_counts_points_and_fades_into_the_page(theme):
    places = torch.tensor([[0.25, 0.25]] * 3 + [[0.75, 0.75]] + [[9.0, 9.0]])
    figure = figures.build(
        lambda ax: plotting.cloud(ax, places, xlim=(0, 1), ylim=(0, 1), bins=2), theme=theme, width="half"
    )
    (squares,) = figure.axes[0].collections
    counts = squares.get_array()
    assert counts.filled(0).tolist() == [[3, 0], [0, 1]]
    assert counts.mask.tolist() == [[False, True], [True, False]]  # an empty square is not drawn
    colours = squares.to_rgba(counts)
    assert colours[0, 0, 3] > colours[1, 1, 3] > 0


@pytest.mark.bad_input
def test_cloud_refuses_what_are_no_points_in_the_plane():
    with pytest.raises(ValueError, match=r"shape \(n, 2\)"):
        figures.build(lambda ax: plotting.cloud(ax, torch.zeros(2, 5), xlim=(0, 1), ylim=(0, 1)))


STEPS = ("data", "mean", "total", "draws", "truth")


def where_everything_is(figure):
    """Limits and positions of the axes, and the place of each text in a legend that can be seen."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    axes = [(ax.get_xlim(), ax.get_ylim(), ax.get_position().bounds) for ax in figure.axes]
    texts = [text for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    return axes, {t.get_text(): t.get_window_extent(canvas.get_renderer()).bounds for t in texts if t.get_visible()}


def pixels(figure):
    """What the figure looks like."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return bytes(canvas.buffer_rgba())


def test_steps_build_a_figure_up_and_nothing_moves():
    with mpl.rc_context(figures.style()):
        check_steps(*(figures.build(draw, panels=3, ratios=(2, 1, 1)) for _ in range(2)))


def check_steps(whole, figure):
    """Each step adds something, the last is the whole figure, and what can be seen stays where it is."""
    (axes, texts), seen = where_everything_is(whole), []
    for count in range(len(STEPS) + 1):
        _overlays.reveal(figure, STEPS, count)
        axes_now, texts_now = where_everything_is(figure)
        assert axes_now == axes and texts_now.items() <= texts.items()
        legend = figure.axes[0].get_legend()
        shown = [text.get_text() for text in legend.get_texts() if text.get_visible()]
        assert [mark.get_visible() for mark in legend.legend_handles] == [t.get_visible() for t in legend.get_texts()]
        assert ("truth" in shown) == (count == 5) and "outside" in shown
        seen.append(pixels(figure))
    assert len(set(seen)) == len(STEPS) + 1
    assert seen[-1] == pixels(whole)
    names = [artist.get_gid() for artist in whole.findobj(lambda artist: artist.get_gid())]
    assert len(names) == len(set(names))


def test_a_panel_waits_until_it_has_more_than_the_data_to_show():
    def draw(left, right, other):
        plotting.data(left, X, X), plotting.mean(left, X, Predictive(X, 0.1))
        plotting.data(right, X, X), plotting.truth(right, X, X)
        other.plot([0, 1], [0, 1])
        left.set_title("left", loc="left")

    with mpl.rc_context(figures.style()):
        figure = figures.build(draw, panels=3)
    seen = {}
    for count in range(4):
        _overlays.reveal(figure, ("data", "mean", "truth"), count)
        seen[count] = [ax.get_visible() for ax in figure.axes], figure.axes[0]._left_title.get_visible()
    assert seen[0] == seen[1] == ([True, False, True], False)  # data alone: one panel, and no title speaks of a mean
    assert seen[2] == ([True, False, True], True)
    assert seen[3] == ([True, True, True], True)


def test_steps_are_exported_beside_the_figure(tmp_path, monkeypatch):
    monkeypatch.setenv("UQLIB_FIGURES", str(tmp_path))
    figures.show(
        "00-x", lambda ax: plotting.data(ax, X, X) or plotting.truth(ax, X, X), alt="a", steps=("data", "truth")
    )
    stems = sorted(path.stem for path in (tmp_path / "dark").glob("*.pdf"))
    assert stems == ["00-x", "00-x-1", "00-x-2"]
    files = [(tmp_path / "light" / f"{stem}.png").read_bytes() for stem in stems]
    assert image(tmp_path / "light" / "00-x.png").tobytes() == image(tmp_path / "light" / "00-x-2.png").tobytes()
    assert files[0] != files[1]


def test_a_step_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no 'total'; it has data, truth"):
        figures.show(
            "00-x", lambda ax: plotting.data(ax, X, X) or plotting.truth(ax, X, X), alt="a", steps=("data", "total")
        )
