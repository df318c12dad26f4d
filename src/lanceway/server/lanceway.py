"""`/lanceway/v1`: what no dialect has. For now who one is, and tokens.

    GET    /lanceway/v1/me
    GET    /lanceway/v1/tokens              one's own; an admin's answer has everybody's, or one `user`'s
    POST   /lanceway/v1/tokens              {user, label, expires_in}; the answer has the token, this once
    DELETE /lanceway/v1/tokens/{prefix}

Times in answers are milliseconds since 1970; `expires_in` is seconds, as OAuth has it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Annotated

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lanceway.access import lists, tokens
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.errors import InvalidInputError, PermissionDeniedError, UnauthenticatedError
from lanceway.lake.store import LakeStore
from lanceway.server import exchange
from lanceway.server.auth import principal_of
from lanceway.server.errors import BodyTooLargeError, MethodNotAllowedError, RouteNotFoundError
from lanceway.server.work import Work
from lanceway.wire.lance import JSON

BASE = "/lanceway/v1/"
PAGE, LARGEST_PAGE = 100, 1_000
_LONGEST_NUMBER = 10  # digits
_LARGEST_BODY = 64 * 2**10  # bytes
_LONGEST_LIFE = 100 * 365 * 24 * 3600  # seconds
# What is secret and shown once is not to be kept on its way.
_NOT_KEPT = {"cache-control": "no-store"}

Handler = Callable[[Request, Principal, str], Awaitable[Response]]


class TokenNotFoundError(InvalidInputError):
    """There is no such token, or it is not one's own."""

    status = 404


class NewToken(msgspec.Struct):
    """What is asked for: a token of this user, one's own if none is named, that lives for so many seconds."""

    user: str | None = None
    label: str | None = None
    expires_in: Annotated[int, msgspec.Meta(ge=1, le=_LONGEST_LIFE)] | None = None


class LancewayApi:
    """An ASGI application behind `Authentication`."""

    def __init__(self, store: LakeStore, work: Work) -> None:
        self._store, self._work = store, work
        self._handlers: Mapping[tuple[str, bool], Mapping[str, Handler]] = {
            ("me", False): {"GET": self._me},
            ("tokens", False): {"GET": self._list, "POST": self._create},
            ("tokens", True): {"DELETE": self._revoke},
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        name, slash, rest = path.removeprefix(BASE).strip("/").partition("/")
        methods = self._handlers.get((name, bool(slash))) if path.startswith(BASE) else None
        if methods is None:
            raise RouteNotFoundError(
                "There is nothing at this path. Below /lanceway/v1 there are me and tokens; see /openapi-lanceway.json."
            )
        handler = methods.get(scope["method"])
        if handler is None:
            raise MethodNotAllowedError(f"This path takes {' and '.join(sorted(methods))} only.", tuple(methods))
        if exchange.KEY in scope:
            exchange.of(scope).operation = f"{scope['method'].lower()}_{name}"
        request = Request(scope, receive)
        answer = await handler(request, principal_of(scope), rest)
        await answer(scope, receive, send)

    async def _me(self, request: Request, who: Principal, _: str) -> Response:
        facts = {"name": who.name, "groups": who.groups, "admin": who.admin, "anonymous": who == ANONYMOUS}
        return _json(facts)

    async def _list(self, request: Request, who: Principal, _: str) -> Response:
        _refuse_nobody(who)
        query = request.query_params
        user = query.get("user") if who.admin else who.name
        if query.get("user", user) != user:
            raise PermissionDeniedError("Only an admin may list the tokens of others. Leave `user` out for your own.")
        limit, dead = _limit(query.get("limit")), _flag("all", query.get("all"))
        ask = partial(lists.page, user=user, dead=dead, limit=limit, page_token=query.get("page_token"))
        found, token = await self._work.run(None, ask, self._store)
        return _json({"tokens": found, "page_token": token})

    async def _create(self, request: Request, who: Principal, _: str) -> Response:
        _refuse_nobody(who)
        wanted = _read(await _body(request))
        user = who.name if wanted.user is None else wanted.user
        if user != who.name and not who.admin:
            raise PermissionDeniedError("Only an admin may make tokens for others. Leave `user` out for your own.")
        lifetime = None if wanted.expires_in is None else timedelta(seconds=wanted.expires_in)
        make = partial(tokens.create, self._store, user, by=who.name, label=wanted.label, lifetime=lifetime)
        made = await self._work.run(None, partial(make, above=who.admin))
        return _json({"token": made.secret, **lists.described(made.token)}, 201, _NOT_KEPT)

    async def _revoke(self, request: Request, who: Principal, name: str) -> Response:
        _refuse_nobody(who)
        own = None if who.admin else who.name
        found = await self._work.run(None, partial(tokens.revoke, self._store, name, by=who.name, user=own))
        if found is None:
            raise TokenNotFoundError(f"There is no token {name}{' of yours' if own else ''}. List those there are.")
        return _json(lists.described(found))


def _refuse_nobody(who: Principal) -> None:
    if who == ANONYMOUS:
        raise UnauthenticatedError("Tokens belong to users, and this request says of none. Send a token of yours.")


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST_BODY:
                raise BodyTooLargeError(f"The body has more than {_LARGEST_BODY:,} bytes. Send less.")
    except ClientDisconnect as error:
        raise InvalidInputError("The client has gone before the end of its body.") from error
    return bytes(body)


def _read(body: bytes) -> NewToken:
    if body.strip() in (b"", b"null"):
        return NewToken()
    try:
        return msgspec.json.decode(body, type=NewToken)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"The body is no request for a token: {error}.") from error
    except RecursionError as error:
        raise InvalidInputError("The body is no request for a token: it is nested too deeply.") from error


def _limit(text: str | None) -> int:
    if text is None:
        return PAGE
    if text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER:
        return min(int(text), LARGEST_PAGE)
    raise InvalidInputError("`limit` must be a whole number, at least 1.")


def _flag(name: str, text: str | None) -> bool:
    if text is None or text.lower() in ("true", "false"):
        return (text or "").lower() == "true"
    raise InvalidInputError(f"`{name}` must be true or false.")


def _json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, JSON)
