"""Authentication: finds out who sends a request before anything else is done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from lanceway.access.authenticator import API_KEY, AUTHORIZATION, Authenticator
from lanceway.access.principal import Principal
from lanceway.errors import UnauthenticatedError
from lanceway.server.http import request_context
from lanceway.server.threads import CatalogThreads, ThreadLimits

KEY = "lanceway.principal"  # in an ASGI scope
_HEADERS = {name.encode(): name for name in (AUTHORIZATION, API_KEY)}
# Tokens of the lake's own never wait behind an issuer that does not answer.
_TOKENS, _ISSUER = (
    ThreadLimits("of tokens", threads=8, deadline=30.0),
    ThreadLimits("of the issuer's keys", threads=8, deadline=15.0),
)
_FOREIGN = "issuer"


class BadTokenError(UnauthenticatedError):
    """Credentials were sent, and are not accepted."""

    headers = ((b"www-authenticate", b'Bearer realm="lanceway", error="invalid_token"'),)


class Authentication:
    """An ASGI application that lets a request through only once it knows who sends it.

    It raises UnauthenticatedError, or ServiceUnavailableError where the sender cannot be verified at present.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app, self._authenticator = app, authenticator
        self._threads = CatalogThreads(_TOKENS, {_FOREIGN: _ISSUER})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[KEY] = principal = await self._who(scope)
            if request_context.KEY in scope:
                request_context.of(scope).user = principal.name
        await self._app(scope, receive, send)

    async def close(self, seconds: float) -> None:
        """Wait for running look-ups, but not longer than that."""
        await self._threads.close(seconds)
        await asyncio.to_thread(self._authenticator.close)

    async def _who(self, scope: Scope) -> Principal:
        credentials = _credentials(scope["headers"])
        principal = self._authenticator.cached(credentials)
        if principal is not None:
            return principal
        threads = _FOREIGN if self._authenticator.is_foreign(credentials) else None
        try:
            return await self._threads.run(threads, self._authenticator.authenticate, credentials)
        except UnauthenticatedError as error:
            raise (BadTokenError(str(error)) if credentials else error) from error


def principal_of(scope: Any) -> Principal:
    principal: Principal = scope[KEY]
    return principal


def _credentials(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers that say who asks. One that is there twice may mean two users, and is refused."""
    credentials: dict[str, str] = {}
    for raw, value in headers:
        name = _HEADERS.get(raw)
        if name is None:
            continue
        if name in credentials:
            raise BadTokenError(f"The header {name} is there twice. Send it once.")
        credentials[name] = value.decode("latin-1")
    return credentials
