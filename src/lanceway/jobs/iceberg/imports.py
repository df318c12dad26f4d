"""Import an Iceberg table: its schema and the rows of one snapshot become a Lance table, compared by checksum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_namespace import (
    CreateTableRequest,
    DropTableRequest,
    LanceNamespace,
    RestoreTableRequest,
)

from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError, TableAlreadyExistsError
from lanceway.identifiers import Identifier
from lanceway.jobs.between.checksums import Checksum, VersionRows, passing, pin
from lanceway.jobs.between.register import find as find_table
from lanceway.jobs.executor import Stop, Watcher, never_stop, no_progress
from lanceway.jobs.iceberg import catalogs
from lanceway.jobs.iceberg.rows import SnapshotRows
from lanceway.jobs.iceberg.types import TypeMapping
from lanceway.jobs.report import JobProgress, JobSummary

if TYPE_CHECKING:
    import pyarrow as pa

CREATE, OVERWRITE = "create", "overwrite"
MODES = (CREATE, OVERWRITE)


def import_iceberg(
    catalog: LanceNamespace,
    source: Sequence[str],
    table: Sequence[str],
    *,
    iceberg: LanceNamespace | None = None,
    snapshot: int | None = None,
    mode: str = CREATE,
    dry_run: bool = False,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Write the rows of an Iceberg table to a new Lance table of `catalog`, or over one that is there.

    The Iceberg table is one of the catalog itself, or of the Iceberg catalog `iceberg`, and stays as it is. Rows are
    those of its current snapshot, or of `snapshot`, without deleted ones. What was written is read again and compared
    by its checksum; a copy that differs is taken back.
    """
    if mode not in MODES:
        raise InvalidInputError(f"mode is {mode!r}, but must be one of {', '.join(MODES)}.")
    origin, target = Identifier(source), Identifier(table)
    place = catalogs.find(catalog, iceberg)
    rows = SnapshotRows.of(origin, place.load(origin), snapshot)
    summary = JobSummary("import-iceberg", str(target), dry_run=dry_run)
    summary.facts = {"source": str(origin), "snapshot": rows.snapshot, "mode": mode}
    there = find_table(catalog, target, check_declared=True)
    if there is not None and mode == CREATE:
        raise TableAlreadyExistsError(f"{target} cannot be created: it already exists. Overwrite it, or rename it.")
    if dry_run:
        summary.facts["columns"] = rows.types.columns
        return summary.finish()
    # A table that another makes from now on is not meant: it is a conflict, and not overwritten.
    return _Import(catalog, rows, target, CREATE if there is None else mode, summary, watch, stop).run()


@dataclass
class _Import:
    catalog: LanceNamespace
    rows: SnapshotRows
    target: Identifier
    mode: str
    summary: JobSummary
    watch: Watcher
    stop: Stop

    def run(self) -> JobSummary:
        import pyarrow as pa

        read = Checksum()
        reader = pa.RecordBatchReader.from_batches(self.rows.types.lance, self._batches(read))
        request = CreateTableRequest(id=list(self.target), mode=self.mode)
        response = carry_out(self.catalog, "create_table_stream", request, reader)
        try:
            written = pin(self.catalog, self.target, response.version)
            there = lance_checksum(written, self.rows.types, self.stop)
            if (read.rows, read.hex) != (there.rows, there.hex):
                raise InternalError(
                    f"{self.rows.name} was read as {read.rows:,} rows with the checksum {read.hex}, and {self.target} "
                    f"holds {there.rows:,} rows with the checksum {there.hex}. The copy was taken back; run it again."
                )
        except LanceNamespaceError:
            self._take_back(response.version)
            raise
        self.summary.version, self.summary.changed = written.version, True
        self.summary.rows, self.summary.bytes = read.rows, read.bytes
        self.summary.facts["checksum"] = read.hex
        return self.summary.finish()

    def _batches(self, read: Checksum) -> Iterator[pa.RecordBatch]:
        for batch in self.rows.read(self.stop):
            read.add(batch)
            yield from self.rows.types.to_lance(batch)
            self.watch(JobProgress(0, None, read.rows))

    def _take_back(self, written: int | None) -> None:
        """Undo the version that was written, unless others have changed the table since."""
        with suppress(LanceNamespaceError):  # the failure before is the one to tell
            latest = pin(self.catalog, self.target).version
            if written not in (None, latest):
                return
            if self.mode == CREATE or latest == 1:
                self.catalog.drop_table(DropTableRequest(id=list(self.target)))
            else:
                # The one before is what was written over, whoever wrote it.
                self.catalog.restore_table(RestoreTableRequest(id=list(self.target), version=latest - 1))


def lance_checksum(rows: VersionRows, types: TypeMapping, stop: Stop) -> Checksum:
    """Return the checksum of a version of a Lance table, by the values that its rows have in Iceberg."""
    total = Checksum()
    for batch in passing(rows.table, rows.read(), stop):
        total.add(types.to_iceberg(batch))
    return total
