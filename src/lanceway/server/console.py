"""The console at `/`: its files for browsers, without credentials, and signing in by a link or at an issuer.

    POST /lanceway/v1/sign-in           {code}: a token for half a day, from the server's own page on this machine alone
    POST /lanceway/v1/sign-in/issuer    {code, verifier, redirect_uri}: the token of an OpenID Connect issuer

A link has its code behind the #, so that no server, no proxy and no log on the way sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lanceway.access import issuing, tokens
from lanceway.access.authenticator import AUTHORIZATION, Authenticator
from lanceway.access.exposure import is_loopback
from lanceway.access.principal import Principal
from lanceway.console.files import console_pages
from lanceway.errors import InvalidInputError, PermissionDeniedError, UnauthenticatedError
from lanceway.lake.store.database import LakeStore
from lanceway.server.code_flow import CodeFlow
from lanceway.server.http import log, uploads
from lanceway.server.http.audit import Auditor
from lanceway.server.http.errors import MethodNotAllowedError
from lanceway.server.http.middleware import PRINCIPAL_KEY, is_from_own_page, named_hosts
from lanceway.server.threads import CatalogThreads, ThreadLimits
from lanceway.wire.lance import JSON

_METHODS = ("GET", "HEAD")
_LARGEST_BODY, _LARGEST_CODE = 1024, 16_384
_LIMITS = ThreadLimits("of sign-ins", threads=2, deadline=30.0)
_ISSUER_LIMITS = ThreadLimits("of sign-ins at the issuer", threads=4, deadline=30.0)
# What proxies add: behind one everybody seems to be on this machine.
_OF_PROXIES = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})


class ConsolePages:
    """An ASGI application for the paths of the console."""

    def __init__(self, *, anonymous: bool = False, issuer: Mapping[str, str] | None = None) -> None:
        self._pages = console_pages(anonymous=anonymous, issuer=issuer)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._pages)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        log.of(scope).operation = "console"
        if scope["method"] not in _METHODS:
            raise MethodNotAllowedError(f"This path takes {' and '.join(_METHODS)} only.", _METHODS)
        page = self._pages[scope["path"].removeprefix(scope["root_path"])]
        asked = scope["headers"]
        is_known = any(name == b"if-none-match" and page.etag in value for name, value in asked)
        body, headers = page.answer(gzip=any(name == b"accept-encoding" and b"gzip" in value for name, value in asked))
        if is_known:  # an answer without a body: with the length of one, the server would end the connection as broken
            body, headers = b"", page.headers
        await send({"type": "http.response.start", "status": 304 if is_known else 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


class SignInBody(Struct, forbid_unknown_fields=True):
    """What a page sends that was opened by a link."""

    code: Annotated[str, Meta(min_length=1, max_length=200)]


class SignIn:
    """An ASGI application that takes the code of a link, once, and answers with a token."""

    def __init__(self, store: LakeStore, auditor: Auditor) -> None:
        self._store, self._auditor = store, auditor
        self._threads = CatalogThreads(_LIMITS, {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        log.of(scope).operation = "sign_in"
        if scope["method"] != "POST":
            raise MethodNotAllowedError("This path takes POST only.", ("POST",))
        _check_place(scope)
        content = await uploads.read_body(receive, _LARGEST_BODY)
        uploads.check_type(scope["headers"], uploads.JSON_TYPES)
        try:
            code = msgspec.json.decode(content, type=SignInBody).code
        except msgspec.DecodeError as error:
            raise InvalidInputError('The body must be the code of a link: {"code": "…"}.') from error
        session = await self._threads.run(None, issuing.redeem_code, self._store, code)
        user = session.token.user
        scope[PRINCIPAL_KEY] = Principal(user, admin=session.token.admin)
        log.of(scope).user = user
        async with self._auditor.change(scope, "sign_in", ()):  # what cannot be recorded is not handed out
            facts = {"token": session.secret, **tokens.described(session.token)}
        response = Response(msgspec.json.encode(facts), 200, {"cache-control": "no-store"}, JSON)
        await response(scope, receive, send)

    async def close(self, seconds: float) -> None:
        """Wait for what runs, but not longer than that."""
        await self._threads.close(seconds)


class IssuerSignInBody(Struct, forbid_unknown_fields=True):
    """What a page sends that an issuer has sent its visitor back to."""

    code: Annotated[str, Meta(min_length=1, max_length=4096)]
    verifier: Annotated[str, Meta(min_length=43, max_length=128)]
    redirect_uri: Annotated[str, Meta(min_length=1, max_length=2048)]


class SignInAtIssuer:
    """An ASGI application that exchanges what an issuer has sent a browser back with for a token, and checks that."""

    def __init__(self, flow: CodeFlow | None, authenticator: Authenticator, auditor: Auditor) -> None:
        self._flow, self._authenticator, self._auditor = flow, authenticator, auditor
        self._threads = CatalogThreads(_ISSUER_LIMITS, {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        log.of(scope).operation = "sign_in_at_issuer"
        if scope["method"] != "POST":
            raise MethodNotAllowedError("This path takes POST only.", ("POST",))
        if not is_from_own_page(scope["headers"]):
            raise PermissionDeniedError("Only the server's own page signs in so. Open it in a browser.")
        if self._flow is None:
            raise InvalidInputError("This server knows no issuer to sign in at. Sign in with a token.")
        content = await uploads.read_body(receive, _LARGEST_CODE)
        uploads.check_type(scope["headers"], uploads.JSON_TYPES)
        try:
            body = msgspec.json.decode(content, type=IssuerSignInBody)
        except msgspec.DecodeError as error:
            raise InvalidInputError(
                'The body must be what the issuer answered: {"code": "…", "verifier": "…", "redirect_uri": "…"}.'
            ) from error
        token, principal = await self._threads.run(None, partial(self._redeem, self._flow, body))
        scope[PRINCIPAL_KEY] = principal
        log.of(scope).user = principal.name
        async with self._auditor.change(scope, "sign_in", ()):
            facts = {"token": token, "user": principal.name}
        response = Response(msgspec.json.encode(facts), 200, {"cache-control": "no-store"}, JSON)
        await response(scope, receive, send)

    def _redeem(self, flow: CodeFlow, body: IssuerSignInBody) -> tuple[str, Principal]:
        """Return the first token that this server accepts, and whose it is. Raises why the first is refused."""
        refusals: list[UnauthenticatedError] = []
        for token in flow.redeem(body.code, body.verifier, body.redirect_uri):
            try:
                return token, self._authenticator.authenticate({AUTHORIZATION: f"Bearer {token}"})
            except UnauthenticatedError as error:
                refusals.append(error)
        raise refusals[0]

    async def close(self, seconds: float) -> None:
        """Wait for what runs, but not longer than that."""
        await self._threads.close(seconds)


def _check_place(scope: Scope) -> None:
    """Refuse all but the server's own page in a browser on this machine. Raises PermissionDeniedError."""
    client = scope.get("client")
    is_here = client is not None and is_loopback(client[0]) and all(map(is_loopback, named_hosts(scope["headers"])))
    if not is_here or any(name in _OF_PROXIES for name, _ in scope["headers"]):
        raise PermissionDeniedError(
            "A link signs in on the server's own machine alone, at its address on loopback. Sign in with a token."
        )
    if not is_from_own_page(scope["headers"]):
        raise PermissionDeniedError("A link signs in from the server's own page alone. Open it in a browser.")
