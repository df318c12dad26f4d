"""Users and groups that rights are given to: known ones alone, so that a mistyped name is not given anything."""

from __future__ import annotations

from sqlalchemy import Connection

from lanceway.access.users import not_found
from lanceway.lake import issuers, users
from lanceway.lake.access import groups
from lanceway.lake.store.schema import USER


def check_user(connection: Connection, name: str) -> str:
    """Return the name of a user who has a row, or whom a known issuer may vouch for. Raises UserNotFoundError."""
    user = users.find(connection, name)
    if user is not None:
        return user.name
    own, alias = issuers.split_name(name)
    if not own or alias not in issuers.known(connection):
        raise not_found(connection, name)
    return name


def check_holder(connection: Connection, name: str, kind: str) -> str:
    """Return the name of a user or a group that is known. Raises UserNotFoundError, GroupNotFoundError."""
    return check_user(connection, name) if kind == USER else groups.load(connection, name).name
