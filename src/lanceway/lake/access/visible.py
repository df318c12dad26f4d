"""Pages of what a caller is shown inside a namespace of the lake: filtered by the database, in order, without gaps.

There are two cases. Where a privilege reaches the namespace, everything inside is shown but what is denied there: a
page of the objects. Where none does, only what is granted or owned itself is shown, and the namespaces on the way to
it: a page of the caller's own grants, whose cost does not depend on how much there is that is hidden. In SQLite, that
of tables and views does not depend on how much there is beyond the page either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    text,
    union,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from lanceway.identifiers import HierarchicalName
from lanceway.lake.access.facts import Caller, Texts, bind_caller, callers, one_of
from lanceway.lake.store.rows import execute_compiled
from lanceway.lake.store.schema import ALLOW, DENY, GROUP, NAMESPACE, USER, Name, catalogs, grants, metalakes, objects
from lanceway.lake.tree.pages import at_most

# -- the next name of a path ---------------------------------------------------------------------


class first_segment(FunctionElement[str]):  # noqa: N801 - it reads as a function of SQL
    """What comes before the first dot of a text, or all of it."""

    type = Text()
    inherit_cache = True


@compiles(first_segment, "sqlite")
def _sqlite(element: first_segment, compiler: SQLCompiler, **options: Any) -> str:
    # Twice the same text, so it is bound twice: the argument has no bound values of its own.
    text = compiler.process(element.clauses, **options)
    return f"substr({text}, 1, instr({text} || '.', '.') - 1)"


@compiles(first_segment, "postgresql")
def _postgresql(element: first_segment, compiler: SQLCompiler, **options: Any) -> str:
    return f"split_part({compiler.process(element.clauses, **options)}, '.', 1)"


def _decoded(segment: ColumnElement[str]) -> ColumnElement[str]:
    """Return a name as it is; `HierarchicalName` says how it is written in a path."""
    return func.replace(func.replace(segment, "%2E", "."), "%25", "%")


# -- who and where -------------------------------------------------------------------------------

_PARENT = (
    select(objects.c.id, objects.c.catalog_id)
    .join_from(metalakes, catalogs, catalogs.c.metalake_id == metalakes.c.id)
    .join(objects, objects.c.catalog_id == catalogs.c.id)
    .where(
        metalakes.c.name == bindparam("metalake"),
        catalogs.c.name == bindparam("catalog"),
        objects.c.physical == bindparam("path"),
    )
)
_AFTER, _LIMIT = bindparam("after", type_=Name), bindparam("limit", type_=BigInteger)
_KIND = bindparam("kind", type_=Name)


def _mine(table: Any, groups: CTE) -> ColumnElement[bool]:
    """Return whether a row of a table is the caller's, or one of its groups'."""
    by_user = and_(table.c.owner == bindparam("user"), table.c.owner_kind == USER)
    by_local = table.c.owner.in_(select(groups.c.name))
    return or_(by_user, and_(table.c.owner_kind == GROUP, or_(by_local, one_of(table.c.owner, "groups"))))


def _owned(groups: CTE, *columns: Any, where: ColumnElement[bool]) -> list[Select[Any]]:
    """Return queries for what the caller owns: itself, by groups of the lake, by groups of an issuer.

    Each finds its rows by the index of owners, for which one query with OR would give no order.
    """
    owners = (
        (objects.c.owner == bindparam("user"), USER),
        (objects.c.owner.in_(select(groups.c.name)), GROUP),
        (one_of(objects.c.owner, "groups"), GROUP),
    )
    return [select(*columns).where(owner, objects.c.owner_kind == kind, where) for owner, kind in owners]


def _has_grant(object_: ColumnElement[Any], roles: CTE, effect: str, privileges: str) -> ColumnElement[bool]:
    """Return whether one of the caller's roles has a privilege of those bound as `privileges` granted, or denied."""
    return exists().where(
        grants.c.object_id == object_,
        grants.c.role_id.in_(select(roles.c.role_id)),
        one_of(grants.c.privilege, privileges),
        grants.c.effect == effect,
    )


# -- tables and views ----------------------------------------------------------------------------


def _leaves_reached() -> Any:
    """Case 1: all of a kind, but those where each privilege is lost.

    `reaching` are privileges that reach the namespace, `open` those that are at least not denied there: granted on
    the object itself they count. A privilege that is denied on the object counts for neither.
    """
    _, groups, roles = callers()
    reached, other = (grants.alias(name) for name in ("denials", "allows"))
    place = _PARENT.cte("place")
    # A reaching privilege that is not denied on the object: the values of the list that no denial names.
    denied = (
        select(func.count(reached.c.privilege.distinct()))
        .where(
            reached.c.object_id == objects.c.id,
            reached.c.role_id.in_(select(roles.c.role_id)),
            one_of(reached.c.privilege, "reaching"),
            reached.c.effect == DENY,
        )
        .correlate(objects)
        .scalar_subquery()
    )
    again = grants.alias("again")
    regained = exists().where(
        other.c.object_id == objects.c.id,
        other.c.role_id.in_(select(roles.c.role_id)),
        one_of(other.c.privilege, "open"),
        other.c.effect == ALLOW,
        ~exists().where(
            again.c.object_id == other.c.object_id,
            again.c.role_id.in_(select(roles.c.role_id)),
            again.c.privilege == other.c.privilege,
            again.c.effect == DENY,
        ),
    )
    return (
        select(objects.c.name)
        .join_from(place, objects, objects.c.parent_id == place.c.id)
        .where(
            objects.c.kind == _KIND,
            objects.c.name > _AFTER,
            or_(denied < bindparam("count", type_=BigInteger), _mine(objects, groups), regained),
        )
        .order_by(objects.c.name)
        .limit(_LIMIT)
    )


def _leaves_granted() -> Any:
    """Case 2: what is granted itself, by a privilege among `open`, or owned."""
    _, groups, roles = callers()
    place = _PARENT.cte("place")
    # By name and not by id, so that the index of a role's grants has all that is read of them.
    held = (
        select(grants.c.name.label("name"), grants.c.privilege.label("privilege"))
        .join_from(place, grants, grants.c.parent_id == place.c.id)
        .where(
            grants.c.role_id.in_(select(roles.c.role_id)),
            grants.c.kind == _KIND,
            grants.c.name > _AFTER,
            one_of(grants.c.privilege, "open"),
        )
    )
    allowed = held.where(grants.c.effect == ALLOW).cte("allowed")
    denied = held.where(grants.c.effect == DENY).cte("denied").prefix_with("MATERIALIZED")
    is_denied = exists().where(denied.c.name == allowed.c.name, denied.c.privilege == allowed.c.privilege)
    here = and_(
        objects.c.kind == _KIND,
        objects.c.parent_id == select(place.c.id).scalar_subquery(),
        objects.c.name > _AFTER,
    )
    granted = select(allowed.c.name.label("name")).where(~is_denied)
    names = union(granted, *_owned(groups, objects.c.name, where=here)).subquery("names")
    return select(names.c.name).order_by(names.c.name).limit(_LIMIT)


# SQLite reads all that the caller is granted in a namespace before it sorts the names, however short the page. So there
# the order is taken from the indices: each role has its grants by name, and each owner its objects. They are merged by
# the queue of a recursive query, which always goes on with the least name, one step further in the role or owner that
# it came from. Who reads the rows stops when the page is full, and the rest is never looked up. SQLite leaves the order
# of a part out where it sees no use in it, but not where there is a LIMIT.
_MERGED = """
WITH RECURSIVE
place(id) AS (
    SELECT o.id FROM metalakes m
    JOIN catalogs c ON c.metalake_id = m.id AND c.name = :catalog
    JOIN objects o ON o.catalog_id = c.id AND o.physical = :path
    WHERE m.name = :metalake
),
my_groups(id, name) AS (
    SELECT g.id, g.name FROM users u
    JOIN members m ON m.user_id = u.id JOIN groups g ON g.id = m.group_id WHERE u.name = :user
    UNION SELECT id, name FROM groups WHERE name IN (SELECT value FROM json_each(:groups))
),
sources(role_id, owner, owner_kind) AS (
    SELECT r.role_id, NULL, NULL FROM users u JOIN user_roles r ON r.user_id = u.id WHERE u.name = :user
    UNION SELECT r.role_id, NULL, NULL FROM my_groups g JOIN group_roles r ON r.group_id = g.id
    UNION SELECT NULL, :user, 'user'
    UNION SELECT NULL, name, 'group' FROM my_groups
    UNION SELECT NULL, value, 'group' FROM json_each(:groups)
),
merged(role_id, owner, owner_kind, name) AS (
    SELECT s.role_id, s.owner, s.owner_kind, {first} FROM sources s
    UNION ALL
    SELECT s.role_id, s.owner, s.owner_kind, {next} FROM merged s WHERE s.name IS NOT NULL
    ORDER BY 4 LIMIT 9223372036854775807
)
SELECT s.name, g.privilege, g.effect FROM merged s LEFT JOIN grants g
ON g.role_id = s.role_id AND g.parent_id = (SELECT id FROM place) AND g.kind = :kind AND g.name = s.name
WHERE s.name IS NOT NULL
"""
_NEXT = """
CASE WHEN s.role_id IS NULL THEN (
    SELECT o.name FROM objects o WHERE o.owner = s.owner AND o.owner_kind = s.owner_kind AND o.kind = :kind
    AND o.parent_id = (SELECT id FROM place) AND o.name > {after} ORDER BY o.name LIMIT 1
) ELSE (
    SELECT g.name FROM grants g WHERE g.role_id = s.role_id AND g.parent_id = (SELECT id FROM place)
    AND g.kind = :kind AND g.name > {after} ORDER BY g.name LIMIT 1
) END
"""


def _leaves_merged() -> Any:
    """Case 2 in SQLite: rows in the order of names, of what the caller's roles are granted or denied; those of what it
    owns have no privilege."""
    statement = _MERGED.format(first=_NEXT.format(after=":after"), next=_NEXT.format(after="s.name"))
    return text(statement).bindparams(bindparam("groups", type_=Texts()))


def _shown(rows: Iterable[Sequence[Any]], privileges: Collection[str]) -> Iterator[str]:
    """Yield the names that are owned, or granted by a privilege of some which no role is denied there."""
    for name, of_name in groupby(rows, key=itemgetter(0)):
        held = {(privilege, effect) for _, privilege, effect in of_name}
        if (None, None) in held or any(
            (privilege, ALLOW) in held and (privilege, DENY) not in held for privilege in privileges
        ):
            yield name


# -- namespaces ----------------------------------------------------------------------------------


def _spaces_reached() -> Any:
    """Case 1: all, but those where the privilege is denied and nothing inside is the caller's own."""
    _, groups, roles = callers()
    place = _PARENT.cte("place")
    inside = objects.alias("inside")
    below = and_(inside.c.physical > objects.c.physical + ".", inside.c.physical < objects.c.physical + "/")
    owned_inside = exists().where(
        inside.c.catalog_id == objects.c.catalog_id,
        or_(inside.c.physical == objects.c.physical, below),
        _mine(inside, groups),
    )
    return (
        select(objects.c.name)
        .join_from(place, objects, objects.c.parent_id == place.c.id)
        .where(
            objects.c.kind == NAMESPACE,
            objects.c.name > _AFTER,
            or_(~_has_grant(objects.c.id, roles, DENY, "open"), owned_inside),
        )
        .order_by(objects.c.name)
        .limit(_LIMIT)
    )


def _spaces_granted() -> Any:
    """Case 2: those that are granted or owned, and those on the way to such."""
    _, groups, roles = callers()
    place = _PARENT.cte("place")
    catalog = select(place.c.catalog_id).scalar_subquery()
    low, high = bindparam("low", type_=Name), bindparam("high", type_=Name)
    inside = and_(objects.c.catalog_id == catalog, objects.c.physical > low, objects.c.physical < high)
    held = select(objects.c.physical).join_from(grants, objects, objects.c.id == grants.c.object_id)
    own = and_(grants.c.role_id.in_(select(roles.c.role_id)), grants.c.kind == NAMESPACE)
    of_privilege = and_(own, one_of(grants.c.privilege, "open"), inside)
    denied = held.where(of_privilege, grants.c.effect == DENY).cte("denied").prefix_with("MATERIALIZED")
    allowed = held.where(of_privilege, grants.c.effect == ALLOW).cte("allowed")
    # A denial takes its own namespace and all inside away.
    beginning = func.substr(allowed.c.physical, 1, func.length(denied.c.physical) + 1)
    lost = exists().where(or_(allowed.c.physical == denied.c.physical, beginning == denied.c.physical + "."))
    owned = _owned(groups, objects.c.physical, where=and_(objects.c.kind == NAMESPACE, inside))
    paths = union(select(allowed.c.physical).where(~lost), *owned).subquery("paths")
    rest = select(
        func.substr(paths.c.physical, func.length(low) + 1).label("rest"),
    ).subquery("rest")
    names = select(_decoded(first_segment(rest.c.rest)).cast(Name).label("name")).distinct().subquery("names")
    return select(names.c.name).where(names.c.name > _AFTER).order_by(names.c.name).limit(_LIMIT)


_LEAVES_REACHED, _LEAVES_GRANTED, _LEAVES_MERGED = _leaves_reached(), _leaves_granted(), _leaves_merged()
_SPACES_REACHED, _SPACES_GRANTED = _spaces_reached(), _spaces_granted()


def page(
    connection: Connection,
    caller: Caller,
    metalake: str,
    catalog: str,
    namespace: HierarchicalName,
    *,
    kind: str,
    reaching: Sequence[str],
    open_: Sequence[str],
    after: str | None = None,
    limit: int | None = None,
) -> list[str]:
    """Return the first `limit` names after `after` of the objects of a kind that the caller is shown in a namespace.

    `reaching` are the privileges that hold for the namespace itself, each of which shows an object; `open_` those that
    are not denied there, so that a grant on an object counts.
    """
    is_space = kind == NAMESPACE
    path = namespace.physical
    values: dict[str, Any] = {"metalake": metalake, "catalog": catalog, "path": path, **bind_caller(caller)}
    values |= {"after": after or "", "limit": at_most(limit), "open": list(open_)}
    if is_space:
        # All below: "/" comes right after ".", which no name holds; every path comes before the last character.
        values |= {"low": f"{path}." if path else "", "high": f"{path}/" if path else "\U0010ffff"}
        return _names(connection, _SPACES_REACHED if reaching else _SPACES_GRANTED, values)
    values |= {"kind": kind, "reaching": list(reaching), "count": len(reaching)}
    if reaching:
        return _names(connection, _LEAVES_REACHED, values)
    # To read everything takes less time at once than name by name.
    if limit is None or connection.dialect.name != "sqlite":
        return _names(connection, _LEAVES_GRANTED, values)
    with execute_compiled(connection, _LEAVES_MERGED, values) as rows:
        return list(islice(_shown(rows, open_), at_most(limit)))


def _names(connection: Connection, statement: Any, values: dict[str, Any]) -> list[str]:
    return [row[0] for row in execute_compiled(connection, statement, values)]
