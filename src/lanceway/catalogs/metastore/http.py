"""What the catalogs of external HTTP services share: errors, options and addresses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from lanceway.config import Setting
from lanceway.errors import InternalError, LanceNamespaceError, from_error_code
from lanceway.wire import http
from lanceway.wire.errors import Repeat
from lanceway.wire.http import HttpAnswer, Request
from lanceway.wire.transport import TIMEOUT_SETTING

_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        0: "This server has no such operation.",
        17: "Try again later.",
        21: "Ask less often, or later.",
    }
)


def refusal(
    request: Request, answer: HttpAnswer, code: int, said: str | None, what_to_do: Mapping[int, str]
) -> LanceNamespaceError:
    """Return the error of a code, with the server's own message and what a user can do about it."""
    failure = f"{request.what} failed with {answer.status}: {(said or 'no reason was given').rstrip('.')}."
    error: LanceNamespaceError = from_error_code(
        code, " ".join(filter(None, (failure, what_to_do.get(code, _WHAT_TO_DO.get(code)))))
    )
    return error


_JSON = "application/json"
_SHARED = ("header.*", "headers.*", "tls.ssl_ca_cert", "tls.cert_file", "tls.key_file", "tls.assert_hostname")
# Rows of `SETTINGS` that every such catalog has, and the keys that their values are found under.
HTTP_SETTINGS: tuple[Setting, ...] = tuple(row for row in http.SETTINGS if row.name in _SHARED)
_KEYS = tuple(name.removesuffix(".*") for name in _SHARED)

RequestType = TypeVar("RequestType", bound=Request)


def client_settings(
    settings: Mapping[str, Any], *, timeout: float, connect_timeout: float, retries: int
) -> dict[str, Any]:
    """Return the settings of the HTTP client, from those of a catalog, which calls its time-out `read_timeout`."""
    shared = {key: settings[key] for key in _KEYS}
    times = {"timeout": timeout, TIMEOUT_SETTING: "read_timeout", "connect_timeout": connect_timeout}
    return {**shared, **times, "retries": retries}


def json_request(
    request_type: type[RequestType],
    what: str,
    method: str,
    path: str,
    *,
    query: Sequence[tuple[str, str]],
    body: Mapping[str, Any] | None,
    headers: Mapping[str, str] | None = None,
    repeat: Repeat | None = None,
    **route: Any,
) -> RequestType:
    """Build a request. One that only reads is repeated where it fails, any other if it was never sent."""
    content_type = {} if body is None else {"content-type": _JSON}
    return request_type(
        what=what,
        method=method,
        path=path,
        query=query,
        headers={"accept": _JSON, **content_type, **(headers or {})},
        content=None if body is None else json.dumps(body).encode(),
        repeat=repeat or (Repeat.SAFE if method in ("GET", "HEAD") else Repeat.UNSENT),
        **route,
    )


def read_json(request: Request, response: HttpAnswer, question: str) -> Any:
    """Return the JSON of a response. The question is for people: what to check where there is none."""
    try:
        return response.json()
    except ValueError:
        raise InternalError(
            f"{request.what}: the response is not JSON (status {response.status}). {question}"
        ) from None


def read_failure(response: HttpAnswer, read: Callable[[object], Any]) -> Any:
    """Return what the body of a refusal says in the service's own form, None for a body of another form."""
    try:
        return read(response.json())
    except ValueError:
        return None


def pages(
    what: str, fetch: Callable[[str | None], Any], next_token: Callable[[Any], str | None], token: str | None = None
) -> Iterator[Any]:
    """Yield every page of a list, to the end: an empty one may have others behind it."""
    tokens: set[str] = set()
    while True:
        page = fetch(token)
        yield page
        token = next_token(page)
        if not token:
            return
        if token in tokens:
            raise InternalError(f"{what} does not end: the server gave the same page token twice.")
        tokens.add(token)


def is_uri(location: str) -> bool:
    return "://" in location or location.startswith("file:")


def absolute_path(location: str | None) -> str:
    """Return a location that means the same in any other process; the working folder for none."""
    return location if location and is_uri(location) else os.path.abspath(location or os.curdir)
