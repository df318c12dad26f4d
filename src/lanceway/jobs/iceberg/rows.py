"""The rows of an Iceberg table at one snapshot, read as Arrow batches with the types of Iceberg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import InternalError, InvalidInputError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.jobs.between.checksums import Checksum, passing
from lanceway.jobs.executor import Stop
from lanceway.jobs.iceberg.types import TypeMapping

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table


@dataclass(frozen=True)
class SnapshotRows:
    """The rows that a snapshot has, without deleted ones; what is committed later is not seen."""

    name: Identifier
    table: Table
    chosen: int | None  # the snapshot to read; None for the current one, with the current schema
    types: TypeMapping

    @property
    def snapshot(self) -> int | None:
        """Return the snapshot that is read, None for a table that has none yet."""
        return self.table.metadata.current_snapshot_id if self.chosen is None else self.chosen

    @classmethod
    def of(cls, name: Identifier, table: Table, snapshot: int | None = None) -> SnapshotRows:
        """Return the rows of the current snapshot, or of `snapshot`. Raises InvalidInputError if it is not there."""
        if snapshot is not None and table.metadata.snapshot_by_id(snapshot) is None:
            raise InvalidInputError(
                f"{name} has no snapshot {snapshot}; it has {_listed(table)}. Expired ones cannot be read."
            )
        schema = table.schema() if snapshot is None else table.scan(snapshot_id=snapshot).projection()
        return cls(name, table, snapshot, TypeMapping.of_iceberg(schema, table.properties))

    def read(self, stop: Stop) -> Iterator[pa.RecordBatch]:
        """Yield the rows. Raises InternalError where a file cannot be read, or the job is to stop."""
        import pyarrow as pa

        if self.snapshot is None:
            return
        try:
            batches = self.table.scan(snapshot_id=self.chosen).to_arrow_batch_reader()
            for batch in passing(self.name, batches, stop):
                yield self.types.to_iceberg(batch)
        except NotImplementedError as error:  # such as deletes by equality
            raise UnsupportedOperationError(f"{self.name} cannot be read: {error}. Compact it first.") from error
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InternalError(f"A file of {self.name} cannot be read: {' '.join(str(error).split())}.") from error

    def checksum(self, stop: Stop) -> Checksum:
        total = Checksum()
        for batch in self.read(stop):
            total.add(batch)
        return total


def _listed(table: Table) -> str:
    ids = [str(snapshot.snapshot_id) for snapshot in table.metadata.snapshots[-5:]]
    return f"{', '.join(ids)} and older ones" if len(table.metadata.snapshots) > len(ids) else ", ".join(ids) or "none"
