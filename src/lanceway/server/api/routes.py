"""`/lanceway/v1`: what no dialect has. Who one is, tokens, and runs of pipelines.

    GET    /lanceway/v1/me
    GET    /lanceway/v1/tokens              one's own; an admin's answer has everybody's, or one `user`'s
    POST   /lanceway/v1/tokens              {user, label, expires_in}; the answer has the token, this once
    DELETE /lanceway/v1/tokens/{prefix}
    GET    /lanceway/v1/pipelines, runs, lineage    `lanceway_runs`
    POST   /lanceway/v1/leases, runs/{key}/records  `lanceway_records`
    GET    /lanceway/v1/jobs, jobs/{id}; POST jobs/{id}/cancel  `lanceway_jobs`

Times in answers are milliseconds since 1970; `expires_in` is seconds, as OAuth has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lanceway.access import token_pages, tokens
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.errors import InvalidInputError, PermissionDeniedError, UnauthenticatedError
from lanceway.lake.store.database import LakeStore
from lanceway.server.api import jobs, runs
from lanceway.server.api.requests import Handler, answer, body, flag, limit, read
from lanceway.server.http import request_context
from lanceway.server.http.auth import principal_of
from lanceway.server.http.errors import MethodNotAllowedError, RouteNotFoundError
from lanceway.server.threads import CatalogThreads

BASE = "/lanceway/v1/"
_LONGEST_LIFE = 100 * 365 * 24 * 3600  # seconds
# What is secret and shown once is not to be kept on its way.
_NOT_KEPT = {"cache-control": "no-store"}


class TokenNotFoundError(InvalidInputError):
    """There is no such token, or it is not one's own."""

    status = 404


class TokenRequest(msgspec.Struct):
    """What is asked for: a token of this user, one's own if none is named, that lives for so many seconds."""

    user: str | None = None
    label: str | None = None
    expires_in: Annotated[int, msgspec.Meta(ge=1, le=_LONGEST_LIFE)] | None = None


class LancewayApi:
    """An ASGI application behind `Authentication`."""

    def __init__(self, store: LakeStore, work: CatalogThreads) -> None:
        self._store, self._work = store, work
        self._handlers: Mapping[tuple[str, bool], Mapping[str, Handler]] = {
            ("me", False): {"GET": self._me},
            ("tokens", False): {"GET": self._list, "POST": self._create},
            ("tokens", True): {"DELETE": self._revoke},
            **runs.handlers(store, work),
            **jobs.handlers(store, work),
        }
        self._names = list(dict.fromkeys(name for name, _ in self._handlers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        name, slash, rest = path.removeprefix(BASE).strip("/").partition("/")
        methods = self._handlers.get((name, bool(slash))) if path.startswith(BASE) else None
        if methods is None:
            raise RouteNotFoundError(
                f"There is nothing at this path. Below /lanceway/v1 there are {', '.join(self._names)}; see "
                "/openapi-lanceway.json."
            )
        handler = methods.get(scope["method"])
        if handler is None:
            raise MethodNotAllowedError(f"This path takes {' and '.join(sorted(methods))} only.", tuple(methods))
        if request_context.KEY in scope:
            request_context.of(scope).operation = f"{scope['method'].lower()}_{name}"
        request = Request(scope, receive)
        found = await handler(request, principal_of(scope), rest)
        await found(scope, receive, send)

    async def _me(self, request: Request, who: Principal, _: str) -> Response:
        facts = {"name": who.name, "groups": who.groups, "admin": who.admin, "anonymous": who == ANONYMOUS}
        return answer(facts)

    async def _list(self, request: Request, who: Principal, _: str) -> Response:
        _refuse_nobody(who)
        query = request.query_params
        user = query.get("user") if who.admin else who.name
        if query.get("user", user) != user:
            raise PermissionDeniedError("Only an admin may list the tokens of others. Leave `user` out for your own.")
        size, dead = limit(query.get("limit")), flag("all", query.get("all"))
        ask = partial(token_pages.page, user=user, dead=dead, limit=size, page_token=query.get("page_token"))
        found, token = await self._work.run(None, ask, self._store)
        return answer({"tokens": found, "page_token": token})

    async def _create(self, request: Request, who: Principal, _: str) -> Response:
        _refuse_nobody(who)
        wanted = _read(await body(request))
        user = who.name if wanted.user is None else wanted.user
        if user != who.name and not who.admin:
            raise PermissionDeniedError("Only an admin may make tokens for others. Leave `user` out for your own.")
        lifetime = None if wanted.expires_in is None else timedelta(seconds=wanted.expires_in)
        make = partial(tokens.create, self._store, user, by=who.name, label=wanted.label, lifetime=lifetime)
        made = await self._work.run(None, partial(make, above=who.admin))
        return answer({"token": made.secret, **token_pages.described(made.token)}, 201, _NOT_KEPT)

    async def _revoke(self, request: Request, who: Principal, name: str) -> Response:
        _refuse_nobody(who)
        own = None if who.admin else who.name
        found = await self._work.run(None, partial(tokens.revoke, self._store, name, by=who.name, user=own))
        if found is None:
            raise TokenNotFoundError(f"There is no token {name}{' of yours' if own else ''}. List those there are.")
        return answer(token_pages.described(found))


def _refuse_nobody(who: Principal) -> None:
    if who == ANONYMOUS:
        raise UnauthenticatedError("Tokens belong to users, and this request says of none. Send a token of yours.")


def _read(content: bytes) -> TokenRequest:
    return TokenRequest() if content.strip() in (b"", b"null") else read(content, TokenRequest, "request for a token")
