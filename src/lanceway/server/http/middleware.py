"""What every request passes: the checks of its host and its origin, authentication, and limits.

A web page can have its own name lead to 127.0.0.1 for a moment (DNS rebinding), and then its visitor's browser treats a
server on that machine as part of the page. The server sees it by the header Host, which still has the page's name.
Where a token is needed such a page has none; where anyone may ask, only names of this machine are answered.

A page can also send requests to the server by its right name (CSRF). It cannot read the answers, but a drop needs no
reader. The server sees it by the headers Origin and Sec-Fetch-Site, which browsers add and pages cannot change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lanceway.access.authenticator import API_KEY, AUTHORIZATION, Authenticator
from lanceway.access.exposure import is_loopback
from lanceway.access.principal import ExpiredTokenError, Principal
from lanceway.config import ServerSettings
from lanceway.errors import LanceNamespaceError, PermissionDeniedError, UnauthenticatedError
from lanceway.server.http import errors, log
from lanceway.server.http.concealment import Concealment
from lanceway.server.http.log import Metrics, RequestContext
from lanceway.server.threads import CatalogThreads, ThreadLimits
from lanceway.wire.lance import REQUEST_ID

ANY = "*"


class HostCheck:
    """An ASGI application that lets a request through only if its header Host has a known name."""

    def __init__(self, app: ASGIApp, names: tuple[str, ...]) -> None:
        self._app, self._names = app, frozenset(map(_plain, names))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._check(scope["headers"])
        await self._app(scope, receive, send)

    def _check(self, headers: list[tuple[bytes, bytes]]) -> None:
        hosts = named_hosts(headers)
        if len(hosts) != 1 or not self._is_known(_plain(hosts[0])):
            raise PermissionDeniedError(
                "This server does not answer to the name in the header Host. Ask for it as localhost or 127.0.0.1, or "
                "have its operator add the name to allowed_hosts in [server]."
            )

    def _is_known(self, name: str) -> bool:
        return name in self._names or is_loopback(name)


def check_host(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    """Serve only the names that the settings allow: loopback's where anyone may ask on loopback, else any."""
    names = settings.allowed_hosts
    local = (settings.anonymous or settings.simple_auth) and is_loopback(settings.host)
    return HostCheck(app, names) if ANY not in names and (names or local) else app


def named_hosts(headers: list[tuple[bytes, bytes]]) -> list[str]:
    """Return the names that a request calls the server by, without ports: one, unless something is wrong."""
    return [_without_port(value.decode("latin-1")) for name, value in headers if name == b"host"]


def _without_port(host: str) -> str:
    """`[::1]:8400` is `::1`, and `localhost:8400` is `localhost`."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _plain(name: str) -> str:
    return name.strip("[]").lower().removesuffix(".")


_ELSEWHERE = (b"cross-site", b"same-site")  # values of Sec-Fetch-Site for pages that are not the server's own


class OriginCheck:
    """An ASGI application that refuses requests from web pages, except the server's own and those of named origins."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        self._app, self._origins = app, frozenset(origin.encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_allowed(scope["headers"]):
            raise PermissionDeniedError(
                "This request comes from a web page of another origin, which may not use this server: it serves "
                "requests without credentials. Have its operator add the page's origin to cors_origins in [server]."
            )
        await self._app(scope, receive, send)

    def _is_allowed(self, headers: list[tuple[bytes, bytes]]) -> bool:
        origins, sites = _origins(headers)
        if len(origins) == 1 and origins[0] in self._origins:
            return True
        return _are_own(headers, origins) and not any(site.lower() in _ELSEWHERE for site in sites)


def is_from_own_page(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request says that it comes from one of the server's own pages, as browsers do of each POST."""
    origins, sites = _origins(headers)
    return len(origins) == 1 and _are_own(headers, origins) and all(site.lower() == b"same-origin" for site in sites)


def _origins(headers: list[tuple[bytes, bytes]]) -> tuple[list[bytes], list[bytes]]:
    """Return what the headers Origin and Sec-Fetch-Site of a request say."""
    origins, sites = ([value for header, value in headers if header == name] for name in (b"origin", b"sec-fetch-site"))
    return origins, sites


def _are_own(headers: list[tuple[bytes, bytes]], origins: list[bytes]) -> bool:
    # A proxy may take TLS off, so either scheme is the server's own; for a page of the other one the browser says
    # that it is elsewhere.
    hosts = [value.lower() for name, value in headers if name == b"host"]
    addresses = {scheme + host for host in hosts for scheme in (b"http://", b"https://")}
    return all(origin.lower() in addresses for origin in origins)


def check_origin(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    """Keep web pages out where no credentials are needed: only there can a page act for its visitor."""
    is_needed = (settings.anonymous or settings.simple_auth) and ANY not in settings.cors_origins
    return OriginCheck(app, settings.cors_origins) if is_needed else app


PRINCIPAL_KEY = "lanceway.principal"  # in an ASGI scope
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
    is_expired = False  # whether they were accepted once, so that a client gets others without asking its user


class Authentication:
    """An ASGI application that lets a request through only once it knows who sends it.

    It raises UnauthenticatedError, or ServiceUnavailableError where the sender cannot be verified at present.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app, self._authenticator = app, authenticator
        self._threads = CatalogThreads(_TOKENS, {_FOREIGN: _ISSUER})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[PRINCIPAL_KEY] = principal = await self._who(scope)
            if log.CONTEXT_KEY in scope:
                log.of(scope).user = principal.name
        await self._app(scope, receive, send)

    async def close(self, seconds: float) -> None:
        """Wait for running look-ups, but not longer than that."""
        await self._threads.close(seconds)
        await asyncio.to_thread(self._authenticator.close)

    async def _who(self, scope: Scope) -> Principal:
        credentials = _credentials(scope["headers"])
        principal = self._authenticator.try_fast(credentials)
        if principal is not None:
            return principal
        threads = _FOREIGN if self._authenticator.is_foreign(credentials) else None
        try:
            return await self._threads.run(threads, self._authenticator.authenticate, credentials)
        except UnauthenticatedError as error:
            raise (_refused(error) if credentials else error) from error


def _refused(error: UnauthenticatedError) -> BadTokenError:
    refusal = BadTokenError(str(error))
    refusal.is_expired = isinstance(error, ExpiredTokenError)
    return refusal


def principal_of(scope: Any) -> Principal:
    principal: Principal = scope[PRINCIPAL_KEY]
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


_REQUEST_ID = REQUEST_ID.encode()
_SERVER_ERRORS = 500


class RequestMiddleware:
    """An ASGI application around another one, which turns its errors into the protocol's answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics, conceal: Concealment) -> None:
        self._app, self._metrics, self._conceal = app, metrics, conceal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        context = RequestContext(log.request_id(scope["headers"]))
        scope[log.CONTEXT_KEY] = context
        stamp = (_REQUEST_ID, context.request_id.encode())
        path = scope["raw_path"].decode("latin-1")

        async def send_stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                message["headers"] = [*message.get("headers", ()), stamp]
            else:
                context.sent += len(message.get("body", b""))
            await send(message)

        self._metrics.begin()
        try:
            await self._serve(context, scope, receive, send_stamped)
        finally:
            self._metrics.end(context)
            log.access(scope, context, path)

    async def _serve(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except LanceNamespaceError as error:
            await self._refuse(context, error, scope, send)
        except asyncio.CancelledError:  # the server stops, and its grace period is over
            context.status = context.status or 503
            raise
        except Exception as error:  # noqa: BLE001 - the last place before the client, who must not see it
            log.failed("A request failed in a way that is not expected.", context, error)
            await self._refuse(context, error, scope, send)

    async def _refuse(self, context: RequestContext, error: Exception, scope: Scope, send: Send) -> None:
        """Send an error. An answer that has begun is left unfinished instead, and its connection is cut."""
        if context.status:
            log.refused("An answer broke off.", context, error)
            context.status = 599
            return
        envelope = scope.get(errors.ENVELOPE_KEY) or errors.LanceEnvelope()
        rendered = errors.render(error, context.request_id, self._conceal, envelope)
        is_logged = rendered.status >= _SERVER_ERRORS or rendered.is_concealed
        if is_logged and isinstance(error, LanceNamespaceError):
            log.refused("A request failed.", context, error)
        with suppress(OSError):  # the client has gone
            await send({"type": "http.response.start", "status": rendered.status, "headers": rendered.headers})
            await send({"type": "http.response.body", "body": rendered.body})
