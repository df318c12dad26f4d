"""Requests to Gravitino and its answers, as a client has them: paths, bodies, objects, and what a refusal means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from lanceway.errors import InternalError
from lanceway.wire import gravitino
from lanceway.wire.gravitino import GravitinoRoute

COMMENT, FORMAT, LOCATION, EXTERNAL = "comment", "format", "location", "external"
LANCE, TRUE = "lance", "true"
DECLARED, REGISTER, MODE, VERSION = "lance.declared", "lance.register", "lance.creation-mode", "lance.version"
STORAGE = "lance.storage."
# By this a Lanceway server leaves the versions of a table to its storage, where clients of this API write them.
VERSIONING = "lanceway.versioning"
# What the catalog sets itself, or Gravitino does, so that they are no properties of a user.
OWN = (FORMAT, LOCATION, EXTERNAL, DECLARED, REGISTER, MODE, VERSION)

# Lanceway's own server has no tags, so that its rows say nothing of them.
_TAGS = "/metalakes/{metalake}/objects/{type}/{object}/tags"
_ROUTES: Mapping[str, GravitinoRoute] = MappingProxyType(
    {
        **gravitino.BY_OPERATION,
        "list_tags": GravitinoRoute("list_tags", "GET", _TAGS, "object", query=("details",)),
        "change_tags": GravitinoRoute("change_tags", "POST", _TAGS, "object"),
    }
)


def route(operation: str) -> GravitinoRoute:
    return _ROUTES[operation]


def path(row: GravitinoRoute, names: Mapping[str, str]) -> str:
    """Return the path of a request, percent-encoded once."""
    parts = (quote(names[part[1:-1]], safe="") if part.startswith("{") else part for part in row.parts)
    return "/".join((gravitino.BASE, *parts))


# -- bodies --------------------------------------------------------------------------------------


def schema_body(name: str, properties: Mapping[str, str]) -> dict[str, Any]:
    return _named(name, properties)


def table_body(name: str, location: str, properties: Mapping[str, str], flag: str, mode: str = "") -> dict[str, Any]:
    """Return the body that makes a row without touching data: `flag` says that it is declared, or registered.

    It is external, so that Gravitino does not delete the data when it forgets the table. Without a location it
    chooses one.
    """
    own = {FORMAT: LANCE, EXTERNAL: TRUE, VERSIONING: "storage", flag: TRUE, LOCATION: location, MODE: mode}
    given = {**properties, **{key: value for key, value in own.items() if value}}
    return {**_named(name, given), "columns": [], "partitioning": [], "sortOrders": [], "indexes": []}


def _named(name: str, properties: Mapping[str, str]) -> dict[str, Any]:
    rest = {key: value for key, value in properties.items() if key != COMMENT}
    return {"name": name, "comment": properties.get(COMMENT), "properties": rest}


def changes_body(changes: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the body that sets properties, and removes those whose value is None."""
    return {
        "updates": [
            {"@type": "removeProperty", "property": key}
            if value is None
            else {"@type": "setProperty", "property": key, "value": value}
            for key, value in changes.items()
        ]
    }


def rename_body(name: str, schema: str | None) -> dict[str, Any]:
    moved = {} if schema is None else {"newSchemaName": schema}
    return {"updates": [{"@type": "rename", "newName": name, **moved}]}


# -- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GravitinoObject:
    """A catalog, a schema or a table, as far as Lance tables have a use for it."""

    name: str
    properties: Mapping[str, str] = field(repr=False)  # may hold secrets: storage options
    comment: str | None = None
    provider: str | None = None
    created_by: str | None = None
    created_at: int | None = None  # milliseconds since 1970, as is the next
    changed_by: str | None = None
    changed_at: int | None = None
    catalog: str = ""  # of a table

    @property
    def is_lance(self) -> bool:
        return self.properties.get(FORMAT, "").lower() == LANCE and bool(self.location)

    @property
    def location(self) -> str:
        return self.properties.get(LOCATION, "")

    @property
    def is_external(self) -> bool:
        """Whether the data stays when Gravitino forgets the table."""
        return self.properties.get(EXTERNAL, "").lower() == TRUE

    @property
    def storage(self) -> dict[str, str]:
        """The storage options that Gravitino keeps with it, by the names that pylance has."""
        return {key.removeprefix(STORAGE): value for key, value in self.properties.items() if key.startswith(STORAGE)}

    def public(self, hidden: Iterable[str] = ()) -> dict[str, str]:
        """Return the properties that users have set, the comment among them."""
        comment = {} if self.comment is None else {COMMENT: self.comment}
        own = {key: value for key, value in self.properties.items() if not key.startswith(STORAGE)}
        return {**{key: value for key, value in own.items() if key not in frozenset(hidden)}, **comment}


def read_object(body: object, noun: str) -> GravitinoObject:
    """Read a catalog, a schema or a table. Raises InternalError for an answer that is not one."""
    row = body.get(noun) if isinstance(body, dict) else None
    return _object(row, noun)


def read_catalogs(body: object) -> list[GravitinoObject]:
    rows = body.get("catalogs") if isinstance(body, dict) else None
    if not isinstance(rows, list):
        raise _unreadable("catalogs", "a list")
    return [_object(row, "catalog") for row in rows]


def _object(row: object, noun: str) -> GravitinoObject:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise _unreadable(f"a {noun}", "its name")
    properties, audit = row.get("properties") or {}, row.get("audit") or {}
    if not isinstance(properties, dict) or not isinstance(audit, dict):
        raise _unreadable(f"the {noun} {row['name']}", "its properties or its audit as JSON objects")
    return GravitinoObject(
        name=row["name"],
        properties={str(key): str(value) for key, value in properties.items() if value is not None},
        comment=_text(row.get("comment")),
        provider=_text(row.get("provider")),
        created_by=_text(audit.get("creator")),
        created_at=_milliseconds(audit.get("createTime")),
        changed_by=_text(audit.get("lastModifier")),
        changed_at=_milliseconds(audit.get("lastModifiedTime")),
    )


def read_names(body: object) -> list[str]:
    """Return the names of a list; those of schemas are logical ones."""
    rows = body.get("identifiers") if isinstance(body, dict) else None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows
    ):
        raise _unreadable("a list", "its identifiers")
    return [row["name"] for row in rows]


def read_dropped(body: object) -> bool:
    """Return whether there was anything to drop."""
    return isinstance(body, dict) and body.get("dropped") is True


def read_owner(body: object) -> dict[str, str] | None:
    """Return the name and the type of an owner, None where there is no owner."""
    row = body.get("owner") if isinstance(body, dict) else None
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        return None
    return {"name": row["name"], "type": str(row.get("type") or "user")}


def read_tags(body: object) -> list[str]:
    """Return the tags that an object has itself, without those of what it is in."""
    rows = body.get("tags") if isinstance(body, dict) else None
    if not isinstance(rows, list):
        return []
    return [row["name"] for row in rows if isinstance(row, dict) and row.get("name") and not row.get("inherited")]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _milliseconds(value: object) -> int | None:
    try:
        return int(datetime.fromisoformat(value).timestamp() * 1000) if isinstance(value, str) else None
    except ValueError:
        return None


def _unreadable(what: str, missing: str) -> InternalError:
    return InternalError(
        f"The answer about {what} cannot be read: {missing} is missing. Check that the endpoint is a Gravitino server "
        "and that nothing between rewrites its answers."
    )


# -- errors --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GravitinoFailure:
    """The envelope of every error."""

    code: int
    type: str
    message: str


def read_failure(body: object) -> GravitinoFailure | None:
    """Return the failure that an answer has; None if it is not Gravitino's: empty, HTML, or another service's."""
    code = body.get("code") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(code, int):
        return None
    return GravitinoFailure(code, str(body.get("type") or ""), str(body.get("message") or ""))


# In codes of the contract: 1 and 2 a namespace that is missing or there, 3 not empty, 4 and 5 a table.
_NAMESPACES = ("metalake", "catalog", "schema")
_OF_TYPE: Mapping[str, int] = MappingProxyType(
    {
        **{gravitino.MISSING[noun]: 1 for noun in _NAMESPACES},
        **{gravitino.TAKEN[noun]: 2 for noun in _NAMESPACES},
        gravitino.MISSING["table"]: 4,
        gravitino.TAKEN["table"]: 5,
    }
)
_OF_CODE: Mapping[int, int] = MappingProxyType(
    {
        gravitino.ILLEGAL: 13,
        gravitino.NOT_EMPTY: 3,
        gravitino.UNSUPPORTED_CODE: 0,
        gravitino.UNREACHABLE: 17,
        gravitino.FORBIDDEN: 15,
        gravitino.NOT_IN_USE: 13,
        gravitino.NOT_IN_USE + 1: 13,  # in use, so that it cannot be dropped
        gravitino.UNAUTHORIZED: 16,
        gravitino.CONFLICT: 14,
    }
)
_OF_STATUS: Mapping[int, int] = MappingProxyType(
    {
        **dict.fromkeys((400, 413, 414, 422), 13),
        401: 16,
        403: 15,
        **dict.fromkeys((405, 406, 501), 0),
        409: 14,
        **dict.fromkeys((408, 502, 503, 504), 17),
        429: 21,
    }
)
_INTERNAL = 18


def code_of(row: GravitinoRoute, status: int, failure: GravitinoFailure | None) -> int:
    """Return the contract's code for a refusal: by its type, else by its code, else by its status."""
    if failure is None or status == 429:
        return _OF_STATUS.get(status, _INTERNAL)
    if failure.type in _OF_TYPE:
        return _OF_TYPE[failure.type]
    if failure.code == gravitino.NOT_FOUND:
        return 4 if row.noun == "table" else 1
    if failure.code == gravitino.EXISTS:
        return 5 if row.noun == "table" else 2
    return _OF_CODE.get(failure.code, _OF_STATUS.get(status, _INTERNAL))


def updates(current: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str | None]:
    """Return the changes that make one set of properties the other."""
    removals: Sequence[str] = sorted(set(current) - set(wanted))
    changes: dict[str, str | None] = dict.fromkeys(removals)
    return {**changes, **{key: value for key, value in wanted.items() if current.get(key) != value}}
