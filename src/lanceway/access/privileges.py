"""The privileges, as data: what each is called, what it allows, and on what it can be granted.

The command line, the API and the documentation are made from this table. Names are Gravitino's; `BOOTSTRAP_SCHEMA` is
the capability that its design asks for without naming it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lanceway.errors import InvalidInputError
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA
from lanceway.lake.store.schema import TABLE, VIEW

USE_CATALOG, USE_SCHEMA = "USE_CATALOG", "USE_SCHEMA"
CREATE_CATALOG, CREATE_SCHEMA, BOOTSTRAP_SCHEMA = "CREATE_CATALOG", "CREATE_SCHEMA", "BOOTSTRAP_SCHEMA"
CREATE_TABLE, CREATE_VIEW = "CREATE_TABLE", "CREATE_VIEW"
SELECT_TABLE, MODIFY_TABLE, SELECT_VIEW = "SELECT_TABLE", "MODIFY_TABLE", "SELECT_VIEW"
MANAGE_USERS, MANAGE_GROUPS, CREATE_ROLE = "MANAGE_USERS", "MANAGE_GROUPS", "CREATE_ROLE"
MANAGE_GRANTS, RUN_JOB = "MANAGE_GRANTS", "RUN_JOB"

# What a privilege is about, in the order in which a picker shows it.
METADATA, READ, WRITE, CREATE, SECURITY, ADMINISTRATION = (
    "metadata",
    "read",
    "write",
    "create",
    "security",
    "administration",
)
CATEGORIES = (METADATA, READ, WRITE, CREATE, SECURITY, ADMINISTRATION)


@dataclass(frozen=True, slots=True)
class Privilege:
    """A privilege. It can be granted on the levels that `allows` names, and says there what it allows.

    Granted on any of them it holds for all that is inside, also for what is made later.
    """

    name: str
    title: str
    description: str
    category: str
    allows: Mapping[str, str]

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self.allows)


def _privilege(name: str, title: str, category: str, description: str, **allows: str) -> Privilege:
    return Privilege(name, title, description, category, MappingProxyType(allows))


_ALL_CATALOGS, _ALL_SCHEMAS = "in every catalog", "in every schema of the catalog"
_HERE = "in this schema and in all schemas inside"

PRIVILEGES: tuple[Privilege, ...] = (
    _privilege(
        USE_CATALOG,
        "Use a catalog",
        METADATA,
        "Enter a catalog. Everything else inside needs it too, even of those who own a schema or a table there.",
        metalake="enter every catalog",
        catalog="enter this catalog",
    ),
    _privilege(
        USE_SCHEMA,
        "Use a schema",
        METADATA,
        "See a schema and enter it. Tables and views inside need it too; it counts from any schema above.",
        metalake=f"see and enter every schema {_ALL_CATALOGS}",
        catalog="see and enter every schema of the catalog",
        schema="see and enter this schema and all schemas inside",
    ),
    _privilege(
        CREATE_CATALOG,
        "Create catalogs",
        CREATE,
        "Make catalogs. Who makes one owns it.",
        metalake="make catalogs",
    ),
    _privilege(
        CREATE_SCHEMA,
        "Create schemas",
        CREATE,
        "Make schemas, and what is missing above them. Who makes one owns it.",
        metalake=f"make schemas {_ALL_CATALOGS}",
        catalog="make schemas anywhere in the catalog",
        schema=f"make schemas {_HERE}",
    ),
    _privilege(
        BOOTSTRAP_SCHEMA,
        "Create missing parents",
        CREATE,
        "Make a schema together with parents that are missing, without the right to make schemas above them.",
        metalake=f"make schemas with missing parents {_ALL_CATALOGS}",
        catalog="make schemas with missing parents in the catalog",
    ),
    _privilege(
        CREATE_TABLE,
        "Create tables",
        CREATE,
        "Make, declare and register tables, and give a table a new name here. Who makes one owns it.",
        metalake=f"make tables {_ALL_CATALOGS}",
        catalog=f"make tables {_ALL_SCHEMAS}",
        schema=f"make tables {_HERE}",
    ),
    _privilege(
        CREATE_VIEW,
        "Create views",
        CREATE,
        "Make views and materialized views of tables that one may read. Who makes one owns it.",
        metalake=f"make views {_ALL_CATALOGS}",
        catalog=f"make views {_ALL_SCHEMAS}",
        schema=f"make views {_HERE}",
    ),
    _privilege(
        SELECT_TABLE,
        "Read tables",
        READ,
        "Read a table: its rows, versions, tags, branches, indices and statistics.",
        metalake=f"read tables {_ALL_CATALOGS}",
        catalog=f"read tables {_ALL_SCHEMAS}",
        schema=f"read tables {_HERE}",
        table="read this table",
    ),
    _privilege(
        MODIFY_TABLE,
        "Change tables",
        WRITE,
        "Change a table: rows, columns, indices, tags, branches and versions. It does not allow to read rows.",
        metalake=f"change tables {_ALL_CATALOGS}",
        catalog=f"change tables {_ALL_SCHEMAS}",
        schema=f"change tables {_HERE}",
        table="change this table",
    ),
    _privilege(
        SELECT_VIEW,
        "Read views",
        READ,
        "Read a view.",
        metalake=f"read views {_ALL_CATALOGS}",
        catalog=f"read views {_ALL_SCHEMAS}",
        schema=f"read views {_HERE}",
        view="read this view",
    ),
    _privilege(
        MANAGE_USERS,
        "Manage users",
        ADMINISTRATION,
        "Add, disable and remove users.",
        metalake="manage users",
    ),
    _privilege(
        MANAGE_GROUPS,
        "Manage groups",
        ADMINISTRATION,
        "Make and remove groups, and say who is in them. Where a group has rights, MANAGE_GRANTS is needed too.",
        metalake="manage groups and who is in them",
    ),
    _privilege(
        CREATE_ROLE,
        "Create roles",
        SECURITY,
        "Make roles. A new role may do nothing.",
        metalake="make roles",
    ),
    _privilege(
        MANAGE_GRANTS,
        "Manage grants",
        SECURITY,
        "Grant, deny and revoke privileges, also to oneself; on the metalake, give roles to users and groups too.",
        metalake="grant anything, and give roles to users and groups",
        catalog="grant privileges on the catalog and all that is inside",
        schema="grant privileges on this schema and all that is inside",
        table="grant privileges on this table",
        view="grant privileges on this view",
    ),
    _privilege(
        RUN_JOB,
        "Run pipelines",
        ADMINISTRATION,
        "Record runs of pipelines. What a run reads and writes needs the privileges for that as well.",
        metalake="record runs of pipelines",
    ),
)
BY_NAME: Mapping[str, Privilege] = MappingProxyType({privilege.name: privilege for privilege in PRIVILEGES})
LEVELS = (METALAKE, CATALOG, SCHEMA, TABLE, VIEW)


def find(name: str) -> Privilege:
    """Return a privilege by its name, in any case. Raises InvalidInputError, with the nearest one that there is."""
    wanted = name.strip().upper().replace(" ", "_").replace("-", "_")
    privilege = BY_NAME.get(wanted)
    if privilege is None:
        near = difflib.get_close_matches(wanted, BY_NAME, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(BY_NAME)}."
        raise InvalidInputError(f"There is no privilege {name!r}. {hint}")
    return privilege


def check_binding(name: str, level: str) -> Privilege:
    """Return a privilege that is to be granted on a level. Raises InvalidInputError where that means nothing."""
    privilege = find(name)
    if level not in privilege.allows:
        raise InvalidInputError(
            f"{privilege.name} cannot be granted on a {level}. It is granted on a {' or a '.join(privilege.levels)}."
        )
    return privilege


def grantable(level: str) -> tuple[Privilege, ...]:
    """Return the privileges that can be granted on a level."""
    return tuple(privilege for privilege in PRIVILEGES if level in privilege.allows)
