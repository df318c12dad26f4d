"""List, open and write Parquet files in a folder or below a prefix of a bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.tables.storage.store import Object, Store, local_path, open_store

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

ENDINGS = (".parquet", ".pq")
# A file is closed once it has so many bytes: it is in memory until then.
_LARGEST = 128 * 2**20


@dataclass(frozen=True)
class Files:
    """A folder of Parquet files, or a single file. Picklable: each worker opens it again."""

    location: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets

    @classmethod
    def at(cls, location: str, storage_options: Mapping[str, str] | None = None) -> Files:
        local = local_path(location)  # a relative path is relative to this process, and to no worker
        return cls(location.rstrip("/") if local is None else str(local), storage_options)

    def store(self) -> Store:
        return open_store(self.location, self.storage_options)

    def every(self) -> list[Object]:
        """Return the files in the order of their names, but for hidden ones, which begin with an underscore or a dot.

        Raises InvalidInputError where there is no file.
        """
        if self.location.lower().endswith(ENDINGS):
            parent, _, name = self.location.rpartition("/")
            single = open_store(parent or "/", self.storage_options).head(name)
            if single is not None:
                return [single]
        below = [file for file in self.store().objects() if _is_data(file.key)]
        if not below:
            raise InvalidInputError(
                f"There is no Parquet file at {self.location}. Name a file, or a folder of files that end in "
                f"{' or '.join(ENDINGS)}."
            )
        return sorted(below, key=lambda file: file.key)

    def _of(self, key: str) -> tuple[str, str]:
        """Return a file's folder, and its key there."""
        parent, _, name = self.location.rpartition("/")
        alone = name == key and self.location.lower().endswith(ENDINGS)
        return (parent or "/", name) if alone else (self.location, key)

    def open(self, key: str) -> ParquetFile:
        """Open one file. A local one is read as it is needed, another one at once."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        folder, name = self._of(key)
        local = local_path(folder)
        try:
            if local is not None:
                return ParquetFile(local / name)
            data = open_store(folder, self.storage_options).read(name)
            if data is None:
                raise InvalidInputError(f"{folder}/{name} is gone.")
            return ParquetFile(pa.BufferReader(data))
        except (pa.ArrowException, OSError) as error:
            raise InvalidInputError(f"{folder}/{name} cannot be read as Parquet: {error}.") from error

    def rows(self, files: Iterable[Object]) -> int:
        """Count the rows of local files. Others would have to be read to their end, so the count is 0."""
        if local_path(self.location) is None:
            return 0
        return sum(int(self.open(file.key).metadata.num_rows) for file in files)

    def batches(self, opened: ParquetFile, key: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, in the schema that `plain` makes of its own."""
        import pyarrow as pa

        try:
            for batch in opened.iter_batches():
                yield batch.cast(plain(batch.schema))
        except (pa.ArrowException, OSError) as error:
            raise InvalidInputError(f"{key} of {self.location} cannot be read to its end: {error}.") from error

    def write(
        self, name: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch], largest: int = _LARGEST
    ) -> list[dict[str, Any]]:
        """Write rows to files `name-0.parquet` and so on, each whole or not at all, and return what is in each."""
        import pyarrow as pa

        written: list[dict[str, Any]] = []
        begin = partial(_Sheet, schema)
        sheet = begin()
        try:
            for batch in batches:
                sheet.writer.write_batch(batch)
                sheet.rows += batch.num_rows
                if sheet.sink.tell() >= largest:
                    written.append(self._put(f"{name}-{len(written)}{ENDINGS[0]}", sheet))
                    sheet = begin()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidInputError(f"Parquet cannot hold these rows: {error}. Leave columns out.") from error
        if sheet.rows or not written:
            written.append(self._put(f"{name}-{len(written)}{ENDINGS[0]}", sheet))
        return written

    def _put(self, key: str, sheet: _Sheet) -> dict[str, Any]:
        sheet.writer.close()
        data = sheet.sink.getvalue().to_pybytes()
        self.store().put(key, data)
        return {"key": key, "rows": sheet.rows, "bytes": len(data)}


class _Sheet:
    """A file that is being written, in memory."""

    def __init__(self, schema: pa.Schema) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        self.rows = 0
        self.sink = pa.BufferOutputStream()
        self.writer = ParquetWriter(self.sink, schema, compression="zstd")


def _is_data(key: str) -> bool:
    hidden = any(name.startswith(("_", ".")) for name in key.split("/"))
    return not hidden and key.lower().endswith(ENDINGS)


def plain(schema: pa.Schema) -> pa.Schema:
    """Return the schema with values instead of dictionaries, of which each batch may bring another."""
    import pyarrow as pa

    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    ]
    return pa.schema(fields, schema.metadata)
