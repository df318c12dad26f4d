"""Who asks: found out before anything else is done with a request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from lanceway.access.authenticator import API_KEY, AUTHORIZATION, Authenticator
from lanceway.access.principal import Principal
from lanceway.errors import UnauthenticatedError
from lanceway.server.http import request_context
from lanceway.server.threads import CatalogThreads, ThreadLane

KEY = "lanceway.principal"  # in an ASGI scope
_HEADERS = {name.encode(): name for name in (AUTHORIZATION, API_KEY)}
# Tokens of the lake's own never wait behind an issuer that does not answer.
_TOKENS, _ISSUER = (
    ThreadLane("of tokens", threads=8, deadline=30.0),
    ThreadLane("of the issuer's keys", threads=8, deadline=15.0),
)
_FOREIGN = "issuer"


class BadTokenError(UnauthenticatedError):
    """Credentials were given, and are not accepted."""

    headers = ((b"www-authenticate", b'Bearer realm="lanceway", error="invalid_token"'),)


class Authentication:
    """An ASGI application that lets nobody to the one behind it of whom it does not know who it is.

    It raises UnauthenticatedError, or ServiceUnavailableError where that cannot be found out at present.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app, self._authenticator = app, authenticator
        self._work = CatalogThreads(_TOKENS, {_FOREIGN: _ISSUER})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[KEY] = principal = await self._who(scope)
            if request_context.KEY in scope:
                request_context.of(scope).user = principal.name
        await self._app(scope, receive, send)

    async def close(self, seconds: float) -> None:
        """Wait for what is being asked, but not longer than that."""
        await self._work.close(seconds)
        await asyncio.to_thread(self._authenticator.close)

    async def _who(self, scope: Scope) -> Principal:
        given = _credentials(scope["headers"])
        known = self._authenticator.cached(given)
        if known is not None:
            return known
        lane = _FOREIGN if self._authenticator.is_foreign(given) else None
        try:
            return await self._work.run(lane, self._authenticator.authenticate, given)
        except UnauthenticatedError as error:
            raise (BadTokenError(str(error)) if given else error) from error


def principal_of(scope: Any) -> Principal:
    found: Principal = scope[KEY]
    return found


def _credentials(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers that say who asks. One that is there twice may mean two users, and is refused."""
    found: dict[str, str] = {}
    for raw, value in headers:
        name = _HEADERS.get(raw)
        if name is None:
            continue
        if name in found:
            raise BadTokenError(f"The header {name} is there twice. Send it once.")
        found[name] = value.decode("latin-1")
    return found
