"""An executed notebook as one HTML page that needs no network: formulas become MathML, scripts are left out."""

import re

import latex2mathml.converter
from jinja2 import DictLoader
from nbconvert import HTMLExporter

# Outside code: a display formula, an inline formula, or a piece of code to be left alone.
_PIECES = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)|\$\$(?P<display>.+?)\$\$|(?<!\\)\$(?P<inline>[^$\n]+?)\$", re.DOTALL
)

_FUNCTIONS = re.compile(r"<mi>(?:log|exp|min|max)</mi>(?!<mo|</mrow>)")

# Browsers ignore mathvariant but for upright letters, so the letter itself must be the styled one.
_STYLED = re.compile(r'<m[in] mathvariant="(double-struck|script)">(\w)</m[in]>')
_LETTERS = {"double-struck": dict(zip("E1", "𝔼𝟙", strict=True)), "script": {"N": "𝒩"}}
# Pages stand side by side in build/html, as the notebooks do; the README is two folders up.
_LINKS = (
    (re.compile(r"\]\(((?:\.\./|solutions/)?\d\d_\w+)\.ipynb\)"), r"](\1.html)"),
    (re.compile(r"\]\(\.\./README\.md"), "](../../README.md"),
)

_TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block extra_css -%}<style>
body.jp-Notebook { max-width: 60rem; margin: 0 auto; padding: 1rem 1.5rem 6rem; }
.jp-RenderedHTMLCommon { font-size: 16px; line-height: 1.6; max-width: 46rem; }
div.highlight pre { font-size: 12.5px; }
.jp-RenderedHTMLCommon table { margin-left: 0; }
.jp-RenderedImage img { max-width: 100%; height: auto; }
.jp-RenderedHTMLCommon details { border-left: 3px solid #882255; padding: 0.1rem 0 0.1rem 0.9rem; }
.jp-RenderedHTMLCommon summary { cursor: pointer; color: #882255; }
math[display="block"] { margin: 0.8rem 0; font-size: 1.1em; overflow-x: auto; overflow-y: hidden; }
</style>{%- endblock -%}
"""


def to_html(notebook: object, title: str) -> str:
    """The page of an executed notebook as text; the notebook given is not changed."""
    page = notebook.__deepcopy__({})
    page.metadata["title"] = title
    formulas = []

    def stand_in(match: re.Match) -> str:
        if match["code"] is not None:
            return match[0]
        display = match["display"] is not None
        mode = "block" if display else "inline"
        formula = latex2mathml.converter.convert(match["display"] or match["inline"], display=mode)
        formula = _STYLED.sub(lambda m: f"<mi>{_LETTERS[m[1]].get(m[2], m[2])}</mi>", formula)
        formulas.append(_FUNCTIONS.sub(r'\g<0><mspace width="0.17em"/>', formula))  # else "log x" reads "logx"
        return f"FORMULA{len(formulas) - 1}END"

    for cell in page.cells:
        if cell.cell_type == "markdown":
            cell.source = _PIECES.sub(stand_in, cell.source)
            for link, target in _LINKS:
                cell.source = link.sub(target, cell.source)
    exporter = HTMLExporter(template_file="offline.html.j2", extra_loaders=[DictLoader({"offline.html.j2": _TEMPLATE})])
    html, _ = exporter.from_notebook_node(page)
    return re.sub(r"FORMULA(\d+)END", lambda match: formulas[int(match[1])], html)
