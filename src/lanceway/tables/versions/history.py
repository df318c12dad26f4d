"""What each of some versions brought: the operation that made it, its rows, and what its commit says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lanceway.errors import TableVersionNotFoundError
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import translated


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version as storage has it. What is not known is None."""

    operation: str | None = None
    rows: int | None = None
    added: int | None = None
    removed: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def read(table: StoredTable, versions: Iterable[int], branch: str | None) -> dict[int, VersionFacts]:
    """Return what is known of each version: one look at a manifest and at a transaction each."""
    past = _Past(table, branch)
    return {version: past.facts(version) for version in versions}


class _Past:
    """The versions of one branch. Rows of a version count for the next one, too."""

    def __init__(self, table: StoredTable, branch: str | None) -> None:
        self._table, self._branch = table, branch
        self._rows: dict[int, int | None] = {0: 0}

    def facts(self, version: int) -> VersionFacts:
        try:
            opened = open_at(self._table, version=version, branch=self._branch)
            with translated(self._table, f"Reading version {version}"):
                transaction = opened.read_transaction(version)
                rows = self._rows[version] = opened.count_rows()
        except TableVersionNotFoundError:  # cleaned up meanwhile
            return VersionFacts()
        if transaction is None:
            return VersionFacts(rows=rows)
        operation = type(transaction.operation).__name__
        added, removed = _change(transaction.operation, operation, rows, self._rows_of(version - 1))
        return VersionFacts(operation, rows, added, removed, transaction.transaction_properties or {})

    def _rows_of(self, version: int) -> int | None:
        """Return how many rows the version before has, if it is still there and of the same branch."""
        if version not in self._rows:
            try:
                opened = open_at(self._table, version=version, branch=self._branch)
                with translated(self._table, f"Reading version {version}"):
                    self._rows[version] = opened.count_rows()
            except TableVersionNotFoundError:
                self._rows[version] = None
        return self._rows[version]


def _change(operation: Any, name: str, rows: int, before: int | None) -> tuple[int | None, int | None]:
    """Return how many rows came and went; rows that an update has written again are both."""
    if name == "Clone":  # the beginning of a branch or of a clone, which has the rows of where it comes from
        return 0, 0
    if name == "Restore":  # whichever rows the two versions share
        return None, None
    added = _written(operation, name)
    removed = None if added is None or before is None else before + added - rows
    return added, removed


def _written(operation: Any, name: str) -> int | None:
    """Return how many rows the new files of an operation have."""
    parts = {"Append": "fragments", "Overwrite": "fragments", "Update": "new_fragments"}
    counts = [fragment.physical_rows for fragment in getattr(operation, parts[name])] if name in parts else []
    return None if None in counts else sum(counts)
