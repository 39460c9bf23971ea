"""The parts of the site's pages that are made at build time: each is read from where it is written, never copied."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import uqlib
from uqlib.kit import _chapters, _play, gallery

_HEADLINE = "03-noise-fan"


def fillers(root: Path, pictures: Path) -> dict[str, Callable[[], str]]:
    """By name, what makes the Markdown for a line `<!-- fill: NAME -->`; `pictures` holds light/ and dark/ images."""
    notebooks = root / "notebooks"
    return {
        "headline": lambda: _headline(notebooks, pictures),
        "teach": lambda: _teach(root),
        "teach-pages": lambda: "lecture-plan\n" if _plan(root) else "",
        "notebooks": lambda: _chapter_table(root),
        "notation": lambda: _chapters.table(notebooks / "00_reading_a_prediction.ipynb", "notation"),
        "glossary": lambda: _glossary(_chapters.table(notebooks / "00_reading_a_prediction.ipynb", "glossary")),
        "symptoms": lambda: _symptoms(notebooks / "13_when_training_goes_wrong.ipynb"),
        "gallery": lambda: "\n\n".join(_card(one, root, pictures) for one in gallery.collect(notebooks)),
        "moving": lambda: _moving(root),
        "modules": lambda: _modules(root),
        "std-data": lambda: _play.embedded("std-data", _play.fixed_mean(), _play.STDS),
        "evidence-data": lambda: _play.embedded("evidence-data", _play.fixed_features(), _play.PRECISIONS),
    }


def _plan(root: Path) -> bool:
    return (root / "docs" / "lecture-plan.md").exists()


def _headline(notebooks: Path, pictures: Path) -> str:
    record = next(one for one in gallery.collect(notebooks) if one["name"] == _HEADLINE)
    pair = _chapters.picture(_HEADLINE, record["alt"], 717, "", pictures)
    return (
        f'<div class="figure-pair">{pair}</div>\n\n*{record["title"]}* ([notebook 03](notebooks/{record["notebook"]}))'
    )


def _readme(root: Path, first: str, then: str) -> str:
    """The lines of the README from the one that starts with `first`, as long as they start with `then`."""
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(first))
    end = next(place for place in range(start + 1, len(lines)) if not lines[place].startswith(("|---", then)))
    return "\n".join(lines[start:end])


def _teach(root: Path) -> str:
    """The first sentence of the README's paragraph for lecturers, without its name."""
    text = (root / "README.md").read_text(encoding="utf-8")
    return re.search(r"\*\*Teach\.\*\* (.*?\.)\s", text, re.DOTALL)[1].replace("](docs/", "](")


def _chapter_table(root: Path) -> str:
    """The README's table of notebooks without its pictures: here each notebook is a click away."""
    return re.sub(r"(?m) [^|]* \|$", "", _readme(root, "| | notebook", "| ")).replace(
        "|---|---|---|---|---|", "|---|---|---|---|"
    )


def _moving(root: Path) -> str:
    """The animations that `make animations` has written, each in a frame of its own."""
    films = sorted((root / "figures" / "animations").glob("*.html"))
    frames = [
        f'<iframe class="film" src="animations/{film.name}" title="{film.stem}" loading="lazy"></iframe>\n\n*{alt}*'
        for film in films
        for alt in re.findall('alt="([^"]+)"', film.read_text(encoding="utf-8"))[:1]
    ]
    return "\n\n".join(frames) or "They are made by `make animations`; this site was built without them."


def _glossary(table: str) -> str:
    """The table of words as the entries of Sphinx's glossary."""
    entries = []
    for row in table.splitlines()[2:]:
        word, sentence, origin = (cell.strip() for cell in row.strip("|").split(" | "))
        entries.append(f"{word}\n  {sentence} ({origin.replace('](', '](notebooks/')})")
    return "\n\n".join(entries)


def _symptoms(notebook: Path) -> str:
    """Both tables of symptoms; in place of a section's number its heading as a link, and the cure found below it."""
    texts = _chapters.texts(notebook)
    head, rule, *rows = _chapters.table(notebook, "map").splitlines()
    lines = [f"{head.rsplit('|', 2)[0]}| what to do | where |", f"{rule}---|"]
    for row in rows:
        seen, number = row.rsplit("|", 2)[:2]
        start = next(place for place, text in enumerate(texts) if text.startswith(f"## {number.strip()} · "))
        end = next(place for place in range(start + 1, len(texts)) if texts[place].startswith("## "))
        heading = texts[start].splitlines()[0].removeprefix("## ")
        link = f"[{heading}](notebooks/{notebook.name}#{_slug(heading)})"
        found = re.search(r"\*\*Cure\.\*\* (.*)", "\n".join(texts[start:end]))
        cure = (
            re.sub(r"(?<=\.) (?:(?!\. ).)*:$", "", found[1]) if found else "see there"
        )  # "..., look:" leads to a cell
        lines.append(f"{seen}| {cure} | {link} |")
    elsewhere = _chapters.table(notebook, "map-elsewhere").replace("](../README.md", "](index.md")
    lines += re.sub(r"\]\((?=\d\d_)", "](notebooks/", elsewhere).splitlines()[2:]
    return "\n".join(lines)


def _slug(heading: str) -> str:
    """The anchor that MyST gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _card(record: dict, root: Path, pictures: Path) -> str:
    """One figure of the gallery: both images, the sentence, the chapter, the line for LaTeX and the files."""
    name, steps = record["name"], record["steps"]
    chapter = f"notebooks/{Path(record['notebook']).stem}.html"
    links = [
        f'<a href="figures/{theme}/{path.name}" title="{name}, {theme}">{path.suffix[1:]} {theme}</a>'
        for theme in ("light", "dark")
        for path in sorted((root / "figures" / theme).glob(f"{name}.*"))
    ]
    files = " · ".join(links) + (f" · in {len(steps)} steps: {name}-1 to -{len(steps)}" if steps else "")
    return f"""\
::::{{container}} figure-card
<a class="figure-pair" href="{chapter}#{name}">{_chapters.picture(name, record["alt"], 717, "", pictures)}</a>

**Figure {record["number"]}.** {record["title"]} [Notebook {record["number"][:2]}](notebooks/{record["notebook"]})

```latex
{gallery.latex(record)}
```

<p class="files">{files}</p>
::::"""


def _modules(root: Path) -> str:
    """The modules with the first sentence of each, and the list that makes their pages part of the site."""
    lines = []
    for name in uqlib._MODULES:
        file = root / "uqlib" / f"{name}.py"
        file = file if file.exists() else root / "uqlib" / name / "__init__.py"
        first = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").splitlines()[0]
        lines.append(f"* [`uqlib.{name}`](api/{name}.rst): {first}")
    pages = "\n".join(f"api/{name}" for name in uqlib._MODULES)
    return "\n".join(lines) + f"\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```"
