"""Write rows to a view, in one version that says which version of the source it shows.

Both are one commit, so that a refresh which is killed, or done twice, repeats nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, LanceNamespaceError, TableVersionNotFoundError
from lanceway.jobs.job_table import JobTable
from lanceway.tables.errors import translated
from lanceway.writes import commit as committing
from lanceway.writes.plan import APPEND, OVERWRITE, WritePlan
from lanceway.writes.write_id import WriteId

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.dataset import LanceOperation
    from lance.fragment import FragmentMetadata

_VERSION, _TRANSACTION = "lanceway.view.version", "lanceway.view.transaction"
# What changes no row: neither of a view, whose rows are then still what its last refresh made of them, nor of a source.
_HARMLESS = frozenset({"CreateIndex", "ReserveFragments", "Rewrite", "UpdateConfig"})
# What pylance gives for operations that it has no class for.
_UNKNOWN = "BaseOperation"


@dataclass(frozen=True)
class Shown:
    """A version of the source, by its number and by the transaction that made it, since a table may be replaced."""

    version: int
    transaction: str

    @classmethod
    def of(cls, table: JobTable, source: lance.LanceDataset) -> Shown:
        made_by = transaction(table, source, int(source.version))
        return cls(int(source.version), "" if made_by is None else str(made_by.uuid))


@dataclass(frozen=True)
class ViewMark(WriteId):
    """Identifies the commit of a refresh, and says what the view shows after it."""

    shown: Shown | None = None

    @property
    def properties(self) -> dict[str, str]:
        inherited = super().properties
        if self.shown is None:
            return inherited
        return {**inherited, _VERSION: str(self.shown.version), _TRANSACTION: self.shown.transaction}


def transaction(table: JobTable, opened: lance.LanceDataset, version: int) -> Any:
    """Return the transaction that made a version, or None where it is not known any more."""
    with translated(table.handle(), f"Reading the transaction of version {version}"):
        return opened.read_transaction(version)


def leaves_rows(table: JobTable, version: int, operation: Any) -> bool:
    """Return whether an operation changed no row. For one that pylance does not know, compare the fragments."""
    kind = type(operation).__name__
    if kind != _UNKNOWN:
        return kind in _HARMLESS
    return states(table.open(version - 1)) == states(table.open(version))


def states(dataset: lance.LanceDataset) -> dict[int, str]:
    """Return each fragment's metadata as text, which is the same as long as no row and no value has changed."""
    return {
        fragment.fragment_id: json.dumps(fragment.metadata.to_json(), sort_keys=True, default=str)
        for fragment in dataset.get_fragments()
    }


def shown(view: JobTable, opened: lance.LanceDataset) -> Shown | None:
    """Return what the view shows, or None where that is not known, or others have written to it."""
    for version in range(int(opened.version), 0, -1):
        try:
            made_by = transaction(view, opened, version)
            properties = {} if made_by is None else made_by.transaction_properties or {}
            if _VERSION in properties:
                return Shown(int(properties[_VERSION]), properties[_TRANSACTION])
            if made_by is None or not leaves_rows(view, version, made_by.operation):
                return None
        except TableVersionNotFoundError:  # cleaned up
            return None
    return None


def fitted(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Cast batches to a view's columns, in its order and of its types. Raises InvalidInputError."""
    import pyarrow as pa

    for batch in batches:
        missing = [name for name in schema.names if name not in batch.schema.names]
        if missing:
            raise InvalidInputError(
                f"The view has the column {missing[0]!r}, but the rows have {', '.join(batch.schema.names)}."
            )
        try:
            columns = [batch.column(field.name).cast(field.type) for field in schema]
        except pa.ArrowException as error:
            raise InvalidInputError(f"Rows do not fit the view: {error}.") from error
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


class Refresh:
    """One version of a view in the making."""

    def __init__(
        self, view: JobTable, opened: lance.LanceDataset, target: Shown | None, rows_per_file: int | None
    ) -> None:
        self.view, self.opened = view, opened
        self._mark = ViewMark(job=WriteId.of_job().job, shown=target)
        self._files = {} if rows_per_file is None else {"max_rows_per_file": rows_per_file}

    def plan(self, *, replacing: bool) -> WritePlan:
        """Return how rows for it are written, which the view does not have until the commit."""
        return self._plan(OVERWRITE if replacing else APPEND)

    def _plan(self, kind: str) -> WritePlan:
        return WritePlan(kind, self.view.place, self.opened.schema, int(self.opened.version), self._files)

    def discard(self, fragments: Iterable[FragmentMetadata]) -> None:
        self.view.discard(fragments)

    def replace(self, fragments: Sequence[FragmentMetadata]) -> int:
        """Replace all rows by these."""
        import lance

        operation = lance.LanceOperation.Overwrite(self.opened.schema, list(fragments))
        return self._committed(
            fragments, lambda: committing.commit(self._plan(OVERWRITE), operation, self._mark, strict=True)
        )

    def add(self, fragments: Sequence[FragmentMetadata]) -> int:
        """Add these rows. Without any, commit all the same what the view shows."""
        import lance

        plan = self._plan(APPEND)
        if not fragments:
            return committing.commit(plan, lance.LanceOperation.Append([]), self._mark)
        return self._committed(fragments, lambda: committing.update(plan, (), (), fragments, self._mark, inserts=True))

    def change(self, operation: LanceOperation.Update) -> int:
        """Commit what a merge has made."""
        new = list(operation.new_fragments)
        return self._committed(
            new,
            lambda: committing.update(
                self._plan(APPEND),
                list(operation.removed_fragment_ids),
                list(operation.updated_fragments),
                new,
                self._mark,
                inserts=True,
            ),
        )

    def _committed(self, fragments: Sequence[FragmentMetadata], commit: Any) -> int:
        try:
            version: int = commit()
        except LanceNamespaceError:
            self.discard(fragments)
            raise
        return version
