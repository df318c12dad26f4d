"""`format("lance")`: the data source that Spark finds by itself, in the module `pyspark_lanceway`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter, DataSourceWriter
    from pyspark.sql.types import StructType

    from lanceway.spark.read.reader import LanceReader
    from lanceway.writes.options import ReadOptions

# Spark imports this module in every process that looks for any data source at all: what is heavy waits.

# Says that scans with filters share nothing with others. Our class in the JVM alone sets it (DefaultSource.java).
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
        from lanceway.spark.errors import plainly
        from lanceway.spark.read import reader as snapshot
        from lanceway.spark.types import spark_schema
        from lanceway.writes.options import ReadOptions
        from lanceway.writes.table_ref import TableRef

        with plainly():
            target = TableRef.of(self.options)
            # A data frame stays at the version that it began with, however often it is computed.
            self._pinned, dataset = snapshot.pin(target, ReadOptions.of(self.options))
            return spark_schema(snapshot.schema_of(target, self._pinned, dataset))

    def reader(self, schema: StructType) -> LanceReader:
        from lanceway.spark.errors import plainly
        from lanceway.spark.read.reader import LanceReader
        from lanceway.spark.write.rewrite import Replaced, ReplacingReader
        from lanceway.writes.options import ReadOptions
        from lanceway.writes.table_ref import TableRef

        with plainly():
            replaced, options = Replaced.taken_from(self.options)
            target, read = TableRef.of(options), self._pinned or ReadOptions.of(options)
            if replaced:
                return ReplacingReader(target, read, schema, replaced)
            return LanceReader(target, read, schema, takes_filters=self._takes_filters)

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
        from lanceway.spark.write.stream import StreamWriter

        return StreamWriter(dict(self.options), schema, overwrite=overwrite)
