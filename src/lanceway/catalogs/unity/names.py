"""Names in Unity Catalog, which has three levels, and where a table lies unless somebody says so."""

from __future__ import annotations

import os
import re
from typing import NoReturn
from urllib.parse import quote

from lanceway.errors import InvalidInputError
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
# What a new name may not hold either: what joins identifiers, and what a location in a bucket would mistake.
_NEW = {
    "$": "which joins the names of an identifier",
    **dict.fromkeys("%#?", "which has a meaning of its own in the URI of a location"),
}
_MARK = 8


def check(identifier: Identifier) -> None:
    """Refuse names that Unity could not have, so that none is taken for two."""
    _check(identifier, _REASONS)


def check_new(identifier: Identifier) -> None:
    _check(identifier, {**_REASONS, **_NEW})


def _check(identifier: Identifier, reasons: dict[str, str]) -> None:
    for name in identifier:
        for character, reason in reasons.items():
            if character in name:
                alternatives = " or ".join(repr(name.replace(character, other)) for other in "_-")
                _refuse(identifier, name, f"holds {character!r}, {reason}. Use {alternatives}")
        if _CONTROL.search(name):
            _refuse(identifier, name, "holds a control character, which Unity refuses. Use printable ones")
        if len(name) > _LONGEST:
            _refuse(identifier, name, f"has {len(name)} characters. Use at most {_LONGEST}")


def _refuse(identifier: Identifier, name: str, what: str) -> NoReturn:
    raise InvalidInputError(f"{list(identifier)!r} cannot be used: the name {name!r} {what}.")


def absolute(location: str | None) -> str:
    """A location as a URI, which means the same wherever the server runs; the working folder for none."""
    if location and ("://" in location or location.startswith("file:")):
        return dataset.uri(location)
    return dataset.uri(os.path.abspath(location or os.curdir))


def place(root: str, table: Identifier, claim: str) -> str:
    """Where a new table is to lie: in a folder that no other table ever has, not even the next of this name."""
    names = (*map(_short, table.parent), f"{_short(table.name)}-{claim[:_MARK]}.lance")
    # In a bucket pylance takes a name as it is written, in a local folder as a URI has it.
    return "/".join((root.rstrip("/"), *(map(quote, names) if root.startswith("file:") else names)))


def _short(name: str) -> str:
    """As much of a name as a folder's may have; the mark is what tells folders apart."""
    return name.encode()[:_LONGEST_FOLDER].decode(errors="ignore")


def is_own_place(location: str, claim: str | None) -> bool:
    """Whether a folder was made for this claim of a name, and is nobody else's."""
    return bool(claim) and location.rstrip("/").endswith(f"-{str(claim)[:_MARK]}.lance")
