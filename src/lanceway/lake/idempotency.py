"""Keys of requests that must not be carried out twice: their rows.

A key belongs to one principal and to one request, which `digest` tells from others. Who begins holds the key for a
while; how the request ended is noted before that is over. Where it is not, the process has died or its request has no
known end: then the next request with the key takes it over, and knows that another may have made the change.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam, delete, select, tuple_, update

from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import idempotency_keys as keys
from lanceway.lake.tree.names import checked_text

PENDING, DONE = "pending", "done"
# Of a compressed answer, in bytes. A larger one is kept only if it could not be made again.
LARGEST_BODY = 2**20

_LEASE = now() + bindparam("lease", type_=BigInteger)
_EXPIRY = now() + bindparam("lifetime", type_=BigInteger)
_INSERT = Insert(keys, state=PENDING, held_until=_LEASE, created_at=now(), expires_at=_EXPIRY)
_OF_KEY = (keys.c.principal == bindparam("who")) & (keys.c.key == bindparam("name"))
_MINE = _OF_KEY & (keys.c.holder == bindparam("mine")) & (keys.c.state == PENDING)
_FIND = select(keys, now().label("now")).where(_OF_KEY).with_for_update()
_TAKE = update(keys).where(_OF_KEY).values(holder=bindparam("mine"), held_until=_LEASE)
_RENEW = (
    update(keys)
    .where(_OF_KEY)
    .values(
        digest=bindparam("request"),
        state=PENDING,
        holder=bindparam("mine"),
        held_until=_LEASE,
        status=None,
        headers=None,
        body=None,
        created_at=now(),
        expires_at=_EXPIRY,
    )
)
_FINISH = (
    update(keys)
    .where(_MINE)
    .values(state=DONE, held_until=0, status=bindparam("code"), headers=bindparam("fields"), body=bindparam("content"))
    .returning(keys.c.key)
)
_LEAVE = update(keys).where(_MINE).values(held_until=0)
_FORGET = delete(keys).where(_MINE)
_FORGET_ALL = delete(keys).where(keys.c.principal == bindparam("who"))
_HAND_ON = update(keys).where(keys.c.principal == bindparam("who")).values(principal=bindparam("new_name"))
_OVER = (keys.c.expires_at <= now()) & (keys.c.held_until <= now())
_OLD = select(keys.c.principal, keys.c.key).where(_OVER).limit(bindparam("most"))
_PURGE = delete(keys).where(tuple_(keys.c.principal, keys.c.key).in_(_OLD))


class KeyStanding(StrEnum):
    """How a request stands whose key was sent."""

    NEW = "new"  # the caller carries it out
    TAKEN_OVER = "taken over"  # the caller carries it out, and another may have done so before
    ANSWERED = "answered"
    BUSY = "busy"  # another is carrying it out
    OTHER = "other"  # the key is that of another request


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to a request. The body is None where it was too large to be kept."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A key as one request has it: whose it is, what it is for, and the secret of who carries the request out."""

    principal: str
    key: str
    digest: str
    holder: str = field(repr=False)

    def row(self) -> dict[str, Any]:
        return {"who": checked_text("The user", self.principal), "name": self.key, "mine": self.holder}


def begin(
    connection: Connection, request: RequestKey, *, lease: int, lifetime: int
) -> tuple[KeyStanding, KeptAnswer | None]:
    """Hold a key for `lease` milliseconds if no other does, and return how its request stands, with its answer.

    A key that no request has had for `lifetime` milliseconds is new.
    """
    times = {"lease": lease, "lifetime": lifetime}
    new = {"principal": request.principal, "key": request.key, "digest": request.digest, "holder": request.holder}
    if _INSERT(connection, {**new, **times}) is not None:
        return KeyStanding.NEW, None
    row = connection.execute(_FIND, request.row()).one_or_none()
    if row is None:
        raise RetryError("The key has just been removed by another process. Try again.")
    is_held = row.state == PENDING and row.held_until > row.now
    if row.expires_at <= row.now and not is_held:
        connection.execute(_RENEW, {**request.row(), "request": request.digest, **times})
        return KeyStanding.NEW, None
    if row.digest != request.digest:
        return KeyStanding.OTHER, None
    if row.state == DONE:
        body = None if row.body is None else zlib.decompress(row.body)
        return KeyStanding.ANSWERED, KeptAnswer(row.status, row.headers or {}, body)
    if is_held:
        return KeyStanding.BUSY, None
    connection.execute(_TAKE, {**request.row(), "lease": lease})
    return KeyStanding.TAKEN_OVER, None


def finish(connection: Connection, request: RequestKey, answer: KeptAnswer, *, whole: bool = False) -> bool:
    """Keep the answer to a request; return False if another has taken its key over.

    Its body is left out where it is too large, unless the answer must be kept `whole`.
    """
    content = None if answer.body is None else zlib.compress(answer.body, level=3)
    if content is not None and len(content) > LARGEST_BODY and not whole:
        content = None
    values = {"code": answer.status, "fields": dict(answer.headers), "content": content}
    return connection.execute(_FINISH, {**request.row(), **values}).one_or_none() is not None


def leave(connection: Connection, request: RequestKey) -> None:
    """Let the next request with the key take it over: this one has no known end."""
    connection.execute(_LEAVE, request.row())


def forget(connection: Connection, request: RequestKey) -> None:
    """Remove the key of a request that was refused before it changed anything, and may be allowed later."""
    connection.execute(_FORGET, request.row())


def forget_all(connection: Connection, principal: str) -> None:
    """Remove every key of a user: a later one of the name has none of them."""
    connection.execute(_FORGET_ALL, {"who": principal})


def hand_on(connection: Connection, principal: str, new_name: str) -> None:
    """Let the keys of one name be those of another, which has none of its own then."""
    forget_all(connection, new_name)
    connection.execute(_HAND_ON, {"who": principal, "new_name": new_name})


def purge(connection: Connection, *, most: int) -> int:
    """Delete up to `most` keys whose time is over, and return how many those were."""
    return connection.execute(_PURGE, {"most": most}).rowcount
