"""Holdings that are read without waiting, so that an event loop may ask what a caller may do.

There are three look-ups in one snapshot: whether access control is on and who asks, the places on the way, and what the
caller's roles are granted there, all of which SQLite has in indices. The statement of `facts` takes several times as
long, and finds what only reasons need: a refusal, which has them, is given in the usual way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache

from lanceway.lake.access.facts import ADMIN, Caller
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA, Securable
from lanceway.lake.store.fast_reads import FastReads
from lanceway.lake.store.schema import ALLOW, NAMESPACE, TABLE, USER, VIEW
from lanceway.lake.tree import names
from lanceway.lake.tree.settings import ACCESS_CONTROL, ON

# What lies deeper, or is asked by a member of more groups, is worth a thread. SQLite joins at most 64 tables.
_DEEPEST, _MOST_GROUPS = 32, 256
_OFF = Holdings(is_enabled=False)

_WHO = (
    "SELECT s.value, u.id, u.admin, u.disabled_at FROM settings s "
    f"LEFT JOIN users u ON s.value = '{ON}' AND u.name = ? WHERE s.key = '{ACCESS_CONTROL}'"
)
_ROLES = (
    "SELECT role_id FROM user_roles WHERE user_id = ?1 UNION ALL "
    "SELECT r.role_id FROM members m JOIN group_roles r ON r.group_id = m.group_id WHERE m.user_id = ?1"
)
_CLAIMED = " UNION ALL SELECT r.role_id FROM groups g JOIN group_roles r ON r.group_id = g.id WHERE g.name IN ({})"
_MEMBER = "SELECT 1 FROM members m JOIN groups g ON g.id = m.group_id WHERE m.user_id = ? AND g.name = ?"


def load_fast(reads: FastReads, caller: Caller, place: Securable) -> Holdings | None:
    """Return what a caller has on the way to a place of the lake; None if that cannot be known without waiting.

    With access control off, nothing else is read, nor is it known whether the place exists.
    """
    if place.mounted or len(place.path) > _DEEPEST or len(caller.groups) > _MOST_GROUPS:
        return None
    return reads.remembered(_load, caller, place)


def _load(connection: sqlite3.Connection, caller: Caller, place: Securable) -> Holdings:
    who = connection.execute(_WHO, (caller.user,)).fetchall()
    if not who or who[0][0] != ON:
        return _OFF
    _, user, admin, disabled_at = who[0]
    asking = _Asking(connection, caller, user)
    levels, way = _way(connection, place)
    # What has the name of a table may be a view.
    found = len(way) == len(levels) and levels[-1] == place.level
    owned = {level for level, (_, owner, kind, _) in zip(levels, way, strict=False) if asking.owns(owner, kind)}
    allowed, denied = set[str](), set[str]()
    for privilege, effect in asking.granted(way):
        (allowed if effect == ALLOW else denied).add(privilege)
    sets = frozenset(owned), frozenset(allowed), frozenset(denied)
    return Holdings(True, bool(admin), disabled_at is not None, found, *sets)


# -- the places ----------------------------------------------------------------------------------

_Place = tuple[int, str | None, str, int]  # its id, its owner, what kind that is, whether anything is granted there


def _way(connection: sqlite3.Connection, place: Securable) -> tuple[list[str], list[_Place]]:
    """Return the levels on the way to a place, itself included, and what there is of it from the top."""
    levels = [METALAKE] if place.catalog is None else [METALAKE, CATALOG, *([SCHEMA] * len(place.path))]
    is_leaf = place.kind != NAMESPACE
    values = (place.catalog_key, *names.known(place.path), place.metalake_key)
    rows = connection.execute(_way_statement(len(place.path), is_leaf), values).fetchall()
    if not rows:
        return levels, []
    row = rows[0]
    if is_leaf:
        levels[-1] = VIEW if row[-1] == VIEW else TABLE
    places = zip(row[0::4], row[1::4], row[2::4], row[3::4], strict=False)
    return levels, [each for each in places if each[0] is not None]


@cache
def _way_statement(length: int, is_leaf: bool) -> str:
    """Return a query for one row: the metalake, the catalog, and each name of a path in the one before it.

    Most places have no grants at all, which one look at an index tells. So roles need not be looked up there.
    """
    columns, joins, parent = [_columns("m", "m.id", "metalake_id"), _columns("c", "root.id")], "", "root"
    for number in range(length):
        alias = f"o{number}"
        same = "<>" if is_leaf and number == length - 1 else "="
        columns.append(_columns(alias, f"{alias}.id"))
        joins += (
            f" LEFT JOIN objects {alias} ON {alias}.parent_id = {parent}.id AND {alias}.name = ?"
            f" AND {alias}.kind {same} '{NAMESPACE}'"
        )
        parent = alias
    return (
        f"SELECT {', '.join(columns)}, {parent}.kind FROM metalakes m "
        "LEFT JOIN catalogs c ON c.metalake_id = m.id AND c.name = ? "
        f"LEFT JOIN objects root ON root.catalog_id = c.id AND root.physical = ''{joins} WHERE m.name = ?"
    )


def _columns(alias: str, id_: str, key: str = "object_id") -> str:
    return f"{id_}, {alias}.owner, {alias}.owner_kind, EXISTS(SELECT 1 FROM grants WHERE {key} = {id_})"


# -- the caller ----------------------------------------------------------------------------------


class _Asking:
    """Who asks, by the id of its row, which a user need not have."""

    __slots__ = ("_caller", "_connection", "_user")

    def __init__(self, connection: sqlite3.Connection, caller: Caller, user: int | None) -> None:
        self._connection, self._caller, self._user = connection, caller, user

    def owns(self, owner: str | None, kind: str) -> bool:
        name = owner or ADMIN
        if kind == USER:
            return name == self._caller.user
        return name in self._caller.groups or bool(self._connection.execute(_MEMBER, (self._user, name)).fetchall())

    def granted(self, way: Sequence[_Place]) -> Iterator[tuple[str, str]]:
        """Yield each privilege that a role of the caller's has on places, and whether it is granted or denied."""
        top, inside = way[:1], way[1:]
        for key, places in (("metalake_id", top), ("object_id", inside)):
            ids = [id_ for id_, _, _, is_granted in places if is_granted]
            if ids:
                statement = _grants_statement(key, len(ids), len(self._caller.groups))
                yield from self._connection.execute(statement, (self._user, *ids, *self._caller.groups))


@cache
def _grants_statement(key: str, places: int, claimed: int) -> str:
    held = _ROLES + (_CLAIMED.format(_marks(places + 2, claimed)) if claimed else "")
    return f"SELECT privilege, effect FROM grants WHERE {key} IN ({_marks(2, places)}) AND role_id IN ({held})"


def _marks(first: int, count: int) -> str:
    return ", ".join(f"?{number}" for number in range(first, first + count))
