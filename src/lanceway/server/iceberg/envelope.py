"""Errors as Iceberg REST has them: `{"error": {"message", "type", "code"}}`, with texts that clients look for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanceway.errors import (
    ErrorInfo,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.lake.tree.mounts import CatalogNotFoundError
from lanceway.server.http.errors import RouteNotFoundError, code_of
from lanceway.server.http.middleware import BadTokenError
from lanceway.wire import iceberg
from lanceway.wire.iceberg import IcebergFailure

# Operations after which a client must know whether they were carried out: it deletes its files if they were not.
COMMITS = frozenset({"commit_table", "commit_transaction", "replace_view"})
# Operations on a table or a view, which is missing where its namespace is. Clients ask for a table `files` in a
# namespace `ns.t`, and for the files of the table `ns.t` only when they hear that there is no such table.
_OF_ONE = frozenset(
    {
        "load_table",
        "table_exists",
        "drop_table",
        "unregister_table",
        "load_view",
        "view_exists",
        "replace_view",
        "drop_view",
    }
)
_NO_TABLE = iceberg.TYPE_OF_CODE[4][0]
_NOUNS: Mapping[str, str] = {"table": "Table", "view": "View"}


class WarehouseNotFoundError(NamespaceNotFoundError):
    """No catalog has the name of a warehouse, or none that the caller may use."""


class UnprocessableError(InvalidInputError):
    """A request that can be read, and contradicts itself."""

    status = iceberg.UNPROCESSABLE[1]


class CommitUnknownError(InternalError):
    """Whether a commit was made is not known."""


class NameTakenError(TableAlreadyExistsError):
    """A name that something has; the message is complete."""


class NamespaceMissingError(NamespaceNotFoundError):
    """A namespace that a table or a view is to go to; the message is complete."""


# Errors whose message says all.
_COMPLETE = (WarehouseNotFoundError, CatalogNotFoundError, NameTakenError, NamespaceMissingError)


class ReplayedError(InvalidInputError):
    """A refusal that was answered before to the same request."""

    def __init__(self, message: str, type_: str, status: int) -> None:
        super().__init__(message)
        self.type, self.status = type_, status


class IcebergEnvelope:
    """Writes the errors of one request, which is about a namespace, a table or a view once its route is known."""

    def __init__(self) -> None:
        self.operation = ""
        self.namespace: Sequence[str] = ()  # without the catalog
        self.name: str | None = None
        self.noun = "table"

    def status(self, error: LanceNamespaceError) -> int:
        if isinstance(error, BadTokenError) and error.is_expired:
            return iceberg.EXPIRED[1]
        return ErrorInfo.of(error).status or _row(error)[1]

    def body(self, error: LanceNamespaceError, message: str, request_id: str) -> dict[str, Any]:
        if (
            isinstance(error, NamespaceNotFoundError)
            and not isinstance(error, _COMPLETE)
            and not self._lacks_one(error)
        ):
            message = f"Namespace does not exist: {'.'.join(self.namespace)}" if self.namespace else message
        text = f"{self._beginning(error)}{message or type(error).__name__}"
        # Half of a surrogate pair, repeated from what was asked, is no text.
        text = text.encode(errors="replace").decode()
        return IcebergFailure(text, self._type(error), self.status(error)).body()

    def _type(self, error: LanceNamespaceError) -> str:
        if isinstance(error, BadTokenError) and error.is_expired:
            return iceberg.EXPIRED[0]
        if isinstance(error, ReplayedError):
            return error.type
        if isinstance(error, RouteNotFoundError):
            return iceberg.NO_ROUTE
        if isinstance(error, WarehouseNotFoundError):
            return iceberg.NO_WAREHOUSE
        if isinstance(error, UnprocessableError):
            return iceberg.UNPROCESSABLE[0]
        if self._lacks_one(error):
            return iceberg.NO_VIEW if self.noun == "view" else _NO_TABLE
        if isinstance(error, InternalError) and self.operation in COMMITS:
            return iceberg.COMMIT_UNKNOWN
        return _row(error)[0]

    def _lacks_one(self, error: LanceNamespaceError) -> bool:
        """Whether a table or a view is missing."""
        if isinstance(error, NamespaceNotFoundError):
            return self.operation in _OF_ONE and not isinstance(error, _COMPLETE)
        return isinstance(error, TableNotFoundError)

    def _beginning(self, error: LanceNamespaceError) -> str:
        """Return the words by which clients and their tests recognize an error, before what is said of it."""
        namespace = ".".join(self.namespace)
        name = ".".join((*self.namespace, self.name or ""))
        if isinstance(error, _COMPLETE):
            return ""
        if isinstance(error, NamespaceAlreadyExistsError):
            return f"Namespace already exists: {namespace}. "
        if isinstance(error, NamespaceNotEmptyError):
            return f"Namespace {namespace} is not empty. "
        if self._lacks_one(error):
            return f"{_NOUNS[self.noun]} does not exist: {name}. " if self.name else ""
        if isinstance(error, TableAlreadyExistsError):
            return f"{_NOUNS[self.noun]} already exists: {name}. " if self.name else ""
        return ""


def _row(error: LanceNamespaceError) -> tuple[str, int]:
    return iceberg.TYPE_OF_CODE.get(code_of(error), iceberg.TYPE_OF_CODE[iceberg.INTERNAL])
