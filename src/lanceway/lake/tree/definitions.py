"""Definitions: how the rows of a view, and the values of a column, come about, and who said so.

What a table's metadata says of it is a copy, which every writer may change; jobs run by these rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from lanceway.identifiers import Identifier
from lanceway.lake.feed import outbox
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import definitions, objects
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow

VIEW, COLUMN = "view", "column"
_CHANGED = "definition.changed"

_OBJECT = len(objects.c)
_COLUMNS = [column.label(f"definition_{column.name}") for column in definitions.c]
_OF_TABLE = definitions.c.table_id == bindparam("of_table")
_OF_BRANCH = _OF_TABLE & (definitions.c.branch == bindparam("of_branch"))
_FIND: Select[Any] = lookups.FIND.add_columns(*_COLUMNS).outerjoin(
    definitions,
    (definitions.c.table_id == objects.c.id)
    & (definitions.c.branch == bindparam("of_branch"))
    & (definitions.c.kind == bindparam("of_kind")),
)
_EVERY = (
    select(definitions).where(_OF_TABLE).order_by(definitions.c.branch, definitions.c.kind.desc(), definitions.c.name)
)
_INSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_RECORD = {
    name: insert(definitions)
    .values(created_at=now())
    .on_conflict_do_update(
        index_elements=["table_id", "branch", "kind", "name"],
        set_={column: insert(definitions).excluded[column] for column in ("definition", "owner", "created_by")}
        | {"created_at": now()},
    )
    for name, insert in _INSERTS.items()
}
_ADOPT = Insert(definitions, created_at=now())


@dataclass(frozen=True, slots=True)
class NewDefinition:
    """A definition that is to be recorded; the `branch` is empty for the main one, and so is the name of a view."""

    kind: str
    name: str
    definition: Mapping[str, Any]
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition, and who made it when, in milliseconds of the database's clock."""

    table: int
    branch: str
    kind: str
    name: str
    definition: Mapping[str, Any]
    owner: str | None
    created_by: str
    created_at: int

    @classmethod
    def of(cls, row: Row[Any] | tuple[Any, ...]) -> Definition:
        columns: tuple[Any, ...] = tuple(row)
        return cls(*columns)


def of_kind(
    connection: Connection, catalog: int, table: Identifier, kind: str, branch: str
) -> tuple[TableRow, Sequence[Definition]]:
    """Return a table, and its definitions of one kind on a branch; one statement."""
    row, rows = lookups.find_with(connection, _FIND, catalog, table, of_branch=branch, of_kind=kind)
    return row, [Definition.of(each[_OBJECT:]) for each in rows if each.definition_name is not None]


def of_table(connection: Connection, table: int) -> Sequence[Definition]:
    """Return all definitions of a table, on every branch; a view's comes first."""
    return [Definition.of(row) for row in connection.execute(_EVERY, {"of_table": table})]


def record(connection: Connection, table: int, new: Sequence[NewDefinition], *, by: str) -> None:
    """Record definitions, in the place of those that there are."""
    if new:
        connection.execute(_RECORD[connection.dialect.name], [_values(table, each, by) for each in new])
        for branch in sorted({each.branch for each in new}):
            outbox.record_object(connection, _CHANGED, table, by=by, data={"branch": branch})


def adopt(connection: Connection, table: int, found: Sequence[NewDefinition], *, by: str) -> None:
    """Record definitions that a table's metadata has. One that has a row stays as the row says."""
    _ADOPT.many(connection, [_values(table, each, by) for each in found])


def remove(
    connection: Connection, table: int, branch: str, columns: Sequence[str] | None = None, *, by: str | None = None
) -> None:
    """Delete the definitions of columns; without any, all of a branch, the view's too."""
    statement = delete(definitions).where(_OF_BRANCH)
    if columns is not None:
        statement = statement.where(definitions.c.kind == COLUMN, definitions.c.name.in_(columns))
    _delete(connection, statement, table, branch, by)


def drop(connection: Connection, table: int, branch: str, kind: str, name: str, *, by: str | None = None) -> None:
    """Delete one definition."""
    only = (definitions.c.kind == kind) & (definitions.c.name == name)
    _delete(connection, delete(definitions).where(_OF_BRANCH, only), table, branch, by)


def _delete(connection: Connection, statement: Any, table: int, branch: str, by: str | None) -> None:
    if connection.execute(statement, {"of_table": table, "of_branch": branch}).rowcount:
        outbox.record_object(connection, _CHANGED, table, by=by, data={"branch": branch})


def rename(connection: Connection, table: int, branch: str, names: Mapping[str, str], *, by: str | None = None) -> None:
    """Give columns their new names in all definitions, at once, since two columns may change places.

    The text of an expression stays as it is.
    """
    rows = [row for row in of_table(connection, table) if (row.branch, row.kind) == (branch, COLUMN)]
    remove(connection, table, branch, [row.name for row in rows], by=by)
    for row in rows:
        inputs = {"inputs": [names.get(name, name) for name in row.definition.get("inputs", ())]}
        definition = {**row.definition, **inputs} if "inputs" in row.definition else row.definition
        new = NewDefinition(COLUMN, names.get(row.name, row.name), definition, branch)
        _ADOPT(connection, {**_values(table, new, row.created_by), "owner": row.owner})


def copy(connection: Connection, table: int, parent: str, branch: str) -> None:
    """Give a new branch the definitions of the columns that it has from its parent."""
    columns = [column for column in definitions.c if column.name != "branch"]
    rows = select(literal(branch).label("branch"), *columns).where(
        definitions.c.table_id == table, definitions.c.branch == parent, definitions.c.kind == COLUMN
    )
    found = [dict(row._mapping) for row in connection.execute(rows)]
    for values in found:
        values.pop("created_at")
        _ADOPT(connection, values)


def _values(table: int, new: NewDefinition, by: str) -> dict[str, object]:
    return {
        "table_id": table,
        "branch": new.branch,
        "kind": new.kind,
        "name": new.name,
        "definition": dict(new.definition),
        "owner": by,
        "created_by": by,
    }
