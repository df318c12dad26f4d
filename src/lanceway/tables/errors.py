"""Errors of pylance, translated in this one place.

pylance raises builtin exceptions with sentences. Wherever a check can come first, the other
modules make it; what is left is told by the rows below, and tests/tables/test_errors.py
provokes every row with the real library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
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
    UnauthenticatedError,
    UnsupportedOperationError,
)

# Everything that pylance and pyarrow raise (their own classes derive from these).
FOREIGN = (OSError, ValueError, RuntimeError, KeyError, TypeError, NotImplementedError, OverflowError)


class HasName(Protocol):
    """What a message can be about: a table, which `tables.dataset` defines."""

    @property
    def name(self) -> str: ...


class ErrorRow(NamedTuple):
    pattern: str
    error: type[LanceNamespaceError]


# The first row that is found in the message decides.
STORAGE_ROWS = (
    ErrorRow(r"<Code>InvalidAccessKeyId", UnauthenticatedError),
    ErrorRow(r"<Code>SignatureDoesNotMatch", UnauthenticatedError),
    ErrorRow(r"<Code>ExpiredToken", UnauthenticatedError),
    ErrorRow(r"401 Unauthorized", UnauthenticatedError),
    ErrorRow(r"403 Forbidden", PermissionDeniedError),
    ErrorRow(r"\(os error 13\)", PermissionDeniedError),
    ErrorRow(r"\(os error 28\)", ServiceUnavailableError),  # no space left on device
    ErrorRow(r"429 Too Many Requests", ThrottlingError),
    ErrorRow(r"<Code>SlowDown", ThrottlingError),
    ErrorRow(r"error sending request", ServiceUnavailableError),
    ErrorRow(r"status code: 50\d|status: 50\d", ServiceUnavailableError),
    ErrorRow(r"<Code>NoSuchBucket", InvalidInputError),
)
ROWS = (
    ErrorRow(r"Dataset already exists", TableAlreadyExistsError),
    ErrorRow(r"Ref not found error: tag ", TableTagNotFoundError),
    ErrorRow(r"Ref not found error: Branch ", TableBranchNotFoundError),
    ErrorRow(r"Not found: \S*/tree/\S+/_versions(?!/)", TableBranchNotFoundError),
    ErrorRow(r"Ref conflict error: tag .* already exists", TableTagAlreadyExistsError),
    ErrorRow(r"Ref conflict error: Branch .* is referenced by", InvalidTableStateError),
    ErrorRow(r"Ref is invalid: ", InvalidInputError),
    ErrorRow(r"Version not found error: ", TableVersionNotFoundError),
    ErrorRow(r"Dataset at path \S*/_versions/d?\d+\.manifest was not found", TableVersionNotFoundError),
    ErrorRow(r"Dataset at path .* was not found", InvalidTableStateError),
    ErrorRow(r"Not found: \S*/_versions/d?\d+\.manifest", ConcurrentModificationError),
    ErrorRow(r"file size is too small", InvalidTableStateError),
    ErrorRow(r"does not have sufficient data", InvalidTableStateError),
    # A folder that was removed while a file was written into it.
    ErrorRow(r"persist temp file .*\(os error 2\)|\(os error 2\) at path \"\S*/\.tmp", ConcurrentModificationError),
    ErrorRow(r"Retryable commit conflict", ConcurrentModificationError),
    ErrorRow(r"Incompatible transaction: ", ConcurrentModificationError),
    ErrorRow(r"Too many concurrent writers", ConcurrentModificationError),
    ErrorRow(r"Commit result for version \d+ is unknown", ConcurrentModificationError),
    ErrorRow(r"Append with different schema", TableSchemaValidationError),
    ErrorRow(r"contained null values even though the field is marked non-null", TableSchemaValidationError),
    ErrorRow(r"is declared as non-nullable but contains null values", TableSchemaValidationError),
    ErrorRow(r"LanceError\(Schema\): ", TableSchemaValidationError),
    ErrorRow(r"Schema error: No field named", TableColumnNotFoundError),
    ErrorRow(r"Column .{1,300} does not exist", TableColumnNotFoundError),
    ErrorRow(r"Field '.*' not found", TableColumnNotFoundError),
    ErrorRow(r"not found in schema", TableColumnNotFoundError),
    ErrorRow(r"Lance index not found", TableIndexNotFoundError),
    ErrorRow(r"Index name .* already exists", TableIndexAlreadyExistsError),
    ErrorRow(r"Invalid user input", InvalidInputError),
    ErrorRow(r"Not supported: ", InvalidInputError),
    ErrorRow(r"Vector column .* must be", InvalidInputError),
    ErrorRow(r"index column .* must be", InvalidInputError),
    ErrorRow(r"must be > 0 but got", InvalidInputError),
    ErrorRow(r"must be 1 or more", InvalidInputError),
    ErrorRow(r"must be <= maximum_nprobes", InvalidInputError),
    ErrorRow(r"must be divisible by", InvalidInputError),
    ErrorRow(r"can't set tokenizer language", InvalidInputError),
    ErrorRow(r"WKT error", InvalidInputError),
    ErrorRow(r"Cannot drop all columns", InvalidInputError),
    ErrorRow(r"Divide by zero error", InvalidInputError),
    ErrorRow(r"Cast error", InvalidInputError),
    ErrorRow(r"int too large to convert", InvalidInputError),
    ErrorRow(r"int too big to convert", InvalidInputError),
)
# How pylance words what the client of a managed table raised.
CLIENT_ERRORS: Mapping[str, type[LanceNamespaceError]] = {
    "Concurrent modification": ConcurrentModificationError,
    "Internal error": InternalError,
    "Invalid input": InvalidInputError,
    "Invalid table state": InvalidTableStateError,
    "Namespace not found": NamespaceNotFoundError,
    "Permission denied": PermissionDeniedError,
    "Service unavailable": ServiceUnavailableError,
    "Table branch not found": TableBranchNotFoundError,
    "Table not found": TableNotFoundError,
    "Table version not found": TableVersionNotFoundError,
    "Throttling": ThrottlingError,
    "Unauthenticated": UnauthenticatedError,
    "Unsupported": UnsupportedOperationError,
}

_CLIENT = re.compile(rf"Namespace error: ({'|'.join(CLIENT_ERRORS)}): ")
_LOCATION = re.compile(r"(, location:|,)? ?(/(home|rustc|root|Users|usr)/|src/)[\w./@+~-]*\.rs:\d+:\d+")
_WRAPPERS = re.compile(r"^((Invalid user input|LanceError\(\w+\)|External error|Query Execution error): )+")
_DUMP = re.compile(r"(?: in schema)?:\s+Schema \{|\. Detail: Python exception|AggregateFunction\(")
# What a user reads better in other words; pylance puts a condition into a statement to parse it.
_PLAINER = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r"Schema error: (?=No field named)", ""),
        (
            r"Error parsing statement: SELECT 1 FROM t WHERE (.*) \(sql parser error: (.*?), found: EOF\)",
            r"The condition '\1' is incomplete: \2 after it",
        ),
        (
            # Its place is one in the statement.
            r"Error parsing statement: SELECT 1 FROM t WHERE (.*) \(sql parser error: (.*?)(?: at Line: \d+, .*)?\)$",
            r"The condition '\1' is not SQL: \2",
        ),
    )
)
_LONGEST = 500
# Characters at the beginning and at the end that are looked at. Between them may be a client's condition of any
# length, with as many beginnings of what is looked for.
_READ = 1_000
_STORAGE_WORDS = {
    UnauthenticatedError: "the storage does not accept the credentials. Check the storage options.",
    PermissionDeniedError: "the storage denies it to this process and its credentials.",
    ThrottlingError: "the storage asks to slow down. Try again later.",
    ServiceUnavailableError: "the storage cannot be reached, is out of order or full. Free space, or try again later.",
    InvalidInputError: "the bucket of its location does not exist. Create it or correct the location.",
}
_ADVICE = {
    ConcurrentModificationError: " Another writer changed the table at the same time: ask again.",
    InternalError: " This is not expected; please report it with this message.",
    TableColumnNotFoundError: " Check the name against the columns of the table.",
}


@contextmanager
def translated(table: HasName, operation: str) -> Iterator[None]:
    """Translate what a foreign call raises into the contract's error for what happened."""
    try:
        yield
    except FOREIGN as error:
        raise translate(table, operation, error) from _cause(error)


def translate(table: HasName, operation: str, error: BaseException) -> LanceNamespaceError:
    text = str(error)
    client = _CLIENT.search(text)
    if client is not None:
        return CLIENT_ERRORS[client[1]](f"{operation} on {table.name} failed: {cleaned(text[client.end() :])}.")
    row = next((row for row in STORAGE_ROWS if re.search(row.pattern, text)), None)
    if row is not None:
        # The storage's own words stay out: they may repeat an access key.
        return row.error(f"{operation} on {table.name} failed: {_STORAGE_WORDS[row.error]}")
    kind = _kind(error, text)
    reason = cleaned(text)
    says_it = "Did you mean" in reason or "Valid fields are" in reason
    advice = "" if says_it else _ADVICE.get(kind, "")
    return kind(f"{operation} on {table.name} failed: {reason}{'' if reason.endswith('?') else '.'}{advice}")


def _kind(error: BaseException, text: str) -> type[LanceNamespaceError]:
    from lance.commit import CommitConflictError

    if isinstance(error, CommitConflictError):
        return ConcurrentModificationError
    return next((row.error for row in ROWS if re.search(row.pattern, text)), InternalError)


def cleaned(text: str) -> str:
    """Return an error's sentence without places in Rust's source, wrappers and dumps of whole schemas."""
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]} … {text[-_READ:]}"
    text = _LOCATION.sub("", text)
    text = _DUMP.split(text)[0]
    text = _WRAPPERS.sub("", text.strip().strip("'\"")).rstrip(" .,\n")
    for pattern, words in _PLAINER:
        text = pattern.sub(words, text)
    return text[:_LONGEST]


def _cause(error: BaseException) -> BaseException | None:
    """Return the foreign exception, unless it holds the storage's own words."""
    text = str(error)
    return None if any(re.search(row.pattern, text) for row in STORAGE_ROWS) else error
