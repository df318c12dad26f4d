"""Which name a table gets in the target: its own, or one with fewer levels where that is asked for."""

from __future__ import annotations

import threading

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract import limits
from lanceway.errors import InvalidInputError, TableAlreadyExistsError
from lanceway.identifiers import Identifier
from lanceway.jobs.between.provenance import Seen


class Naming:
    """The names of one job's tables in its target. `flatten` joins the levels that the target does not have."""

    def __init__(self, target: LanceNamespace, flatten: str | None = None) -> None:
        if flatten == "":
            raise InvalidInputError("flatten is empty: give what joins the names, such as '_'.")
        self._target, self._flatten = target, flatten
        self._shape = limits.shape(target)
        self._may_meet = flatten is not None or self._shape.folds_case
        self._given = Seen()
        self._lock = threading.Lock()

    def target(self, table: Identifier) -> Identifier:
        """The table's name in the target.

        Raises InvalidInputError, with what would do, where the target cannot hold it, and TableAlreadyExistsError
        where another table of this job has the name.
        """
        found = self._fitted(table)
        limits.check(self._target, found)
        if self._may_meet:
            with self._lock:
                if not self._given.add(self._folded(found)):
                    raise TableAlreadyExistsError(
                        f"{table} would become {found} in the target, and so would another table of the source. "
                        "Rename one of them, or choose another separator."
                    )
        return found

    def _folded(self, table: Identifier) -> Identifier:
        return Identifier(name.lower() for name in table) if self._shape.folds_case else table

    def _fitted(self, table: Identifier) -> Identifier:
        least, most, _ = self._shape
        if table.depth < least:
            missing = ".".join(["namespace"] * (least - table.depth))
            raise InvalidInputError(
                f"{table} cannot be a table in the target, which keeps tables {least} levels deep. Name the namespace "
                f"that the tables go into, as in NAME:{missing}."
            )
        if most is None or table.depth <= most:
            return table
        flat = self._flattened(table, most, self._flatten or "_")
        if self._flatten is None:
            raise InvalidInputError(
                f"{table} cannot be a table in the target, whose tables lie at most {most} "
                f"{'level' if most == 1 else 'levels'} deep. With --flatten _ it becomes {flat}; or choose a target "
                "with nested namespaces."
            )
        return flat

    @staticmethod
    def _flattened(table: Identifier, most: int, separator: str) -> Identifier:
        """`team.sales.orders` as `team_sales.orders` for two levels: the table keeps its name as long as it can."""
        if most == 1:
            return Identifier((separator.join(table),))
        joined = table.depth - most + 1
        return Identifier((separator.join(table[:joined]), *table[joined:]))
