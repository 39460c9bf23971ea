"""The web site: pages and notebooks prepared below build/ from what is stored, then Sphinx. No notebook is run."""

import importlib.util
import re
import shutil
from pathlib import Path

import uqlib
from uqlib import figures
from uqlib.kit import _chapters, _fillers, gallery, kernel, leftovers

_FILL = re.compile(r"^<!-- fill: ([\w-]+) -->$", re.MULTILINE)


def build(root: Path, target: Path | None = None) -> Path:
    """Build the site of a checkout below `target` (build/ if left out) and return its first page.

    What did not change since the last build is not read again, unless that was interrupted: Sphinx does not write a
    page in one step, and takes half a page that is new for one that is right. Raises RuntimeError if Sphinx
    warns or fails.
    """
    from sphinx.application import Sphinx  # only this command needs it
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    target = target or root / "build"
    source, site, confdir = target / "site-source", target / "site", root / "docs"
    with leftovers.alone(target / "site.lock") as finished:
        if not finished:
            for folder in (site, target / "site-doctrees"):
                shutil.rmtree(folder, ignore_errors=True)
        prepare(root, source)
        with patch_docutils(confdir), docutils_namespace():
            places = {"srcdir": source, "confdir": confdir, "outdir": site, "doctreedir": target / "site-doctrees"}
            app = Sphinx(**places, buildername="html", warningiserror=True, status=None)
            app.build()
        if app.statuscode:
            raise RuntimeError("Sphinx warned: the lines above say where")
    return site / "index.html"


def prepare(root: Path, source: Path) -> None:
    """Write what Sphinx reads below `source`. Files that would not change keep their times, others go."""
    pictures = source / "_extra" / "pictures"
    kept = _pictures(root, pictures)
    for name, data in (_notebooks(root, pictures) | _pages(root, pictures) | _assets(root)).items():
        gallery.renew(source / name, data)
        kept.add(source / name)
    for file in [path for path in source.rglob("*") if path.is_file() and path not in kept]:
        file.unlink()


def _pictures(root: Path, folder: Path) -> set[Path]:
    """The light images as stored in the notebooks, and the dark ones drawn from the exported PDFs, where there are any.

    The PDFs are committed for every figure, dark SVGs and PNGs are not: so all checkouts have the same dark pages.
    """
    kept = set()
    for notebook in kernel.stored(root / "notebooks") + kernel.stored(root / "notebooks" / "solutions"):
        for name, png in _chapters.images(notebook).items():
            light, dark = (folder / theme / f"{name}.png" for theme in figures.PALETTE)
            gallery.renew(light, png)
            kept.add(light)
            pdf = root / "figures" / "dark" / f"{name}.pdf"
            if pdf.exists():
                gallery.draw(pdf, dark)
                kept.add(dark)
    return kept


def _notebooks(root: Path, pictures: Path) -> dict[str, bytes]:
    """Chapters and solutions for Sphinx, and each notebook as stored, to download."""
    content = {}
    for path in kernel.stored(root / "notebooks"):
        content[f"notebooks/{path.name}"] = _chapters.page(path, "../", pictures)
        content[f"_extra/downloads/{path.name}"] = path.read_bytes()
    for path in kernel.stored(root / "notebooks" / "solutions"):
        content[f"notebooks/solutions/{path.name}"] = _chapters.page(path, "../../", pictures)
        content[f"_extra/downloads/solutions/{path.name}"] = path.read_bytes()
    return content


def _pages(root: Path, pictures: Path) -> dict[str, bytes]:
    """The pages of docs/ with their gaps filled, the README of the data, and one page for each module."""
    fillers, content = _fillers.fillers(root, pictures), {}
    for path in [*sorted((root / "docs").glob("*.md")), root / "data" / "README.md"]:
        text = _FILL.sub(lambda found: fillers[found[1]](), path.read_text(encoding="utf-8"))
        name = "data.md" if path.name == "README.md" else path.name
        content[name] = _chapters.folded(
            _chapters.relinked(text, "").replace("](../notebooks/", "](notebooks/")
        ).encode()
    for name in uqlib._MODULES:
        heading = f"uqlib.{name}\n{'=' * (6 + len(name))}"
        content[f"api/{name}.rst"] = f"{heading}\n\n.. automodule:: uqlib.{name}\n   :members:\n".encode()
    return content


def _assets(root: Path) -> dict[str, bytes]:
    """The palette of the figures as CSS, the exported figures to download, and MathJax.

    MathJax is one file of the package sphinx-mathjax-offline (the one on PyPI that holds MathJax 3). It draws its
    letters itself: fonts in files of their own would not load from file:// in every browser.
    """
    content = {}
    for theme in ("light", "dark"):
        exports = (root / "figures" / theme).glob("*.*")
        wanted = [path for path in exports if path.suffix == ".pdf" or not path.stem[-2:].lstrip("-").isdigit()]
        content |= {f"_extra/figures/{theme}/{path.name}": path.read_bytes() for path in wanted}
    films = (root / "figures" / "animations").glob("*.html")
    content |= {f"_extra/animations/{film.name}": film.read_bytes() for film in films}
    rules = [
        f'html[data-theme="{theme}"] {{{"".join(f"--uq-{name}: {value};" for name, value in colours.items())}}}'
        for theme, colours in figures.PALETTE.items()
    ]
    content["_static/palette.css"] = "\n".join(rules).encode()
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    mathjax = Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js"
    return content | {"_static/mathjax/tex-svg.js": mathjax.read_bytes()}
