"""Codes of links that sign in to the console: their rows. Of a code only a hash is stored.

A code is good for one sign-in, for a few minutes of the database's clock. Taking it deletes it, so that of two who try
at the same moment one signs in.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Connection, bindparam, delete, select

from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import sign_in_codes as codes
from lanceway.lake.store.schema import users as user_rows
from lanceway.lake.tree.names import checked_text
from lanceway.lake.users import User

_INSERT = Insert(codes, created_at=now(), expires_at=now() + bindparam("lifetime", type_=BigInteger))
_PURGE = delete(codes).where(codes.c.expires_at <= now())
_TAKE = (
    delete(codes)
    .where(codes.c.hash == bindparam("digest"), codes.c.expires_at > now())
    .returning(codes.c.user_id, codes.c.created_by)
)
_USER = select(user_rows.c.name).where(user_rows.c.id == bindparam("row"))
_FORGET = delete(codes).where(codes.c.user_id == bindparam("row"))


def create(connection: Connection, user: User, hash_: str, *, by: str, lifetime: int) -> None:
    """Store the hash of a new code for a user, good for `lifetime` milliseconds. Those whose time is over go."""
    connection.execute(_PURGE)
    values = {"hash": hash_, "user_id": user.id, "created_by": checked_text("The user", by), "lifetime": lifetime}
    if _INSERT(connection, values) is None:
        raise RetryError("Another code is the same. Try again.")


def take(connection: Connection, hash_: str) -> tuple[str, str] | None:
    """Use a code up, and return its user and who made it; None for one that is unknown, used or too old."""
    code = connection.execute(_TAKE, {"digest": hash_}).one_or_none()
    if code is None:
        return None
    return connection.execute(_USER, {"row": code.user_id}).scalar_one(), code.created_by


def forget(connection: Connection, user: User) -> None:
    """Forget the codes of a user that are not used yet."""
    connection.execute(_FORGET, {"row": user.id})
