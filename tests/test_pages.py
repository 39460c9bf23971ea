"""Pages of notebooks: links lead to pages, and formulas keep their letters without a script."""

import re
from pathlib import Path

from nbformat.v4 import new_markdown_cell, new_notebook

from uqlib import pages


def page(text):
    return pages.to_html(new_notebook(cells=[new_markdown_cell(text)]), "title")


def test_links_lead_to_the_pages_beside():
    html = page("[04](04_why_is_my_loss_negative.ipynb), [README](../README.md), [out](https://example.org/05_x.ipynb)")
    targets = re.findall(r'href="([^"#]+)"', html)
    assert {"04_why_is_my_loss_negative.html", "../../README.md", "https://example.org/05_x.ipynb"} <= set(targets)


def test_styled_letters_are_unicode_since_browsers_ignore_mathvariant():
    html = page(r"$\mathbb E[y] = \mathcal N(0, 1)\, \mathbb 1[y]$")
    assert {"\U0001d53c", "\U0001d4a9", "\U0001d7d9"} <= set(html)
    assert "double-struck" not in html and 'mathvariant="script"' not in html


def test_every_styled_letter_of_the_notebooks_is_known():
    for path in (Path(__file__).parents[1] / "notebooks").glob("*.ipynb"):
        for kind, letter in re.findall(r"\\\\math(bb|cal)\s*\{?(\w)", path.read_text()):
            style = {"bb": "double-struck", "cal": "script"}[kind]
            assert letter in pages._LETTERS[style], f"{path.name}: {kind} {letter}"
