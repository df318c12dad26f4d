"""Export a Lance table: its schema and the rows of one version become an Iceberg table, compared by checksum."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.iceberg import CommitStateUnknownError
from lanceway.errors import (
    InternalError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.jobs.between.checksums import Checksum, VersionRows, passing, pin
from lanceway.jobs.executor import Stop, Watcher, never_stop, no_progress
from lanceway.jobs.iceberg import catalogs
from lanceway.jobs.iceberg.catalogs import IcebergTableCatalog, RecordedFiles
from lanceway.jobs.iceberg.rows import SnapshotRows
from lanceway.jobs.iceberg.types import TypeMapping
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.tables.iceberg.files import remove_empty_folders, unescaped
from lanceway.tables.storage.store import local_path, open_store

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import CreateTableTransaction, Table

# A data file is made of about so many bytes in memory, which are held until it is written.
_FILE = 128 * 2**20


def export_iceberg(
    catalog: LanceNamespace,
    table: Sequence[str],
    target: Sequence[str],
    *,
    iceberg: LanceNamespace | None = None,
    version: int | None = None,
    properties: Mapping[str, str] | None = None,
    dry_run: bool = False,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Write the latest version of a Lance table of `catalog`, or `version`, as a new Iceberg table.

    The new table is one of the catalog itself, or of the Iceberg catalog `iceberg`. It is not there before all of its
    rows are. What was written is read again and compared by its checksum; a copy that differs is taken back.
    """
    origin, name = Identifier(table), Identifier(target)
    place = catalogs.find(catalog, iceberg)
    rows = pin(catalog, origin, version)
    reader = rows.read()
    types = TypeMapping.of_lance(reader.schema)
    summary = JobSummary("export-iceberg", str(origin), version=rows.version, dry_run=dry_run)
    summary.facts = {"to": str(name)}
    if dry_run:
        _refuse_taken(place, name)
        summary.facts["columns"] = types.columns
        return summary.finish()
    transaction = place.stage(name, types.schema, {**(properties or {}), **types.recorded()})
    export = _Export(place, name, rows, types, transaction, summary, watch, stop)
    return export.run(reader)


def _refuse_taken(place: IcebergTableCatalog, name: Identifier) -> None:
    try:
        place.load(name)
    except TableNotFoundError:
        return
    raise TableAlreadyExistsError(f"{name} cannot be created: an Iceberg table has the name. Choose another one.")


class _Export:
    """One export: files are written, then the table is made with them, then it is read again."""

    def __init__(
        self,
        place: IcebergTableCatalog,
        name: Identifier,
        rows: VersionRows,
        types: TypeMapping,
        transaction: CreateTableTransaction,
        summary: JobSummary,
        watch: Watcher,
        stop: Stop,
    ) -> None:
        self._place, self._name, self._rows, self._types = place, name, rows, types
        self._summary, self._watch, self._stop = summary, watch, stop
        self._transaction = transaction
        staged = transaction._table
        self._uuid = staged.metadata.table_uuid
        self._files = staged.io = RecordedFiles(staged.io)

    def run(self, reader: pa.RecordBatchReader) -> JobSummary:
        read = Checksum()
        self._write(reader, read)
        made = self._commit()
        try:
            there = SnapshotRows.of(self._name, made).checksum(self._stop)
            if (read.rows, read.hex) != (there.rows, there.hex):
                raise InternalError(
                    f"{self._rows.table} was read as {read.rows:,} rows with the checksum {read.hex}, and {self._name} "
                    f"holds {there.rows:,} rows with the checksum {there.hex}. The copy was taken back; run it again."
                )
        except LanceNamespaceError:
            self._take_back(made)
            raise
        self._summary.rows, self._summary.bytes, self._summary.changed = read.rows, read.bytes, True
        self._summary.facts |= {
            "location": made.location(),
            "snapshot": made.metadata.current_snapshot_id,
            "checksum": read.hex,
        }
        return self._summary.finish()

    def _write(self, reader: pa.RecordBatchReader, read: Checksum) -> None:
        """Write the rows to data files, and what lists them. Nothing is left of a failure."""
        done = False
        try:
            with catalogs.translated(f"Writing {self._name}", self._name):
                files = list(self._data_files(reader, read))
                if files:
                    with self._transaction.update_snapshot().fast_append() as snapshot:
                        for file in files:
                            snapshot.append_data_file(file)
            done = True
        finally:
            if not done:
                self._clean()

    def _clean(self) -> None:
        """Delete what was written for a table that is not made, with the local folders that are empty then."""
        self._files.remove_written()
        folder = local_path(unescaped(self._transaction.table_metadata.location))
        if folder is not None:
            with suppress(LanceNamespaceError):
                remove_empty_folders(open_store(str(folder), None))

    def _data_files(self, reader: pa.RecordBatchReader, read: Checksum) -> Iterator[DataFile]:
        from pyiceberg.io.pyarrow import write_file
        from pyiceberg.table import WriteTask

        metadata, write = self._transaction.table_metadata, uuid.uuid4()
        for number, batches in enumerate(_files_of(self._converted(reader, read))):
            task = WriteTask(write, number, metadata.schema(), batches)
            yield from write_file(self._files, metadata, iter([task]))

    def _converted(self, reader: pa.RecordBatchReader, read: Checksum) -> Iterator[pa.RecordBatch]:
        for batch in passing(self._rows.table, reader, self._stop):
            converted = self._types.to_iceberg(batch)
            read.add(converted)
            yield converted
            self._watch(JobProgress(0, None, read.rows))

    def _commit(self) -> Table:
        """Make the table. Where that fails, look before any file is removed: it may have been made all the same."""
        try:
            self._place.commit(self._name, self._transaction)
        except LanceNamespaceError as error:
            made = self._look(error)
            if made is None:
                self._clean()
                raise
            return made
        return self._place.load(self._name)

    def _look(self, error: LanceNamespaceError) -> Table | None:
        """Return the table if it was made after all, None if it was not and never will be."""
        try:
            there = self._place.load(self._name)
        except (TableNotFoundError, NamespaceNotFoundError):
            if not isinstance(error, CommitStateUnknownError):
                return None
        except LanceNamespaceError:
            pass
        else:
            return there if there.metadata.table_uuid == self._uuid else None
        raise CommitStateUnknownError(
            f"{error} The table may be made later, so its files were kept, below "
            f"{self._transaction.table_metadata.location}. Look for {self._name}: if it stays away, remove them."
        ) from error

    def _take_back(self, made: Table) -> None:
        """Drop the table with its files, unless others have changed or replaced it in the meantime."""
        with suppress(LanceNamespaceError):  # the failure before is the one to tell
            now = self._place.load(self._name)
            if now.metadata.table_uuid == self._uuid and now.metadata_location == made.metadata_location:
                self._place.drop(self._name)


def _files_of(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Group batches into those of one file."""
    group: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            group.append(batch)
            size += batch.nbytes
        if size >= _FILE:
            yield group
            group, size = [], 0
    if group:
        yield group
