"""Names in Gravitino: a catalog, a schema whose logical name joins those of nested ones, and a table."""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import quote

from lanceway.catalogs.contract.names import alternatives
from lanceway.catalogs.metastore.tables import own_folder
from lanceway.errors import InvalidInputError
from lanceway.identifiers import HierarchicalName, Identifier, check_visible

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Names of schemas may hold them, but no name of a folder: a path or a URI would lead elsewhere.
_NOT_IN_A_FOLDER = re.compile(r"[/\\%#?]")
_LONGEST_FOLDER = 200  # bytes; every common file system has 255 for one, mark and suffix included
# What a new name may not hold: what joins names, and what a path or a location would mistake.
_NOT_NEW = {
    "$": "joins the names of an identifier",
    **dict.fromkeys("/\\", "separates the parts of a path"),
    **dict.fromkeys("%#?", "has a meaning of its own in the URI of a location"),
}
CATALOG_LEVEL, TABLE_LEVEL = 1, 3


def check(identifier: Identifier) -> None:
    """Refuse names that could not be written in a path and read back."""
    for name in identifier:
        if _CONTROL.search(name):
            _refuse(identifier, name, "holds a control character", "Use printable ones.")
        if name in (".", ".."):
            _refuse(identifier, name, "means a place, and not a name", "Use another name.")


def check_table(table: Identifier) -> None:
    """Refuse what cannot be a table's identifier."""
    check(table)
    if table.depth < TABLE_LEVEL:
        raise InvalidInputError(
            f"{list(table)!r} is not the identifier of a table: it needs a catalog, a schema and a name, such as "
            "['lance', 'sales', 'orders']."
        )


def check_new(identifier: Identifier) -> None:
    """Refuse a name that an identifier, a path or a location could not keep."""
    check(identifier)
    name = identifier.name
    check_visible(name)
    for character, means in _NOT_NEW.items():
        if character in name:
            reason = f"holds {character!r}, which {means}"
            _refuse(identifier, name, reason, f"Use {alternatives(name, character)}.")


def logical(namespace: Identifier, separator: str) -> str:
    """Return the logical name of a schema, without its catalog's. Raises InvalidInputError for one that holds the
    separator, which would be read as two."""
    names = namespace[1:]
    for name in names:
        if separator in name:
            reason = f"holds {separator!r}, which joins the names of nested schemas on this server"
            _refuse(namespace, name, reason, f"Use {alternatives(name, separator)}.")
    return separator.join(names)


def full_name(identifier: Identifier, separator: str, *, is_table: bool) -> str:
    """Return the name of an object of owners and tags: `lance.A:B.orders`."""
    namespace = identifier.parent if is_table else identifier
    parts = [namespace[0], logical(namespace, separator), identifier.name if is_table else ""]
    return ".".join(HierarchicalName.encode(part) for part in parts if part)


def default_location(root: str, table: Identifier, claim: str) -> str:
    """Return a folder that no other table ever has, not even the next one of this name."""
    names = (*map(_folder, table.parent), own_folder(_folder(table.name), claim))
    # In a bucket pylance takes a name as it is written, in a local folder as a URI has it.
    return "/".join((root.rstrip("/"), *(map(quote, names) if root.startswith("file:") else names)))


def _folder(name: str) -> str:
    """Return as much of a name as a folder's may have; the claim is what tells folders apart."""
    return _NOT_IN_A_FOLDER.sub("_", name).encode()[:_LONGEST_FOLDER].decode(errors="ignore")


def _refuse(identifier: Identifier, name: str, what: str, instead: str) -> NoReturn:
    raise InvalidInputError(f"{list(identifier)!r} cannot be used: the name {name!r} {what}. {instead}")
