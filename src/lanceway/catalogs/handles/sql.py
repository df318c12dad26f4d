"""An SQL query over tables of a catalog, which runs when its rows are read."""

from __future__ import annotations

from lanceway.catalogs.handles.rows import Rows
from lanceway.tables.sql import execution
from lanceway.tables.sql.execution import Open
from lanceway.tables.sql.statement import parse


class Query(Rows):
    """The rows of an SQL query. Its text is checked at once, its tables are opened each time that its rows are read."""

    def __init__(self, text: str, open_table: Open) -> None:
        self._statement = statement = parse(text)
        self._open = open_table
        super().__init__(lambda: execution.run(statement, open_table))

    def explain(self) -> str:
        """Return the plan: what is read of each table, and what is done with it. Nothing is read."""
        return execution.explain(self._statement, self._open)
