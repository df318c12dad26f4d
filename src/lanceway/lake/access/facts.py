"""What a decision reads, in one statement: who asks, with which groups and roles, and what the way to the object says.

The ancestors of an object are known from its path, so they are looked up by their physical names: the metalake, the
catalog, `A`, `A.B`, and the object itself. Roles are looked up on each of them. Nothing is remembered from one
decision to the next: what was revoked, and who was disabled, counts at once in every process.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    case,
    cast,
    literal,
    null,
    select,
    union,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeDecorator, TypeEngine

from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA, RecordedObject, Securable, ServiceObject
from lanceway.lake.store.rows import CompiledStatement
from lanceway.lake.store.schema import (
    NAMESPACE,
    TABLE,
    VIEW,
    catalogs,
    foreign_objects,
    grants,
    group_roles,
    groups,
    members,
    metalakes,
    objects,
    roles,
    settings,
    user_roles,
    users,
)
from lanceway.lake.tree.settings import ACCESS_CONTROL, ON

ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a user, and the groups that an issuer says it is in. Those of the lake itself need not be named."""

    user: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldGrant:
    """A privilege that a role of the caller's is granted or denied, on a place on the way to the object.

    `path` is the physical name of a namespace, the name of a table or a view, and empty above them. `group` is what
    the caller has the role by; None if the user itself has it.
    """

    level: str
    path: str
    privilege: str
    effect: str
    role: str
    group: str | None
    granted_by: str
    granted_at: int
    recorded: RecordedObject | None = None  # in a mounted catalog, but not of the catalog itself


@dataclass(frozen=True, slots=True)
class PlaceOnWay:
    """A place on the way to an object, the object included, with its owner. Those that are missing have none."""

    level: str
    path: str
    owner: str
    owner_kind: str
    recorded: RecordedObject | None = None  # in a mounted catalog, but not of the catalog itself


@dataclass(frozen=True, slots=True)
class AccessFacts:
    """All that a decision is made from. The places and grants are in order, from the metalake down."""

    place: Securable
    caller: Caller
    is_enabled: bool
    is_admin: bool
    is_disabled: bool
    groups: frozenset[str]
    places: tuple[PlaceOnWay, ...]
    grants: tuple[HeldGrant, ...]

    @property
    def found(self) -> bool:
        """Return whether the object exists. What a mounted catalog has only its service knows: it is taken to exist."""
        if self.place.mounted:
            return True
        level, path = self.place.level, _own_path(self.place)
        return any(way.level == level and way.path == path for way in self.places)

    def without(self, rows: Collection[int]) -> AccessFacts:
        """Return the facts without what some rows of mounted objects say."""

        def counts(each: PlaceOnWay | HeldGrant) -> bool:
            return each.recorded is None or each.recorded.row not in rows

        return replace(self, places=tuple(filter(counts, self.places)), grants=tuple(filter(counts, self.grants)))

    def owns(self, way: PlaceOnWay) -> bool:
        if way.owner_kind == "user":
            return way.owner == self.caller.user
        return way.owner in self.groups


def _own_path(place: Securable) -> str:
    parameters = place.parameters
    return str(parameters["leaf"] or (parameters["paths"] or [""])[-1])


# -- values that are lists -----------------------------------------------------------------------


class Texts(TypeDecorator[list[str]]):
    """A list of texts as one value: an array in PostgreSQL, JSON in SQLite. So one statement serves any number."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return ARRAY(Text) if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return value if dialect.name == "postgresql" else json.dumps(value, ensure_ascii=False)


class one_of(ColumnElement[bool]):  # noqa: N801 - it reads as a function of SQL
    """Whether a column has one of the texts in a list that is bound later."""

    inherit_cache = False  # statements are compiled once, here or by `CompiledStatement`

    def __init__(self, column: ColumnElement[Any], parameter: str) -> None:
        self.column, self.texts = column, bindparam(parameter, type_=Texts())


@compiles(one_of, "sqlite")
def _sqlite(element: one_of, compiler: SQLCompiler, **options: Any) -> str:
    column, texts = (compiler.process(part, **options) for part in (element.column, element.texts))
    return f"{column} IN (SELECT value FROM json_each({texts}))"


@compiles(one_of, "postgresql")
def _postgresql(element: one_of, compiler: SQLCompiler, **options: Any) -> str:
    column, texts = (compiler.process(part, **options) for part in (element.column, element.texts))
    # As a query of its own the array's length is unknown to each plan. So none looks better than the one for all
    # values, and PostgreSQL keeps that after a few executions: to plan such a statement takes longer than to run it.
    return f"{column} = ANY(CAST((SELECT {texts}) AS TEXT[]))"


# -- who asks ------------------------------------------------------------------------------------


def callers() -> tuple[CTE, CTE, CTE]:
    """Return queries for the row of a user (`user`), its groups (`groups` and those of the lake) and all its roles."""
    me = select(users).where(users.c.name == bindparam("user")).cte("me")
    local = select(groups.c.id, groups.c.name).join_from(me, members, members.c.user_id == me.c.id)
    mine = union(
        local.join(groups, groups.c.id == members.c.group_id),
        select(groups.c.id, groups.c.name).where(one_of(groups.c.name, "groups")),
    ).cte("my_groups")
    held = union_all(
        select(user_roles.c.role_id, cast(null(), Text).label("via")).join_from(
            me, user_roles, user_roles.c.user_id == me.c.id
        ),
        select(group_roles.c.role_id, mine.c.name).join_from(mine, group_roles, group_roles.c.group_id == mine.c.id),
    ).cte("my_roles")
    return me, mine, held


def bind_caller(caller: Caller) -> dict[str, Any]:
    return {"user": caller.user, "groups": list(caller.groups)}


# -- the statement -------------------------------------------------------------------------------

_NO_ID = cast(null(), BigInteger)
_NO_TEXT = cast(null(), Text)


def _way_columns(
    level: Any, path: Any, row: Any, metalake: Any, object_: Any, service: Any = _NO_TEXT, made_at: Any = _NO_ID
) -> list[ColumnElement[Any]]:
    return [
        level.label("level"),
        path.label("path"),
        row.owner.label("owner"),
        row.owner_kind.label("owner_kind"),
        metalake.label("metalake_id"),
        object_.label("object_id"),
        service.label("service_id"),
        made_at.label("made_at"),
    ]


def _lake_way() -> list[Select[Any]]:
    """Return queries for the catalog, its namespaces on the way, and the table or view."""
    root, parents = objects.alias("root"), objects.alias("parents")
    chosen = (
        select(catalogs.c.id, catalogs.c.owner, catalogs.c.owner_kind)
        .join_from(metalakes, catalogs, catalogs.c.metalake_id == metalakes.c.id)
        .where(metalakes.c.name == bindparam("metalake"), catalogs.c.name == bindparam("catalog"))
        .cte("chosen")
    )
    level = case((objects.c.kind == VIEW, VIEW), else_=TABLE)
    return [
        select(*_way_columns(literal(CATALOG), literal(""), chosen.c, _NO_ID, root.c.id)).join_from(
            chosen, root, (root.c.catalog_id == chosen.c.id) & (root.c.physical == "")
        ),
        select(*_way_columns(literal(SCHEMA), objects.c.physical, objects.c, _NO_ID, objects.c.id)).join_from(
            chosen, objects, (objects.c.catalog_id == chosen.c.id) & one_of(objects.c.physical, "paths")
        ),
        select(*_way_columns(level, objects.c.name, objects.c, _NO_ID, objects.c.id))
        .join_from(chosen, parents, (parents.c.catalog_id == chosen.c.id))
        .join(objects, (objects.c.parent_id == parents.c.id) & (objects.c.name == bindparam("leaf")))
        .where(parents.c.physical == bindparam("parent"), objects.c.kind != NAMESPACE),
    ]


def _foreign_way() -> list[Select[Any]]:
    """Return queries for what is recorded of a mounted catalog. The decision leaves out rows of other objects."""
    row = foreign_objects.c
    level = case((row.kind != NAMESPACE, row.kind), (row.path == "", CATALOG), else_=SCHEMA)
    path = case((row.kind != NAMESPACE, bindparam("leaf", type_=Text)), else_=row.path)
    on_way = (row.kind == NAMESPACE) & ((row.path == "") | one_of(row.path, "paths"))
    itself = (row.kind == bindparam("kind")) & (row.kind != NAMESPACE) & (row.path == bindparam("whole"))
    service, made = bindparam("service_id", type_=Text), bindparam("made_at", type_=BigInteger)
    same_id = row.service_id.is_(None) | service.is_(None) | (row.service_id == service)
    same = same_id & (row.made_at.is_(None) | made.is_(None) | (row.made_at == made))
    is_target = (row.kind == bindparam("kind")) & (row.path == bindparam("whole"))
    return [
        select(*_way_columns(level, path, row, _NO_ID, row.id, row.service_id, row.made_at))
        .join_from(metalakes, foreign_objects, row.metalake_id == metalakes.c.id)
        .where(
            metalakes.c.name == bindparam("metalake"),
            row.catalog == bindparam("catalog"),
            row.lapsed_at.is_(None),
            on_way | itself,
            ~is_target | same,
        )
    ]


def _statement(inner: list[Select[Any]], column: ColumnElement[Any]) -> Any:
    """Return rows of four parts: the user, its groups, the places on the way, and what is granted there."""
    me, mine, held = callers()
    top = select(*_way_columns(literal(METALAKE), literal(""), metalakes.c, metalakes.c.id, _NO_ID)).where(
        metalakes.c.name == bindparam("metalake")
    )
    way = union_all(top, *inner).cte("way").prefix_with("MATERIALIZED")
    # Both at once, so that a grant is looked up by place and role together: a place may be granted to thousands.
    pairs = (
        select(way.c.level, way.c.path, way.c.metalake_id, way.c.object_id, held.c.role_id, held.c.via)
        .select_from(way.join(held, literal(1) == literal(1)))
        .cte("pairs")
        .prefix_with("MATERIALIZED")
    )
    enabled = select(settings.c.value).where(settings.c.key == ACCESS_CONTROL).scalar_subquery()
    admin = case((me.c.admin, 1), else_=0)
    # Looked up for what is granted alone: joined, it might be read before that.
    role = select(roles.c.name).where(roles.c.id == pairs.c.role_id).correlate(pairs).scalar_subquery()
    facts = select(literal(1).label("one")).subquery("facts")
    return union_all(
        _part("user", name=enabled, at=me.c.disabled_at, flag=admin).select_from(
            facts.outerjoin(me, literal(1) == literal(1))
        ),
        _part("group", name=mine.c.name),
        _part(
            "place",
            level=way.c.level,
            path=way.c.path,
            name=way.c.owner,
            kind=way.c.owner_kind,
            by=way.c.service_id,
            at=way.c.made_at,
            flag=way.c.object_id,
        ),
        *(
            _part(
                "grant",
                level=pairs.c.level,
                path=pairs.c.path,
                name=grants.c.privilege,
                kind=grants.c.effect,
                role=role,
                via=pairs.c.via,
                by=grants.c.granted_by,
                at=grants.c.granted_at,
                flag=pairs.c.object_id,
            )
            .join_from(pairs, grants, (own == theirs) & (grants.c.role_id == pairs.c.role_id))
            .where(theirs.is_not(None))
            for own, theirs in ((column, pairs.c.object_id), (grants.c.metalake_id, pairs.c.metalake_id))
        ),
    )


_TEXTS = ("level", "path", "name", "kind", "role", "via", "by")
_NUMBERS = ("at", "flag")


def _part(part: str, /, **columns: Any) -> Select[Any]:
    texts = [cast(columns.get(key, null()), Text).label(key) for key in _TEXTS]
    numbers = [cast(columns.get(key, null()), BigInteger).label(key) for key in _NUMBERS]
    columns_: list[ColumnElement[Any]] = [literal(part).label("part"), *texts, *numbers]
    return select(*columns_)


_STATEMENTS = {
    False: _statement(_lake_way(), grants.c.object_id),
    True: _statement(_foreign_way(), grants.c.foreign_id),
}
_COMPILED: dict[tuple[str, bool], CompiledStatement] = {}


def load(connection: Connection, caller: Caller, place: Securable) -> AccessFacts:
    """Return what a decision about a place is made from, of which nothing need exist."""
    statement = _compiled(connection.dialect, place)
    rows = connection.exec_driver_sql(statement.text, statement.bind(_values(caller, place))).all()
    return _facts(rows, caller, place)


def _compiled(dialect: Dialect, place: Securable) -> CompiledStatement:
    key = (dialect.name, place.mounted)
    # Two threads may both compile it; one result is kept. It goes past SQLAlchemy, which takes as long as the database.
    return _COMPILED.get(key) or _COMPILED.setdefault(key, CompiledStatement(_STATEMENTS[place.mounted], dialect))


def _values(caller: Caller, place: Securable) -> dict[str, Any]:
    values = {**bind_caller(caller), **place.parameters}
    if place.mounted:
        service = place.service
        values |= {"kind": place.kind, "whole": _whole(place)}
        values |= {"service_id": service and service.id, "made_at": service and service.made_at}
    return values


def _whole(place: Securable) -> str:
    parameters = place.parameters
    leaf = str(parameters["leaf"]).replace("%", "%25").replace(".", "%2E")
    above = str((parameters["paths"] or [""])[-1])
    return f"{above}.{leaf}" if above and leaf else above or leaf


def _facts(rows: Sequence[Any], caller: Caller, place: Securable) -> AccessFacts:
    named, ways, held = set(caller.groups), list[PlaceOnWay](), list[HeldGrant]()
    is_enabled = is_admin = is_disabled = False
    recorded = _recorded(rows, place) if place.mounted else {}
    for part, level, path, name, kind, role, via, by, at, flag in rows:
        if part == "place":
            ways.append(PlaceOnWay(level, path, name or ADMIN, kind, recorded.get(flag)))
        elif part == "grant":
            held.append(HeldGrant(level, path, name, kind, role, via, by, at, recorded.get(flag)))
        elif part == "group":
            named.add(name)
        else:
            is_enabled, is_disabled, is_admin = name == ON, at is not None, bool(flag)
    ways.sort(key=_depth)
    held.sort(key=lambda grant: (_depth(grant), grant.privilege, grant.role, grant.group or ""))
    groups_ = frozenset(named)
    return AccessFacts(place, caller, is_enabled, is_admin, is_disabled, groups_, tuple(ways), tuple(held))


def _recorded(rows: Sequence[Any], place: Securable) -> dict[int, RecordedObject]:
    """Return what is recorded of objects of a mounted catalog, by row."""
    found: dict[int, RecordedObject] = {}
    for part, level, path, _, _, _, _, service, made_at, row in rows:
        if part != "place" or level in (METALAKE, CATALOG):
            continue
        is_namespace = level == SCHEMA
        names = Identifier(HierarchicalName.from_physical(path)) if is_namespace else place.path
        kind = NAMESPACE if is_namespace else level
        found[row] = RecordedObject(row, names, kind, ServiceObject(service, made_at))
    return found


_ORDER = {METALAKE: 0, CATALOG: 1, SCHEMA: 2, TABLE: 3, VIEW: 3}


def _depth(way: PlaceOnWay | HeldGrant) -> tuple[int, int]:
    return _ORDER[way.level], way.path.count(".") if way.level == SCHEMA else 0
