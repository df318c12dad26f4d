"""Names of tables and namespaces in a folder: which may be given, and which folder belongs to which."""

from __future__ import annotations

import re

from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

MANIFEST = "__manifest"
SUFFIX = ".lance"
# Joins the names of an object in pylance's manifest.
DELIMITER = "$"

_LONGEST = 255 - len(SUFFIX)  # bytes that every common file system has for one name
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# pylance reads a location in a bucket as a URI, where these three mean something else.
_URI_CHARACTERS = "%#?"
_OF_THE_MANIFEST = re.compile(r"[0-9a-f]{8}_")


def check_new(identifier: Identifier, *, manifest: bool) -> None:
    """Refuse the name of a new object that its folder, its bucket or its manifest could not keep."""
    name = identifier.name
    check_known(identifier)
    for character in _URI_CHARACTERS + (DELIMITER if manifest else ""):
        if character in name:
            _refuse(
                identifier,
                f"holds {character!r}, {_reason(character)}",
                f"Use {_alternatives(name, character)}",
            )
    if ".." in name + SUFFIX:
        reason = "holds '..' or ends with '.', which pylance takes for a way out of the folder"
        _refuse(identifier, reason, f"Use {_alternatives(name.rstrip('.'), '..')}")
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
                f"Use {_alternatives(name, character)}",
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


def table_of(folder: str, *, manifest: bool) -> str | None:
    """The table whose folder this is, None for a folder that is no table's.

    Beside a manifest, folders that begin with eight hexadecimal digits and `_` are its own.
    """
    if folder.startswith(".") or folder == MANIFEST:
        return None
    if folder.endswith(SUFFIX):
        name = folder.removesuffix(SUFFIX)
        return None if name.endswith(SUFFIX) else name
    return None if manifest and _OF_THE_MANIFEST.match(folder) else folder


def folders_of(name: str, *, manifest: bool = False) -> tuple[str, ...]:
    """The folders in which a table of the root may lie, the likelier one first."""
    both = (name + SUFFIX, name)
    return both if table_of(name, manifest=manifest) else both[:1]


def looks_like_manifest_folder(name: str) -> bool:
    return table_of(name, manifest=True) is None


def manifest_folder(identifier: Identifier, digits: str) -> str:
    """A folder for a table that only the manifest knows: `1a2b3c4d_team$orders`, as pylance has it.

    The manifest holds the whole name; here what is unsafe in a path becomes `-`.
    """
    return f"{digits[:8]}_{re.sub(r'[^A-Za-z0-9_.$-]', '-', DELIMITER.join(identifier))[:200]}"


def _reason(character: str) -> str:
    if character == DELIMITER:
        return "which joins names in a manifest"
    return "which has a meaning of its own in the URI of a bucket"


def _alternatives(name: str, character: str) -> str:
    return " or ".join(repr(name.replace(character, other)) for other in "_-")


def _refuse(identifier: Identifier, what: str, instead: str) -> None:
    raise InvalidInputError(f"{list(identifier)!r} cannot be used: the name {identifier.name!r} {what}. {instead}.")
