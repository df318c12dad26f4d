"""Tables as a pipeline's file names them: `lake.sales.orders`, a root namespace of `lanceway.toml` first; or a path."""

from __future__ import annotations

import json
from pathlib import Path

from lance_namespace import LanceNamespace

from lanceway import config as configuration
from lanceway.catalogs.connect import connect
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.writes.table_ref import TableRef


def find(name: str, config: str | Path | None = None) -> TableRef:
    """Return the table of a name. Raise InvalidInputError if no namespace has the name's first part."""
    if "/" in name:
        return TableRef.of({"path": name})
    root, table = _split(name)
    named = configuration.namespace(root, config)
    at = {"at": named.at} if named.at else {}
    settings = {f"namespace.{key}": value for key, value in {**named.settings, **at, "type": named.type}.items()}
    return TableRef.of({"table": json.dumps(list(table)), **settings})


def catalog(name: str, config: str | Path | None = None) -> tuple[LanceNamespace, Identifier]:
    """Open the catalog of a name; return it and the table's identifier in it."""
    root, table = _split(name)
    return connect(None, name=root, config=config), table


def _split(name: str) -> tuple[str, Identifier]:
    names = Identifier.parse(name, ".")
    if names.depth < 2:
        raise InvalidInputError(
            f"{name!r} names no table: give its name with the root namespace that has it, such as lake.sales.orders, "
            "or a path with a slash in it."
        )
    return names[0], Identifier(names[1:])
