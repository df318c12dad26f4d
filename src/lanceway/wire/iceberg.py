"""Iceberg REST as data: the routes, names in paths and queries, bodies, and what an error means.

Client and server read the same rows, so that they cannot disagree. Paths are written as the protocol
writes them, so that a row is found again among the `endpoints` that a server announces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from lanceway.errors import InternalError, InvalidInputError
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    import msgspec

# Joins the names of a namespace, unless a server announces another one.
SEPARATOR = "\x1f"
PURGE = "purgeRequested"
DELEGATION = "x-iceberg-access-delegation"
VENDED, SIGNING = "vended-credentials", "remote-signing"
DEFAULT_SCOPE = "catalog"

# -- routes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IcebergRoute:
    """One operation of the protocol. `codes` says what a status means there, beside what it means anywhere."""

    operation: str
    method: str
    path: str
    query: tuple[str, ...] = ()
    status: int = 200
    codes: Mapping[int, int] = field(default_factory=dict)
    reads: str | None = None  # the name of what a server reads the body as

    @property
    def body(self) -> type[msgspec.Struct] | None:
        """Return what a server reads the body as. Clients have no need of msgspec, which comes with the server."""
        if self.reads is None:
            return None
        from lanceway.wire import iceberg_requests

        type_: type[msgspec.Struct] = getattr(iceberg_requests, self.reads)
        return type_

    @property
    def endpoint(self) -> str:
        """Return the row as servers announce it."""
        return f"{self.method} {self.path}"

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the segments of the path."""
        return tuple(self.path.strip("/").split("/"))


_PAGE = ("pageToken", "pageSize")
_NAMESPACES = "/v1/{prefix}/namespaces"
_NAMESPACE = f"{_NAMESPACES}/{{namespace}}"
_TABLES = f"{_NAMESPACE}/tables"
_TABLE = f"{_TABLES}/{{table}}"
_VIEWS = f"{_NAMESPACE}/views"
_VIEW = f"{_VIEWS}/{{view}}"
# In codes of the contract: 1 and 2 a namespace that is missing or there, 3 not empty, 4 and 5 a table, 14 a conflict.
_NO_NAMESPACE, _NO_TABLE = {404: 1}, {404: 4}
_NEW_TABLE, _COMMIT, _RENAME = {**_NO_NAMESPACE, 409: 5}, {**_NO_TABLE, 409: 14}, {**_NO_TABLE, 409: 5}

ROUTES: tuple[IcebergRoute, ...] = (
    IcebergRoute("get_config", "GET", "/v1/config", ("warehouse",), codes={404: 1}),
    IcebergRoute("get_token", "POST", "/v1/oauth/tokens"),
    IcebergRoute("list_namespaces", "GET", _NAMESPACES, ("parent", *_PAGE), codes=_NO_NAMESPACE),
    IcebergRoute("create_namespace", "POST", _NAMESPACES, codes={**_NO_NAMESPACE, 409: 2}, reads="NamespaceCreation"),
    IcebergRoute("load_namespace", "GET", _NAMESPACE, codes=_NO_NAMESPACE),
    IcebergRoute("namespace_exists", "HEAD", _NAMESPACE, status=204, codes=_NO_NAMESPACE),
    IcebergRoute("drop_namespace", "DELETE", _NAMESPACE, ("cascade",), 204, {**_NO_NAMESPACE, 409: 3}),
    IcebergRoute(
        "update_properties", "POST", f"{_NAMESPACE}/properties", codes=_NO_NAMESPACE, reads="PropertiesUpdate"
    ),
    IcebergRoute("list_tables", "GET", _TABLES, _PAGE, codes=_NO_NAMESPACE),
    IcebergRoute("create_table", "POST", _TABLES, codes=_NEW_TABLE, reads="IcebergTableCreation"),
    IcebergRoute("load_table", "GET", _TABLE, ("snapshots",), codes=_NO_TABLE),
    IcebergRoute("table_exists", "HEAD", _TABLE, status=204, codes=_NO_TABLE),
    IcebergRoute("commit_table", "POST", _TABLE, codes=_COMMIT, reads="TableCommit"),
    IcebergRoute("drop_table", "DELETE", _TABLE, (PURGE,), status=204, codes=_NO_TABLE),
    IcebergRoute("unregister_table", "POST", f"{_TABLE}/unregister", codes=_NO_TABLE),
    IcebergRoute("load_credentials", "GET", f"{_TABLE}/credentials", codes=_NO_TABLE),
    IcebergRoute("sign_request", "POST", f"{_TABLE}/sign", codes=_NO_TABLE, reads="SigningRequest"),
    IcebergRoute("report_metrics", "POST", f"{_TABLE}/metrics", status=204, codes=_NO_TABLE, reads="MetricsReport"),
    IcebergRoute("register_table", "POST", f"{_NAMESPACE}/register", codes=_NEW_TABLE, reads="TableRegistration"),
    IcebergRoute("rename_table", "POST", "/v1/{prefix}/tables/rename", status=204, codes=_RENAME, reads="NameChange"),
    IcebergRoute(
        "commit_transaction",
        "POST",
        "/v1/{prefix}/transactions/commit",
        status=204,
        codes=_COMMIT,
        reads="TransactionCommit",
    ),
    IcebergRoute("list_views", "GET", _VIEWS, _PAGE, codes=_NO_NAMESPACE),
    IcebergRoute("create_view", "POST", _VIEWS, codes=_NEW_TABLE, reads="ViewCreation"),
    IcebergRoute("load_view", "GET", _VIEW, codes=_NO_TABLE),
    IcebergRoute("view_exists", "HEAD", _VIEW, status=204, codes=_NO_TABLE),
    IcebergRoute("replace_view", "POST", _VIEW, codes=_COMMIT, reads="ViewCommit"),
    IcebergRoute("drop_view", "DELETE", _VIEW, status=204, codes=_NO_TABLE),
    IcebergRoute("register_view", "POST", f"{_NAMESPACE}/register-view", codes=_NEW_TABLE, reads="ViewRegistration"),
    IcebergRoute("rename_view", "POST", "/v1/{prefix}/views/rename", status=204, codes=_RENAME, reads="NameChange"),
)
BY_OPERATION: Mapping[str, IcebergRoute] = MappingProxyType({route.operation: route for route in ROUTES})


@dataclass(frozen=True, slots=True)
class IcebergMatch:
    """The operations of one path by their methods, and the names in it as they were sent, percent-encoded."""

    methods: Mapping[str, IcebergRoute]
    raw: Mapping[str, str]


def match(path: str) -> IcebergMatch:
    """Return the operations that have a path, below a server's base; none for a path that no operation has."""
    segments = path.strip("/").split("/")
    rows = [row for row in ROUTES if _fits(row.parts, segments)]
    if not rows or not all(segments):
        return IcebergMatch({}, {})
    raw = {part[1:-1]: text for part, text in zip(rows[0].parts, segments, strict=True) if part.startswith("{")}
    return IcebergMatch({row.method: row for row in rows}, raw)


def _fits(parts: tuple[str, ...], segments: list[str]) -> bool:
    return len(parts) == len(segments) and all(
        part == text or part.startswith("{") for part, text in zip(parts, segments, strict=True)
    )


# -- names ---------------------------------------------------------------------------------------


def path(
    route: IcebergRoute,
    prefix: str | None,
    namespace: Iterable[str] = (),
    table: str = "",
    separator: str = SEPARATOR,
) -> str:
    """Return the path of a request below a server's base, percent-encoded once.

    A prefix stands there as the server gave it: it may have several segments and be encoded already.
    """
    text = route.path.replace("/{prefix}", f"/{prefix.strip('/')}" if prefix else "")
    text = text.replace("{namespace}", quote(write_namespace(namespace, separator), safe=""))
    return text.replace("{table}", quote(table, safe=""))


def write_namespace(names: Iterable[str], separator: str = SEPARATOR) -> str:
    """Return a namespace as one string, for a query; in a path it is percent-encoded.

    Raises InvalidInputError for a name that holds the separator.
    """
    return Identifier(names).format(separator)


def read_namespace(text: str, separator: str = SEPARATOR) -> Identifier:
    """Return the namespace that a query's text means. Older clients write 0x1F, whatever a server announces."""
    return Identifier.parse(text, SEPARATOR if SEPARATOR in text else separator)


def read_segment(raw: str) -> str:
    """Return one segment of a path, as it came. Java's client writes a space as `+`, and a plus as `%2B`.

    Raises InvalidInputError for bytes that are no UTF-8.
    """
    try:
        return unquote_plus(raw, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInputError("A name in the path is not UTF-8. Percent-encode its bytes in UTF-8.") from error


# -- configuration -------------------------------------------------------------------------------

# What a server can do that announces nothing.
_ASSUMED = frozenset(
    BY_OPERATION[operation].endpoint
    for operation in (
        "list_namespaces",
        "load_namespace",
        "create_namespace",
        "update_properties",
        "drop_namespace",
        "list_tables",
        "load_table",
        "create_table",
        "commit_table",
        "drop_table",
        "rename_table",
        "register_table",
        "report_metrics",
        "commit_transaction",
    )
)


@dataclass(frozen=True, slots=True)
class Config:
    """What `/v1/config` says of a warehouse, the client's own wishes included."""

    prefix: str | None
    separator: str = SEPARATOR
    uri: str | None = None
    endpoints: frozenset[str] = _ASSUMED

    def has(self, operation: str) -> bool:
        return BY_OPERATION[operation].endpoint in self.endpoints


def read_config(body: object, prefix: str | None = None) -> Config:
    """Merge the defaults, the client's `prefix` and the server's overrides, in this order."""
    defaults, overrides = (_map(body, key, optional=True) for key in ("defaults", "overrides"))
    merged = {**defaults, **({"prefix": prefix} if prefix else {}), **overrides}
    announced = body.get("endpoints") if isinstance(body, dict) else None
    if announced is not None and not isinstance(announced, list):
        raise _unreadable("the configuration", "a list of endpoints")
    uri = overrides.get("uri") or None
    if uri is not None and not _is_address(uri):
        raise _unreadable("the configuration", "an address as its uri")
    return Config(
        prefix=str(merged.get("prefix") or "").strip("/") or None,
        separator=unquote(str(merged.get("namespace-separator") or "")) or SEPARATOR,
        uri=uri,
        endpoints=_ASSUMED if announced is None else frozenset(str(row) for row in announced),
    )


def _is_address(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        return uri.isascii() and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets without an address in them, a port that is no number
        return False


# -- bodies --------------------------------------------------------------------------------------

# A table of another format wears this schema: one column that is never filled.
DUMMY_SCHEMA: Mapping[str, Any] = MappingProxyType(
    {
        "type": "struct",
        "schema-id": 0,
        "fields": [{"id": 1, "name": "dummy", "required": False, "type": "string"}],
    }
)
TABLE_TYPE, LANCE = "table_type", "lance"


def create_namespace_body(names: Iterable[str], properties: Mapping[str, str]) -> dict[str, Any]:
    return {"namespace": list(names), "properties": dict(properties)}


def update_properties_body(removals: Iterable[str], updates: Mapping[str, str]) -> dict[str, Any]:
    return {"removals": list(removals), "updates": dict(updates)}


def create_table_body(name: str, location: str | None, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the body that creates a Lance table's companion."""
    # `stage-create` is said although it is the default: Nessie fails without it.
    body = {
        "name": name,
        "schema": dict(DUMMY_SCHEMA),
        "stage-create": False,
        "properties": {**properties, TABLE_TYPE: LANCE},
    }
    return body if location is None else {**body, "location": location}


def rename_body(source: Identifier, target: Identifier) -> dict[str, Any]:
    return {
        side: {"namespace": list(table.parent), "name": table.name}
        for side, table in (("source", source), ("destination", target))
    }


def replace_body(replaced: LoadedTable, location: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return a commit's body: another location and other properties for a companion, if it is the same table."""
    target = {**properties, TABLE_TYPE: LANCE}
    removals = sorted(set(replaced.properties) - set(target))
    updates: list[dict[str, Any]] = [
        {"action": "set-location", "location": location},
        {"action": "set-properties", "updates": target},
        *([{"action": "remove-properties", "removals": removals}] if removals else []),
    ]
    return {"requirements": [{"type": "assert-table-uuid", "uuid": replaced.uuid}], "updates": updates}


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """What a server answers to create and load, as far as a table of another format has a use for it."""

    location: str
    metadata_files: tuple[str, ...]  # the current one, and those before it
    uuid: str | None
    properties: Mapping[str, str]
    config: Mapping[str, str] = field(repr=False)  # may hold secrets
    credentials: tuple[tuple[str, Mapping[str, str]], ...] = field(default=(), repr=False)  # by prefix of location

    @property
    def is_lance(self) -> bool:
        return self.properties.get(TABLE_TYPE, "").lower() == LANCE


def read_table(body: object) -> LoadedTable:
    """Read a table's description. Raises InternalError for an answer that is not one."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(metadata, dict) or not isinstance(metadata.get("location"), str):
        raise _unreadable("a table", "metadata with a location")
    vended = body.get("storage-credentials") or []
    if not isinstance(vended, list) or not all(isinstance(row, dict) for row in vended):
        raise _unreadable("a table", "a list of storage-credentials")
    return LoadedTable(
        location=metadata["location"],
        metadata_files=_metadata_files(body.get("metadata-location"), metadata.get("metadata-log")),
        uuid=metadata.get("table-uuid"),
        properties=_map(metadata, "properties", optional=True),
        config=_map(body, "config", optional=True),
        credentials=tuple((str(row.get("prefix") or ""), _map(row, "config", optional=True)) for row in vended),
    )


def _metadata_files(current: object, log: object) -> tuple[str, ...]:
    before = [row.get("metadata-file") for row in log if isinstance(row, dict)] if isinstance(log, list) else []
    return tuple(file for file in (current, *before) if isinstance(file, str))


def read_namespaces(body: object) -> list[tuple[str, ...]]:
    """Return the namespaces of a page, each by all its names."""
    rows = body.get("namespaces") if isinstance(body, dict) else None
    if not isinstance(rows, list) or not all(_is_names(row) for row in rows):
        raise _unreadable("namespaces", "a list of lists of names")
    return [tuple(row) for row in rows]


def read_tables(body: object) -> list[tuple[tuple[str, ...], str]]:
    """Return the tables of a page, each by its namespace and its name."""
    rows = body.get("identifiers") if isinstance(body, dict) else None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and _is_names(row.get("namespace")) and isinstance(row.get("name"), str) for row in rows
    ):
        raise _unreadable("tables", "a list of identifiers")
    return [(tuple(row["namespace"]), row["name"]) for row in rows]


def read_properties(body: object) -> Mapping[str, str]:
    """Return the properties of a namespace."""
    return _map(body, "properties", optional=True)


def next_page(body: object) -> str | None:
    """Return the token of the page that follows; null, absent and empty all end a list."""
    token = body.get("next-page-token") if isinstance(body, dict) else None
    return str(token) if token else None


def _is_names(row: object) -> bool:
    return isinstance(row, list) and all(isinstance(name, str) for name in row)


def _map(body: object, key: str, *, optional: bool) -> dict[str, str]:
    values = body.get(key) if isinstance(body, dict) else None
    if values is None and optional and isinstance(body, dict):
        return {}
    if not isinstance(values, dict):
        raise _unreadable(key, "a JSON object")
    return {str(name): str(value) for name, value in values.items() if value is not None}


def _unreadable(what: str, missing: str) -> InternalError:
    return InternalError(
        f"The answer about {what} cannot be read: {missing} is missing. Check that the endpoint is an Iceberg REST "
        "catalog and that nothing between rewrites its answers."
    )


# -- errors --------------------------------------------------------------------------------------

# Types whose meaning does not depend on what was asked; the last rows are Lakekeeper's.
CODE_OF_TYPE: Mapping[str, int] = MappingProxyType(
    {
        "NoSuchNamespaceException": 1,
        "NoSuchWarehouseException": 1,
        "NoSuchCatalogException": 1,
        "NamespaceNotEmptyException": 3,
        "NoSuchTableException": 4,
        "CommitFailedException": 14,
        "CommitStateUnknownException": 18,
        "LocationAlreadyTaken": 13,
        "NamespaceHasRunningTabularExpirations": 14,
        **dict.fromkeys(("NamespaceProtected", "ChildNamespaceProtected", "ChildTabularProtected"), 15),
        "TabularProtected": 15,
    }
)
# What a status means wherever no row above says more.
CODE_OF_STATUS: Mapping[int, int] = MappingProxyType(
    {
        **dict.fromkeys((400, 413, 414, 422), 13),
        **dict.fromkeys((401, 419), 16),
        403: 15,
        **dict.fromkeys((405, 406, 501), 0),
        **dict.fromkeys((408, 502, 503, 504), 17),
        **dict.fromkeys((409, 412), 14),
        429: 21,
    }
)
INTERNAL = 18

# What a server answers with: the type and the status of an error, by the contract's code.
TYPE_OF_CODE: Mapping[int, tuple[str, int]] = MappingProxyType(
    {
        0: ("UnsupportedOperationException", 406),
        1: ("NoSuchNamespaceException", 404),
        2: ("AlreadyExistsException", 409),
        3: ("NamespaceNotEmptyException", 409),
        4: ("NoSuchTableException", 404),
        5: ("AlreadyExistsException", 409),
        13: ("BadRequestException", 400),
        14: ("CommitFailedException", 409),
        15: ("ForbiddenException", 403),
        16: ("NotAuthorizedException", 401),
        17: ("SlowDownException", 503),
        INTERNAL: ("InternalServerError", 500),
        19: ("UnprocessableEntityException", 422),
        20: ("BadRequestException", 400),
        21: ("TooManyRequestsException", 429),
    }
)
NO_VIEW, NO_WAREHOUSE, NO_ROUTE = "NoSuchViewException", "NoSuchWarehouseException", "NotFoundException"
EXPIRED = ("AuthenticationTimeoutException", 419)
UNPROCESSABLE = ("UnprocessableEntityException", 422)
COMMIT_UNKNOWN = "CommitStateUnknownException"


@dataclass(frozen=True, slots=True)
class IcebergFailure:
    """The error envelope."""

    message: str
    type: str
    code: int

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.type, "code": self.code}}


def read_failure(body: object) -> IcebergFailure | None:
    """Return the failure that an answer tells of; None if it is no envelope: empty, HTML, or another service's."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    code = error.get("code")
    return IcebergFailure(
        str(error.get("message") or ""), str(error.get("type") or ""), code if isinstance(code, int) else 0
    )


def code_of(route: IcebergRoute, status: int, failure: IcebergFailure | None) -> int:
    """Return the contract's code for a refusal: by its type, else by its status in this operation, else anywhere."""
    if failure is not None and failure.type in CODE_OF_TYPE:
        return CODE_OF_TYPE[failure.type]
    return route.codes.get(status, CODE_OF_STATUS.get(status, INTERNAL))
