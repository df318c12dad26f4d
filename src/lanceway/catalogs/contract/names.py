"""Names of tables and namespaces that become names of folders: which of them may be given."""

from __future__ import annotations

import re
from typing import NoReturn

from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier, check_visible

# The folder where pylance keeps its list of tables, and how the folder of a table ends.
MANIFEST = "__manifest"
SUFFIX = ".lance"
# Joins the names of an object in pylance's manifest.
DELIMITER = "$"

_LONGEST = 255 - len(SUFFIX)  # bytes that every common file system has for one name
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# pylance reads a location in a bucket as a URI, where these three mean something else.
_URI_CHARACTERS = "%#?"


def check_new(identifier: Identifier, *, manifest: bool) -> None:
    """Refuse the name of a new object that its folder, its bucket or its manifest could not keep."""
    name = identifier.name
    check_known(identifier)
    check_visible(name)
    for character in _URI_CHARACTERS + (DELIMITER if manifest else ""):
        if character in name:
            _refuse(
                identifier,
                f"holds {character!r}, {_reason(character)}",
                f"Use {alternatives(name, character)}",
            )
    if ".." in name + SUFFIX:
        reason = "holds '..' or ends with '.', which pylance takes for a way out of the folder"
        _refuse(identifier, reason, f"Use {alternatives(name.rstrip('.'), '..')}")
    if name != name.strip():
        _refuse(identifier, "begins or ends with a space, which locations lose", f"Use {name.strip()!r}")
    if len(name.encode()) > _LONGEST:
        _refuse(identifier, f"has {len(name.encode())} bytes", f"Use at most {_LONGEST}")


def check_known(identifier: Identifier) -> None:
    """Refuse a name that no table or namespace can have, so that none is looked for outside the folder."""
    name = identifier.name
    for character in "/\\":
        if character in name:
            _refuse(
                identifier,
                f"holds {character!r}, which separates folders",
                f"Use {alternatives(name, character)}",
            )
    if name.startswith("."):
        _refuse(identifier, "begins with '.', which hides a folder", "Begin it with a letter or a digit")
    if _CONTROL.search(name):
        _refuse(identifier, "holds a control character", "Use printable characters")
    if name == MANIFEST:
        _refuse(identifier, "is the folder where pylance keeps its list of tables", "Use another name")
    if name.endswith(SUFFIX):
        _refuse(
            identifier,
            f"ends with {SUFFIX!r}, which belongs to the folder",
            f"Use {name.removesuffix(SUFFIX)!r}",
        )


def _reason(character: str) -> str:
    if character == DELIMITER:
        return "which joins names in a manifest"
    return "which has a meaning of its own in the URI of a bucket"


def alternatives(name: str, character: str) -> str:
    """Return names to use instead of one that holds a refused character."""
    return " or ".join(repr(name.replace(character, other)) for other in "_-")


def _refuse(identifier: Identifier, what: str, instead: str) -> NoReturn:
    raise InvalidInputError(f"{list(identifier)!r} cannot be used: the name {identifier.name!r} {what}. {instead}.")
