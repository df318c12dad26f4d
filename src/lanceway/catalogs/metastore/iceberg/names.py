"""Names in an Iceberg catalog, and the locations of tables that are declared without one."""

from __future__ import annotations

import re
from typing import NoReturn

from lanceway.catalogs.contract.names import alternatives
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST = 255  # bytes that every common file system has for one name
# What separates folders, and what servers refuse in a path even where it is encoded.
_PATH_CHARACTERS = "/\\"
# pylance reads a location in a bucket as a URI, where these three mean something else.
_URI_CHARACTERS = "%#?"


def check(identifier: Identifier) -> None:
    """Refuse names that could not be written in a path and read back."""
    for name in identifier:
        for character in _PATH_CHARACTERS:
            if character in name:
                _refuse(identifier, name, f"holds {character!r}, which separates the parts of a path", character)
        if _CONTROL.search(name):
            _refuse(identifier, name, "holds a control character, and servers join names by one")
        if name in (".", ".."):
            _refuse(identifier, name, "means a place, and not a name")
        if name != name.strip():
            _refuse(identifier, name, "begins or ends with a space, which servers refuse")
        if len(name.encode()) > _LONGEST:
            _refuse(identifier, name, f"has {len(name.encode())} bytes, and at most {_LONGEST} can be kept")


def check_table(table: Identifier) -> None:
    """Refuse what cannot be a table's identifier."""
    check(table)
    if table.depth < 3:
        raise InvalidInputError(
            f"{list(table)!r} is not the identifier of a table: it needs a warehouse, a namespace and a name, such as "
            "['warehouse', 'sales', 'orders']."
        )


def check_levels(namespace: Identifier, separator: str) -> None:
    """Refuse the name of a namespace that holds what this server joins the names with."""
    for name in namespace:
        if separator in name:
            _refuse(namespace, name, f"holds {separator!r}, which this server joins the names with", separator)


def default_location(root: str, table: Identifier) -> str:
    """Return `{root}/{warehouse}/{namespace}/{table}`, the names of the namespace joined by dots.

    With slashes, a table could end up inside another whose name a namespace has too.
    The root `s3://` makes each warehouse a bucket.
    """
    for name in table:
        for character in _URI_CHARACTERS:
            if character in name:
                _no_location(table, name, character, "has a meaning of its own in the URI of a location")
    for name in table[1:-1]:
        if "." in name:
            _no_location(table, name, ".", "joins the names of a namespace in a location")
    if ".." in table.name or table.name.endswith("."):
        _no_location(table, table.name, ".", "is taken for a way out of the folder, twice or at the end")
    below = root if root.endswith("://") else f"{root.rstrip('/')}/"
    return below + "/".join((table[0], ".".join(table[1:-1]), table.name))


def _no_location(table: Identifier, name: str, character: str, reason: str) -> NoReturn:
    raise InvalidInputError(
        f"{list(table)!r} has no location by default: {name!r} holds {character!r}, which {reason}. Declare it with a "
        f"location of your choice, or use {alternatives(name, character)}."
    )


def _refuse(identifier: Identifier, name: str, what: str, character: str = "") -> NoReturn:
    instead = f"Use {alternatives(name, character)}." if character else "Use another name."
    raise InvalidInputError(f"{list(identifier)!r} cannot be used: the name {name!r} {what}. {instead}")
