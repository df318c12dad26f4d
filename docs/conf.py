"""How Sphinx builds these pages."""

from __future__ import annotations

import re
from typing import Any

import lanceway

project = "Lanceway"
author = "The Lanceway authors"
copyright = "The Lanceway authors"  # noqa: A001 - Sphinx's own word
release = version = lanceway.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Lanceway"
html_static_path = ["_static"]
html_css_files = ["style.css"]
# What is typed is copied, without prompts and without what is printed.
copybutton_exclude = ".linenos, .gp, .go, .gt"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# As the source writes them: the name of a function, and not <function …>.
autodoc_preserve_defaults = True
# The error tree and the request models belong to another package, which documents them.
nitpicky = False

# Docstrings name code in single backquotes, and examples are copied: quotes stay as they are written.
default_role = "code"
smartquotes = False


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", readable)


def readable(*event: Any) -> tuple[str | None, str | None]:
    """Write the defaults of a data class so that Sphinx can read the signature: no <factory>, no <function>."""
    signature, answer = event[-2:]
    if signature is None:
        return None, answer
    named = re.sub(r"<class '(\w+)'>", r"\1", signature)
    return re.sub(r"<factory>|<function [\w.]+(?:<lambda>)?>", "...", named), answer
