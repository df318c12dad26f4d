"""Lanceway: one governed namespace for every Lance table, wherever its metadata lives.

    import lanceway

    ns = lanceway.connect("dir", path="./warehouse")

Importing it is cheap: what is heavy is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.identifiers import Identifier, parse

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.errors import LanceNamespaceError

__version__ = "0.1.0"

__all__ = ["Identifier", "LanceNamespaceError", "__version__", "connect", "parse"]


def connect(
    type: str | None = None,  # noqa: A002 - the specification's own word
    *,
    name: str | None = None,
    config: str | Path | None = None,
    **settings: object,
) -> LanceNamespace:
    """Connect to a root namespace, by its type and settings or by its name in `lanceway.toml`.

    `connect("dir", path="./warehouse")` takes the type and what it needs. `connect(name="lake")`
    reads the section `[namespaces.lake]`; settings given here override the file's. Settings with a
    dot are given as `**{"storage.region": "…"}` or, for storage, as `storage_options={"region": "…"}`.
    """
    from lanceway.catalogs.connect import connect as open_connection

    return open_connection(type, name=name, config=config, settings=settings)


def __getattr__(attribute: str) -> object:
    # Looked at before it is loaded: `from lanceway import config` asks here too, and needs no error tree.
    if attribute.endswith("Error") or attribute == "ErrorCode":
        errors = importlib.import_module("lanceway.errors")
        if attribute in errors.__all__:
            return getattr(errors, attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")
