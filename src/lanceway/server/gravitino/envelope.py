"""Errors as Gravitino has them: `{"code", "type", "message"}`, with the type that clients turn into an exception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceway.access.rights.groups import GroupExistsError
from lanceway.access.rights.places import PlaceNotFoundError
from lanceway.access.rights.roles import RoleExistsError
from lanceway.access.users import UserExistsError, UserNotFoundError
from lanceway.catalogs.federated.mounts import CatalogDisabledError
from lanceway.errors import (
    ConcurrentModificationError,
    ErrorInfo,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    ThrottlingError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from lanceway.lake.access.groups import GroupNotFoundError
from lanceway.lake.access.roles import RoleNotFoundError
from lanceway.lake.tree.mounts import CatalogNotFoundError
from lanceway.server.http.errors import RouteNotFoundError
from lanceway.wire import gravitino

# The noun that an error is about, whatever the request is about.
_NOUNS: Mapping[type[BaseException], str] = {
    UserNotFoundError: "user",
    GroupNotFoundError: "group",
    RoleNotFoundError: "role",
    PlaceNotFoundError: "object",
    UserExistsError: "user",
    GroupExistsError: "group",
    RoleExistsError: "role",
    CatalogNotFoundError: "catalog",
    TableNotFoundError: "table",
    TableAlreadyExistsError: "table",
    TableColumnNotFoundError: "column",
}
# In this order: an error is the first that it is an instance of.
_CODES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], int], ...] = (
    (UnauthenticatedError, gravitino.UNAUTHORIZED),
    (PermissionDeniedError, gravitino.FORBIDDEN),
    (RouteNotFoundError, gravitino.NOT_FOUND),
    (UnsupportedOperationError, gravitino.UNSUPPORTED_CODE),
    ((UserNotFoundError, GroupNotFoundError, RoleNotFoundError, PlaceNotFoundError), gravitino.NOT_FOUND),
    ((NamespaceNotFoundError, TableNotFoundError, TableColumnNotFoundError), gravitino.NOT_FOUND),
    ((TableVersionNotFoundError, TableTagNotFoundError, TableBranchNotFoundError), gravitino.NOT_FOUND),
    ((UserExistsError, GroupExistsError, RoleExistsError), gravitino.EXISTS),
    ((NamespaceAlreadyExistsError, TableAlreadyExistsError), gravitino.EXISTS),
    (NamespaceNotEmptyError, gravitino.NOT_EMPTY),
    (CatalogDisabledError, gravitino.NOT_IN_USE),
    (ConcurrentModificationError, gravitino.CONFLICT),
    ((InvalidInputError, InvalidTableStateError, TableSchemaValidationError), gravitino.ILLEGAL),
    (ThrottlingError, gravitino.REST),
    (ServiceUnavailableError, gravitino.UNREACHABLE),
)
_CONFLICT_STATUS = 409
# Clients take a message for a format, and fail at a plain one.
_PERCENT = "\N{FULLWIDTH PERCENT SIGN}"


class IllegalPrivilegeError(InvalidInputError):
    """A privilege that there is not, or that cannot be granted on such an object."""


class GravitinoEnvelope:
    """Writes the errors of one request, which is about a `noun` once its route is known."""

    def __init__(self) -> None:
        self.noun = "metalake"

    def status(self, error: LanceNamespaceError) -> int:
        known = ErrorInfo.of(error).status
        if isinstance(error, InvalidTableStateError):
            return known or _CONFLICT_STATUS
        return known or gravitino.STATUS[_code(error)]

    def body(self, error: LanceNamespaceError, message: str, request_id: str) -> dict[str, Any]:
        code = _code(error)
        text = (message or type(error).__name__).replace("%", _PERCENT)
        return gravitino.error_body(code, self._type(error, code), text)

    def _type(self, error: LanceNamespaceError, code: int) -> str:
        noun = next((_NOUNS[base] for base in type(error).__mro__ if base in _NOUNS), self.noun)
        if isinstance(error, NamespaceNotFoundError) and noun == "table":
            noun = "schema"  # the one that the table would be in
        if code == gravitino.NOT_FOUND and not isinstance(error, RouteNotFoundError):
            return gravitino.MISSING.get(noun, gravitino.TYPES[code])
        if code == gravitino.EXISTS:
            return gravitino.TAKEN.get(noun, gravitino.TYPES[code])
        if code == gravitino.NOT_EMPTY and noun == "catalog":
            return gravitino.NON_EMPTY_CATALOG
        if isinstance(error, IllegalPrivilegeError):
            return gravitino.ILLEGAL_PRIVILEGE
        return gravitino.TYPES[code]


def _code(error: BaseException) -> int:
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), gravitino.INTERNAL)
