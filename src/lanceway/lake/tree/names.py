"""Names that the lake can store: normalised, printable, and short enough for an index."""

from __future__ import annotations

import re
import unicodedata

from lanceway.errors import InvalidInputError
from lanceway.identifiers import HierarchicalName, Identifier, check_visible

LONGEST_NAME = 255  # characters
# A PostgreSQL index takes entries of some 2,700 bytes; this leaves room for the other columns of the entry.
LONGEST_INDEXED = 2000  # bytes

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def known(identifier: Identifier) -> HierarchicalName:
    """Return an identifier as it would be stored. Refuse what a database could neither store nor look up."""
    name = HierarchicalName(identifier)
    for segment in name:
        if not segment.isprintable() and _CONTROL.search(segment):
            raise InvalidInputError(
                f"{list(name)!r} cannot be used: the name {segment!r} holds a control character. "
                "Use printable characters."
            )
    return name


def new(identifier: Identifier) -> HierarchicalName:
    """Return the identifier of a new object as it would be stored. Its own name is checked more closely."""
    name = _storable(identifier)
    check_visible(name.name)
    return name


def _storable(identifier: Identifier) -> HierarchicalName:
    name = known(identifier)
    if len(name.name) > LONGEST_NAME:
        raise InvalidInputError(
            f"The name {name.name[:20]!r}… has {len(name.name)} characters. Use at most {LONGEST_NAME}."
        )
    # Its normal form may change once it is assigned, and then it would not be found again.
    unassigned = next((c for c in name.name if not c.isprintable() and unicodedata.category(c) == "Cn"), None)
    if unassigned:
        raise InvalidInputError(
            f"{list(name)!r} cannot be used: the name {name.name!r} holds U+{ord(unassigned):04X}, to which Unicode "
            "has assigned no character. Leave it out."
        )
    return name


def physical(namespace: HierarchicalName) -> str:
    """Return the physical name of a new namespace. Refuse one that is too long for an index."""
    text = namespace.physical
    if len(text.encode()) > LONGEST_INDEXED:
        raise InvalidInputError(
            f"The path of {namespace.depth} namespaces that begins with {namespace[0][:20]!r} has "
            f"{len(text.encode())} bytes. Use shorter names or fewer levels: at most {LONGEST_INDEXED} bytes."
        )
    return text


def checked_name(kind: str, name: str) -> str:
    """Return the name of a metalake, a catalog or a user, normalised. Refuse what the lake could not store."""
    if not name:
        raise InvalidInputError(f"The name of a {kind} needs at least one character.")
    return _storable(Identifier((name,))).name


def new_name(kind: str, name: str) -> str:
    """Return the name of a new metalake, catalog or user. Refuse one that would look like another."""
    check_visible(name)
    return checked_name(kind, name)


def checked_text(what: str, text: str | None) -> str | None:
    """Return a comment or the name of a principal. Refuse what one of the databases could not store."""
    if text is not None and ("\x00" in text or any("\ud800" <= c <= "\udfff" for c in text)):
        raise InvalidInputError(f"{what} is not text that a database can store: {text[:40]!r}. Use Unicode text.")
    return text
