"""What rows have in common: who made and changed them, and how they are written."""

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
from lanceway.lake.tree.names import checked_text


class Keep(Enum):
    """What an alteration says of a value that stays as it is; None would take it away."""

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
    """An INSERT that does nothing where its row, or one that excludes it, is there already."""

    def __init__(self, table: Table, **fixed: object) -> None:
        # Made once: what is made anew has to be compiled anew.
        self._quiet = {
            name: insert(table).values(**fixed).on_conflict_do_nothing() for name, insert in _DIALECTS.items()
        }
        self._statements = {name: statement.returning(*table.c) for name, statement in self._quiet.items()}

    def __call__(self, connection: Connection, values: Mapping[str, object]) -> Row[Any] | None:
        """The new row, None where there was one."""
        return connection.execute(self._statements[connection.dialect.name], values).one_or_none()

    def many(self, connection: Connection, values: Sequence[Mapping[str, object]]) -> None:
        if values:
            connection.execute(self._quiet[connection.dialect.name], values)


class ConditionalInsert:
    """The same, which also does nothing unless a condition on the given values holds, seen in one statement."""

    def __init__(
        self,
        table: Table,
        condition: Callable[[Mapping[str, Any]], ColumnElement[bool]],
        returning: Sequence[ColumnElement[Any]] | None = None,
        **fixed: ColumnElement[Any],
    ) -> None:
        given = {c.name: bindparam(f"new_{c.name}", type_=c.type) for c in table.c if c.name not in fixed}
        row = select(*given.values(), *fixed.values()).where(condition(given))
        self.statements = {
            name: insert(table)
            .from_select([*given, *fixed], row)
            .on_conflict_do_nothing()
            .returning(*(returning or table.c))
            for name, insert in _DIALECTS.items()
        }

    def __call__(self, connection: Connection, values: Mapping[str, object], **others: object) -> Row[Any] | None:
        """The new row, or what is asked of it; None where there was one or the condition did not hold."""
        return self._run(connection, _bound(values, others)).one_or_none()

    def _run(self, connection: Connection, bound: Mapping[str, object]) -> CursorResult[Any]:
        return connection.execute(self.statements[connection.dialect.name], bound)


class FastConditionalInsert(ConditionalInsert):
    """The same in half the time, for where it counts. What it answers is the driver's own: numbers and texts alone."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._words: dict[str, CompiledStatement] = {}

    def _run(self, connection: Connection, bound: Mapping[str, object]) -> CursorResult[Any]:
        name = connection.dialect.name
        words = self._words.get(name) or self._words.setdefault(
            name, CompiledStatement(self.statements[name], connection.dialect)
        )
        return connection.exec_driver_sql(words.text, words.given(bound))


def _bound(values: Mapping[str, object], others: Mapping[str, object]) -> dict[str, object]:
    # A parameter of an INSERT may not have the name of a column.
    return {f"new_{name}": value for name, value in values.items()} | dict(others)


def insert_audited(table: Table) -> Insert:
    return Insert(table, created_at=now(), changed_at=now())


def change(table: Table) -> Update:
    """An UPDATE that says who and when; `by` is to be bound as `changed_by`."""
    return update(table).values(changed_at=now(), revision=table.c.revision + 1)


def described(
    comment: str | None, properties: Mapping[str, str] | None, owner: str | None, by: str
) -> dict[str, object]:
    """The values that every new row of the tree takes from whoever makes it; who makes it owns it unless told."""
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
            raise InvalidInputError(f"The property {key!r} is no text with a text as its value. Use strings.")
    return dict(properties)


class Described(Protocol):
    @property
    def properties(self) -> Mapping[str, str]: ...


def altered(
    row: Described | Row[Any], changes: Mapping[str, str | None] | None, *, by: str, **texts: str | Keep | None
) -> dict[str, object]:
    """The values of a row after a change of its properties, where None takes one away, and of some texts."""
    kept = {key: value for key, value in row.properties.items() if key not in (changes or {})}
    new = {key: value for key, value in (changes or {}).items() if value is not None}
    given = {key: checked_text(f"The {key}", value) for key, value in texts.items() if not isinstance(value, Keep)}
    return {**given, "properties": checked_properties(kept | new), "changed_by": checked_text("The user", by)}


class CompiledStatement:
    """A statement for `Connection.exec_driver_sql`, which spends no time on what is the same each time."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler), "it is no DDL"
        self.text = str(compiled)
        self._order = compiled.positiontup
        self._fixed = compiled.params
        made = {name: each.type.dialect_impl(dialect).bind_processor(dialect) for name, each in compiled.binds.items()}
        self._made = {name: process for name, process in made.items() if process is not None}

    def given(self, values: Mapping[str, object]) -> dict[str, Any] | tuple[Any, ...]:
        """Values by their names, as the driver takes them."""
        bound = self._fixed | dict(values)
        for name, process in self._made.items():
            bound[name] = process(bound[name])
        return bound if self._order is None else tuple(bound[name] for name in self._order)
