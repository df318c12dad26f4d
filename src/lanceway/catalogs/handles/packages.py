"""Packages that Lanceway does not need itself, imported when a user asks for what they give."""

from __future__ import annotations

import importlib
from types import ModuleType

from lanceway.errors import InvalidInputError


def require(module: str, what: str) -> ModuleType:
    """Import a module of another package. Raises InvalidInputError, with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise InvalidInputError(f"{what} needs the package {package}: pip install {package} ({error}).") from error
