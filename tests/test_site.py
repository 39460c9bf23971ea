"""The web site: built once, then read as files, and looked at in a headless browser that can reach no other host."""

import functools
import http.server
import json
import math
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from uqlib import _MODULES, laplace, losses

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
PAGES = [
    "index.html",
    "notebooks/00_reading_a_prediction.html",
    "notebooks/08_last_layer_laplace.html",
    "play-std.html",
    "play-evidence.html",
]
pytest.importorskip("sphinx", reason="the extra `kit` is not installed")
pytest.importorskip("myst_nb", reason="the extra `kit` is not installed")
pytestmark = [
    pytest.mark.slow,
    # warnings of Sphinx and its extensions about each other; what they say about the pages is an error all the same
    pytest.mark.filterwarnings("default::DeprecationWarning", "default::PendingDeprecationWarning"),
]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The site of this checkout, in a folder of its own. Another process: Sphinx changes locale and loggers."""
    target = tmp_path_factory.mktemp("site")
    code = (
        f"from pathlib import Path; from uqlib.kit import site; site.build(Path({str(ROOT)!r}), Path({str(target)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target / "site"


class Loaded(HTMLParser):
    """What a page makes the browser load, its text, its tables and its ids."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.ids, self.tables, self.open = [], [], set(), [], []
        self.words, self.styles = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        self.ids.add(facts.get("id"))
        if tag in ("script", "img", "source", "iframe", "video", "audio", "embed") and facts.get("src"):
            self.loads.append(facts["src"])
        if tag == "link" and {"stylesheet", "icon", "preload", "preconnect"} & set((facts.get("rel") or "").split()):
            self.loads.append(facts["href"])
        if tag == "a" and facts.get("href"):
            self.links.append(facts["href"])
        if facts.get("style"):
            self.styles.append(facts["style"])
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            self.tables[-1][-1].append("")
        if tag not in ("img", "link", "meta", "br", "hr", "input", "source", "path", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if "style" in self.open:
            self.styles.append(data)
        elif not {"script", "code", "pre"} & set(self.open) and "article" in self.open:
            self.words.append(data)
        if {"td", "th"} & set(self.open) and self.tables:
            self.tables[-1][-1][-1] += data


def parsed(path):
    return Loaded(path.read_text(encoding="utf-8"))


def other_host(address):
    return re.match(r"\s*(?:[a-z]+:)?//", address) is not None


def letters(cell):
    """A cell of a table without marks: what its Markdown source and its HTML have in common."""
    return re.sub(r"[^\w]", "", re.sub(r"\\[()]", "", cell).replace("’", "").lower())


def source_table(notebook, cell):
    cells = json.loads(next((ROOT / "notebooks").glob(f"{notebook}_*.ipynb")).read_text())["cells"]
    text = "".join(next(one for one in cells if one["id"] == cell)["source"])
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[letters(word) for word in row] for row in [rows[0], *rows[2:]]]


def test_every_chapter_and_module_has_its_page(built):
    for notebook in NOTEBOOKS:
        page = parsed(built / "notebooks" / f"{notebook.stem}.html")
        assert f"../downloads/{notebook.name}" in page.links
        assert (built / "downloads" / notebook.name).read_bytes() == notebook.read_bytes()
        shown = re.findall(r'figures\.show\(\\"([\w-]+)', notebook.read_text())
        assert set(shown) <= page.ids
    for name in _MODULES:
        text = (built / "api" / f"{name}.html").read_text()
        assert f'id="module-uqlib.{name}"' in text
    assert "Search.setIndex" in (built / "searchindex.js").read_text()
    words = json.loads((built / "searchindex.js").read_text().removeprefix("Search.setIndex(").rstrip(")"))["terms"]
    assert "evid" in words and "coverag" in words


def test_no_page_loads_anything_from_another_host_or_from_nowhere(built):
    for path in built.rglob("*.html"):
        if "_static" in path.parts:
            continue
        page = parsed(path)
        for address in page.loads:
            assert not other_host(address), f"{path.name} loads {address}"
            if not address.startswith("data:"):
                assert (path.parent / re.split(r"[?#]", address)[0]).exists(), f"{path.name} loads {address}"
        for style in page.styles:
            assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", style), path.name
    for path in built.rglob("*.css"):
        for address in re.findall(r"url\(['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)", path.read_text()):
            assert not other_host("".join(address)), f"{path.name} loads {address}"


def test_every_link_inside_the_site_leads_somewhere(built):
    pages = {path: parsed(path) for path in built.rglob("*.html") if "_static" not in path.parts}
    for path, page in pages.items():
        for link in page.links:
            target, _, place = link.partition("#")
            if re.match(r"[a-z]+:", target) or target.endswith(("genindex.html", "py-modindex.html")):
                continue
            file = (path.parent / target.split("?")[0]).resolve() if target else path
            assert file.exists(), f"{path.name} links to {link}"
            if place and file in pages:
                assert place in pages[file].ids, f"{path.name} links to {link}"


def test_no_markdown_or_formula_is_left_as_source(built):
    for path in [*built.glob("*.html"), *built.glob("notebooks/*.html")]:
        text = " ".join(parsed(path).words)
        text = re.sub(r"\\\(.*?\\\)|\\\[.*?\\\]", " ", text, flags=re.DOTALL)
        left = re.search(r".{0,40}(?:\$|\*\*|\]\(|\\[a-z]{3,}|<!--|\{\w+\}`).{0,40}", text)
        assert left is None, f"{path.name}: {left[0]}"


def test_tables_are_those_of_the_notebooks(built):
    (notation,) = parsed(built / "notation.html").tables
    assert [[letters(word) for word in row] for row in notation] == source_table("00", "notation")
    (symptoms,) = parsed(built / "symptoms.html").tables
    wanted, elsewhere = source_table("13", "map"), source_table("13", "map-elsewhere")
    assert [[letters(word) for word in row[:2]] for row in symptoms] == [row[:2] for row in wanted + elsewhere[1:]]
    for row, (_, _, section) in zip(symptoms[1 : len(wanted)], wanted[1:], strict=True):
        assert row[3].strip().startswith(f"{section} · ") and len(row[2]) > 5
    assert [letters(row[2]) for row in symptoms[len(wanted) :]] == [row[2] for row in elsewhere[1:]]


def test_the_glossary_is_one_sentence_a_term(built):
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(NOTEBOOKS[0].read_text())["cells"]}
    entries = re.findall(
        r"^\| (\S.*?) \| (.*) \| \[(\d\d)\]\((\d\d_\w+\.ipynb)\) \|$", cells["glossary"], flags=re.MULTILINE
    )
    assert 40 <= len(entries) <= 70 and len(entries) == cells["glossary"].count("\n|") - 2
    assert [word for word, *_ in entries] == sorted((word for word, *_ in entries), key=str.lower)
    page = parsed(built / "glossary.html")
    for word, sentence, number, origin in entries:
        assert sentence.endswith(".") and ". " not in sentence and number == origin[:2]
        other = json.loads((ROOT / "notebooks" / origin).read_text())["cells"]
        text = letters("".join("".join(cell["source"]) for cell in other if cell["id"] != "glossary"))
        assert all(letters(part) in text for part in word.split(",")[0].split() if len(part) > 3), (
            f"{word}: not in {origin}"
        )
        assert f"term-{re.sub(r'[^A-Za-z0-9]+', '-', word)}" in page.ids


def test_the_gallery_holds_every_figure_in_light_and_dark(built):
    from uqlib.kit import gallery

    page = parsed(built / "gallery.html")
    for record in gallery.collect(ROOT / "notebooks"):
        name = record["name"]
        assert {f"pictures/light/{name}.png", f"pictures/dark/{name}.png"} <= set(page.loads)
        assert f"figures/light/{name}.pdf" in page.links and f"figures/dark/{name}.pdf" in page.links


def test_an_unchanged_checkout_leaves_the_source_alone(built):
    from uqlib.kit import site

    source = built.parent / "site-source"
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    site.prepare(ROOT, source)
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before


def test_a_solution_is_linked_behind_a_click_and_a_lecture_plan_is_found(tmp_path):
    from uqlib.kit import _chapters, _fillers

    for folder in ("docs", "notebooks/solutions"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs" / "lecture-plan.md").write_text("# Plan")
    solution = tmp_path / "notebooks" / "solutions" / NOTEBOOKS[3].name
    solution.write_bytes(NOTEBOOKS[3].read_bytes())
    page = json.loads(_chapters.page(NOTEBOOKS[3], "../", tmp_path))
    linked = next(cell["source"] for cell in page["cells"] if cell["id"] == "solutions")
    assert linked.strip().startswith("<details>") and f"](solutions/{solution.name})" in linked
    alone = json.loads(_chapters.page(solution, "../../", tmp_path))
    assert alone["metadata"]["orphan"] and "white-card" in json.dumps(alone)
    assert _fillers.fillers(tmp_path, tmp_path)["teach-pages"]() == "lecture-plan\n"
    assert _fillers.fillers(ROOT / "nowhere", tmp_path)["teach-pages"]() == ""


# In the browser.


@pytest.fixture(scope="session")
def address(built):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def visit(watch, address):
    return lambda name, size="laptop", theme="light", base=address: watch(base + name, size, theme)


def scrolled(page):
    """Go down the page once, so that what loads late is there, and come back."""
    page.evaluate(
        """async () => {
          for (let y = 0; y < document.body.scrollHeight; y += 500) {
            scrollTo(0, y); await new Promise(next => setTimeout(next, 30));
          }
          const seen = [...document.images].filter(image => image.offsetParent);  // a hidden one never loads
          await Promise.all(seen.map(image => image.decode().catch(() => 0)));
          scrollTo(0, 0);
        }"""
    )


CONTRAST = """() => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
    .getContext('2d', {willReadFrequently: true});
  const rgba = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const behind = one => { for (; one; one = one.parentElement) {
    const colour = rgba(getComputedStyle(one).backgroundColor); if (colour[3] === 255) return colour; }
    return [255, 255, 255, 255]; };
  const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = c.map(v => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b; };
  const found = [];
  for (const one of document.querySelectorAll('article p, article li, article summary, article figcaption, ' +
      'article td, article code, article .highlight pre, article .highlight span, article h1, article h2, ' +
      'article a:not(.headerlink), article dt')) {
    if (!one.offsetParent || !one.textContent.trim()) continue;
    const [a, b] = [light(rgba(getComputedStyle(one).color)), light(behind(one))].sort((p, q) => q - p);
    found.push([(a + .05) / (b + .05), one.tagName, one.className, one.textContent.trim().slice(0, 40)]);
  }
  return found.sort((p, q) => p[0] - q[0]);
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", ["laptop", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_page_in_the_browser(visit, screenshots, name, size, theme):
    page = visit(name, size, theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.wait_for_function("!window.MathJax || MathJax.startup?.promise")  # a busy machine loads it late
    page.evaluate("window.MathJax ? MathJax.startup.promise.then(() => 0) : 0")
    scrolled(page)
    shot = screenshots / f"{name.replace('/', '-').removesuffix('.html')}-{size}-{theme}.png"
    page.screenshot(path=shot, full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than the {size}"
    if name != "index.html":
        assert page.locator("mjx-container").count() > 0
        assert page.locator("mjx-container [data-mjx-error], mjx-merror").count() == 0
    shown = page.locator("article .figure-pair img:visible")
    if "play" not in name:
        assert shown.count() > 0
    for image in shown.all():
        assert image.evaluate("one => one.naturalWidth") > 0 and image.get_attribute("alt")
        box = image.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= page.viewport_size["width"] and box["width"] > 250
        assert f"only-{theme}" in image.get_attribute("class")
    worst = page.evaluate(CONTRAST)
    assert worst[0][0] >= 4.5, worst[:5]


@pytest.mark.parametrize("size", ["laptop", "phone"])
def test_search_finds_the_evidence(visit, screenshots, size):
    page = visit("index.html", size)
    page.keyboard.press("Control+k")
    page.keyboard.type("evidence")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function("document.querySelectorAll('#search-results li').length > 3")
    page.screenshot(path=screenshots / f"search-{size}-light.png")
    titles = page.locator("#search-results li a").all_text_contents()
    assert any("Choosing the prior and the noise" in title for title in titles)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_first_visit_has_the_theme_of_the_system(watch, address, theme):
    """And logs no error, which `watch` would see."""
    page = watch(f"{address}search.html", "laptop", theme, first=True)
    page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")


def test_a_wide_table_scrolls_inside_itself_on_a_phone(visit, screenshots):
    page = visit("lecture-plan.html", "phone")
    page.screenshot(path=screenshots / "lecture-plan-phone-light.png")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tables = page.evaluate(
        """() => [...document.querySelectorAll('article table')].map(table => {
          let holder = table;  // the table or what holds it
          const scrolls = one => ['auto', 'scroll'].includes(getComputedStyle(one).overflowX);
          while (holder && !scrolls(holder)) holder = holder.parentElement;
          return holder && holder.matches('table, .pst-scrollable-table-container')
            && holder.getBoundingClientRect().right <= innerWidth; })"""
    )
    assert len(tables) > 50 and all(tables)


def test_a_film_is_dark_in_the_dark(visit):
    for theme, expected in (("light", "none"), ("dark", "invert(0.87) hue-rotate(180deg)")):
        page = visit("moving.html", "phone", theme)
        page.evaluate("document.querySelector('article').innerHTML = '<iframe class=\"film\"></iframe>'")
        assert page.locator("iframe.film").evaluate("one => getComputedStyle(one).filter") == expected


def test_answers_are_folded_and_unfold(visit):
    page = visit("notebooks/00_reading_a_prediction.html")
    answers = page.locator("article details")
    written = json.dumps(json.loads(NOTEBOOKS[0].read_text())["cells"]).count("<details>")
    assert answers.count() == written >= 9 and page.locator("article details[open]").count() == 0
    for answer in answers.all():
        assert not answer.locator("p").first.is_visible()
        answer.locator("summary").click()
        assert answer.locator("p").first.is_visible()
    assert page.locator("article summary").count() == written


def test_site_works_without_a_server(visit, built):
    page = visit("notebooks/00_reading_a_prediction.html", base=f"file://{built}/")
    page.wait_for_selector("mjx-container")
    assert page.locator("article .figure-pair img:visible").first.evaluate("one => one.naturalWidth") > 0


def told(page, name):
    place = page.locator(f'[data-number="{name}"]')
    return float(place.get_attribute("data-value")), place.text_content()


def embedded(page, name):
    return json.loads(page.locator(f"#{name}").text_content())


def column(numbers):
    return torch.tensor(numbers, dtype=torch.float64)[:, None]


def test_std_page_tells_what_uqlib_computes(visit):
    page = visit("play-std.html")
    data = embedded(page, "std-data")
    mean, y = column(data["mean"]), column(data["y"])
    slider = page.get_by_label("std σ of the noise")
    slider.focus()
    seen = []
    for keys in (["Home"], ["End"], ["ArrowLeft"] * 3, ["PageDown"], ["Home"] + ["ArrowRight"] * 5):
        for key in keys:
            page.keyboard.press(key)
        std, text = told(page, "std")
        assert text == f"{std:.3f}" and 0.0499 < std < 1.0001
        nll, shown = told(page, "nll")
        assert math.isclose(nll, losses.gaussian_nll(mean, y, std=std).item(), abs_tol=1e-10)
        assert shown == f"{nll:.3f}".replace("-", "−")
        assert math.isclose(told(page, "coverage")[0], ((y - mean).abs() <= 1.959964 * std).double().mean().item())
        seen.append(nll)
    assert len(set(seen)) == len(seen)
    rms = (y - mean).square().mean().sqrt().item()
    assert math.isclose(told(page, "best")[0], rms, rel_tol=1e-12)
    for button, cost in (("half of the best", 1.5 - math.log(2)), ("twice the best", math.log(2) - 0.375)):
        page.get_by_role("button", name=button).click()
        assert math.isclose(told(page, "excess")[0], cost, abs_tol=1e-12)
    page.get_by_label("twice is dearer").check()
    assert page.locator(".verdict").text_content().startswith("Not so. Half of the best costs 0.807")
    assert page.locator(".verdict").get_attribute("aria-live") == "polite"


def test_the_mark_is_whole_at_the_end_of_the_slider_on_a_phone(visit):
    page = visit("play-std.html", "phone")
    page.locator("#std-slider").evaluate("one => { one.value = one.max; one.dispatchEvent(new Event('input')); }")
    mark = page.locator("#std-curve .mark")
    assert mark.evaluate("one => !one.closest('[clip-path]')")
    assert mark.evaluate("one => one.getBoundingClientRect().right <= one.closest('svg').getBoundingClientRect().right")


def test_evidence_page_tells_what_uqlib_computes(visit):
    page = visit("play-evidence.html")
    data = embedded(page, "evidence-data")
    phi, y = torch.tensor(data["phi"], dtype=torch.float64), column(data["y"])
    slider = page.get_by_label("prior precision τ")
    slider.focus()
    seen = []
    for keys in ([], ["Home"], ["End"], ["ArrowLeft"] * 4, ["PageDown"], ["Home"] + ["ArrowRight"] * 7):
        for key in keys:
            page.keyboard.press(key)
        tau, _ = told(page, "tau")
        posterior = laplace.fit((phi, y), noise_std=data["noise_std"], prior_precision=tau, bias=False)
        evidence, shown = told(page, "evidence")
        assert math.isclose(evidence, posterior.log_evidence, abs_tol=1e-7)
        assert shown == f"{evidence:.2f}".replace("-", "−")
        fit = -len(y) * losses.gaussian_nll(posterior.predict(phi).mean, y, std=data["noise_std"]).item()
        assert math.isclose(told(page, "fit")[0], fit, abs_tol=1e-7)
        assert math.isclose(told(page, "price")[0], fit - evidence, abs_tol=1e-7)
        gamma = posterior.effective_parameters
        assert math.isclose(told(page, "gamma")[0], float(gamma), abs_tol=1e-7)
        seen.append(evidence)
    assert len(set(seen)) == len(seen)
    start = laplace.fit((phi, y), noise_std=data["noise_std"], bias=False)
    best = laplace.maximise_evidence(start, noise_std=False)
    page.get_by_role("button", name="the best τ").click()
    step = (data["high"] / data["low"]) ** (1 / data["steps"])
    assert abs(math.log(told(page, "tau")[0] / best.prior_precision[0].item())) < math.log(step)
    page.get_by_label("it rises, then falls").check()
    assert page.locator(".verdict").text_content().startswith("Right.")
