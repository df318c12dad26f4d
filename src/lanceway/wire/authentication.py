"""Credentials of requests: fixed headers, a token in a file, or one that is fetched and renewed.

Credentials belong to one process, whose threads share them.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Protocol
from urllib.parse import urlencode

from lanceway.errors import InternalError, ServiceUnavailableError, UnauthenticatedError
from lanceway.wire.errors import TransportError, attempt_failed
from lanceway.wire.settings import read_address
from lanceway.wire.transport import Transport

AUTHORIZATION, API_KEY = "authorization", "x-api-key"
# A token is renewed this long before its end, or after three quarters of a short life.
_EARLY = 60.0
_SERVER_TROUBLE = 500


def bearer(token: str) -> dict[str, str]:
    return {AUTHORIZATION: f"Bearer {token}"}


class Credentials(Protocol):
    """The headers that say who asks."""

    def headers(self, http: Transport) -> Mapping[str, str]:
        """Return the current headers; `http` is there to fetch what is missing."""
        ...

    def renew(self, http: Transport, refused: Mapping[str, str]) -> bool:
        """Return whether there are other headers than those that a 401 `refused`."""
        ...


class Fixed:
    """Headers that stay as they are."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)

    def headers(self, http: Transport) -> Mapping[str, str]:
        return self._headers

    def renew(self, http: Transport, refused: Mapping[str, str]) -> bool:
        return False


class WithHeaders:
    """Credentials, and fixed headers beside them."""

    def __init__(self, headers: Mapping[str, str], inner: Credentials) -> None:
        self._headers, self._inner = dict(headers), inner

    def headers(self, http: Transport) -> Mapping[str, str]:
        return {**self._headers, **self._inner.headers(http)}

    def renew(self, http: Transport, refused: Mapping[str, str]) -> bool:
        return self._inner.renew(http, {name: refused[name] for name in refused if name not in self._headers})


class TokenFile:
    """A token in a file that another program renews. It is read again when it has changed."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._cached: tuple[tuple[int, int, int], dict[str, str]] | None = None

    def headers(self, http: Transport) -> Mapping[str, str]:
        try:
            status = os.stat(self._path)
            state = (status.st_mtime_ns, status.st_size, status.st_ino)
            cached = self._cached  # which another thread may empty
            if cached is None or cached[0] != state:
                cached = self._cached = (state, self._read())
            return cached[1]
        except OSError as error:
            raise UnauthenticatedError(f"The token_file {self._path} cannot be read: {error.strerror}.") from error

    def _read(self) -> dict[str, str]:
        token = self._path.read_bytes().decode(errors="replace").strip()
        if not is_header_value(token) or not token:
            raise UnauthenticatedError(f"The token_file {self._path} holds no token: one line of plain characters.")
        return bearer(token)

    def renew(self, http: Transport, refused: Mapping[str, str]) -> bool:
        self._cached = None
        return self.headers(http) != refused


class ClientCredentials:
    """A token from an OAuth2 token endpoint, for a client's id and secret; renewed before it ends."""

    def __init__(
        self, token_uri: str, client: str, secret: str, scope: str | None = None, *, in_form: bool = False
    ) -> None:
        """Send id and secret in a header or, `in_form`, in the form, where Iceberg catalogs look for them."""
        self._uri, self._address = token_uri, read_address(token_uri)
        form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        self._sent = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        if in_form:
            form |= {"client_id": client, "client_secret": secret}
        else:
            self._sent[AUTHORIZATION] = f"Basic {base64.b64encode(f'{client}:{secret}'.encode()).decode()}"
        self._form = urlencode(form).encode()
        self._lock = threading.Lock()
        self._headers: dict[str, str] = {}
        self._until: float | None = 0.0  # by the monotonic clock; None: until it is refused

    def headers(self, http: Transport) -> Mapping[str, str]:
        with self._lock:
            if self._until is not None and time.monotonic() >= self._until:
                self._fetch(http)
            return self._headers

    def renew(self, http: Transport, refused: Mapping[str, str]) -> bool:
        with self._lock:
            if self._headers == refused:  # else another thread was here first
                self._fetch(http)
            return self._headers != refused

    def _fetch(self, http: Transport) -> None:
        what = "Fetching a token"
        try:
            response = http.open("POST", self._address, self._address.target, self._sent, self._form)
            content = response.read()
        except TransportError as error:
            raise attempt_failed(what, self._uri, error, changes=False).error from error.__cause__
        if response.status >= _SERVER_TROUBLE:
            raise ServiceUnavailableError(f"{what} failed: {self._uri} answers {response.status}.")
        if response.status != HTTPStatus.OK:
            # Its words stay out: they may repeat what was sent.
            raise UnauthenticatedError(
                f"{what} failed: {self._uri} answers {response.status}. Are credential and token_uri right?"
            )
        self._keep(content)

    def _keep(self, content: bytes) -> None:
        try:
            body = json.loads(content)
            token, seconds = body["access_token"], body.get("expires_in")
            life = None if seconds is None else float(seconds)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            token, life = None, None
        if not isinstance(token, str) or not token or not is_header_value(token):
            # Not chained: what cannot be read may hold the token.
            raise InternalError(f"The answer of {self._uri} holds no access_token that can be used.") from None
        self._headers = bearer(token)
        self._until = None if life is None else time.monotonic() + life - min(_EARLY, life / 4)


def is_header_value(text: str) -> bool:
    """Return whether HTTP can carry it: no line breaks, no control characters, nothing beyond ASCII."""
    return text.isascii() and (not text or text.isprintable()) and text == text.strip()
