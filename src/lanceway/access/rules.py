"""Rules: for each thing that one can do with an object, every set of rights that is enough, as data.

They are Gravitino's, where it has one. Who owns a metalake or a catalog may do all inside; who owns a schema may do all
inside too, but must be able to use the catalog; who owns a table must also be able to use its schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from lanceway.access.privileges import (
    BOOTSTRAP_SCHEMA,
    CREATE_CATALOG,
    CREATE_ROLE,
    CREATE_SCHEMA,
    CREATE_TABLE,
    CREATE_VIEW,
    MANAGE_GRANTS,
    MANAGE_GROUPS,
    MANAGE_USERS,
    MODIFY_TABLE,
    RUN_JOB,
    SELECT_TABLE,
    SELECT_VIEW,
    USE_CATALOG,
    USE_SCHEMA,
)
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA
from lanceway.lake.store.schema import TABLE, VIEW


@dataclass(frozen=True, slots=True)
class Need:
    """One right among those that are enough together.

    `privilege`: it is granted on the object or above, and denied on none of them. `owner`: of the metalake, the
    catalog, the schema or one above it, or the table or view itself. `undenied`: the privilege is denied nowhere on
    the way. `missing`: the object does not exist yet, as the parent of something new.
    """

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return {"owner": f"owner of the {self.name}", "undenied": f"no denial of {self.name}"}.get(self.kind, self.name)


PRIVILEGE, OWNER, UNDENIED, MISSING = "privilege", "owner", "undenied", "missing"
Sufficient = tuple[Need, ...]


class _Check(NamedTuple):
    """A set of needs, sorted by what they are about."""

    needs: Sufficient
    privileges: frozenset[str]
    owned: frozenset[str]
    undenied: frozenset[str]
    is_missing: bool

    @classmethod
    def of(cls, needs: Sufficient) -> _Check:
        def named(kind: str) -> frozenset[str]:
            return frozenset(need.name for need in needs if need.kind == kind)

        is_missing = any(need.kind == MISSING for need in needs)
        return cls(needs, named(PRIVILEGE), named(OWNER), named(UNDENIED), is_missing)


@dataclass(frozen=True, slots=True)
class Rule:
    """What one must be able to do to a place. Any of the sets is enough; administrators need none."""

    name: str
    title: str
    sufficient: tuple[Sufficient, ...]
    _checks: tuple[_Check, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_checks", tuple(map(_Check.of, self.sufficient)))

    def met_by(self, held: Holdings) -> Sufficient | None:
        """Return the first of the sets that a caller has, None if it has none."""
        privileges = held.allowed - held.denied
        for needs, granted, owned, undenied, is_missing in self._checks:
            if (
                owned <= held.owned
                and granted <= privileges
                and not (undenied and undenied & held.denied)
                and not (is_missing and held.found)
            ):
                return needs
        return None

    def allows(self, held: Holdings) -> bool:
        """Return whether a caller may do it, without the reason."""
        if held.passes:
            return True
        return not held.is_disabled and self.met_by(held) is not None

    @property
    def privileges(self) -> frozenset[str]:
        """The privileges that matter for it."""
        return frozenset(need.name for needs in self.sufficient for need in needs if need.kind == PRIVILEGE)


def _has(*names: str) -> Sufficient:
    return tuple(Need(PRIVILEGE, name) for name in names)


def _owns(level: str, *names: str) -> Sufficient:
    return (*_has(*names), Need(OWNER, level))


_TOP = (_owns(CATALOG), _owns(METALAKE))
_IN_SCHEMA = (*_TOP, _owns(SCHEMA, USE_CATALOG))
_USE = (USE_CATALOG, USE_SCHEMA)


def _on_leaf(level: str, *names: str) -> tuple[Sufficient, ...]:
    """Every set with which one may do something to a table or view, for which each of some privileges is enough."""
    return (*_IN_SCHEMA, _owns(level, *_USE), *(_has(*_USE, name) for name in names))


def _in_metalake(*names: str) -> tuple[Sufficient, ...]:
    return (_owns(METALAKE), *(_has(name) for name in names))


_BOOTSTRAP = (*_has(USE_CATALOG, BOOTSTRAP_SCHEMA), Need(UNDENIED, CREATE_SCHEMA), Need(MISSING))

RULES: tuple[Rule, ...] = (
    Rule("see metalake", "see that there is a metalake", ((),)),
    Rule("administer", "administer the metalake", (_owns(METALAKE),)),
    Rule("create catalog", "make a catalog", _in_metalake(CREATE_CATALOG)),
    Rule("use catalog", "see a catalog and enter it", (*_TOP, _has(USE_CATALOG))),
    Rule("own catalog", "change or drop a catalog", _TOP),
    Rule("load schema", "see a schema and enter it", (*_IN_SCHEMA, _has(*_USE))),
    # Asked for the parent of what is to be made. No USE_SCHEMA is needed there, nor USE_CATALOG of who owns it.
    Rule(
        "create schema",
        "make a schema",
        (*_TOP, _owns(SCHEMA), _has(USE_CATALOG, CREATE_SCHEMA), _BOOTSTRAP),
    ),
    Rule("own schema", "change or drop a schema", _IN_SCHEMA),
    Rule("create table", "make a table", (*_IN_SCHEMA, _has(*_USE, CREATE_TABLE))),
    Rule("create view", "make a view", (*_IN_SCHEMA, _has(*_USE, CREATE_VIEW))),
    Rule("load table", "see a table", _on_leaf(TABLE, SELECT_TABLE, MODIFY_TABLE)),
    Rule("read table", "read a table", _on_leaf(TABLE, SELECT_TABLE)),
    Rule("modify table", "change a table", _on_leaf(TABLE, MODIFY_TABLE)),
    Rule("own table", "rename or drop a table", _on_leaf(TABLE)),
    Rule("read view", "see and read a view", _on_leaf(VIEW, SELECT_VIEW)),
    Rule("own view", "change, rename or drop a view", _on_leaf(VIEW)),
    Rule("manage users", "manage users", _in_metalake(MANAGE_USERS)),
    Rule("manage groups", "manage groups", _in_metalake(MANAGE_GROUPS)),
    Rule("create role", "make a role", _in_metalake(CREATE_ROLE)),
    Rule("manage roles", "give roles to users and groups, and delete them", _in_metalake(MANAGE_GRANTS)),
    Rule("manage grants on metalake", "grant privileges on a metalake", _in_metalake(MANAGE_GRANTS)),
    Rule("manage grants on catalog", "grant privileges on a catalog", (*_TOP, _has(USE_CATALOG, MANAGE_GRANTS))),
    Rule("manage grants on schema", "grant privileges on a schema", (*_IN_SCHEMA, _has(USE_CATALOG, MANAGE_GRANTS))),
    Rule("manage grants on table", "grant privileges on a table", _on_leaf(TABLE, MANAGE_GRANTS)),
    Rule("manage grants on view", "grant privileges on a view", _on_leaf(VIEW, MANAGE_GRANTS)),
    Rule("run job", "record runs of pipelines", _in_metalake(RUN_JOB)),
    # Whose a job or a run is, its row says. It needs no right, but a user who is disabled may not do even that.
    Rule("own job", "look at and cancel a background job that it asked for itself", ((),)),
    Rule("own run", "look at and cancel a run that it began, and hold a pipeline that no one else ran first", ((),)),
)
BY_NAME: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in RULES})

# How an object of each level is seen, and how it is changed, dropped or given to another owner.
LOAD = MappingProxyType(
    {METALAKE: "see metalake", CATALOG: "use catalog", SCHEMA: "load schema", TABLE: "load table", VIEW: "read view"}
)
OWN = MappingProxyType(
    {METALAKE: "administer", CATALOG: "own catalog", SCHEMA: "own schema", TABLE: "own table", VIEW: "own view"}
)
# The privileges with which each kind of leaf is seen in a list, as `LOAD` has it.
VISIBLE = MappingProxyType({TABLE: (SELECT_TABLE, MODIFY_TABLE), VIEW: (SELECT_VIEW,)})
