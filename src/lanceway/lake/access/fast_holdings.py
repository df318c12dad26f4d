"""Holdings that are read without waiting, so that an event loop may ask what a caller may do.

There are a few look-ups in one snapshot: whether access control is on and who asks, the places on the way, and what the
caller's roles are granted there, all of which SQLite has in indices. The statement of `facts` takes several times as
long, and finds what only reasons need: a refusal, which has them, is given in the usual way. Of a table, what the
caller has on the way to its namespace is remembered by itself, for the other tables in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from lanceway.lake.access.facts import ADMIN, Caller
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA, Securable
from lanceway.lake.store.fast_reads import FastReads, Snapshot
from lanceway.lake.store.schema import ALLOW, NAMESPACE, TABLE, USER, VIEW
from lanceway.lake.tree import names
from lanceway.lake.tree.settings import ACCESS_CONTROL, ON

# What is deeper, or is asked by a member of more groups, is worth a thread. SQLite joins at most 64 tables.
_DEEPEST, _MOST_GROUPS = 32, 256
_OFF = Holdings(is_enabled=False)

_WHO = (
    "SELECT s.value, u.id, u.admin, u.disabled_at FROM settings s "
    f"LEFT JOIN users u ON s.value = '{ON}' AND u.name = ? WHERE s.key = '{ACCESS_CONTROL}'"
)
_ROLES = (
    "SELECT role_id FROM user_roles WHERE user_id = ?1 UNION "
    "SELECT r.role_id FROM members m JOIN group_roles r ON r.group_id = m.group_id WHERE m.user_id = ?1"
)
_CLAIMED = " UNION SELECT r.role_id FROM groups g JOIN group_roles r ON r.group_id = g.id WHERE g.name IN ({})"
_MEMBER = "SELECT 1 FROM members m JOIN groups g ON g.id = m.group_id WHERE m.user_id = ? AND g.name = ?"


def load_fast(reads: FastReads, caller: Caller, place: Securable) -> Holdings | None:
    """Return what a caller has on the way to a place of the lake; None if that cannot be known without waiting.

    With access control off, nothing else is read, nor is it known whether the place exists.
    """
    if place.mounted or len(place.path) > _DEEPEST or len(caller.groups) > _MOST_GROUPS:
        return None
    return reads.remembered(_load, caller, place)


def _load(snapshot: Snapshot, caller: Caller, place: Securable) -> Holdings:
    asking = snapshot.remembered(_asking, caller)
    if asking is None:
        return _OFF
    if place.kind == NAMESPACE:
        way = snapshot.remembered(_way, caller, place)
        return Holdings(True, asking.is_admin, asking.is_disabled, way.last is not None, *way.held)
    way = snapshot.remembered(_way, caller, place.parent)
    found, held = _leaf(snapshot, asking, way, place)
    each = (above | own for above, own in zip(way.held, held, strict=True))
    return Holdings(True, asking.is_admin, asking.is_disabled, found, *each)


class _Asking(NamedTuple):
    """Who asks, by the id of its row, which a user need not have, with the ids of its roles."""

    caller: Caller
    user: int | None
    is_admin: bool
    is_disabled: bool
    roles: tuple[int, ...]


def _asking(snapshot: Snapshot, caller: Caller) -> _Asking | None:
    """Return who asks; None with access control off."""
    rows = snapshot.execute(_WHO, (caller.user,)).fetchall()
    if not rows or rows[0][0] != ON:
        return None
    _, user, admin, disabled_at = rows[0]
    roles = snapshot.execute(_roles_statement(len(caller.groups)), (user, *caller.groups)).fetchall()
    return _Asking(caller, user, bool(admin), disabled_at is not None, tuple(role for (role,) in roles))


@cache
def _roles_statement(claimed: int) -> str:
    return _ROLES + (_CLAIMED.format(_marks(claimed)) if claimed else "")


# -- the places ----------------------------------------------------------------------------------

# The levels that are owned, and the privileges that are granted and denied.
_Held = tuple[frozenset[str], frozenset[str], frozenset[str]]
_NOTHING: _Held = frozenset(), frozenset(), frozenset()


class _Place(NamedTuple):
    """A place on the way, and whether anything is granted there: most have no grants, and roles need no look-up."""

    level: str
    id: int
    owner: str | None
    owner_kind: str
    is_granted: bool


class _Way(NamedTuple):
    """What a caller has on the way to a namespace, itself included. `last` is the id of its row if it exists."""

    last: int | None
    held: _Held


def _way(snapshot: Snapshot, caller: Caller, place: Securable) -> _Way:
    asking = snapshot.remembered(_asking, caller)
    assert asking is not None, "access control is on"
    levels = [METALAKE] if place.catalog is None else [METALAKE, CATALOG, *([SCHEMA] * len(place.path))]
    values = (place.catalog_key, *names.known(place.path), place.metalake_key)
    rows = snapshot.execute(_way_statement(len(place.path)), values).fetchall()
    columns = rows[0] if rows else ()
    rows_of_places = zip(levels, columns[0::4], columns[1::4], columns[2::4], columns[3::4], strict=False)
    places = [_Place(*row) for row in rows_of_places if row[1] is not None]
    owned = frozenset({each.level for each in places if _owns(snapshot, asking, each.owner, each.owner_kind)})
    last = places[-1].id if len(places) == len(levels) else None
    return _Way(last, (owned, *_sides(_granted(snapshot, asking, places))))


def _leaf(snapshot: Snapshot, asking: _Asking, way: _Way, place: Securable) -> tuple[bool, _Held]:
    """Return whether a table or a view exists at the end of a way, and what the caller has there itself."""
    if way.last is None:
        return False, _NOTHING
    statement = _leaf_statement(len(asking.roles))
    rows = snapshot.execute(statement, (*asking.roles, way.last, names.known(place.path).name)).fetchall()
    if not rows:
        return False, _NOTHING
    kind, owner, owner_kind = rows[0][:3]
    level = VIEW if kind == VIEW else TABLE
    owned = frozenset({level} if _owns(snapshot, asking, owner, owner_kind) else ())
    # What has the name of a table may be a view.
    return level == place.level, (owned, *_sides(row[3:] for row in rows if row[3] is not None))


@cache
def _way_statement(length: int) -> str:
    """Return a query for one row: the metalake, the catalog, and each name of a path in the one before it."""
    columns, joins, parent = [_columns("m", "m.id", "metalake_id"), _columns("c", "root.id")], "", "root"
    for number in range(length):
        alias = f"o{number}"
        columns.append(_columns(alias, f"{alias}.id"))
        joins += (
            f" LEFT JOIN objects {alias} ON {alias}.parent_id = {parent}.id AND {alias}.name = ?"
            f" AND {alias}.kind = '{NAMESPACE}'"
        )
        parent = alias
    return (
        f"SELECT {', '.join(columns)} FROM metalakes m "
        "LEFT JOIN catalogs c ON c.metalake_id = m.id AND c.name = ? "
        f"LEFT JOIN objects root ON root.catalog_id = c.id AND root.physical = ''{joins} WHERE m.name = ?"
    )


def _columns(alias: str, id_: str, key: str = "object_id") -> str:
    return f"{id_}, {alias}.owner, {alias}.owner_kind, EXISTS(SELECT 1 FROM grants WHERE {key} = {id_})"


@cache
def _leaf_statement(roles: int) -> str:
    return (
        "SELECT o.kind, o.owner, o.owner_kind, g.privilege, g.effect FROM objects o "
        f"LEFT JOIN grants g ON g.object_id = o.id AND g.role_id IN ({_marks(roles)}) "
        f"WHERE o.parent_id = ? AND o.name = ? AND o.kind <> '{NAMESPACE}'"
    )


# -- what the caller has there -------------------------------------------------------------------


def _owns(snapshot: Snapshot, asking: _Asking, owner: str | None, kind: str) -> bool:
    name = owner or ADMIN
    if kind == USER:
        return name == asking.caller.user
    return name in asking.caller.groups or bool(snapshot.execute(_MEMBER, (asking.user, name)).fetchall())


def _granted(snapshot: Snapshot, asking: _Asking, places: Sequence[_Place]) -> Iterator[tuple[str, str]]:
    """Yield each privilege that a role of the caller's has on places, and whether it is granted or denied."""
    for key in ("metalake_id", "object_id"):
        ids = [place.id for place in places if place.is_granted and (place.level == METALAKE) == (key == "metalake_id")]
        if ids:
            yield from snapshot.execute(_grants_statement(key, len(ids), len(asking.roles)), (*ids, *asking.roles))


@cache
def _grants_statement(key: str, places: int, roles: int) -> str:
    return f"SELECT privilege, effect FROM grants WHERE {key} IN ({_marks(places)}) AND role_id IN ({_marks(roles)})"


def _sides(granted: Iterable[tuple[str, str]]) -> tuple[frozenset[str], frozenset[str]]:
    allowed, denied = set[str](), set[str]()
    for privilege, effect in granted:
        (allowed if effect == ALLOW else denied).add(privilege)
    return frozenset(allowed), frozenset(denied)


def _marks(count: int) -> str:
    return ", ".join("?" * count)
