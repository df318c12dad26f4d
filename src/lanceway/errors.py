"""The one error tree: the Lance Namespace contract's own, under Lanceway's name.

    LanceNamespaceError                    code  means
    ├── UnsupportedOperationError             0  this catalog has no such operation
    ├── NamespaceNotFoundError                1
    ├── NamespaceAlreadyExistsError           2
    ├── NamespaceNotEmptyError                3  drop with cascade, or empty it first
    ├── TableNotFoundError                    4
    ├── TableAlreadyExistsError               5
    ├── TableIndexNotFoundError               6
    ├── TableIndexAlreadyExistsError          7
    ├── TableTagNotFoundError                 8
    ├── TableTagAlreadyExistsError            9
    ├── TransactionNotFoundError             10
    ├── TableVersionNotFoundError            11
    ├── TableColumnNotFoundError             12
    ├── InvalidInputError                    13  the request itself is wrong
    ├── ConcurrentModificationError          14  another writer was faster; ask again
    ├── PermissionDeniedError                15
    ├── UnauthenticatedError                 16
    ├── ServiceUnavailableError              17
    ├── InternalError                        18  a fault of ours, or an unreadable answer
    ├── InvalidTableStateError               19  the table is there but cannot be used so
    ├── TableSchemaValidationError           20  the data does not fit the table
    ├── ThrottlingError                      21
    ├── TableBranchNotFoundError             22
    └── TableBranchAlreadyExistsError        23

No other exception leaves a catalog: a foreign one is caught by name around the one foreign
call and becomes the code that its meaning has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from lanceway.lazy import deferred

# A client of its own that the contract's package has, and whose import takes longer than that of all the rest.
with deferred("lance_namespace_urllib3_client", "api"):
    from lance_namespace.errors import (
        ConcurrentModificationError,
        ErrorCode,
        InternalError,
        InvalidInputError,
        InvalidTableStateError,
        LanceNamespaceError,
        NamespaceAlreadyExistsError,
        NamespaceNotEmptyError,
        NamespaceNotFoundError,
        PermissionDeniedError,
        ServiceUnavailableError,
        TableAlreadyExistsError,
        TableBranchAlreadyExistsError,
        TableBranchNotFoundError,
        TableColumnNotFoundError,
        TableIndexAlreadyExistsError,
        TableIndexNotFoundError,
        TableNotFoundError,
        TableSchemaValidationError,
        TableTagAlreadyExistsError,
        TableTagNotFoundError,
        TableVersionNotFoundError,
        ThrottlingError,
        TransactionNotFoundError,
        UnauthenticatedError,
        UnsupportedOperationError,
    )
    from lance_namespace.errors import from_error_code as _from_error_code

__all__ = [
    "ConcurrentModificationError",
    "ErrorCode",
    "ErrorInfo",
    "InternalError",
    "InvalidInputError",
    "InvalidTableStateError",
    "LanceNamespaceError",
    "NamespaceAlreadyExistsError",
    "NamespaceNotEmptyError",
    "NamespaceNotFoundError",
    "PermissionDeniedError",
    "ServiceUnavailableError",
    "TableAlreadyExistsError",
    "TableBranchAlreadyExistsError",
    "TableBranchNotFoundError",
    "TableColumnNotFoundError",
    "TableIndexAlreadyExistsError",
    "TableIndexNotFoundError",
    "TableNotFoundError",
    "TableSchemaValidationError",
    "TableTagAlreadyExistsError",
    "TableTagNotFoundError",
    "TableVersionNotFoundError",
    "ThrottlingError",
    "TransactionNotFoundError",
    "UnauthenticatedError",
    "UnknownKeyWarning",
    "UnsupportedOperationError",
    "from_error_code",
    "namespace_not_empty",
    "namespace_not_found",
    "recognized",
    "table_not_found",
]


class UnknownKeyWarning(UserWarning):
    """A dictionary has a key that its request has not: it is ignored, and may be a typing mistake."""


# By these words LanceDB recognizes an error of a catalog in its own process: it does not see the class. Each kind has
# the words, and what a message begins with that lacks them.
_WORDS: Mapping[type[LanceNamespaceError], tuple[str, str]] = MappingProxyType(
    {
        NamespaceNotFoundError: ("was not found", "The namespace was not found"),
        NamespaceNotEmptyError: ("Namespace not empty", "Namespace not empty"),
        TableNotFoundError: ("Table not found", "Table not found"),
    }
)

Error = TypeVar("Error", bound=LanceNamespaceError)


def recognized(kind: type[Error], message: str) -> Error:
    """Return an error of this kind, with the words in its text by which other programs recognize it."""
    words, beginning = next((_WORDS[base] for base in kind.__mro__ if base in _WORDS), ("", ""))
    return kind(message if words in message else f"{beginning}: {message}")


table_not_found = partial(recognized, TableNotFoundError)
namespace_not_found = partial(recognized, NamespaceNotFoundError)
namespace_not_empty = partial(recognized, NamespaceNotEmptyError)


def from_error_code(code: int, message: str) -> LanceNamespaceError:
    """Return the error of a code, as an answer over HTTP has it: an internal one for a code that is not known."""
    return recognized(type(_from_error_code(code, message)), message)


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """What an HTTP answer says of an error beside its code and message.

    The classes above are the contract's, so these are attributes of the error itself: `error.request_id`.
    """

    status: int | None = None
    request_id: str | None = None
    retry_after: float | None = None  # seconds

    @classmethod
    def of(cls, error: BaseException) -> ErrorInfo:
        """Return what is known of an error; nothing for one that no HTTP answer brought."""
        return cls(*(getattr(error, name, None) for name in ("status", "request_id", "retry_after")))

    def attach(self, error: LanceNamespaceError) -> None:
        """Set the attributes of an error. They are pickled with it."""
        vars(error).update(status=self.status, request_id=self.request_id, retry_after=self.retry_after)
