"""Rows of any table: who made and changed them, and the statements that write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, CursorResult, Row, Table, Update, bindparam, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

from lanceway.errors import InvalidInputError
from lanceway.lake.store.clock import now
from lanceway.lake.store.schema import USER
from lanceway.lake.tree.names import checked_text


class Keep(Enum):
    """The value for a text that an alteration leaves as it is; None would take it away."""

    KEEP = "keep"


KEEP = Keep.KEEP


@dataclass(frozen=True, slots=True)
class Audit:
    """Who made a row and when, who changed it last and when, in milliseconds of the database's clock."""

    created_by: str
    created_at: int
    changed_by: str
    changed_at: int
    revision: int

    @classmethod
    def of(cls, row: Row[Any]) -> Audit:
        return cls(row.created_by, row.created_at, row.changed_by, row.changed_at, row.revision)


_DIALECTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


class Insert:
    """An INSERT that does nothing where its row, or one that excludes it, is there already.

    ON CONFLICT DO NOTHING, and no error: in PostgreSQL an error would end the transaction, and with it all that the
    caller has done so far.
    """

    def __init__(self, table: Table, **fixed: object) -> None:
        # Built once: SQLAlchemy compiles each new statement object, but finds a known one in its cache.
        self._quiet = {
            name: insert(table).values(**fixed).on_conflict_do_nothing() for name, insert in _DIALECTS.items()
        }
        self._statements = {name: statement.returning(*table.c) for name, statement in self._quiet.items()}

    def __call__(self, connection: Connection, values: Mapping[str, object]) -> Row[Any] | None:
        """Return the new row, None where there was one."""
        return connection.execute(self._statements[connection.dialect.name], values).one_or_none()

    def many(self, connection: Connection, values: Sequence[Mapping[str, object]]) -> None:
        if values:
            connection.execute(self._quiet[connection.dialect.name], values)


class ConditionalInsert:
    """An `Insert` that also does nothing unless a condition on its values holds.

    It is INSERT … SELECT … WHERE condition, so that the condition is checked in the statement that inserts: between
    a SELECT and an INSERT of their own, others could change what the condition is about.
    """

    def __init__(
        self,
        table: Table,
        condition: Callable[[Mapping[str, Any]], ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] | None = None,
        **fixed: ColumnElement[Any],
    ) -> None:
        parameters = {c.name: bindparam(f"new_{c.name}", type_=c.type) for c in table.c if c.name not in fixed}
        row = select(*parameters.values(), *fixed.values()).where(condition(parameters))
        self.statements = {
            name: insert(table)
            .from_select([*parameters, *fixed], row)
            .on_conflict_do_nothing()
            .returning(*(returning or table.c))
            for name, insert in _DIALECTS.items()
        }

    def __call__(self, connection: Connection, values: Mapping[str, object], **others: object) -> Row[Any] | None:
        """Return the new row, or the columns asked of it; None where there was one or the condition did not hold."""
        # SQLAlchemy allows no parameter of an INSERT to have the name of a column.
        parameters = {f"new_{name}": value for name, value in values.items()} | others
        return self._run(connection, parameters).one_or_none()

    def _run(self, connection: Connection, parameters: Mapping[str, object]) -> CursorResult[Any]:
        return connection.execute(self.statements[connection.dialect.name], parameters)


class FastConditionalInsert(ConditionalInsert):
    """A `ConditionalInsert` that takes half the time, for the claim of a version, which is one statement.

    It goes past SQLAlchemy's handling of results: what it returns is the driver's own, so ask for numbers and texts.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # By dialect, compiled when the first connection of it comes. Two threads may both do it; one result is kept.
        self._compiled: dict[str, CompiledStatement] = {}

    def _run(self, connection: Connection, parameters: Mapping[str, object]) -> CursorResult[Any]:
        name = connection.dialect.name
        statement = self._compiled.get(name) or self._compiled.setdefault(
            name, CompiledStatement(self.statements[name], connection.dialect)
        )
        return connection.exec_driver_sql(statement.text, statement.bind(parameters))


class CompiledStatement:
    """A statement as the driver takes it, so that only the values differ from one execution to the next."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler), "a statement that is not DDL"
        self.text = str(compiled)
        # SQLite's driver takes values by position, psycopg by name: then there is no order.
        self._order = compiled.positiontup
        # What the statement itself binds, such as the kind of a row that it looks for.
        self._constants = compiled.params
        # What SQLAlchemy would do to each value, such as writing a dictionary as JSON.
        processors = {
            name: parameter.type.dialect_impl(dialect).bind_processor(dialect)
            for name, parameter in compiled.binds.items()
        }
        self._processors = {name: process for name, process in processors.items() if process is not None}

    def bind(self, values: Mapping[str, object]) -> dict[str, Any] | tuple[Any, ...]:
        """Return values by their names as the driver takes them."""
        bound = self._constants | dict(values)
        for name, process in self._processors.items():
            bound[name] = process(bound[name])
        return bound if self._order is None else tuple(bound[name] for name in self._order)


class FastInsert:
    """An `Insert` of some columns that takes half the time, for rows that many make at once.

    It goes past SQLAlchemy's handling of results: what it returns is the driver's own, so ask for numbers and texts.
    """

    def __init__(self, table: Table, columns: Sequence[str], returning: Sequence[str], **fixed: object) -> None:
        given = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns}
        self._statements = {
            name: insert(table)
            .values(**given, **fixed)
            .on_conflict_do_nothing()
            .returning(*(table.c[column] for column in returning))
            for name, insert in _DIALECTS.items()
        }

    def __call__(self, connection: Connection, values: Mapping[str, object]) -> Row[Any] | None:
        """Return what is asked of the new row, None where there was one."""
        parameters = {f"new_{name}": value for name, value in values.items()}
        return execute_compiled(connection, self._statements[connection.dialect.name], parameters).one_or_none()


# By dialect and statement. Two threads may both compile one; one result is kept.
_COMPILED: dict[tuple[str, ClauseElement], CompiledStatement] = {}


def execute_compiled(
    connection: Connection, statement: ClauseElement, values: Mapping[str, object]
) -> CursorResult[Any]:
    """Execute a statement that is built once, with values for its parameters, in half of SQLAlchemy's time.

    What it returns is the driver's own, so ask for numbers and texts.
    """
    key = connection.dialect.name, statement
    compiled = _COMPILED.get(key) or _COMPILED.setdefault(key, CompiledStatement(statement, connection.dialect))
    return connection.exec_driver_sql(compiled.text, compiled.bind(values))


def insert_audited(table: Table) -> Insert:
    return Insert(table, created_at=now(), changed_at=now())


def change(table: Table) -> Update:
    """Return an UPDATE that records when; the caller binds who as `changed_by`."""
    return update(table).values(changed_at=now(), revision=table.c.revision + 1)


def described(
    comment: str | None, properties: Mapping[str, str] | None, owner: str | None, by: str
) -> dict[str, object]:
    """Return the values that every new row of the tree has. The user who makes it owns it if no owner is given."""
    checked_text("The user", by)
    return {
        "comment": checked_text("The comment", comment),
        "properties": checked_properties(properties or {}),
        "owner": checked_text("The owner", owner) or by,
        "created_by": by,
        "changed_by": by,
    }


def checked_properties(properties: Mapping[str, str]) -> dict[str, str]:
    for key, value in properties.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidInputError(f"The property {key!r} is not a string with a string as its value. Use strings.")
    return dict(properties)


class Described(Protocol):
    @property
    def properties(self) -> Mapping[str, str]: ...


def altered(
    row: Described | Row[Any], changes: Mapping[str, str | None] | None, *, by: str, **texts: str | Keep | None
) -> dict[str, object]:
    """Return the values of a row after a change of its properties, where None takes one away, and of some texts.

    An owner that is given is a user.
    """
    unchanged = {key: value for key, value in row.properties.items() if key not in (changes or {})}
    new = {key: value for key, value in (changes or {}).items() if value is not None}
    changed_texts = {
        key: checked_text(f"The {key}", value) for key, value in texts.items() if not isinstance(value, Keep)
    }
    if "owner" in changed_texts:
        changed_texts["owner_kind"] = USER
    return {
        **changed_texts,
        "properties": checked_properties(unchanged | new),
        "changed_by": checked_text("The user", by),
    }
