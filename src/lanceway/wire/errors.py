"""Exchanges with a server that fail before an answer can be read, and the errors they become."""

from __future__ import annotations

from enum import Enum

from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError, ServiceUnavailableError

_LONGEST = 200  # characters of what the system or a server says


class Reason(Enum):
    """Why an exchange broke off. `{0}` is the server's address, `{1}` what the system said."""

    BUSY = "all connections to {0} are in use, and none came free in time."
    FAR = "{0} cannot be reached in time. Is the address right, and the server up?"
    UNREACHABLE = "{0} cannot be reached{1}. Is the address right, and the server up?"
    SILENT = "{0} did not answer in time. The setting timeout says how long to wait."
    CUT = "the connection to {0} broke off{1}."
    UNWRITABLE = "HTTP has no way to write it."
    COMPRESSED = "the answer of {0} is compressed and cannot be read."


# The request had no connection to travel on. All others may have arrived, as far as a client can tell.
_UNSENT = frozenset({Reason.BUSY, Reason.FAR, Reason.UNREACHABLE, Reason.UNWRITABLE})


class TransportError(Exception):
    """An exchange that broke off. It never leaves a client: `attempt_failed` makes an error of the contract of it."""

    def __init__(self, reason: Reason, said: str = "") -> None:
        self.reason, self.said = reason, f" ({said})" if said else ""
        super().__init__(self.message("the server"))

    def message(self, uri: str) -> str:
        return self.reason.value.format(uri, self.said)


class AttemptFailed(Exception):  # noqa: N818 - never leaves a client: what it raises is `error`
    """One attempt that failed: the error it ends in, and what decides whether there is another."""

    def __init__(
        self, error: LanceNamespaceError, *, arrived: bool, status: int | None = None, after: float | None = None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.arrived = arrived  # whether the server may have carried the request out
        self.status = status  # None where no answer came
        self.after = after  # how many seconds the server asks to wait


def unreached(error: Exception) -> TransportError:
    """Return the reason of an exchange for which there was no connection."""
    origin = _origin(error)
    if isinstance(origin, TimeoutError):
        return TransportError(Reason.FAR)
    return TransportError(Reason.UNREACHABLE, _said(origin))


def broken(error: Exception) -> TransportError:
    """Return the reason of an exchange whose connection broke or stayed silent."""
    origin = _origin(error)
    if isinstance(origin, TimeoutError):
        return TransportError(Reason.SILENT)
    return TransportError(Reason.CUT, _said(origin))


def attempt_failed(what: str, uri: str, error: TransportError, *, changes: bool) -> AttemptFailed:
    """Return the error of an exchange that broke off. `changes`: the request was to change something."""
    reason, arrived = error.reason, error.reason not in _UNSENT
    text = error.message(uri)
    if reason is Reason.UNWRITABLE:
        return AttemptFailed(InvalidInputError(f"{what} cannot be sent to {uri}: {text}"), arrived=False, status=0)
    if reason is Reason.COMPRESSED:
        return AttemptFailed(InternalError(f"{what}: {text}"), arrived=True)
    doubt = " It is not known whether it was carried out: look before asking again." if arrived and changes else ""
    return AttemptFailed(ServiceUnavailableError(f"{what} failed: {text}{doubt}"), arrived=arrived)


def _origin(error: BaseException) -> BaseException:
    """Return the system's own error, which urllib3 wraps as a cause or as the last argument."""
    inner = error.args[-1] if error.args and isinstance(error.args[-1], BaseException) else error.__cause__
    return error if inner is None else _origin(inner)


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:_LONGEST].rstrip(".")
