"""A client of as simple a protocol as can be, and what it is asked to send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lanceway.config import read_settings
from lanceway.errors import LanceNamespaceError, from_error_code
from lanceway.wire import http
from lanceway.wire.authentication import Credentials, Fixed, bearer
from lanceway.wire.errors import Repeat
from lanceway.wire.http import Client, HttpAnswer, Request
from tests.servers.faults import answer

TOKEN = "open-sesame"
READ = Request("describe", "POST", "/v1/x", content=b"{}", repeat=Repeat.SAFE)
CHANGE = Request("create", "POST", "/v1/x", content=b"{}")
OK = answer(200, {"ok": True})


def connected(uri: str, credentials: Callable[[], Credentials] = lambda: Fixed(bearer(TOKEN)), **given: Any) -> Client:
    return Client(uri, read_settings("A client", http.SETTINGS, given), credentials, refuse)


def refuse(request: Request, refused: HttpAnswer) -> LanceNamespaceError:
    return from_error_code(16 if refused.status == 401 else 17, f"{request.what}: {refused.content.decode()}")


class Parts:
    """A body that is sent once."""

    def __init__(self, *parts: bytes, failure: Exception | None = None) -> None:
        self.started = False
        self._parts, self._failure = parts, failure

    def __iter__(self) -> Iterator[bytes]:
        self.started = True
        yield from self._parts
        if self._failure is not None:
            raise self._failure


def sending(parts: http.OneShotBody) -> Request:
    return Request("insert", "POST", "/v1/x", content=parts)
