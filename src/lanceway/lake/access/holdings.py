"""Holdings: what a caller has on the way to a place, without where it comes from. Enough to decide, not to say why.

They follow from the facts of a decision. Where reasons are of no use they are read by themselves: for a page of
catalogs here, and without waiting by `fast_holdings`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    exists,
    func,
    literal,
    null,
    or_,
    select,
    union_all,
)

from lanceway.lake.access import facts
from lanceway.lake.access.facts import ADMIN, AccessFacts, Caller, PlaceOnWay, bind_caller, callers, one_of
from lanceway.lake.access.securables import CATALOG, Securable
from lanceway.lake.store.rows import CompiledStatement
from lanceway.lake.store.schema import (
    ALLOW,
    GROUP,
    NAMESPACE,
    USER,
    catalogs,
    foreign_objects,
    grants,
    metalakes,
    objects,
)


class Holdings(NamedTuple):
    """What a caller has on the way to a place: the levels it owns there, and the privileges that its roles are granted
    and denied. `found` says whether the place exists."""

    is_enabled: bool
    is_admin: bool = False
    is_disabled: bool = False
    found: bool = False
    owned: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()

    @classmethod
    def of(cls, found: AccessFacts) -> Holdings:
        """Return what facts come to."""
        allowed, denied = set[str](), set[str]()
        for grant in found.grants:
            (allowed if grant.effect == ALLOW else denied).add(grant.privilege)
        return cls(
            found.is_enabled,
            found.is_admin,
            found.is_disabled,
            found.found,
            frozenset({way.level for way in found.places if found.owns(way)}),
            frozenset(allowed),
            frozenset(denied),
        )

    @property
    def passes(self) -> bool:
        """Return whether no right is asked for."""
        return not self.is_enabled or (self.is_admin and not self.is_disabled)

    def has(self, privilege: str) -> bool:
        """Return whether a privilege is granted on the way, and denied nowhere on it."""
        return privilege in self.allowed and privilege not in self.denied


def _catalogs_statement() -> Any:
    """Return rows of the owners of some catalogs, and of a privilege that roles of the caller's have on them."""
    _, _, held = callers()
    root = objects.alias("root")
    lake = (
        select(catalogs.c.name, root.c.id, catalogs.c.owner, catalogs.c.owner_kind)
        .join_from(metalakes, catalogs, catalogs.c.metalake_id == metalakes.c.id)
        .join(root, (root.c.catalog_id == catalogs.c.id) & (root.c.physical == ""))
        .where(metalakes.c.name == bindparam("metalake"), one_of(catalogs.c.name, "lake"))
        .cte("lake")
        .prefix_with("MATERIALIZED")
    )
    row = foreign_objects.c
    foreign = (
        select(row.catalog.label("name"), row.id, row.owner, row.owner_kind)
        .join_from(metalakes, foreign_objects, row.metalake_id == metalakes.c.id)
        .where(
            metalakes.c.name == bindparam("metalake"),
            one_of(row.catalog, "mounted"),
            row.path == "",
            row.kind == NAMESPACE,
            row.lapsed_at.is_(None),
        )
        .cte("mounted")
        .prefix_with("MATERIALIZED")
    )
    return union_all(
        *(_owner_rows(way) for way in (lake, foreign)),
        *(_grant_rows(way, held, key) for way, key in ((lake, grants.c.object_id), (foreign, grants.c.foreign_id))),
    )


def _owner_rows(way: CTE) -> Select[Any]:
    no_text = cast(null(), Text)
    return select(way.c.name, way.c.owner, way.c.owner_kind, no_text.label("privilege"), no_text.label("effect"))


def _grant_rows(way: CTE, held: CTE, key: ColumnElement[Any]) -> Select[Any]:
    # Both at once, as in a decision: a catalog may be granted to thousands of roles.
    pairs = select(way.c.name, way.c.id, held.c.role_id).select_from(way.join(held, literal(1) == literal(1)))
    pair = pairs.cte(f"{way.name}_pairs").prefix_with("MATERIALIZED")
    no_text = cast(null(), Text)
    return select(pair.c.name, no_text, no_text, grants.c.privilege, grants.c.effect).join_from(
        pair, grants, (key == pair.c.id) & (grants.c.role_id == pair.c.role_id)
    )


_CATALOGS = _catalogs_statement()
_COMPILED: dict[str, CompiledStatement] = {}


def load_catalogs(
    connection: Connection,
    caller: Caller,
    metalake: str,
    lake: Sequence[str],
    mounted: Sequence[str],
    *,
    as_enabled: bool = False,
) -> dict[str, Holdings]:
    """Return what a caller has on each of some catalogs of the lake and some mounted ones, from two statements.

    With `as_enabled`, as it would be with access control on.
    """
    above = facts.load(connection, caller, Securable(metalake))
    top = Holdings.of(above)
    if as_enabled:
        top = top._replace(is_enabled=True)
    held = {name: top._replace(found=name in mounted) for name in (*lake, *mounted)}
    if top.passes or not held:
        return held
    keys = {Securable(metalake, name).catalog_key: name for name in held}
    by_kind = {"lake": [key for key, name in keys.items() if name not in mounted]}
    by_kind["mounted"] = [key for key, name in keys.items() if name in mounted]
    values = {**bind_caller(caller), "metalake": above.place.metalake_key, **by_kind}
    for key, owner, owner_kind, privilege, effect in _catalog_rows(connection, values):
        name = keys[key]
        known = held[name]
        if privilege is None:
            is_mine = above.owns(PlaceOnWay(CATALOG, "", owner or ADMIN, owner_kind))
            held[name] = known._replace(found=True, owned=known.owned | {CATALOG} if is_mine else known.owned)
        elif effect == ALLOW:
            held[name] = known._replace(allowed=known.allowed | {privilege})
        else:
            held[name] = known._replace(denied=known.denied | {privilege})
    return held


def _catalog_rows(connection: Connection, values: dict[str, Any]) -> Sequence[Any]:
    name = connection.dialect.name
    statement = _COMPILED.get(name) or _COMPILED.setdefault(name, CompiledStatement(_CATALOGS, connection.dialect))
    return connection.exec_driver_sql(statement.text, statement.bind(values)).all()


# -- objects without rights of their own ---------------------------------------------------------

_AT_ONCE = 500
_SET_APART = select(objects.c.id).where(
    objects.c.id.in_(bindparam("ids", expanding=True)),
    or_(
        and_(func.coalesce(objects.c.owner, ADMIN) == bindparam("user"), objects.c.owner_kind == USER),
        objects.c.owner_kind == GROUP,
        exists().where(grants.c.object_id == objects.c.id),
    ),
)


def set_apart(connection: Connection, user: str, ids: Collection[int]) -> set[int]:
    """Return which objects may be decided otherwise than what is around them.

    They have grants or denials of their own, or are owned by the user or by a group. The others in one namespace are
    all decided alike.
    """
    ordered = sorted(ids)
    parts = (ordered[start : start + _AT_ONCE] for start in range(0, len(ordered), _AT_ONCE))
    return {id_ for part in parts for id_ in connection.scalars(_SET_APART, {"ids": part, "user": user})}
