"""Tokens that are issued for tokens: OAuth2 client credentials, as Gravitino's and Iceberg's clients sign in.

The client's id is a user, its secret a token of that user. What is issued is a token of its own: it lasts an hour,
never longer than the token that it was issued for, is revoked with it, and is the same user's. It is written as clients
expect a JWT, `HEADER.PAYLOAD.TOKEN`, since some look there for its end; the server reads its last part alone.
"""

from __future__ import annotations

import base64
import hmac
import json
from dataclasses import dataclass, field

from sqlalchemy import Connection

from lanceway.access import tokens
from lanceway.errors import ThrottlingError, UnauthenticatedError
from lanceway.lake import tokens as rows
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tokens import StoredToken, Token

LIFETIME = 3_600_000  # milliseconds
_MOST = 1_000  # that are valid at a time, for one token
_HEADER = {"typ": "lanceway"}


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
