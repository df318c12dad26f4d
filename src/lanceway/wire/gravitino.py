"""Gravitino REST as data: the routes, and the envelope, types and codes of errors.

Names in paths are percent-encoded once. A schema is one part of a path, a logical name whose separator stays as it is:
`/metalakes/m/catalogs/lake/schemas/A%3AB`. An object of a grant or an owner is a full name below the metalake, such as
`lake.A:B.t`, in which `.` and `%` of a name are written `%2E` and `%25`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    from msgspec import Struct

BASE = "/api"
# Clients refuse a server whose version is lower than theirs. This is the newest version of the protocol that is spoken.
VERSION = "1.3.1"
SEPARATOR_KEY, AUTHORIZATION_KEY = "gravitino.schema.separator", "gravitino.authorization.enable"
MEDIA_TYPE = "application/vnd.gravitino.v1+json"
LANCE_PROVIDER, RELATIONAL = "lakehouse-generic", "relational"

# -- routes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GravitinoRoute:
    """An operation: its path below `/api`, what it is about, its body, and the parameters that it knows."""

    operation: str
    method: str
    path: str
    noun: str
    reads: str | None = None  # the name of what a server reads the body as
    query: tuple[str, ...] = ()

    @property
    def body(self) -> type[Struct] | None:
        """Return what a server reads the body as. Clients have no need of msgspec, which comes with the server."""
        if self.reads is None:
            return None
        from lanceway.wire import gravitino_requests

        type_: type[Struct] = getattr(gravitino_requests, self.reads)
        return type_

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))


_M = "/metalakes/{metalake}"
_C = f"{_M}/catalogs/{{catalog}}"
_S = f"{_C}/schemas/{{schema}}"
_T = f"{_S}/tables/{{table}}"
_P = f"{_M}/permissions"
_route = GravitinoRoute
ROUTES: tuple[GravitinoRoute, ...] = (
    _route("get_version", "GET", "/version", "version"),
    _route("list_metalakes", "GET", "/metalakes", "metalake"),
    _route("load_metalake", "GET", _M, "metalake"),
    _route("list_catalogs", "GET", f"{_M}/catalogs", "catalog", query=("details",)),
    _route("create_catalog", "POST", f"{_M}/catalogs", "catalog", "CatalogCreateRequest"),
    _route("test_connection", "POST", f"{_M}/catalogs/testConnection", "catalog", "CatalogCreateRequest"),
    _route("load_catalog", "GET", _C, "catalog"),
    _route("test_catalog", "POST", f"{_C}/testConnection", "catalog", "UpdatesRequest"),
    _route("alter_catalog", "PUT", _C, "catalog", "UpdatesRequest"),
    _route("set_catalog", "PATCH", _C, "catalog", "CatalogSetRequest"),
    _route("drop_catalog", "DELETE", _C, "catalog", query=("force",)),
    _route("list_schemas", "GET", f"{_C}/schemas", "schema", query=("parentSchema",)),
    _route("create_schema", "POST", f"{_C}/schemas", "schema", "SchemaCreateRequest"),
    _route("load_schema", "GET", _S, "schema"),
    _route("alter_schema", "PUT", _S, "schema", "UpdatesRequest"),
    _route("drop_schema", "DELETE", _S, "schema", query=("cascade",)),
    _route("list_tables", "GET", f"{_S}/tables", "table"),
    _route("create_table", "POST", f"{_S}/tables", "table", "TableCreateRequest"),
    _route("load_table", "GET", _T, "table", query=("privileges",)),
    _route("alter_table", "PUT", _T, "table", "UpdatesRequest"),
    _route("drop_table", "DELETE", _T, "table", query=("purge",)),
    _route("list_users", "GET", f"{_M}/users", "user", query=("details",)),
    _route("add_user", "POST", f"{_M}/users", "user", "NameAddRequest"),
    _route("get_user", "GET", f"{_M}/users/{{user}}", "user"),
    _route("remove_user", "DELETE", f"{_M}/users/{{user}}", "user"),
    _route("list_groups", "GET", f"{_M}/groups", "group", query=("details",)),
    _route("add_group", "POST", f"{_M}/groups", "group", "NameAddRequest"),
    _route("get_group", "GET", f"{_M}/groups/{{group}}", "group"),
    _route("remove_group", "DELETE", f"{_M}/groups/{{group}}", "group"),
    _route("list_roles", "GET", f"{_M}/roles", "role"),
    _route("create_role", "POST", f"{_M}/roles", "role", "RoleCreateRequest"),
    _route("get_role", "GET", f"{_M}/roles/{{role}}", "role"),
    _route("delete_role", "DELETE", f"{_M}/roles/{{role}}", "role"),
    _route("grant_roles_to_user", "PUT", f"{_P}/users/{{user}}/grant", "user", "RoleNamesRequest"),
    _route("revoke_roles_from_user", "PUT", f"{_P}/users/{{user}}/revoke", "user", "RoleNamesRequest"),
    _route("grant_roles_to_group", "PUT", f"{_P}/groups/{{group}}/grant", "group", "RoleNamesRequest"),
    _route("revoke_roles_from_group", "PUT", f"{_P}/groups/{{group}}/revoke", "group", "RoleNamesRequest"),
    _route("grant_privileges", "PUT", f"{_P}/roles/{{role}}/{{type}}/{{object}}/grant", "object", "PrivilegesRequest"),
    _route(
        "revoke_privileges", "PUT", f"{_P}/roles/{{role}}/{{type}}/{{object}}/revoke", "object", "PrivilegesRequest"
    ),
    _route("override_privileges", "PUT", f"{_P}/roles/{{role}}", "object", "PrivilegeOverrideRequest"),
    _route("get_owner", "GET", f"{_M}/owners/{{type}}/{{object}}", "object"),
    _route("set_owner", "PUT", f"{_M}/owners/{{type}}/{{object}}", "object", "OwnerSetRequest"),
    _route("list_object_roles", "GET", f"{_M}/objects/{{type}}/{{object}}/roles", "object"),
)
BY_OPERATION: Mapping[str, GravitinoRoute] = MappingProxyType({route.operation: route for route in ROUTES})
# What Gravitino has and Lanceway has not, by the path that it begins with, whatever the method.
UNSUPPORTED: Mapping[str, str] = MappingProxyType(
    {
        f"{_M}/tags": "Tags",
        f"{_M}/policies": "Policies",
        f"{_M}/jobs": "Job templates and their runs",
        f"{_S}/views": "Views",
        f"{_S}/filesets": "Filesets",
        f"{_S}/topics": "Topics",
        f"{_S}/models": "Models",
        f"{_S}/functions": "Functions",
        f"{_T}/partitions": "Partitions",
        **{
            f"{_M}/objects/{{type}}/{{object}}/{noun}": title
            for noun, title in {
                "tags": "Tags",
                "policies": "Policies",
                "statistics": "Statistics",
                "credentials": "Credentials of objects",
            }.items()
        },
        "/bulk": "Changes of many users at once",
        "/idp": "Users with passwords",
    }
)
# The same for single methods of paths that are there.
UNSUPPORTED_METHODS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("POST", "/metalakes"): "Further metalakes",
        ("PUT", _M): "Changes of the metalake",
        ("PATCH", _M): "Disabling the metalake",
        ("DELETE", _M): "Dropping the metalake",
    }
)


class _PathNode:
    """A part of paths: what follows it, by text or as a parameter, and what a path that ends here means."""

    __slots__ = ("inner", "methods", "parameter", "unsupported")

    def __init__(self) -> None:
        self.inner: dict[str, _PathNode] = {}
        self.parameter: tuple[str, _PathNode] | None = None
        self.methods: dict[str, GravitinoRoute | str] = {}
        self.unsupported: str | None = None

    def below(self, parts: tuple[str, ...]) -> _PathNode:
        node = self
        for part in parts:
            if part.startswith("{"):
                node.parameter = node.parameter or (part[1:-1], _PathNode())
                node = node.parameter[1]
            else:
                node = node.inner.setdefault(part, _PathNode())
        return node


def _tree() -> _PathNode:
    root = _PathNode()
    for route in ROUTES:
        root.below(route.parts).methods[route.method] = route
    for path, title in UNSUPPORTED.items():
        root.below(tuple(path.strip("/").split("/"))).unsupported = title
    for (method, path), title in UNSUPPORTED_METHODS.items():
        root.below(tuple(path.strip("/").split("/"))).methods[method] = title
    return root


_ROOT = _tree()


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """What a path means: a route by each method, or the title of what there is not; and the names in the path."""

    methods: Mapping[str, GravitinoRoute | str]
    names: Mapping[str, str]
    unsupported: str | None = None


def match(path: str) -> RouteMatch:
    """Return what a path below `/api` means, as it was sent. A slash at its end means nothing."""
    node, names = _ROOT, dict[str, str]()
    for part in path.strip("/").split("/"):
        inner = node.inner.get(part)
        if inner is not None:
            node = inner
        elif node.parameter is not None and part:
            name, node = node.parameter
            names[name] = _decoded(part)
        else:
            return RouteMatch({}, names)
        if node.unsupported is not None:
            return RouteMatch({}, names, node.unsupported)
    return RouteMatch(node.methods, names)


def _decoded(part: str) -> str:
    if "%" not in part and part.isascii():
        return part
    try:
        return unquote_to_bytes(part.encode(errors="surrogateescape")).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            "A name in the path is not UTF-8. Percent-encode the bytes of its UTF-8 form."
        ) from error


# -- errors --------------------------------------------------------------------------------------

OK = 0
REST, ILLEGAL, INTERNAL, NOT_FOUND, EXISTS, NOT_EMPTY = 1000, 1001, 1002, 1003, 1004, 1005
UNSUPPORTED_CODE, UNREACHABLE, FORBIDDEN, NOT_IN_USE, UNAUTHORIZED, CONFLICT = 1006, 1007, 1008, 1009, 1011, 1012
STATUS: Mapping[int, int] = MappingProxyType(
    {
        REST: 429,
        ILLEGAL: 400,
        INTERNAL: 500,
        NOT_FOUND: 404,
        EXISTS: 409,
        NOT_EMPTY: 409,
        UNSUPPORTED_CODE: 405,
        UNREACHABLE: 503,
        FORBIDDEN: 403,
        NOT_IN_USE: 409,
        UNAUTHORIZED: 401,
        CONFLICT: 409,
    }
)
_NOUNS = {name: name.capitalize() for name in ("metalake", "catalog", "schema", "table", "user", "group", "role")}
# The types of errors about each noun, and what they are where none is named.
MISSING: Mapping[str, str] = MappingProxyType(
    {
        **{noun: f"NoSuch{name}Exception" for noun, name in _NOUNS.items()},
        "object": "NoSuchMetadataObjectException",
        "column": "NoSuchColumnException",
    }
)
TAKEN: Mapping[str, str] = MappingProxyType({noun: f"{name}AlreadyExistsException" for noun, name in _NOUNS.items()})
TYPES: Mapping[int, str] = MappingProxyType(
    {
        REST: "RESTException",
        ILLEGAL: "IllegalArgumentException",
        INTERNAL: "RuntimeException",
        NOT_FOUND: "NotFoundException",
        EXISTS: "AlreadyExistsException",
        NOT_EMPTY: "NonEmptySchemaException",
        UNSUPPORTED_CODE: "UnsupportedOperationException",
        UNREACHABLE: "ConnectionFailedException",
        FORBIDDEN: "ForbiddenException",
        NOT_IN_USE: "CatalogNotInUseException",
        UNAUTHORIZED: "UnauthorizedException",
        CONFLICT: "OptimisticLockException",
    }
)
NON_EMPTY_CATALOG = "NonEmptyCatalogException"
ILLEGAL_PRIVILEGE = "IllegalPrivilegeException"


def error_body(code: int, type_: str, message: str) -> dict[str, Any]:
    """Return the envelope of every error. Clients refuse one without a message."""
    return {"code": code, "type": type_, "message": message}
