"""Sphinx configuration of the course's site; `python -m uqlib site` calls it with a source folder below build/."""

project = "Uncertainty in neural networks"
html_title = "Uncertainty in neural networks, hands on"
author = "the authors of the uqlib course"
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx_copybutton"]
exclude_patterns = ["_extra", "_static"]
suppress_warnings: list[str] = []

# Notebooks: what is stored is shown. The widget scripts would come from another host; a slider is stored as a line.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_merge_streams = True
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# Formulas: MathJax 3 as one file with its letters as SVG. Fonts in files of their own would not load from file://.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "local"}, "options": {"enableMenu": False}}

default_role = "obj"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 72
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_use_param = False
add_module_names = False

html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}  # left out, the theme's script finds an empty mode and logs an error
html_static_path = ["_static", "../build/site-source/_static"]
html_extra_path = ["../build/site-source/_extra"]
html_favicon = "_static/icon.svg"
html_css_files = ["palette.css", "course.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "home_page_in_toc": False,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "article_header_end": ["article-header-buttons.html"],
    "toc_title": "On this page",
    "search_bar_text": "Search the course",
    "extra_footer": "Code: MIT. Text and figures: CC BY 4.0.",
    "footer_content_items": ["extra-footer.html"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_exclude = ".linenos, .gp, .go"


def with_notes(app, what, name, obj, options, lines):
    """Give the text below a list of parameters or errors a heading, or napoleon takes it for one more entry."""
    listing = False
    for place in range(len(lines) - 1, -1, -1):
        if set(lines[place]) == {"-"}:
            listing = lines[place - 1] in ("Parameters", "Raises")
            end = next((at for at in range(place + 1, len(lines) - 1) if set(lines[at + 1]) == {"-"}), len(lines))
            for at in range(place + 1, end):
                follower = lines[at + 1] if at + 1 < len(lines) else ""
                if listing and lines[at] and lines[at - 1] == "" and not (lines[at] + follower).count("    "):
                    lines[at:at] = ["Notes", "-----"]
                    break


def setup(app):
    """Take static and extra files from the source folder of this build, wherever it is."""
    app.connect("autodoc-process-docstring", with_notes, priority=100)  # napoleon comes at 500
    app.config.html_static_path = [str(app.confdir / "_static"), str(app.srcdir / "_static")]
    app.config.html_extra_path = [str(app.srcdir / "_extra")]
