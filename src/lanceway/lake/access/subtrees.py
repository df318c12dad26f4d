"""Count the objects at and below a place for which a caller has a privilege, also as it would be after a change."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Connection, Select, Text, bindparam, case, exists, func, literal, or_, select

from lanceway.errors import UnsupportedOperationError
from lanceway.lake.access import facts, roles
from lanceway.lake.access.facts import Caller, bind_caller, callers
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.securables import METALAKE, SecurableRow
from lanceway.lake.store.rows import CompiledStatement
from lanceway.lake.store.schema import ALLOW, DENY, catalogs, grants, objects

# What a change makes of the grants: `skipped` is a role whose grant on the top is not counted, `added` one whose grant
# is. No role has the id 0.


def _reaches(object_: Any, effect: str, mine: Any) -> Any:
    """Return whether one of the caller's roles has the privilege on an object, as the change would leave it."""
    named = bindparam("effect", type_=Text) == literal(effect)
    is_top = object_ == bindparam("top", type_=BigInteger)
    skipped = is_top & named & (grants.c.role_id == bindparam("skipped", type_=BigInteger))
    there = exists().where(
        grants.c.object_id == object_,
        grants.c.role_id.in_(select(mine.c.role_id)),
        grants.c.privilege == bindparam("privilege"),
        grants.c.effect == effect,
        ~skipped,
    )
    added = exists().where(mine.c.role_id == bindparam("added", type_=BigInteger))
    return case((or_(there, is_top & named & added), 1), else_=0)


def _statement() -> Select[Any]:
    """Walk down from the top. What is granted or denied to an object is so to all inside."""
    _, _, mine = callers()
    tops = (objects.c.id == bindparam("top", type_=BigInteger)) | (
        objects.c.parent_id.is_(None)
        & objects.c.catalog_id.in_(
            select(catalogs.c.id).where(catalogs.c.metalake_id == bindparam("metalake", type_=BigInteger))
        )
    )
    above = {name: bindparam(f"{name}_above", type_=BigInteger) for name in (ALLOW, DENY)}
    first = select(
        objects.c.id,
        (above[ALLOW] + _reaches(objects.c.id, ALLOW, mine)).label(ALLOW),
        (above[DENY] + _reaches(objects.c.id, DENY, mine)).label(DENY),
    ).where(tops)
    tree = first.cte("tree", recursive=True)
    walk = tree.union_all(
        select(
            objects.c.id,
            tree.c.allow + _reaches(objects.c.id, ALLOW, mine),
            tree.c.deny + _reaches(objects.c.id, DENY, mine),
        ).join_from(tree, objects, objects.c.parent_id == tree.c.id)
    )
    return select(func.count()).select_from(walk).where(walk.c.allow > 0, walk.c.deny == 0)


_COUNT = _statement()
_COMPILED: dict[str, CompiledStatement] = {}


def count(
    connection: Connection, caller: Caller, top: SecurableRow, privilege: str, change: GrantChange | None = None
) -> int:
    """Return for how many objects at and below a place a caller has a privilege; with a change, would have.

    Of a metalake, all of its catalogs count with what is inside; catalogs and namespaces count as objects too.
    """
    if top.foreign_id is not None:
        raise UnsupportedOperationError("What is in a mounted catalog is not known here, and cannot be counted.")
    above, role = _above(connection, caller, top, privilege, change), 0
    if change is not None:
        role = _role(connection, change)
    values = {
        **bind_caller(caller),
        "top": top.object_id or 0,
        "metalake": top.metalake_id or 0,
        "privilege": privilege,
        "effect": change.effect if change is not None else "",
        "skipped": role if change is not None and change.revoke else 0,
        "added": role if change is not None and not change.revoke else 0,
        "allow_above": above[ALLOW],
        "deny_above": above[DENY],
    }
    name = connection.dialect.name
    statement = _COMPILED.get(name) or _COMPILED.setdefault(name, CompiledStatement(_COUNT, connection.dialect))
    return int(connection.exec_driver_sql(statement.text, statement.bind(values)).scalar_one())


def _above(
    connection: Connection, caller: Caller, top: SecurableRow, privilege: str, change: GrantChange | None
) -> dict[str, int]:
    """Return how often the privilege is granted and denied above the top; on a metalake, also on it itself."""
    found = facts.load(connection, caller, top.place)
    is_metalake = top.metalake_id is not None
    own = None if is_metalake else found.places[-1]
    counted = [
        grant
        for grant in found.grants
        if grant.privilege == privilege
        and (own is None or (grant.level, grant.path) != (own.level, own.path))
        and not (is_metalake and change is not None and change.revoke and _is(grant, change))
    ]
    counts = {effect: sum(grant.effect == effect for grant in counted) for effect in (ALLOW, DENY)}
    if is_metalake and change is not None and not change.revoke:
        counts[change.effect] += 1
    return counts


def _is(grant: facts.HeldGrant, change: GrantChange) -> bool:
    return grant.level == METALAKE and grant.role == change.role and grant.effect == change.effect


def _role(connection: Connection, change: GrantChange) -> int:
    return roles.load(connection, change.place.metalake, change.role).id
