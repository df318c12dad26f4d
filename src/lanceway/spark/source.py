"""`format("lance")`: the data source that Spark finds by itself, in the module `pyspark_lanceway`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import lance
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter, DataSourceWriter
    from pyspark.sql.types import StructType

    from lanceway.spark.read.reader import LanceReader
    from lanceway.writes.options import ReadOptions
    from lanceway.writes.table_ref import TableRef

# Spark imports this module in every process that looks for any data source at all: heavy modules are imported late.

# Says that a scan with filters is not shared with other scans. Our class in the JVM alone sets it (DefaultSource.java).
_SCANS_APART = "scans_apart"


class DefaultSource(DataSource):
    """A Lance table by its path, or by its identifier in a catalog; `lanceway.writes.options` lists the options."""

    _pinned: ReadOptions | None = None

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__({key: value for key, value in options.items() if key.lower() != _SCANS_APART})
        self._takes_filters = len(self.options) < len(options)

    @classmethod
    def name(cls) -> str:
        return "lance"

    def schema(self) -> StructType:
        from lanceway.spark.errors import hide_traceback
        from lanceway.spark.read.reader import pin, schema_of
        from lanceway.spark.types import spark_schema
        from lanceway.writes.options import ReadOptions
        from lanceway.writes.table_ref import TableRef

        with hide_traceback():
            ref = TableRef.of(self.options)
            # A data frame stays at the version that it began with, however often it is computed.
            self._pinned, dataset = pin(ref, ReadOptions.of(self.options))
            return spark_schema(schema_of(ref, self._pinned, dataset))

    def reader(
        self,
        schema: StructType,
        find_snapshot: Callable[[TableRef, int], lance.LanceDataset | None] = lambda _ref, _version: None,
    ) -> LanceReader:
        """Return a reader. Spark gives the schema alone; a scan that is planned in the driver may have a snapshot."""
        from lanceway.spark.errors import hide_traceback
        from lanceway.spark.read.reader import LanceReader
        from lanceway.spark.write.rewrite import Replaced, ReplacingReader
        from lanceway.writes.options import ReadOptions
        from lanceway.writes.table_ref import TableRef

        with hide_traceback():
            replaced, options = Replaced.taken_from(self.options)
            ref = TableRef.of(options)
            read = self._pinned or ReadOptions.of(options)
            snapshot = None
            if read.version is not None and read.branch is None:
                snapshot = find_snapshot(ref, read.version)
            if replaced:
                return ReplacingReader(ref, read, schema, replaced, snapshot)
            return LanceReader(ref, read, schema, takes_filters=self._takes_filters, snapshot=snapshot)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from lanceway.spark.write.rewrite import Replaced, ReplacingWriter
        from lanceway.spark.write.writer import BatchWriter

        replaced, options = Replaced.taken_from(self.options)
        return (
            ReplacingWriter(options, schema, replaced)
            if replaced
            else BatchWriter(options, schema, overwrite=overwrite)
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from lanceway.spark.read.stream import StreamReader

        return StreamReader(dict(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from lanceway.spark.write.writer import StreamWriter

        return StreamWriter(dict(self.options), schema, overwrite=overwrite)
