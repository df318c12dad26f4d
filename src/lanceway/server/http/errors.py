"""Errors on the wire, rendered in this one place: by class, with the request's id, without a traceback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from lanceway import errors
from lanceway.errors import (
    ErrorInfo,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from lanceway.server.http.concealment import Concealment
from lanceway.wire import lance

# A subclass may have a code of its own for those in the same process; on the wire its class counts.
_CODES: Mapping[type[BaseException], int] = {
    class_: class_.code.value
    for class_ in (getattr(errors, name) for name in errors.__all__)
    if isinstance(class_, type) and issubclass(class_, LanceNamespaceError) and class_ is not LanceNamespaceError
}
_CONCEAL = Concealment()
_RETRY_AFTER = (b"retry-after", b"1")  # seconds
_CHALLENGE = (b"www-authenticate", b'Bearer realm="lanceway"')


class RouteNotFoundError(UnsupportedOperationError):
    """No operation has this path."""

    status = 404


class MethodNotAllowedError(UnsupportedOperationError):
    """The path is known, and takes other methods."""

    status = 405

    def __init__(self, message: str, allowed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.headers = [(b"allow", ", ".join(sorted(allowed)).encode())]


class BodyTooLargeError(InvalidInputError):
    """The body is larger than the server takes."""

    status = 413


class MediaTypeError(InvalidInputError):
    """The body is of a kind that the operation does not read."""

    status = 415


class SilentClientError(ServiceUnavailableError):
    """The client stopped in the middle of its body."""

    status = 408


@dataclass(frozen=True, slots=True)
class Rendered:
    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]]
    is_concealed: bool = False  # the log must have what the client does not get


class Envelope(Protocol):
    """How a dialect writes errors."""

    def status(self, error: LanceNamespaceError) -> int: ...

    def body(self, error: LanceNamespaceError, message: str, request_id: str) -> dict[str, Any]: ...


class LanceEnvelope:
    """Errors as Lance REST has them."""

    def status(self, error: LanceNamespaceError) -> int:
        return ErrorInfo.of(error).status or lance.STATUS[code_of(error)]

    def body(self, error: LanceNamespaceError, message: str, request_id: str) -> dict[str, Any]:
        return lance.error_body(message, code_of(error), request_id)


ENVELOPE_KEY = "lanceway.envelope"  # in an ASGI scope: that of the dialect which the request is for
_LANCE = LanceEnvelope()


def render(
    error: BaseException, request_id: str, conceal: Concealment = _CONCEAL, envelope: Envelope = _LANCE
) -> Rendered:
    """Render an error for a client. Only the contract's own errors keep their message, without addresses."""
    if not isinstance(error, LanceNamespaceError):
        error = InternalError(
            "The server failed in a way that is not expected. Its log has the reason under the request id "
            f"{request_id}; please report it."
        )
    status = envelope.status(error)
    message = conceal(getattr(error, "public_message", None) or str(error), status)
    body = _encoded(envelope.body(error, message, request_id))
    headers = [
        (b"content-type", lance.JSON.encode()),
        (b"content-length", str(len(body)).encode()),
        *getattr(error, "headers", ()),
    ]
    if isinstance(error, UnauthenticatedError) and not any(name == b"www-authenticate" for name, _ in headers):
        headers.append(_CHALLENGE)
    if isinstance(error, ServiceUnavailableError | ThrottlingError):
        headers.append(_RETRY_AFTER)
    return Rendered(status, body, headers, is_concealed=message != str(error))


def code_of(error: LanceNamespaceError) -> int:
    """Return the protocol's code for an error's class, or for the class that it refines."""
    return next((_CODES[base] for base in type(error).__mro__ if base in _CODES), _CODES[InternalError])


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # half of a surrogate pair, repeated from what was asked
        return msgspec.json.encode(
            {
                key: value.encode(errors="replace").decode() if isinstance(value, str) else value
                for key, value in body.items()
            }
        )
