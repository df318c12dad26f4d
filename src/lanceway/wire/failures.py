"""What goes wrong between here and a server, before an answer can be read."""

from __future__ import annotations

import httpx

from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError, ServiceUnavailableError

# The request had no connection to travel on. All others may have arrived, as far as anybody here can tell.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Failed(Exception):  # noqa: N818 - never leaves this room: what is raised to a caller is `error`
    """One attempt that failed: the error it ends in, and what decides whether there is another."""

    def __init__(
        self, error: LanceNamespaceError, *, arrived: bool, status: int | None = None, after: float | None = None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.arrived = arrived  # whether the server may have carried the request out
        self.status = status  # None where no answer came
        self.after = after  # how many seconds the server asks to wait


def lost(what: str, uri: str, error: httpx.RequestError | httpx.StreamError, *, changes: bool) -> Failed:
    """An exchange that broke off. `changes`: the request was to change something."""
    arrived = not isinstance(error, _UNSENT)
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        # Its text may repeat a header, and with it a token.
        refused = InvalidInputError(f"{what} cannot be sent to {uri}: HTTP has no way to write it.")
        return Failed(refused, arrived=False, status=0)
    if isinstance(error, httpx.DecodingError):
        return Failed(InternalError(f"{what}: the answer of {uri} is compressed and cannot be read."), arrived=True)
    doubt = " It is not known whether it was carried out: look before asking again." if arrived and changes else ""
    return Failed(ServiceUnavailableError(f"{what} failed: {_reason(uri, error)}{doubt}"), arrived=arrived)


def _reason(uri: str, error: Exception) -> str:
    if isinstance(error, httpx.PoolTimeout):
        return f"all connections to {uri} are in use, and none came free in time."
    if isinstance(error, httpx.ConnectTimeout):
        return f"{uri} cannot be reached in time. Is the address right, and the server up?"
    if isinstance(error, httpx.TimeoutException):
        return f"{uri} did not answer in time. The setting timeout says how long to wait."
    said = str(error).rstrip(".")
    if isinstance(error, httpx.ConnectError):
        return f"{uri} cannot be reached ({said}). Is the address right, and the server up?"
    return f"the connection to {uri} broke off{f' ({said})' if said else ''}."
