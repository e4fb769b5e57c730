"""Sphinx's configuration. The sources are written by tools/docs/pages.py and tools/docs/reference.py."""
project = "Undertow"
author = "the Undertow authors"
project_copyright = author
# __main__.py gives version, release and html_title.

extensions = ["myst_parser"]
myst_heading_anchors = 4
root_doc = "index"
smartquotes = False
highlight_language = "none"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
