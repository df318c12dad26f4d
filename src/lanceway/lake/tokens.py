"""Tokens: whose each is and until when. Of the token itself only a hash is stored.

Times are the database's: whether a token has expired does not depend on who asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, Select, bindparam, delete, func, or_, select, update

from lanceway.lake.feed import outbox
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import tokens
from lanceway.lake.store.schema import users as user_rows
from lanceway.lake.tree.names import checked_text
from lanceway.lake.tree.pages import at_most
from lanceway.lake.users import User

_INSERT = Insert(tokens, created_at=now(), expires_at=now() + bindparam("lifetime", type_=BigInteger))
_ROWS: Select[Any] = select(
    *(column for column in tokens.c if column is not tokens.c.hash),
    user_rows.c.name.label("user"),
    user_rows.c.admin,
    user_rows.c.disabled_at,
).join_from(tokens, user_rows, tokens.c.user_id == user_rows.c.id)
_BY_PREFIX = _ROWS.add_columns(tokens.c.hash, now().label("now")).where(tokens.c.prefix == bindparam("token"))
_LIVE = tokens.c.revoked_at.is_(None) & or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now())
# Whose a token is, if it is valid and its user enabled: the one statement that every request with a token makes.
_STANDING = (
    select(user_rows.c.name, user_rows.c.admin, tokens.c.expires_at)
    .join_from(tokens, user_rows, tokens.c.user_id == user_rows.c.id)
    .where(tokens.c.id == bindparam("row"), _LIVE, user_rows.c.disabled_at.is_(None))
)
_REVOKE, _REVOKE_ISSUED = (
    update(tokens)
    .where(column == bindparam("row"), tokens.c.revoked_at.is_(None))
    .values(revoked_at=now(), revoked_by=bindparam("by"))
    for column in (tokens.c.id, tokens.c.parent_id)
)
_REVOKED = "token.revoked"
# Held, so that what is issued for a token and its revocation come one after the other.
_HELD = _BY_PREFIX.with_for_update(of=tokens)
_TOUCH = (
    update(tokens)
    .where(
        tokens.c.id == bindparam("row"),
        or_(tokens.c.last_used_at.is_(None), tokens.c.last_used_at <= now() - bindparam("pause", type_=BigInteger)),
    )
    .values(last_used_at=now())
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret. Times are milliseconds of the database's clock; None is never."""

    id: int
    prefix: str
    user: str
    admin: bool
    label: str | None
    created_by: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None
    is_issued: bool = False  # for another token

    @classmethod
    def of(cls, row: Row[Any]) -> Token:
        times = (row.created_at, row.expires_at, row.revoked_at, row.last_used_at)
        issued = row.parent_id is not None
        return cls(row.id, row.prefix, row.user, row.admin, row.label, row.created_by, *times, issued)


class Standing(NamedTuple):
    """What is true of a token that is valid at this moment: whose it is, and when it ends."""

    user: str
    admin: bool
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token's row, with the hash to compare and the time at which it was read."""

    token: Token
    hash: str = field(repr=False)
    now: int
    is_disabled: bool  # its user

    @property
    def is_expired(self) -> bool:
        return self.token.expires_at is not None and self.token.expires_at <= self.now


def create(
    connection: Connection, user: User, prefix: str, hash_: str, *, by: str, label: str | None, lifetime: int | None
) -> Token:
    """Store a new token of a user, valid for `lifetime` milliseconds, or without end if that is None."""
    return _create(connection, user.id, user.name, prefix, hash_, by=by, label=label, lifetime=lifetime)


def issue(connection: Connection, parent: Token, prefix: str, hash_: str, *, lifetime: int) -> Token:
    """Store a token that is issued for another one, and is revoked with it. Those that have expired are forgotten."""
    expired = delete(tokens).where(tokens.c.parent_id == parent.id, tokens.c.expires_at <= now())
    connection.execute(expired)
    user = select(tokens.c.user_id).where(tokens.c.id == parent.id)
    user_id = connection.execute(user).scalar_one()
    return _create(
        connection,
        user_id,
        parent.user,
        prefix,
        hash_,
        by=parent.user,
        label=None,
        lifetime=lifetime,
        parent=parent.id,
    )


def count_issued(connection: Connection, parent: Token) -> int:
    """Return how many tokens that were issued for another one are valid."""
    counted = select(func.count()).select_from(tokens).where(tokens.c.parent_id == parent.id, _LIVE)
    return int(connection.execute(counted).scalar_one())


def _create(
    connection: Connection,
    user_id: int,
    user: str,
    prefix: str,
    hash_: str,
    *,
    by: str,
    label: str | None,
    lifetime: int | None,
    parent: int | None = None,
) -> Token:
    values = {
        "user_id": user_id,
        "parent_id": parent,
        "prefix": prefix,
        "hash": hash_,
        "label": checked_text("The label", label),
        "created_by": checked_text("The user", by),
        "lifetime": lifetime,
    }
    if _INSERT(connection, values) is None:
        raise RetryError("Another token has the same prefix. Try again.")
    outbox.record(connection, "token.created", user, by=by, row=user_id, data={"token": prefix})
    return _one(connection, prefix).token


def find(connection: Connection, prefix: str, *, hold: bool = False) -> StoredToken | None:
    """Return the token with a prefix, even if it has expired or was revoked; None if there is none.

    With `hold` no other transaction revokes it meanwhile.
    """
    row = connection.execute(_HELD if hold else _BY_PREFIX, {"token": prefix}).one_or_none()
    return StoredToken(Token.of(row), row.hash, row.now, row.disabled_at is not None) if row is not None else None


def standing(connection: Connection, token: int) -> Standing | None:
    """Return whose a token is; None if it is not valid, or its user is disabled."""
    row = connection.execute(_STANDING, {"row": token}).one_or_none()
    return Standing(*row) if row is not None else None


def page(
    connection: Connection,
    *,
    user: str | None = None,
    dead: bool = False,
    after: int = 0,
    limit: int | None = None,
) -> Sequence[Token]:
    """Return the first `limit` tokens after the id `after`: of one user or of all.

    With `dead` also those that are not valid, and those that were issued for others.
    """
    conditions: list[ColumnElement[bool]] = [tokens.c.id > after]
    if user is not None:
        conditions.append(user_rows.c.name == user)
    if not dead:
        conditions += [_LIVE, tokens.c.parent_id.is_(None)]
    rows = connection.execute(_ROWS.where(*conditions).order_by(tokens.c.id).limit(at_most(limit)))
    return [Token.of(row) for row in rows]


def revoke(connection: Connection, token: Token, *, by: str) -> Token:
    """Revoke a token, and those that were issued for it. One that was revoked before stays as it is."""
    values = {"row": token.id, "by": checked_text("The user", by)}
    is_revoked = connection.execute(_REVOKE, values).rowcount
    # A statement of its own, which sees what was issued while the one before waited.
    connection.execute(_REVOKE_ISSUED, values)
    if is_revoked:
        user = select(tokens.c.user_id).where(tokens.c.id == token.id)
        row = connection.execute(user).scalar_one()
        outbox.record(connection, _REVOKED, token.user, by=by, row=row, data={"token": token.prefix})
    return _one(connection, token.prefix).token


def revoke_all(connection: Connection, user: str | None, *, by: str) -> int:
    """Revoke all tokens of a user, or of all users, that are still valid, and return how many those were."""
    owners = select(user_rows.c.id).where(user_rows.c.name == user)
    conditions = [_LIVE] if user is None else [_LIVE, tokens.c.user_id.in_(owners)]
    values = {"revoked_at": now(), "revoked_by": checked_text("The user", by)}
    count = connection.execute(update(tokens).where(*conditions).values(**values)).rowcount
    if count:
        row = None if user is None else connection.execute(owners).scalar_one_or_none()
        outbox.record(connection, _REVOKED, user or "", by=by, row=row, data={"tokens": count})
    return count


def read_clock(connection: Connection) -> int:
    """Return the database's time, in milliseconds since 1970."""
    return int(connection.execute(select(now())).scalar_one())


def touch(connection: Connection, token: int, *, pause: int) -> None:
    """Record that a token is used now, unless that was done less than `pause` milliseconds ago."""
    connection.execute(_TOUCH, {"row": token, "pause": pause})


def _one(connection: Connection, prefix: str) -> StoredToken:
    token = find(connection, prefix)
    if token is None:
        raise RetryError("The token is gone: its user was just removed. Try again.")
    return token
