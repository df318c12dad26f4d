"""What a Hive Metastore raises, as the contract's errors: by its exceptions' classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hive_metastore import ttypes
from thrift.Thrift import TException

from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    recognized,
)

ErrorType = type[LanceNamespaceError]

_LONGEST = 400  # characters of what the metastore says
_MISSING = (ttypes.NoSuchObjectException, ttypes.UnknownDBException, ttypes.UnknownTableException)
_INVALID = (ttypes.InvalidObjectException, ttypes.InvalidInputException)
# The Java classes with which a metastore or its file system denies; all it gives of them is their names in the text.
_DENIALS = ("AccessControlException", "HiveAccessControlException", "AuthorizationException")
# Of two who create a name at the same time, the later one may get the words of the metastore's database: Derby and
# PostgreSQL, MySQL, Oracle, SQL Server.
_DUPLICATES = ("duplicate key value", "Duplicate entry", "unique constraint", "UNIQUE KEY constraint")


# The metastore makes the folder of a new table and then sets its mode: a drop at the same moment may delete it between.
_VANISHED = "No such file or directory"


class MetastoreFault(Exception):  # noqa: N818 - never leaves this package
    """What the metastore has raised, as `fault`: Thrift's own exceptions are immutable, and pass no context manager."""

    def __init__(self, fault: TException) -> None:
        super().__init__(str(fault))
        self.fault = fault


_ADVICE: Mapping[ErrorType, str] = {
    PermissionDeniedError: " Ask for the right, in the metastore or its file system.",
    ConcurrentModificationError: " Another client deleted it at the same moment. Try again.",
}


class UnknownMethodError(Exception):
    """The metastore is of a version without this method: it has done nothing. It never leaves this package."""


@contextmanager
def translated(
    about: str,
    *,
    missing: ErrorType = NamespaceNotFoundError,
    taken: ErrorType = NamespaceAlreadyExistsError,
    refused: ErrorType = InvalidInputError,
) -> Iterator[None]:
    """Turn what the metastore raises into the contract's error; `refused` is what an invalid operation means."""
    try:
        yield
    except MetastoreFault as raised:
        fault = raised.fault
        kind = _kind(fault, missing, taken, refused)
        words = " ".join(str(getattr(fault, "message", None) or type(fault).__name__).split())[:_LONGEST].rstrip(".")
        advice = _ADVICE.get(kind, "")
        raise recognized(kind, f"{about}: the Hive Metastore says: {words}.{advice}") from fault


def _kind(error: TException, missing: ErrorType, taken: ErrorType, refused: ErrorType) -> ErrorType:
    if isinstance(error, _MISSING):
        return missing
    if isinstance(error, ttypes.AlreadyExistsException):
        return taken
    if isinstance(error, ttypes.InvalidOperationException):
        return refused
    if isinstance(error, _INVALID):
        return InvalidInputError
    if isinstance(error, ttypes.MetaException) and any(name in str(error.message) for name in _DENIALS):
        return PermissionDeniedError
    if isinstance(error, ttypes.MetaException) and any(words in str(error.message) for words in _DUPLICATES):
        return taken
    if isinstance(error, ttypes.MetaException) and _VANISHED in str(error.message):
        return ConcurrentModificationError
    return InternalError
