"""Errors of the databases' drivers: which are worth a retry, and what they are in the contract."""

from __future__ import annotations

import re

from sqlalchemy.exc import DBAPIError, IntegrityError

from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnauthenticatedError,
)


class RetryError(ConcurrentModificationError):
    """A conflict with a change that others have half done: `LakeStore.transact` starts again."""


class BrokenCommitError(ServiceUnavailableError):
    """The connection broke during COMMIT: the change is made as a whole or not at all, now or a little later."""


Error = type[LanceNamespaceError]

# SQLSTATE of PostgreSQL, by its first characters, the longest first; and names of SQLite.
_CONFLICTS = ("40001", "40P01")
_BUSY = ("55P03", "SQLITE_BUSY", "SQLITE_LOCKED")
_REFUSALS = (
    (r'database ".*" does not exist', "3D000"),
    (r'role ".*" does not exist|authentication failed|no password supplied|no pg_hba\.conf entry', "28000"),
    (r"too many (clients|connections)|remaining connection slots", "53300"),
    (r"database system is (starting up|shutting down|in recovery)", "57P03"),
)
_MEANINGS: tuple[tuple[str, Error, str], ...] = (
    ("22", InvalidInputError, "it cannot keep a value that was given; use smaller numbers and plain text"),
    ("25006", ServiceUnavailableError, "it takes no changes (a standby?); connect to the primary"),
    ("28", UnauthenticatedError, "it does not accept these credentials; check user and password"),
    ("3D000", InvalidInputError, "there is no such database on the server; create it, or correct the uri"),
    ("42501", PermissionDeniedError, "this user may not do it; grant the user the right to the lake's tables"),
    ("42P01", ServiceUnavailableError, "it holds no lake; open it once with a user who may create tables"),
    ("3F000", InvalidInputError, "its search_path names no schema that this user may use; grant it or correct the uri"),
    ("53100", ServiceUnavailableError, "its disk is full; free some space"),
    ("53", ServiceUnavailableError, "it has run out of resources; try later or raise its limits"),
    ("57", ServiceUnavailableError, "it stopped or refused the work; try again"),
    ("08", ServiceUnavailableError, "the connection is gone; try again"),
    ("SQLITE_READONLY", PermissionDeniedError, "the file is read-only; give write access to it and its folder"),
    ("SQLITE_PERM", PermissionDeniedError, "the file may not be used; give access to it and its folder"),
    ("SQLITE_FULL", ServiceUnavailableError, "the disk is full; free some space"),
    ("SQLITE_CANTOPEN", InvalidInputError, "the file cannot be opened; check that its folder is there and writable"),
    ("SQLITE_NOTADB", InvalidInputError, "the file is not an SQLite database; choose another one"),
    ("SQLITE_CORRUPT", InternalError, "the file is damaged; restore a backup"),
    ("SQLITE_IOERR", ServiceUnavailableError, "the file cannot be read or written; check the disk"),
)


def code_of(error: DBAPIError) -> str:
    """Return the driver's own code: SQLSTATE, or SQLite's name for the error. Empty if it gives none."""
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None)
    return code or _refusal(str(error.orig))


def _refusal(message: str) -> str:
    """Return the SQLSTATE of a refused connection, for which drivers give only a message."""
    return next((code for words, code in _REFUSALS if re.search(words, message)), "")


def is_transient(error: DBAPIError) -> bool:
    """Return whether the same work may succeed when repeated, and cannot have been done already."""
    return error.connection_invalidated or code_of(error).startswith((*_CONFLICTS, *_BUSY))


def is_missing_parent(error: IntegrityError) -> bool:
    """Return whether a foreign key was violated: a parent is gone, or a row to be deleted has children."""
    return code_of(error) in ("23503", "SQLITE_CONSTRAINT_FOREIGNKEY")


def is_taken(error: IntegrityError) -> bool:
    """Return whether a unique key was violated."""
    return code_of(error) in ("23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY")


def translate(error: DBAPIError, database: str) -> LanceNamespaceError:
    """Return the contract's error for a driver's; `database` is a name without secrets.

    Its `public_message` is for those who only ask a server: it has neither the database nor the driver's words.
    """
    code = code_of(error)
    if code.startswith(_CONFLICTS):
        text = "was changed by others at the same time. Try again."
        return _explained(ConcurrentModificationError, database, text)
    if code.startswith(_BUSY):
        return _explained(ServiceUnavailableError, database, "is locked by others for too long. Try again later.")
    for prefix, meaning, advice in _MEANINGS:
        if code.startswith(prefix):
            return _explained(meaning, database, f"cannot be used: {advice}.", "cannot be used at present.")
    if not code or error.connection_invalidated:
        text = (
            f"cannot be reached: check that it runs and that host and port of its uri are right. ({_first_line(error)})"
        )
        return _explained(ServiceUnavailableError, database, text, "cannot be reached. Try again later.")
    text = f"failed with the database's error {code}: {_first_line(error)}"
    return _explained(InternalError, database, text, f"failed with the database's error {code}.")


def _explained(
    kind: type[LanceNamespaceError], database: str, text: str, public: str | None = None
) -> LanceNamespaceError:
    error = kind(f"The lake {database} {text}")
    error.public_message = f"The lake's database {public or text}"  # type: ignore[attr-defined]
    return error


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]
