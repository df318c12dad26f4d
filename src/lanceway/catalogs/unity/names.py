"""Names in Unity Catalog, which has three levels, and the locations of tables that are declared without one."""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import quote

from lanceway.catalogs.contract.names import alternatives
from lanceway.catalogs.metastore.http import absolute_path
from lanceway.catalogs.metastore.tables import own_folder
from lanceway.errors import InvalidInputError, namespace_not_found
from lanceway.identifiers import Identifier
from lanceway.tables import dataset

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST = 255
_LONGEST_FOLDER = 200  # bytes; every common file system has 255 for one, mark and suffix included
# A full name is joined by dots; Unity refuses the others itself.
_REASONS = {
    ".": "which joins the names in Unity",
    " ": "which Unity refuses",
    "/": "which separates the parts of a path",
    "\\": "which separates the parts of a path",
}
# What the open-source server does not take in a new name.
_REFUSED = re.compile(r"[^a-zA-Z0-9_@-]")
# What a new name may not hold either: what joins identifiers, and what a location in a bucket would mistake.
_NEW = {
    "$": "which joins the names of an identifier",
    **dict.fromkeys("%#?", "which has a meaning of its own in the URI of a location"),
}
TABLE_LEVEL = 3


def check(identifier: Identifier) -> None:
    """Refuse names that Unity could not have, so that none is taken for two."""
    _check(identifier, _REASONS)


def check_new(identifier: Identifier) -> None:
    """Refuse a name that Unity would not take, or that an identifier or the URI of a location could not hold."""
    _check(identifier, {**_REASONS, **_NEW})
    name = identifier.name
    refused = _REFUSED.search(name)
    if refused:
        reason = "and Unity takes the letters A to Z and a to z, digits, '_', '-' and '@' alone"
        _refuse(identifier, name, f"holds {refused[0]!r}, {reason}. Use {_REFUSED.sub('_', name)!r}")


def check_table(table: Identifier) -> None:
    """Refuse what cannot be a table's identifier: Unity has exactly three levels."""
    check(table)
    if table.depth < TABLE_LEVEL:
        raise InvalidInputError(
            f"{list(table)!r} is not the identifier of a table: it needs a catalog, a schema and a name, such as "
            "['main', 'sales', 'orders']."
        )
    if table.depth > TABLE_LEVEL:
        raise namespace_not_found(f"There is no namespace {table.parent}: a schema of Unity holds no namespaces.")


def _check(identifier: Identifier, reasons: dict[str, str]) -> None:
    for name in identifier:
        for character, reason in reasons.items():
            if character in name:
                _refuse(identifier, name, f"holds {character!r}, {reason}. Use {alternatives(name, character)}")
        if _CONTROL.search(name):
            _refuse(identifier, name, "holds a control character, which Unity refuses. Use printable ones")
        if len(name) > _LONGEST:
            _refuse(identifier, name, f"has {len(name)} characters. Use at most {_LONGEST}")


def _refuse(identifier: Identifier, name: str, what: str) -> NoReturn:
    raise InvalidInputError(f"{list(identifier)!r} cannot be used: the name {name!r} {what}.")


def absolute(location: str | None) -> str:
    """Return a location as a URI, which means the same wherever the server runs; the working folder for none."""
    return dataset.uri(absolute_path(location))


def default_location(root: str, table: Identifier, claim: str) -> str:
    """Return a folder that no other table ever has, not even the next one of this name."""
    names = (*map(_short, table.parent), own_folder(_short(table.name), claim))
    # In a bucket pylance takes a name as it is written, in a local folder as a URI has it.
    return "/".join((root.rstrip("/"), *(map(quote, names) if root.startswith("file:") else names)))


def _short(name: str) -> str:
    """Return as much of a name as a folder's may have; the claim is what tells folders apart."""
    return name.encode()[:_LONGEST_FOLDER].decode(errors="ignore")
