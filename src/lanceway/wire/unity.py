"""Unity Catalog's REST protocol as data: the routes, bodies, and what an error means in each of its dialects.

Three dialects are read alike: the open-source server up to 0.4.0 (general codes, 409 for what is taken), the one
since then (a code for each kind of thing, 400 for what is taken), and Databricks. The code comes first, since a
status of 400 may mean that a name is taken, that a schema is not empty, or that the request is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from lanceway.errors import InternalError

API_PATH = "/api/2.1/unity-catalog"
EXTERNAL, TEXT = "EXTERNAL", "TEXT"
TABLE_TYPE, LANCE = "table_type", "lance"
FORCE = "force"
# What one property's name or value may have on the open-source server, which fails on more.
LONGEST_PROPERTY = 255
# Let the server choose the size of a page: Databricks gives one page and no token to those who do not ask.
PAGE: tuple[tuple[str, str], ...] = (("max_results", "0"),)

# -- routes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnityRoute:
    """One operation. `missing`, `taken` and `unmet` are the contract's codes for what a general code means there."""

    operation: str
    method: str
    path: str
    missing: int
    taken: int = 14
    unmet: int = 13


# In codes of the contract: 1 and 2 a namespace that is missing or there, 3 not empty, 4 and 5 a table, 13 bad input.
ROUTES: tuple[UnityRoute, ...] = (
    UnityRoute("get_catalog", "GET", "/catalogs/{name}", missing=1),
    UnityRoute("list_schemas", "GET", "/schemas", missing=1),
    UnityRoute("create_schema", "POST", "/schemas", missing=1, taken=2),
    UnityRoute("get_schema", "GET", "/schemas/{name}", missing=1),
    UnityRoute("delete_schema", "DELETE", "/schemas/{name}", missing=1, unmet=3),
    UnityRoute("list_tables", "GET", "/tables", missing=1),
    UnityRoute("create_table", "POST", "/tables", missing=1, taken=5),
    UnityRoute("get_table", "GET", "/tables/{name}", missing=4),
    UnityRoute("delete_table", "DELETE", "/tables/{name}", missing=4),
    UnityRoute("vend_credentials", "POST", "/temporary-table-credentials", missing=4),
)
BY_OPERATION: Mapping[str, UnityRoute] = MappingProxyType({route.operation: route for route in ROUTES})


def path(route: UnityRoute, names: Iterable[str] = ()) -> str:
    """Return the path of a request below the API's, with the full name of what it is about."""
    return route.path.replace("{name}", quote(".".join(names), safe=""))


# -- bodies --------------------------------------------------------------------------------------


def create_schema_body(catalog: str, name: str, properties: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "catalog_name": catalog, "properties": dict(properties)}


def create_table_body(
    names: Sequence[str], location: str, properties: Mapping[str, str], columns: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the body that creates a Lance table."""
    # Unity has no such format, so TEXT stands for it and a property says what it is.
    catalog, schema, name = names
    return {
        "name": name,
        "catalog_name": catalog,
        "schema_name": schema,
        "table_type": EXTERNAL,
        "data_source_format": TEXT,
        "storage_location": location,
        "columns": [dict(column) for column in columns],
        "properties": {**properties, TABLE_TYPE: LANCE},
    }


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What a server answers about a table, as far as a Lance table has a use for it."""

    name: str
    kind: str
    location: str
    id: str | None
    properties: Mapping[str, str]
    columns: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def is_lance(self) -> bool:
        table_type = self.properties.get(TABLE_TYPE, "")
        return self.kind == EXTERNAL and table_type.lower() == LANCE and bool(self.location)


def read_table(body: object) -> TableInfo:
    """Read a table's description. Raises InternalError for an answer that is not one."""
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        raise _unreadable("a table", "its name")
    columns = body.get("columns") or []
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise _unreadable(f"the table {body['name']}", "a list of columns")
    return TableInfo(
        name=body["name"],
        kind=str(body.get("table_type") or ""),
        location=str(body.get("storage_location") or ""),
        id=body.get("table_id"),
        properties=read_properties(body),
        columns=columns,
    )


READ, READ_WRITE = "READ", "READ_WRITE"


def vend_credentials_body(table_id: str, operation: str) -> dict[str, Any]:
    return {"table_id": table_id, "operation": operation}


@dataclass(frozen=True, slots=True)
class Vended:
    """Credentials to a table's storage for some time: fields by kind."""

    credentials: Mapping[str, Mapping[str, str]] = field(repr=False)
    expires_at_millis: int | None


def read_vended(body: object) -> Vended:
    """Read vended credentials. Raises InternalError for an answer that holds none."""
    if not isinstance(body, dict):
        raise _unreadable("credentials", "a JSON object")
    kinds = {
        kind: {str(name): str(text) for name, text in row.items() if text is not None}
        for kind, row in body.items()
        if isinstance(row, dict)
    }
    ends = body.get("expiration_time")
    return Vended(kinds, ends if isinstance(ends, int) else None)


def read_tables(body: object) -> list[TableInfo]:
    return [read_table(row) for row in _rows(body, "tables")]


def read_schemas(body: object) -> list[str]:
    """Return the names of the schemas of a page."""
    rows = _rows(body, "schemas")
    if not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows):
        raise _unreadable("schemas", "the name of one")
    return [row["name"] for row in rows]


def read_properties(body: object) -> dict[str, str]:
    """Return the properties of anything; absent, null and empty all mean none."""
    properties = body.get("properties") if isinstance(body, dict) else None
    if properties is None and isinstance(body, dict):
        return {}
    if not isinstance(properties, dict):
        raise _unreadable("properties", "a JSON object")
    return {str(name): str(value) for name, value in properties.items() if value is not None}


def read_identity(body: object, key: str) -> tuple[str | None, int | None]:
    """Return the id of anything, which is under a key, and when it was made."""
    if not isinstance(body, dict):
        raise _unreadable("an object", "a JSON object")
    id_, made_at = body.get(key), body.get("created_at")
    return str(id_) if id_ else None, made_at if isinstance(made_at, int) else None


def next_page(body: object) -> str:
    """Return the token of the page that follows, empty for none. A page may be empty and have one all the same."""
    return str((body.get("next_page_token") if isinstance(body, dict) else None) or "")


def _rows(body: object, key: str) -> list[Any]:
    """Return the list under a key; Databricks leaves an empty one out."""
    rows = body.get(key) if isinstance(body, dict) else None
    if rows is None and isinstance(body, dict):
        return []
    if not isinstance(rows, list):
        raise _unreadable(key, "a list")
    return rows


def _unreadable(what: str, missing: str) -> InternalError:
    return InternalError(
        f"The answer about {what} cannot be read: {missing} is missing. Check that endpoint and api_path are a Unity "
        "Catalog's and that nothing between rewrites its answers."
    )


# -- errors --------------------------------------------------------------------------------------

# Codes whose meaning does not depend on what was asked.
CODE_OF_ERROR: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("CATALOG_NOT_FOUND", "SCHEMA_NOT_FOUND"), 1),
        **dict.fromkeys(("CATALOG_DOES_NOT_EXIST", "SCHEMA_DOES_NOT_EXIST", "METASTORE_DOES_NOT_EXIST"), 1),
        **dict.fromkeys(("CATALOG_ALREADY_EXISTS", "SCHEMA_ALREADY_EXISTS"), 2),
        **dict.fromkeys(("CATALOG_NOT_EMPTY", "SCHEMA_NOT_EMPTY"), 3),
        **dict.fromkeys(("TABLE_NOT_FOUND", "TABLE_DOES_NOT_EXIST"), 4),
        "TABLE_ALREADY_EXISTS": 5,
        **dict.fromkeys(("INVALID_ARGUMENT", "INVALID_PARAMETER_VALUE", "BAD_REQUEST", "MALFORMED_REQUEST"), 13),
        **dict.fromkeys(("OUT_OF_RANGE", "RESOURCE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED"), 13),
        **dict.fromkeys(("ABORTED", "RESOURCE_CONFLICT"), 14),
        "PERMISSION_DENIED": 15,
        "UNAUTHENTICATED": 16,
        **dict.fromkeys(("TEMPORARILY_UNAVAILABLE", "UNAVAILABLE", "DEADLINE_EXCEEDED"), 17),
        **dict.fromkeys(("RESOURCE_EXHAUSTED", "REQUEST_LIMIT_EXCEEDED"), 21),
        **dict.fromkeys(("NOT_IMPLEMENTED", "UNIMPLEMENTED", "FEATURE_DISABLED"), 0),
        **dict.fromkeys(("INTERNAL", "INTERNAL_ERROR", "UNKNOWN", "DATA_LOSS"), 18),
    }
)
# General codes, whose meaning is the route's.
_MISSING = frozenset({"NOT_FOUND", "RESOURCE_DOES_NOT_EXIST"})
_TAKEN = frozenset({"ALREADY_EXISTS", "RESOURCE_ALREADY_EXISTS"})
_UNMET = frozenset({"FAILED_PRECONDITION", "INVALID_STATE"})
# What a status means where there is no code, or none that is known.
CODE_OF_STATUS: Mapping[int, int] = MappingProxyType(
    {
        **dict.fromkeys((400, 413, 414, 422), 13),
        401: 16,
        403: 15,
        **dict.fromkeys((405, 501), 0),
        **dict.fromkeys((408, 502, 503, 504), 17),
        412: 14,
        429: 21,
    }
)
INTERNAL = 18
_UNUSABLE = 19
# Version 0.6.0 of the open-source server stores two rows where two clients create a table at once, then fails on it.
_DOUBLED = "did not return a unique result"


@dataclass(frozen=True, slots=True)
class UnityFailure:
    error_code: str
    message: str


def read_failure(body: object) -> UnityFailure | None:
    """Return the failure that an answer tells of; None if it is none of Unity's: empty, HTML, or another service's."""
    error_code = body.get("error_code") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(error_code, str):
        return None
    return UnityFailure(error_code, str(body.get("message") or ""))


def is_doubled(failure: UnityFailure | None) -> bool:
    """Return whether the server has two rows of one table, which only its words say."""
    return failure is not None and _DOUBLED in failure.message


def code_of(route: UnityRoute, status: int, failure: UnityFailure | None) -> int:
    """Return the contract's code for a refusal: by its code, else by its status in this operation."""
    said = failure.error_code if failure else ""
    if is_doubled(failure):
        return _UNUSABLE
    if said in CODE_OF_ERROR:
        return CODE_OF_ERROR[said]
    if said in _MISSING or (status == 404 and said not in _TAKEN | _UNMET):
        return route.missing
    if said in _TAKEN or (status == 409 and said not in _UNMET):
        return route.taken
    return route.unmet if said in _UNMET else CODE_OF_STATUS.get(status, INTERNAL)
