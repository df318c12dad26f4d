"""Objects of grants and owners by their full names below the metalake: `lake`, `lake.A:B`, `lake.A:B.t`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanceway.access.rights.places import WrittenPlace
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.identifiers import FullName, HierarchicalName
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA
from lanceway.lake.store.schema import TABLE, VIEW
from lanceway.server.gravitino.calls import GravitinoCall
from lanceway.server.gravitino.schemas import logical
from lanceway.server.home import METALAKE as METALAKE_NAME

# How many parts the full name of each type has.
_PARTS: Mapping[str, int] = {METALAKE: 1, CATALOG: 1, SCHEMA: 2, TABLE: 3, VIEW: 3}
_UNSUPPORTED = frozenset(
    {"fileset", "topic", "column", "role", "model", "tag", "policy", "job", "job_template", "function"}
)
# What may join the names of an object in a message: the first that none of them holds.
_DELIMITERS = (".", "$", "|", "~", "/", "\x1f")


def written(call: GravitinoCall, type_: str, full_name: str) -> WrittenPlace:
    """Return the object that a type and a full name mean. Whether it is there is not known yet.

    Raises UnsupportedOperationError for types that Lanceway does not have, and InvalidInputError for a name that has
    not as many parts as the type.
    """
    kind = type_.lower()
    if kind in _UNSUPPORTED:
        raise UnsupportedOperationError(
            f"Rights on an object of the type {type_!r} are not supported. Use {', '.join(_PARTS)}."
        )
    if kind not in _PARTS:
        raise InvalidInputError(f"{type_!r} is not a type of object. Use {', '.join(_PARTS)}.")
    if kind == METALAKE:
        if full_name != METALAKE_NAME:
            raise InvalidInputError(f"There is no metalake {full_name!r}. This server's is {METALAKE_NAME!r}.")
        return WrittenPlace(METALAKE, METALAKE)
    parts = full_name.split(".")
    if len(parts) != _PARTS[kind] or not all(parts):
        example = {CATALOG: "lake", SCHEMA: "lake.A:B"}.get(kind, "lake.A:B.t")
        raise InvalidInputError(
            f"{full_name!r} is not a full name of a {kind}, such as {example!r}. A dot in a name is written %2E."
        )
    names = [_decoded(part) for part in parts]
    if len(names) > 1:
        names = [*call.guard.split(names[0], names[1]), *names[2:]]
    delimiter = next(each for each in _DELIMITERS if not any(each in name for name in names))
    return WrittenPlace(delimiter.join(names), kind, delimiter)


def full_name(names: Sequence[str], kind: str, separator: str) -> str:
    """Return the full name of an object by its names, the catalog's first; that of the metalake without any."""
    if not names:
        return METALAKE_NAME
    catalog, *inside = names
    table = inside.pop() if kind in (TABLE, VIEW) else None
    schema = [_encoded(logical(inside, separator))] if inside else [] if table is None else [""]
    return ".".join([_encoded(catalog), *schema, *([] if table is None else [_encoded(table)])])


def _encoded(name: str) -> str:
    return HierarchicalName.encode(name)


def _decoded(part: str) -> str:
    """Return a part of a full name, in which `%2E` and `%25` alone are escapes."""
    return FullName.parse(f"m.{part}").catalog
