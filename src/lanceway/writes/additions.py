"""The fragments with new rows that each version adds to a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidTableStateError, TableVersionNotFoundError
from lanceway.tables.errors import translated
from lanceway.writes import column_identity

if TYPE_CHECKING:
    import lance

    from lanceway.writes.table_ref import TableRef

# Operations that change or replace rows that were there. All others add rows, remove some, or leave them as they are;
# but one that adds columns may rewrite others as well.
_CHANGES = frozenset({"DataReplacement", "Overwrite", "Restore", "Update"})
_COLUMNS = "Merge"


@dataclass(frozen=True)
class Addition:
    """A fragment that a version adds; `number` counts those of one version."""

    version: int
    number: int
    fragment: int
    rows: int


@dataclass(frozen=True)
class Additions:
    """The additions to one table. All fragments of the version `whole` count as added by it."""

    ref: TableRef
    whole: int | None = None
    skip_changes: bool = False

    def between(self, first: int, last: int) -> Iterator[Addition]:
        """Yield the fragments that the versions from `first` to `last` add.

        Raises TableVersionNotFoundError for one that is gone, and InvalidTableStateError for one that changes rows.
        """
        for version in range(first, last + 1):
            fragments = self._added(version)
            for number, fragment in enumerate(fragments):
                yield Addition(version, number, fragment.id, fragment.num_rows)

    def _added(self, version: int) -> list[Any]:
        try:
            dataset = self.ref.open(version=version)
        except TableVersionNotFoundError as error:
            raise TableVersionNotFoundError(
                f"Version {version} of {self.ref.name} was cleaned up before the stream has read it. Begin a new "
                "stream (with a new checkpoint) at a later version, or with all that is there, and keep versions "
                "longer than a stream may rest."
            ) from error
        fragments = [fragment.metadata for fragment in dataset.get_fragments()]
        if version == self.whole:
            return fragments
        count = self._count(dataset, version, len(fragments))
        # The ids of fragments grow, so what was added last comes last.
        return sorted(fragments, key=lambda fragment: int(fragment.id))[len(fragments) - count :]

    def _count(self, dataset: lance.LanceDataset, version: int, fragments: int) -> int:
        """Return how many of its fragments a version adds."""
        with translated(self.ref.table(), f"Reading the transaction of version {version}"):
            transaction = dataset.read_transaction(version)
        operation: Any = None if transaction is None else transaction.operation
        kind = type(operation).__name__
        if kind == "Append":
            return len(list(operation.fragments))
        if kind == "Overwrite" and transaction and not transaction.read_version:  # the table's creation
            return fragments
        if not self.skip_changes and (kind in _CHANGES or (kind == _COLUMNS and self._rewrites(dataset, version))):
            raise InvalidTableStateError(
                f"Version {version} of {self.ref.name} does not only add rows, it changes some ({kind}); a stream "
                "has the rows that are added. Set skip_changes to true to pass over such versions, or use "
                "lanceway.spark.read_changes."
            )
        return 0

    def _rewrites(self, dataset: lance.LanceDataset, version: int) -> bool:
        """Whether a version changes values of columns that were there; assumed where the version before it is gone."""
        try:
            return column_identity.rewritten(self.ref.open(version=version - 1), dataset)
        except TableVersionNotFoundError:
            return True
