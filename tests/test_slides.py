"""Slides say what notebooks and plan say: nine frames each, votes, every figure, decks that join them."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from uqlib import Predictive, metrics
from uqlib.figures import PALETTE
from uqlib.kit import beamer, code, decks, frames, gallery, plan, slides, tagged, words

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
FIGURES = gallery.collect(ROOT / "notebooks")
PLAN = (ROOT / plan.PLACE).read_text(encoding="utf-8")
VOTES = plan.votes(PLAN)
STYLE = (ROOT / slides.LOOKS / "uqlib-beamer.sty").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def notebook(request):
    return request.param


@pytest.fixture(scope="module")
def deck(notebook):
    return frames.collect(notebook, FIGURES, VOTES[notebook.name[:2]])


def stored(path):
    """All that a notebook says: sources and printed outputs, with one space between words and no emphasis."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = ["".join(cell["source"]) for cell in cells]
    parts += ["".join(output.get("text", [])) for cell in cells for output in cell.get("outputs", [])]
    return squeezed("\n".join(parts))


def squeezed(text):
    text = re.sub(r"(?m)^(> ?|\d+\. |[*-] )", "", text)
    return " ".join(re.sub(r"[*`]", "", text).split())


def frame(deck, kind):
    return deck.frames[frames.KINDS.index(kind)]


def own_words(path):
    """What the metadata put on slides in place of the notebook's words."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for kind, chosen in cell["metadata"].get("slide", {}).items():
            parts = chosen if isinstance(chosen, list) else [chosen] if kind == "answer" else []
            yield from (part for part in parts if isinstance(part, str))


def test_nine_frames_in_order_and_none_is_empty(deck):
    assert tuple(one.kind for one in deck.frames) == frames.KINDS
    for one in deck.every:
        assert one.title and (one.text or one.code or one.picture), one.kind
    assert frame(deck, "question").picture or frame(deck, "question").code
    assert frame(deck, "figure").picture and frame(deck, "takeaway").last.startswith("★")


def test_votes_and_the_other_figures_follow_the_nine(notebook, deck):
    assert [one.kind for one in deck.after[:3]] == ["vote"] * 3 and {one.kind for one in deck.after[3:]} <= {"more"}
    assert [one.label for one in deck.after[:3]] == [f"{notebook.name[:2]}-vote-{place}" for place in (1, 2, 3)]
    labels = [one.label for one in deck.every]
    assert len(labels) == len(set(labels))
    whole = {record["name"] for record in FIGURES if record["notebook"] == notebook.name}
    assert whole <= {one.picture.name for one in deck.every if one.picture}


def test_words_on_slides_are_words_of_the_notebook(notebook, deck):
    """Or words of their own in its metadata, and then each number in them is one of the notebook."""
    whole, own = stored(notebook), list(own_words(notebook))
    labels = {"Code", "Reading"}
    for one in deck.frames:
        for text in (one.title, *one.text, *one.code, one.last, one.note):
            assert text in labels or text in own or squeezed(text) in whole, f"{one.kind}: {text}"
    for text in own:
        for number in re.findall(r"\d+(?:\.\d+)?", re.sub(r"\$[^$]+\$", "", text)):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", whole), f"{number} in: {text}"


def test_code_is_at_most_six_lines_and_parses(deck):
    lines = frame(deck, "lines").code
    assert 1 <= sum(bool(line.strip()) for line in lines) <= 6
    ast.parse("\n".join(lines))


def test_a_vote_stands_alone_and_does_not_show_its_answer(deck):
    vote = frame(deck, "predict")
    assert (vote.code, vote.picture, vote.last) == ((), None, "") and vote.text
    tex = beamer._frame(vote)
    shown, _, note = tex.partition(r"\note{")
    answer = beamer._tex(vote.note)
    assert answer in note and not any(part in shown for part in re.split(r"(?<=[.:;]) ", answer) if len(part) > 12)
    page = decks._slide(vote, {})
    assert re.search(r'<aside class="notes">.+</aside>', page) and page.count("<p>") == 1


def test_the_votes_of_the_plan_are_on_slides_and_do_not_mark_the_right_option(deck):
    for one in deck.after[:3]:
        tex, page = beamer._frame(one), decks._slide(one, {})
        shown, _, note = tex.partition(r"\note{")
        seen, _, hidden = page.partition('<aside class="notes">')
        assert "✓" not in shown + seen and note.count("✓") == hidden.count("✓") == 1
        assert beamer._tex(one.text[0]) in shown and len(one.options) >= 3
        assert "".join(letter for letter, _ in one.options) == "ABCD"[: len(one.options)]
        for letter, text in one.options:
            assert rf"\item[{letter}] {beamer._tex(text)}" in shown and f"<li>{decks._html(text)}</li>" in seen


def test_the_plan_has_three_votes_for_each_notebook_and_says_where_they_are():
    assert {number: len(votes) for number, votes in VOTES.items()} == {path.name[:2]: 3 for path in NOTEBOOKS}
    with pytest.raises(ValueError, match="00, vote 1: expected one option marked ✓"):
        plan.votes("## 00 · A\n\n**Vote 1.** B?\n\n| | option | a | b |\n|---|---|---|---|\n| A | c | d | e |\n")
    assert "slides 10, 11 and 12" in PLAN


def test_the_clock_of_the_plan_adds_up_and_no_row_is_empty():
    rows = re.findall(r"(?m)^\| (\d+) \| (\d+) \| (\d\d|–) \| (.*?) \| (.*?) \|$", PLAN)
    rows = [row for row in rows if not re.fullmatch(r"\d+", row[3])]  # self-study has no clock
    clock, ends = 0, []
    for start, minutes, _, part, _ in rows:
        clock = 0 if start == "0" else clock
        assert int(start) == clock, part
        parts = [int(count) for count in re.findall(r"\((\d+)", part)]
        assert not parts or sum(parts) == int(minutes), part
        clock += int(minutes)
        ends.append(clock)
    assert ends.count(90) == 4 and not re.search(r"(?m)^\| \d+ \|(?: \|)+$", PLAN)


@pytest.mark.parametrize("name", plan.WAYS)
def test_a_way_of_the_plan_becomes_one_deck(tmp_path, name):
    ((stem, count, pages, _),) = slides.join(ROOT, [], name, tmp_path)
    tex = (tmp_path / "beamer" / f"{name}.tex").read_text(encoding="utf-8")
    page = (tmp_path / "reveal" / f"{name}.html").read_text(encoding="utf-8")
    assert stem == name and tex.count(r"\begin{frame}") == page.count("<section") == count <= pages
    places = []
    for row in plan.way(PLAN, name):
        wanted = [f"{row.number}-claim", *([f"{row.number}-vote-1"] if row.vote else []), f"{row.number}-takeaway"]
        places += [tex.index(f"label={label}]") for label in wanted]
        for figure in row.figures:
            assert re.search(rf"\\uqfigure(\[\d\])?\{{{figure}\}}", tex) or f"{figure[:2]}-question" in tex, figure
    assert places == sorted(places) and f"python -m uqlib slides --join {name}" in PLAN


def test_notebooks_given_become_one_deck_and_an_unknown_way_is_refused(tmp_path):
    ((_, count, _, _),) = slides.join(ROOT, NOTEBOOKS[1:3], "mine", tmp_path)
    whole = [frames.collect(path, FIGURES, VOTES[path.name[:2]]) for path in NOTEBOOKS[1:3]]
    assert count == sum(len(one.every) for one in whole)
    with pytest.raises(ValueError, match="no way mine; the lecture plan has 90-minutes, lecture-1"):
        slides.join(ROOT, [], "mine", tmp_path)


def test_code_is_at_least_ten_points_and_errors_have_their_sign(deck):
    tex = beamer.to_tex(deck)
    sizes = [float(size) for size in re.findall(r"fontsize=\\uqsize\{([\d.]+)\}", tex)]
    assert sizes and min(sizes) >= 10
    assert "+-" not in tex
    for one in deck.frames:
        if one.kind == "lines":
            assert ast.dump(ast.parse("\n".join(code.fitted(one.code, python=True)))) == ast.dump(
                ast.parse("\n".join(one.code))
            )


def test_long_lines_and_wide_tables_are_fitted():
    line = f"    return {'a' * 40}({'b' * 20}, {'c' * 20})  # why"
    assert code.fitted(["def f():", line], python=True) == [
        "def f():",
        "    # why",
        f"    return {'a' * 40}({'b' * 20},",
        f"            {'c' * 20})",
    ]
    table = [f"{'name':40}{'x':40}", f"{'y':40}{'1.0 +- 0.2':40}"]
    assert [row.rstrip() for row in code.fitted(table, python=False)] == ["name   x", "y       1.0 ± 0.2"]
    assert code.fitted(["lower by 88 +- 12"], python=False) == ["lower by 88 ± 12"]


def test_the_code_of_the_pit_is_the_pit():
    prediction, y = Predictive(torch.zeros(3, 1), 2.0), torch.tensor([[-1.0], [0.0], [3.0]])
    names = {"torch": torch, "prediction": prediction, "y": y}
    exec("\n".join(frame(frames.collect(NOTEBOOKS[11], FIGURES), "lines").code), names)
    torch.testing.assert_close(names["u"], metrics.pit(prediction, y))


def test_a_reading_has_three_numbers(deck):
    reading = frame(deck, "reading")
    assert len(re.findall(r"\d+(?:\.\d+)?", words.plain(" ".join(reading.text)) + " ".join(reading.code))) >= 3


def test_figures_exist_in_both_themes_with_all_their_steps(deck):
    steps = {record["name"]: len(record["steps"]) for record in FIGURES}
    for count, name in re.findall(r"\\uqfigure(?:\[(\d+)\])?\{([^}]+)\}", beamer.to_tex(deck)):
        assert int(count or 0) in (0, steps.get(name))
        assert name in steps or int(name.rpartition("-")[2]) <= steps[name.rpartition("-")[0]]
        for file in [f"{name}-{step + 1}" for step in range(int(count))] if count else [name]:
            assert all((ROOT / "figures" / theme / f"{file}.pdf").exists() for theme in PALETTE), file


def test_the_headline_figure_with_steps_is_shown_in_steps(deck):
    picture = frame(deck, "figure").picture
    steps = next(record["steps"] for record in FIGURES if record["name"] == picture.name)
    assert picture.steps == len(steps)


def test_colours_of_the_style_file_are_those_of_the_figures():
    found = re.findall(r"\\definecolor\{uq-(light|dark)-(\w+)\}\{HTML\}\{(\w{6})\}", STYLE)
    assert {(theme, name): f"#{value}" for theme, name, value in found} == {
        (theme, name): value for theme, colours in PALETTE.items() for name, value in colours.items()
    }


def test_every_macro_and_sign_that_slides_use_is_defined(deck):
    tex = beamer.to_tex(deck)
    for macro in set(re.findall(r"\\uq[a-z]+", tex)):
        assert re.search(rf"(command|newsavebox|newlength)\{{\{macro}\}}|\{{{macro[1:]}\}}\{{", STYLE), macro
    signs = set(re.findall(r"\\newunicodechar\{(.)\}", STYLE)) | set("–—“”‘’öüéøñ…")
    assert {sign for sign in tex if ord(sign) > 127} <= signs


def test_symbols_come_back_unless_somebody_redefines_them():
    defaults = dict(re.findall(r"\\providecommand\{(\\uq\w+)\}\{([^%\n]+)\}", STYLE))
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for formula in re.findall(r"\$([^$]+)\$", tagged.source(cell)) * (cell["cell_type"] == "markdown"):
                back = re.sub(r"\\uq[a-z]+", lambda match: defaults[match[0]], beamer.notation(formula))
                assert back == formula
    assert beamer.notation(r"s(x)^2 + \sigma_i^2") == r"\uqepistemic(x)^2 + \uqnoise_i^2"
    assert beamer.notation(r"s_1 z, \sigma") == r"s_1 z, \uqnoise"


def test_sentences_are_whole():
    text = "## Head\nOne, at 0.5 nats. `a.B` is two (it goes. On). *Three. And four* end $x. Y$ here.\n\n"
    text += "| a table |\n\n> 1. Five."
    assert words.sentences(text) == [
        "One, at 0.5 nats.",
        "`a.B` is two (it goes. On).",
        "*Three. And four* end $x. Y$ here.",
        "Five.",
    ]
    assert words.sentences("So it is $$ a = b. $$\nThen more.") == ["So it is $$ a = b. $$", "Then more."]
    assert words.sentences("So it is $$ a, $$ with more.") == ["So it is $$ a, $$ with more."]
    assert words.sentences("Kept.\n<details><summary>A</summary>\n\nFolded.\n</details>") == ["Kept."]


def test_markdown_for_latex_and_html():
    text = "**95 %** of *it*, `a_b{}`, $\\sigma < 1$ & [notebook 03](03_x.ipynb), 0.5 <b"
    assert beamer._tex(text, numbers=True) == (
        r"\textbf{\uqnumber{95 \%}} of \emph{it}, \texttt{a\_b\{\}}, $\uqnoise < 1$ \& notebook 03, "
        r"\uqnumber{0.5} \textless{}b"
    )
    assert decks._html(text) == (
        r"<strong>95 %</strong> of <em>it</em>, <code>a_b{}</code>, \(\sigma &lt; 1\) &amp; notebook 03, 0.5 &lt;b"
    )
    kinds = {kind for kind, text in code.pieces(["x = 1  # one", "return 'a'"], python=True)}
    assert kinds == {"", "comment", "keyword", "string"}
    printed = list(code.pieces(["n = 5: 0.91 +- 0.02, x_2"], python=False))
    assert [text for kind, text in printed if kind == "number"] == ["5", "0.91", "0.02"]


def changed(tmp_path, change):
    """Notebook 03 with its metadata changed, and what the builder says."""
    content = json.loads(NOTEBOOKS[3].read_text(encoding="utf-8"))
    holders = {}
    for cell in content["cells"]:
        for tag in cell["metadata"].get("tags", []):
            holders.setdefault(tag, cell["metadata"])
    change(content["cells"], holders)
    path = tmp_path / NOTEBOOKS[3].name
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError) as trouble:
        frames.collect(path, FIGURES)
    return str(trouble.value)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda cells, holders: holders["slide-predict"]["tags"].remove("slide-predict"),
            r"03_heteroskedastic_nets\.ipynb: expected a cell tagged slide-predict, got none",
        ),
        (
            lambda cells, holders: cells[1]["metadata"].update(tags=["slide-question"]),
            r"03_.*: expected one cell tagged slide-question, got 2: [\w-]+, [\w-]+",
        ),
        (
            lambda cells, holders: cells[1]["metadata"].update(tags=["slide-punchline"]),
            r"03_.*, cell [\w-]+: expected slide-question, .*, got slide-punchline",
        ),
        (
            lambda cells, holders: holders["slide-lines"].update(slide={"lines": [1, 12]}),
            r"03_.*, slide-lines, cell [\w-]+: expected 1 to 6 lines of 100 characters, got 10 of \d+",
        ),
        (
            lambda cells, holders: holders["slide-lines"].update(slide={"lines": [2, 2]}),
            r"03_.*, slide-lines, cell [\w-]+: expected whole statements, got .*",
        ),
        (
            lambda cells, holders: holders["slide-reading"].update(slide={"reading": [9]}),
            r"03_.*, slide-reading, cell [\w-]+: expected places from 1 to \d, got \[9\]",
        ),
        (
            lambda cells, holders: holders["slide-reading"].update(slide={"reading": [1]}),
            r"03_.*, slide-reading, cell [\w-]+: expected three numbers, got 0",
        ),
        (
            lambda cells, holders: holders["slide-data"].update(slide={"data": "03-nothing"}),
            r"03_.*, slide-data, cell [\w-]+: expected the name of a figure of the series, got '03-nothing'",
        ),
        (
            lambda cells, holders: holders["slide-equation"].update(slide={"equation": [3]}),
            r"03_.*, slide-equation, cell [\w-]+: expected a formula among the first sentences, got none",
        ),
        (
            lambda cells, holders: next(
                cell for cell in cells if "slide-takeaway" in cell["metadata"].get("tags", [])
            ).update(source=["A sentence. " * 60]),
            r"03_.*, slide-takeaway, cell [\w-]+: expected 1 to 440 characters of text, got \d+",
        ),
    ],
    ids=["missing", "doubled", "unknown", "long", "cut", "beyond", "numberless", "figureless", "formulaless", "wordy"],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, change, line):
    assert re.fullmatch(line, changed(tmp_path, change))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    target = tmp_path_factory.mktemp("slides")
    slides.build(ROOT, NOTEBOOKS, target)
    return target


@pytest.mark.slow
def test_what_is_built(built):
    stems = {path.stem for path in NOTEBOOKS}
    assert {path.stem for path in (built / "reveal").iterdir()} == stems
    assert {path.stem for path in (built / "beamer").glob("*.tex")} == stems
    for path in (built / "beamer").glob("*.tex"):
        names = re.findall(r"\\uqfigure(?:\[(\d+)\])?\{([^}]+)\}", path.read_text(encoding="utf-8"))
        for name in [f"{name}-{count}" if count else name for count, name in names]:
            assert all((built / "beamer" / theme / f"{name}.pdf").exists() for theme in PALETTE)


@pytest.mark.slow
def test_a_deck_needs_no_network(built):
    for path in (built / "reveal").iterdir():
        page = path.read_text(encoding="utf-8")
        marks = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
        assert not re.findall(r'(?:src|href|data-dark)="(?!data:)', marks), path.name
        assert not re.findall(r"url\(\s*[\"']?(?:https?:)?//|@import", marks), path.name
        assert not re.findall(r"\bimport\s*[({\"'*]?\s*[\"']?https?://", page), path.name
        assert page.count("<section") >= 12 and page.count("</script>") == 4
        assert marks.count("<img") == marks.count("data-dark=")  # no light card in a dark deck
        assert all(alt for alt in re.findall(r'<img[^>]*alt="([^"]*)"', marks))


SLIDE = """() => {
  const one = document.querySelector("section.present"), deck = document.querySelector(".slides");
  const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).map(v => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b; };
  const edge = deck.getBoundingClientRect(), page = light(getComputedStyle(document.body).backgroundColor);
  const words = [...one.querySelectorAll("*")].filter(part => part.checkVisibility() &&
    !part.closest("pre, mjx-container, aside") && [...part.childNodes].some(n => n.nodeType == 3 && n.data.trim()));
  const contrast = part => { const [a, b] = [light(getComputedStyle(part).color), page].sort((p, q) => q - p);
    return [(a + .05) / (b + .05), part.textContent.slice(0, 40)]; };
  const outside = [...one.querySelectorAll("h1, h2, p, li, img, pre, mjx-container svg")].filter(part => {
    const box = part.getBoundingClientRect();
    return part.checkVisibility() && (box.left < edge.left - 1 || box.top < edge.top - 1 ||
      box.right > edge.right + 1 || box.bottom > edge.bottom + 1); }).map(part => part.outerHTML.slice(0, 80));
  const images = [...one.querySelectorAll("img")].filter(part => part.checkVisibility());
  return { kind: one.className.split(" ")[0], maths: one.querySelectorAll("mjx-container").length,
    unset: /\\\\\\[|\\\\\\(/.test(one.innerText), errors: one.querySelectorAll("[data-mjx-error], merror").length,
    contrast: words.map(contrast).sort((p, q) => p[0] - q[0])[0], outside, words: words.length,
    images: images.map(image => [image.naturalWidth, image.getBoundingClientRect().width]) };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("size", ["laptop", "phone"])
@pytest.mark.parametrize("theme", PALETTE)
def test_a_deck_opens_with_the_network_off(built, watch, screenshots, size, theme):
    """Notebook 03, each page as a lecturer turns it: words inside the slide, formulas set, figures seen."""
    page = watch((built / "reveal" / f"{NOTEBOOKS[3].stem}.html").as_uri(), size, theme)
    page.wait_for_selector("section.present")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    seen = []
    while not seen or not page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next"):
        if seen:
            page.keyboard.press("ArrowRight")
        page.screenshot(path=screenshots / f"deck-{len(seen)}-{size}-{theme}.png")
        seen.append(page.evaluate(SLIDE))
    kinds = [*frames.KINDS, "vote", "more"]
    assert list(dict.fromkeys(one["kind"] for one in seen)) == kinds and len(seen) > len(kinds)
    assert sum(one["maths"] for one in seen if one["kind"] == "equation") > 0
    for one in seen:
        assert one["words"] > 0 and one["outside"] == [] and not one["unset"] and one["errors"] == 0, one
        assert one["contrast"][0] >= 4.5, one["contrast"]
        assert all(pixels > 0 and width > 250 for pixels, width in one["images"]), one["images"]
    assert {"question", "figure", "breaks"} <= {one["kind"] for one in seen if one["images"]}


@pytest.mark.slow
def test_a_preview_is_never_upright(built, watch, tmp_path):
    """The speaker's view shows two slides in frames of its own; one that is higher than wide keeps a wide slide."""
    deck = (built / "reveal" / f"{NOTEBOOKS[3].stem}.html").as_uri()
    (tmp_path / "view.html").write_text(f'<iframe src="{deck}" style="width: 300px; height: 500px"></iframe>')
    page = watch((tmp_path / "view.html").as_uri(), "laptop", "light")
    inside = page.frames[1]
    inside.wait_for_selector("section.present")
    assert not inside.evaluate("document.querySelector('.reveal').classList.contains('tall')")
    assert inside.evaluate("Reveal.getConfig().width") == 1120


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed: nothing here to compile by")
def test_the_line_of_the_gallery_keeps_a_tall_figure_on_the_slide(tmp_path):
    (record,) = [one for one in FIGURES if one["name"] == "12-rivals"]
    (tmp_path / "tall.tex").write_text(
        "\\documentclass[aspectratio=169]{beamer}\n\\usepackage{graphicx}\n"
        f"\\graphicspath{{{{{(ROOT / 'figures' / 'light').as_posix()}/}}}}\n\\begin{{document}}\n"
        f"\\begin{{frame}}{{A title}}\n{gallery.latex(record)}\n\\end{{frame}}\n\\end{{document}}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tall.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "tall.log").read_text(encoding="latin-1")
    assert result.returncode == 0 and "Overfull" not in log, re.findall("Overfull.*", log)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed: nothing here to compile by")
@pytest.mark.parametrize("theme", PALETTE)
def test_a_sample_deck_compiles(built, tmp_path, theme):
    deck = frames.collect(NOTEBOOKS[3], FIGURES, VOTES["03"])
    shutil.copytree(built / "beamer", tmp_path, dirs_exist_ok=True)
    tex = beamer.to_tex(deck).replace("[light,credit]", f"[{theme},credit]")  # as its comment tells a lecturer to
    (tmp_path / "sample.tex").write_text(tex, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "sample.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "sample.log").read_text(encoding="latin-1")
    assert result.returncode == 0, re.findall(r"(?m)^! .*$", log)
    assert not [float(points) for points in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt", log) if float(points) > 2]
    assert "Missing character" not in log and f"{theme}/03-noise-fan-5.pdf" in log
    assert re.search(rf"\({beamer.pages(deck)} pages", log)
    if shutil.which("pdffonts"):
        fonts = subprocess.run(["pdffonts", "sample.pdf"], cwd=tmp_path, capture_output=True, text=True, check=True)
        rows = fonts.stdout.splitlines()[2:]
        assert rows and all(re.search(r"\s+yes\s+(yes|no)\s+(yes|no)\s+\d", row) for row in rows), fonts.stdout
        assert "Type 3" not in fonts.stdout
