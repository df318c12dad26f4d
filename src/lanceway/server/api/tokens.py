"""`/lanceway/v1/me` and `tokens`: who asks, and the tokens by which a server knows it.

    GET    /lanceway/v1/me
    GET    /lanceway/v1/tokens              one's own; for an admin everybody's, or one `user`'s
    POST   /lanceway/v1/tokens              {user, label, expires_in}; the answer has the token, this once. It ends
                                            no later than the token that it was asked with
    DELETE /lanceway/v1/tokens/{prefix}

Times in answers are milliseconds since 1970; `expires_in` is seconds, as OAuth has it.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from lanceway.access import tokens
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.lake.tokens import Token
from lanceway.server.api.endpoints import Call, PageQuery, PathPart, derive, endpoint, page_type
from lanceway.wire.lance import JSON

_LONGEST_LIFE = 100 * 365 * 24 * 3600  # seconds
# A secret that is shown once must not stay in a cache.
_NO_STORE = {"cache-control": "no-store"}


class TokenNotFoundError(InvalidInputError):
    """There is no such token, or it is not one's own."""

    status = 404


class Me(Struct):
    """Who asks."""

    name: str
    groups: tuple[str, ...]
    admin: bool
    anonymous: bool


class TokenQuery(PageQuery):
    user: Annotated[str, Meta(description="Whose tokens; only an admin may name others.")] | None = None
    all: Annotated[bool, Meta(description="Also those that have expired or were revoked.")] = False


class TokenRequest(Struct):
    """A token for this user, the caller if none is named, that is valid for so many seconds."""

    user: str | None = None
    label: str | None = None
    expires_in: Annotated[int, Meta(ge=1, le=_LONGEST_LIFE)] | None = None


_PUBLIC = partial(derive, model=Token, without=("id", "admin", "is_issued"), sparse=True)
TokenAnswer = _PUBLIC("Token", text="A token without its secret. Times are milliseconds since 1970.")
CreatedToken = _PUBLIC("CreatedToken", text="A new token; `token` is the secret, shown this once.", token=str)


@endpoint("GET", "/me", Me)
async def who_am_i(call: Call) -> Me:
    """Return who asks."""
    who = call.principal
    return Me(who.name, who.groups, who.admin, who == ANONYMOUS)


@endpoint("GET", "/tokens", page_type("Tokens", "tokens", TokenAnswer), anonymous=False)
async def list_tokens(call: Call, query: TokenQuery) -> object:
    """List one's own tokens, or all as an admin."""
    user = query.user if call.principal.admin else call.principal.name
    if query.user not in (None, user):
        raise PermissionDeniedError("Only an admin may list the tokens of others. Leave `user` out for your own.")
    list_page = partial(tokens.described_page, user=user, dead=query.all, limit=query.size, page_token=query.page_token)
    items, token = await call.run(list_page, call.store)
    return {"tokens": items, "page_token": token}


@endpoint("POST", "/tokens", CreatedToken, status=201, anonymous=False)
async def create_token(call: Call, body: TokenRequest | None) -> Response:
    """Make a token."""
    options = body or TokenRequest()
    who = call.principal
    user = who.name if options.user is None else options.user
    if user != who.name and not who.admin:
        raise PermissionDeniedError("Only an admin may make tokens for others. Leave `user` out for your own.")
    create = partial(
        tokens.create, call.store, user, by=who.name, label=options.label, lifetime=_lifetime(who, options)
    )
    created = await call.run(partial(create, above=who.admin, until=who.expires_at))
    facts = {"token": created.secret, **tokens.described(created.token)}
    return Response(msgspec.json.encode(facts), 201, _NO_STORE, JSON)


def _lifetime(who: Principal, options: TokenRequest) -> timedelta | None:
    """Return how long a new token lives: no user that its issuer has locked out stays in by a token made here."""
    seconds, most = options.expires_in, who.token_seconds
    if most is not None:
        if most == 0:
            raise PermissionDeniedError(
                "Users of an OpenID Connect issuer make no tokens on this server. Use the issuer's own tokens, or ask "
                "an admin to make one, or to set oidc_token_lifetime."
            )
        seconds = most if seconds is None else min(seconds, most)
    return None if seconds is None else timedelta(seconds=seconds)


@endpoint("DELETE", "/tokens/{prefix:path}", TokenAnswer, anonymous=False)
async def revoke_token(call: Call, prefix: PathPart) -> object:
    """Revoke a token."""
    revoked = await call.run(partial(tokens.revoke, call.store, prefix, by=call.principal.name, user=call.owner))
    if revoked is None:
        raise TokenNotFoundError(
            f"There is no token {prefix}{' of yours' if call.owner else ''}. List those there are."
        )
    return tokens.described(revoked)


ENDPOINTS = (who_am_i, list_tokens, create_token, revoke_token)
