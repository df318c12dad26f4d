"""Users of a server: make, list, disable, promote, rename and delete them.

Each change is one transaction, and every server on the lake goes by it from the next request on. Where an `actor` is
given, it must be able to manage users, in the same transaction, and admins are changed by admins alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from lanceway.access.principal import ADMIN, ANONYMOUS
from lanceway.access.rights.actor import Actor
from lanceway.catalogs.contract.requests import page_limit, page_of, page_start
from lanceway.errors import InvalidInputError, LanceNamespaceError, PermissionDeniedError, ServiceUnavailableError
from lanceway.lake import issuers, users
from lanceway.lake.access.near import hint
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.schema import users as user_rows
from lanceway.lake.users import User

_LOG = logging.getLogger(__name__)
_MANAGE, _GIVE = "manage users", "manage roles"


class UserNotFoundError(InvalidInputError):
    """There is no such user."""

    status = 404


class UserExistsError(InvalidInputError):
    """Another user has the name."""

    status = 409


class StillVouchedForError(InvalidInputError):
    """The user would be let in again by its issuer."""

    status = 409


def create(store: LakeStore, name: str, *, by: str, admin: bool = False, actor: Actor | None = None) -> User:
    """Make a user, who has no token yet. Raises UserExistsError if there is one of that name."""
    _refuse_anonymous(name)

    def work(connection: Connection) -> User:
        _permit(connection, actor)
        if actor is not None and (admin or name == ADMIN):
            actor.require_admin(connection, "make an admin")
        user = users.create(connection, name, by=by, admin=admin)
        if user is None:
            raise UserExistsError(f"There is a user {name!r} already. Show it: lanceway users show {name}")
        return user

    return store.transact(work)


def find(store: LakeStore, name: str, *, actor: Actor | None = None) -> User:
    """Return a user. Raises UserNotFoundError."""

    def work(connection: Connection) -> User:
        _permit(connection, actor)
        return _find(connection, name)

    return store.read(work)


def disable(store: LakeStore, name: str, *, by: str, actor: Actor | None = None) -> User:
    """Refuse a user, with all of its credentials, from now on: one of the lake or one of an issuer that it knows.

    Raises UserNotFoundError, LastAdminError.
    """

    def work(connection: Connection) -> User:
        _permit(connection, actor)
        return users.disable(connection, _permitted(connection, actor, _ensure(connection, name, by=by)), by=by)

    return store.transact(work)


def enable(store: LakeStore, name: str, *, actor: Actor | None = None) -> User:
    """Let a user in again. Raises UserNotFoundError."""

    def work(connection: Connection) -> User:
        _permit(connection, actor)
        return users.enable(connection, _permitted(connection, actor, _find(connection, name)), by=_name(actor))

    return store.transact(work)


def promote(store: LakeStore, name: str, *, by: str) -> User:
    """Make a user an admin: one of the lake or one of an issuer that it knows. Raises UserNotFoundError."""
    return store.transact(lambda connection: users.promote(connection, _ensure(connection, name, by=by), by=by))


def demote(store: LakeStore, name: str, *, by: str | None = None) -> User:
    """Make an admin a user like others. Raises UserNotFoundError, LastAdminError."""
    return store.transact(lambda connection: users.demote(connection, _find(connection, name), by=by))


def delete(store: LakeStore, name: str, *, actor: Actor | None = None) -> User:
    """Delete a user with its tokens, and return what it was.

    Raises UserNotFoundError, LastAdminError, and StillVouchedForError for a disabled user of an issuer: without its
    row it would be let in again.
    """

    def work(connection: Connection) -> User:
        _permit(connection, actor)
        user = _permitted(connection, actor, _find(connection, name))
        if actor is not None and user.issuer is not None and users.has_roles(connection, user):
            actor.require(connection, _GIVE)  # it is let in again, without what its roles and groups are denied
        if user.issuer is not None and user.is_disabled:
            raise StillVouchedForError(
                f"The user {user.name!r} is disabled, and its issuer still vouches for it: deleted, it would be let in "
                f"again. Leave it, or enable it first if that is meant: lanceway users enable {user.name}"
            )
        users.remove(connection, user, by=actor.name if actor is not None else ADMIN)
        return user

    return store.transact(work)


def rename(store: LakeStore, name: str, new_name: str, *, by: str | None = None) -> tuple[str, int]:
    """Give a user another name, with all that is its own; return the name and how many tables, jobs and others moved.

    A name that no row has will do where something belongs to it, as to users of an issuer from before they were called
    `name@alias`. Raises UserNotFoundError where there is neither, UserExistsError if both names have rows.
    """
    _refuse_anonymous(name)
    _refuse_anonymous(new_name)

    def work(connection: Connection) -> tuple[str, int]:
        new = users.checked_new_name(connection, new_name)
        user, other = users.find(connection, name), users.find(connection, new)
        if new == (user.name if user is not None else name):
            raise InvalidInputError(f"{new!r} is the user's name already. Choose another one.")
        if user is not None and other is not None:
            raise UserExistsError(f"There is a user {new!r} already. Choose another name, or delete that user first.")
        if user is not None:
            users.rename(connection, user, new, by=by)
        count = users.move_belongings(connection, user.name if user is not None else name, new, by=by)
        if user is None and not count:
            raise not_found(connection, name)
        return new, count

    return store.transact(work)


def look_up(store: LakeStore, name: str) -> User | None:
    """Return the row of a user who asks, None if there is none. Raises ServiceUnavailableError if it cannot be read."""
    with database_errors():
        return store.read(users.find, name)


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn what a database raises while it is asked who someone is into ServiceUnavailableError."""
    try:
        yield
    except LanceNamespaceError as error:
        # Whatever the database says, it is not said of the token; nor is it for strangers to read.
        _LOG.error("A token cannot be checked: %s", error)
        raise ServiceUnavailableError(
            "Tokens cannot be checked at present: the lake's database does not answer as it should. Try again later."
        ) from error


def disabled_text(name: str) -> str:
    """Return why a user that is disabled is refused."""
    return f"The user {name!r} is disabled on this server. Ask an admin to enable it."


def not_found(connection: Connection, name: str) -> UserNotFoundError:
    """Return the error for a user that is not there, with what may have been meant."""
    own, alias = issuers.split_name(name)
    known = issuers.known(connection)
    if alias is not None and alias not in known:
        advice = f"What stands behind the {issuers.MARK} must be the alias of an issuer. {issuers.shown(known)}"
    elif alias is None and known:
        examples = " or ".join(f"{own}{issuers.MARK}{alias}" for alias in known)
        advice = f"One who signs in with an issuer is called {examples}."
    else:
        near = hint(connection, name, user_rows.c.name).strip()
        advice = near or "Those there are: lanceway users list"
    return UserNotFoundError(f"There is no user {name!r}. {advice}")


def described(user: User) -> dict[str, Any]:
    """Describe a user; empty fields are left out. Times are milliseconds since 1970."""
    facts = {
        "name": user.name,
        "admin": user.admin,
        "enabled": not user.is_disabled,
        "issuer": user.issuer,
        "created_by": user.created_by,
        "created_at": user.created_at,
        "disabled_by": user.disabled_by,
        "disabled_at": user.disabled_at,
    }
    return {key: value for key, value in facts.items() if value is not None}


def described_page(
    store: LakeStore,
    *,
    disabled: bool | None,
    limit: int | None,
    page_token: str | None,
    actor: Actor | None = None,
) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of users, in order of their names, and the token of the page that follows, if one does."""
    list_ = f"users\0{disabled}"
    after = page_start(list_, page_token)
    limit = page_limit(limit)

    def work(connection: Connection) -> Sequence[User]:
        _permit(connection, actor)
        return users.page(connection, disabled=disabled, after=after, limit=limit and limit + 1)

    rows = store.read(work)
    items, token = page_of(rows, limit, list_, lambda user: user.name)
    return [described(user) for user in items], token


def known_issuers(store: LakeStore) -> Mapping[str, str]:
    """Return the issuers that the lake knows, by their aliases."""
    return store.read(issuers.known)


def move_issuer(store: LakeStore, alias: str, issuer: str) -> None:
    """Let an alias stand for an issuer whose address has changed. Raises InvalidInputError for an unknown alias."""
    store.transact(issuers.move, alias, issuer)


def _find(connection: Connection, name: str) -> User:
    user = users.find(connection, name)
    if user is None:
        raise not_found(connection, name)
    return user


def _ensure(connection: Connection, name: str, *, by: str) -> User:
    """Return a user. One that an issuer may vouch for gets a row."""
    user = users.find(connection, name)
    if user is not None:
        return user
    own, alias = issuers.split_name(name)
    if not own or alias not in issuers.known(connection):
        raise not_found(connection, name)
    user = users.create(connection, name, by=by)
    if user is None:
        raise RetryError(f"Another client is making the user {name!r}. Try again.")
    return user


def _permit(connection: Connection, actor: Actor | None) -> None:
    """Refuse others before anything is looked up, so that they do not learn which users there are."""
    if actor is not None:
        actor.require(connection, _MANAGE)


def _name(actor: Actor | None) -> str | None:
    """Return who makes a change, for the feed; of one who has the database's own credentials it is not known."""
    return actor.name if actor is not None else None


def _permitted(connection: Connection, actor: Actor | None, user: User) -> User:
    """Return a user that the actor may change: only an admin changes an admin."""
    if actor is not None and user.admin and not actor.is_admin(connection):
        raise PermissionDeniedError(f"The user {user.name!r} is an admin, whom only an admin may change. Ask one.")
    return user


def _refuse_anonymous(name: str) -> None:
    if name == ANONYMOUS.name:
        raise InvalidInputError(f"{name!r} stands for no user. Name another one.")
