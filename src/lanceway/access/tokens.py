"""Access tokens of a lake: make, find, describe and revoke them, and record when they were last used.

The prefix is no secret: it names the token in lists. The secret has 256 bits and is kept nowhere; the lake has a
hash of the whole. A plain hash will do, since what was drawn from so many cannot be guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from lanceway.access.principal import ADMIN, ANONYMOUS, ExpiredTokenError
from lanceway.access.users import database_errors, disabled_text, not_found
from lanceway.catalogs.contract.requests import page_limit, page_of, page_start_id
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from lanceway.lake import sign_ins, tokens, users
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.engines import replacing
from lanceway.lake.store.errors import RetryError
from lanceway.lake.tokens import Standing, StoredToken, Token
from lanceway.lake.tree.names import LONGEST_NAME
from lanceway.lake.users import User

PAUSE = 60_000  # milliseconds between two records of one token
_GRACE = 5.0  # seconds
_AT_ONCE = 1_000  # tokens; who comes beyond them is recorded another time

_LOG = logging.getLogger(__name__)


class Usage:
    """Records uses on a thread of its own. What fails is logged and forgotten."""

    def __init__(self, store: LakeStore) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lanceway-usage")
        self._waiting: dict[int, Future[None]] = {}
        self._lock = threading.Lock()
        self._open = True

    def note(self, stored: StoredToken) -> None:
        """Record that a token is used now, without waiting for it."""
        token, last = stored.token.id, stored.token.last_used_at
        if last is not None and stored.now - last < PAUSE:
            return
        with self._lock:
            if self._open and token not in self._waiting and len(self._waiting) < _AT_ONCE:
                self._waiting[token] = self._pool.submit(self._record, token)

    def close(self) -> None:
        """Record nothing more. What is being written has a few seconds to end; what is behind it is dropped."""
        with self._lock:
            self._open = False
            waiting = list(self._waiting.values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait([future for future in waiting if not future.cancelled()], timeout=_GRACE)

    def _record(self, token: int) -> None:
        try:
            self._store.execute_one(tokens.touch, token=token, pause=PAUSE)
        except LanceNamespaceError as error:
            _LOG.warning("The use of a token could not be recorded: %s", error)
        finally:
            with self._lock:
                del self._waiting[token]


MARK = "lw_"
_PREFIX_BYTES, _SECRET_BYTES = 6, 32
_TOKEN = re.compile(rf"{MARK}([0-9a-f]{{{2 * _PREFIX_BYTES}}})_[0-9a-f]{{{2 * _SECRET_BYTES}}}", re.ASCII)
_PREFIX = re.compile(rf"(?:{MARK})?([0-9a-f]{{{2 * _PREFIX_BYTES}}})", re.ASCII)
# Compared with where there is no such token, so that a guess takes as long as any other.
_NO_HASH = "0" * 64
_LONGEST_LIFE = timedelta(days=100 * 365)
_PARTS_BEFORE = 2


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made. `secret` is the whole of it, which is never to be seen again."""

    token: Token
    secret: str = field(repr=False)


def is_token(text: str) -> bool:
    """Return whether a text claims to be a token of the lake's own."""
    return text.startswith(MARK)


def shown(prefix: str) -> str:
    """Return a token's name in lists and messages."""
    return f"{MARK}{prefix}"


def create(
    store: LakeStore,
    user: str,
    *,
    by: str,
    label: str | None = None,
    lifetime: timedelta | None = None,
    admin: bool = False,
    above: bool = True,
    until: int | None = None,
) -> NewToken:
    """Create a token for a user, who is created too if there is no such user, and with `admin` becomes an admin.

    Raises PermissionDeniedError for a user that is disabled.
    It lives for ever without a `lifetime`, but never beyond `until`, when the caller's own credentials end, in
    milliseconds of the database's clock. Without `above` it is refused for an admin (PermissionDeniedError): the
    caller is none, and would become one by it.
    """
    _check(user, label)
    milliseconds = _milliseconds(lifetime)

    def work(connection: Connection) -> NewToken:
        owner = _ensure(connection, user, by=by, admin=admin)
        if owner.is_disabled:
            raise PermissionDeniedError(
                f"The user {owner.name!r} is disabled, and can have no new tokens. Enable it first: lanceway users "
                f"enable {owner.name}"
            )
        if owner.admin and not above:
            raise PermissionDeniedError(f"{user!r} is an admin here. Only an admin can make tokens for one.")
        bounded = _bounded(connection, milliseconds, until)
        return _create(connection, owner, by=by, label=label, lifetime=bounded)

    return store.transact(work)


def ensure_admin(store: LakeStore, file: Path) -> str | None:
    """Create the admin, write its first token to a file and return it; None if some user is an admin already.

    However many servers start at once on one database, one of them makes it, and its file is there before the others
    know of the admin.
    """
    if store.read(users.has_admin):
        return None

    def work(connection: Connection) -> str | None:
        owner = users.create(connection, ADMIN, by=ADMIN, admin=True)
        if owner is None:
            return None
        token = _create(connection, owner, by=ADMIN, label="the first", lifetime=None)
        # Before the commit: a crash in between leaves a file that the next start writes again. The other way round it
        # would leave an admin whose token is lost.
        _write(file, token.secret)
        return token.secret

    return store.transact(work)


def bare(text: str) -> str:
    """Return the token in a text: what is issued has two parts before it, by which clients know when it ends."""
    *before, token = text.split(".")
    return token if len(before) == _PARTS_BEFORE and is_token(token) else text


def is_valid_secret(stored: StoredToken | None, text: str) -> bool:
    """Return whether a text is the whole of a stored token. It takes as long where there is none."""
    return hmac.compare_digest(stored.hash if stored else _NO_HASH, hash_of(text)) and stored is not None


def new_secret() -> tuple[str, str]:
    """Return the prefix and the whole of a new token."""
    prefix = secrets.token_hex(_PREFIX_BYTES)
    return prefix, f"{shown(prefix)}_{secrets.token_hex(_SECRET_BYTES)}"


def prefix_of(text: str) -> str | None:
    """Return the prefix of a whole token; None for what is none."""
    match = _TOKEN.fullmatch(text)
    return match[1] if match else None


def verify(store: LakeStore, text: str) -> StoredToken:
    """Return the stored token that a text stands for.

    Raises UnauthenticatedError for one that is unknown, has expired, was revoked or is of a disabled user,
    ServiceUnavailableError if the database cannot say.
    """
    prefix = prefix_of(text)
    stored = _look_up(store, prefix) if prefix else None
    if not is_valid_secret(stored, text) or stored is None:
        raise UnauthenticatedError("The token is not known here. Check it, or ask for another one.")
    name = shown(stored.token.prefix)
    if stored.token.revoked_at is not None:
        raise UnauthenticatedError(f"The token {name} was revoked. Ask for another one.")
    if stored.is_expired:
        raise ExpiredTokenError(f"The token {name} has expired. Ask for another one.")
    if stored.is_disabled:
        raise UnauthenticatedError(disabled_text(stored.token.user))
    return stored


def read_standing(store: LakeStore, token: int) -> Standing | None:
    """Return whose a token is that was verified before; None if it is no longer valid, or its user is disabled.

    Raises ServiceUnavailableError if the database cannot say.
    """
    with database_errors():
        return store.read(tokens.standing, token)


def page(
    store: LakeStore, *, user: str | None = None, dead: bool = False, after: int = 0, limit: int | None = None
) -> Sequence[Token]:
    """Return tokens in the order in which they were made, of one user or of all, with or without the dead ones."""
    return store.read(tokens.page, user=user, dead=dead, after=after, limit=limit)


def revoke(store: LakeStore, name: str, *, by: str, user: str | None = None) -> Token | None:
    """End the life of the token with a prefix; with `user`, of that user's alone. None if there is no such token.

    Servers refuse it from then on.
    """
    prefix = read_prefix(name)

    def work(connection: Connection) -> Token | None:
        stored = tokens.find(connection, prefix)
        if stored is None or user not in (None, stored.token.user):
            return None
        return tokens.revoke(connection, stored.token, by=by)

    return store.transact(work)


def revoke_all(store: LakeStore, user: str, *, by: str) -> int:
    """Revoke every token of a user that is still valid, and return how many those were.

    Links that would sign the user in are good for nothing from then on. Raises UserNotFoundError where there is no
    such user.
    """

    def work(connection: Connection) -> int:
        owner = users.find(connection, user)
        if owner is None:
            raise not_found(connection, user)
        sign_ins.forget(connection, owner)
        return tokens.revoke_all(connection, user, by=by)

    return store.transact(work)


def read_prefix(name: str) -> str:
    """Return the prefix in a text, with or without the mark. No message repeats what may be a whole token."""
    match = _PREFIX.fullmatch(name)
    if match:
        return match[1]
    token = _TOKEN.fullmatch(name)
    if token:
        raise InvalidInputError(f"That is a whole token, which is a secret. Give its prefix alone: {shown(token[1])}")
    raise InvalidInputError(
        f"That is not a prefix of a token. It has {2 * _PREFIX_BYTES} digits and letters, such as {MARK}0123456789ab."
    )


def without_secrets(text: str) -> str:
    """Return a text fit for a log: of every token in it only the prefix is left."""
    return _TOKEN.sub(lambda match: f"{shown(match[1])}_***", text) if MARK in text else text


def hash_of(text: str) -> str:
    """Return the hash of a token, which the lake keeps."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def _look_up(store: LakeStore, prefix: str) -> StoredToken | None:
    with database_errors():
        return store.read(tokens.find, prefix)


def _create(connection: Connection, user: User, *, by: str, label: str | None, lifetime: int | None) -> NewToken:
    prefix, secret = new_secret()
    token = tokens.create(connection, user, prefix, hash_of(secret), by=by, label=label, lifetime=lifetime)
    return NewToken(token, secret)


def _write(file: Path, secret: str) -> None:
    with replacing(file) as part, part.open("w") as out:
        out.write(f"{secret}\n")
        out.flush()
        os.fsync(out.fileno())


def _ensure(connection: Connection, name: str, *, by: str, admin: bool) -> User:
    user = users.find(connection, name) or users.create(connection, name, by=by, admin=admin or name == ADMIN)
    if user is None:
        raise RetryError(f"Another client is making the user {name!r}. Try again.")
    return users.promote(connection, user, by=by) if admin and not user.admin else user


def _check(user: str, label: str | None) -> None:
    if user == ANONYMOUS.name:
        raise InvalidInputError(f"{user!r} stands for no user, and can have no token. Name a user.")
    if label is not None and (len(label) > LONGEST_NAME or not label.isprintable()):
        raise InvalidInputError(
            f"A label has at most {LONGEST_NAME} printable characters. Use a shorter or plainer one."
        )


def _bounded(connection: Connection, lifetime: int | None, until: int | None) -> int | None:
    if until is None:
        return lifetime
    left: int = until - tokens.read_clock(connection)
    if left <= 0:
        raise ExpiredTokenError("The token has expired. Ask for another one.")
    return left if lifetime is None else min(lifetime, left)


def _milliseconds(lifetime: timedelta | None) -> int | None:
    if lifetime is None:
        return None
    if not timedelta(seconds=1) <= lifetime <= _LONGEST_LIFE:
        raise InvalidInputError("A token lives for at least a second and at most a hundred years, or without an end.")
    return lifetime // timedelta(milliseconds=1)


def described(token: Token) -> dict[str, Any]:
    """Describe a token without its secret; empty fields are left out. Times are milliseconds since 1970."""
    facts = {
        "prefix": shown(token.prefix),
        "user": token.user,
        "label": token.label,
        "created_by": token.created_by,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
        "last_used_at": token.last_used_at,
    }
    return {key: value for key, value in facts.items() if value is not None}


def described_page(
    store: LakeStore, *, user: str | None, dead: bool, limit: int | None, page_token: str | None
) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of tokens, the oldest first, and the token of the page that follows, if one does."""
    list_ = f"tokens\0{user or ''}\0{dead}"
    after = page_start_id(list_, page_token) or 0
    limit = page_limit(limit)
    rows = page(store, user=user, dead=dead, after=after, limit=limit and limit + 1)
    items, token = page_of(rows, limit, list_, lambda item: str(item.id))
    return [described(item) for item in items], token
