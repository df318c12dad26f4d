"""Statements in their driver's own words: compiled once, and what is given with them made ready for the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler


class Words:
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
