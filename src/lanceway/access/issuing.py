"""Tokens that are issued: for tokens, and for the codes of links that sign in to the console.

OAuth2 client credentials are how Gravitino's and Iceberg's clients sign in: the client's id is a user, its secret a
token of that user. What is issued is a token of its own: it lasts an hour, never longer than the token that it was
issued for, is revoked with it, and is the same user's. It is written as clients expect a JWT, `HEADER.PAYLOAD.TOKEN`,
since some look there for its end; the server reads its last part alone.

A code has 256 bits, lives ten minutes and is good for one sign-in, which gives a token for half a day.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import Connection

from lanceway.access import tokens
from lanceway.access.tokens import NewToken
from lanceway.access.users import disabled_text, not_found
from lanceway.errors import PermissionDeniedError, ThrottlingError, UnauthenticatedError
from lanceway.lake import sign_ins, users
from lanceway.lake import tokens as rows
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tokens import StoredToken, Token

LIFETIME = 3_600_000  # milliseconds
_MOST = 1_000  # that are valid at a time, for one token
_HEADER = {"typ": "lanceway"}

CODE_LIFETIME = timedelta(minutes=10)
SESSION = timedelta(hours=12)
SESSION_LABEL = "console"
_CODE_BYTES = 32
_MILLISECOND = timedelta(milliseconds=1)


class InvalidClientError(UnauthenticatedError):
    """The id or the secret of a client is wrong. Which of them, or why, is not said."""

    def __init__(self) -> None:
        super().__init__(
            "client_id must be a user of this server, and client_secret a token of that user that is still valid."
        )


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """What a client gets: the token as it sends it, and for how many seconds it is valid."""

    text: str = field(repr=False)
    seconds: int
    token: Token


def check(store: LakeStore, user: str, secret: str) -> None:
    """Raise InvalidClientError unless `secret` is a valid token of the user, to which another one may be issued."""
    store.read(_verified, user, secret)


def issue(store: LakeStore, user: str, secret: str) -> IssuedToken:
    """Issue a token for a token of a user. Raises InvalidClientError, ThrottlingError."""

    def work(connection: Connection) -> IssuedToken:
        stored = _verified(connection, user, secret, hold=True)
        if rows.count_issued(connection, stored.token) >= _MOST:
            raise ThrottlingError(
                f"{_MOST:,} tokens that were issued for this one are still valid. Use one of them until it ends."
            )
        prefix, text = tokens.new_secret()
        left = LIFETIME if stored.token.expires_at is None else stored.token.expires_at - stored.now
        lifetime = min(LIFETIME, left)
        token = rows.issue(connection, stored.token, prefix, tokens.hash_of(text), lifetime=lifetime)
        rows.touch(connection, stored.token.id, pause=tokens.PAUSE)
        ends = (token.expires_at or 0) // 1000
        return IssuedToken(f"{_part(_HEADER)}.{_part({'exp': ends})}.{text}", lifetime // 1000, token)

    return store.transact(work)


class UnknownCodeError(UnauthenticatedError):
    """A code that signs in no one. Which of the reasons it is, is not said."""

    def __init__(self) -> None:
        super().__init__(
            "This link was used before, is older than ten minutes, or is of another server. Make a new one: "
            "lanceway console"
        )


def create_code(store: LakeStore, user: str, *, by: str) -> str:
    """Make a code that signs a user in once, and return it: it is never to be seen again.

    Raises UserNotFoundError where there is no such user, PermissionDeniedError for one that is disabled.
    """
    code = secrets.token_urlsafe(_CODE_BYTES)

    def work(connection: Connection) -> None:
        owner = users.find(connection, user)
        if owner is None:
            raise not_found(connection, user)
        if owner.is_disabled:
            raise PermissionDeniedError(disabled_text(user))
        lifetime = CODE_LIFETIME // _MILLISECOND
        sign_ins.create(connection, owner, tokens.hash_of(code), by=by, lifetime=lifetime)

    store.transact(work)
    return code


def redeem_code(store: LakeStore, code: str) -> NewToken:
    """Sign a user in: use a code up, and make a token for half a day. Raises UnknownCodeError."""

    def work(connection: Connection) -> NewToken:
        taken = sign_ins.take(connection, tokens.hash_of(code))
        owner = users.find(connection, taken[0]) if taken is not None else None
        if taken is None or owner is None or owner.is_disabled:
            raise UnknownCodeError
        prefix, text = tokens.new_secret()
        lifetime = SESSION // _MILLISECOND
        hash_ = tokens.hash_of(text)
        token = rows.create(connection, owner, prefix, hash_, by=taken[1], label=SESSION_LABEL, lifetime=lifetime)
        return NewToken(token, text)

    return store.transact(work)


def _verified(connection: Connection, user: str, secret: str, *, hold: bool = False) -> StoredToken:
    prefix = tokens.prefix_of(secret)
    stored = rows.find(connection, prefix, hold=hold) if prefix else None
    is_secret = tokens.is_valid_secret(stored, secret)
    is_user = hmac.compare_digest(user.encode(), stored.token.user.encode() if stored else b"")
    if stored is None or not (is_secret and is_user):
        raise InvalidClientError
    token = stored.token
    if token.revoked_at is not None or stored.is_expired or stored.is_disabled or token.is_issued:
        raise InvalidClientError
    return stored


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")
