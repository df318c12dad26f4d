"""How Sphinx builds these pages."""

from __future__ import annotations

import lanceway

project = "Lanceway"
author = "The Lanceway authors"
copyright = "The Lanceway authors"  # noqa: A001 - Sphinx's own word
release = version = lanceway.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Lanceway"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# The error tree and the request models belong to another package, which documents them.
nitpicky = False
