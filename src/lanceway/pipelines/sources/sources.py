"""Sources: what there is of each when a run begins, and the rows that an output has not had yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidTableStateError, LanceNamespaceError, TableVersionNotFoundError
from lanceway.jobs.running import Stop, never
from lanceway.lake.runs.runs import Run
from lanceway.lake.runs.source_files import File
from lanceway.pipelines import targets
from lanceway.pipelines.file.problems import at
from lanceway.pipelines.model import FILES, JDBC, PYTHON, STREAM, TABLE, Pipeline, Source
from lanceway.pipelines.runs import failures
from lanceway.pipelines.runs.failures import Named, said
from lanceway.pipelines.runs.store import Held
from lanceway.pipelines.sources import files, incremental, streams
from lanceway.pipelines.transforms import functions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

# As of what a source is read: a table's version, the number of the run for files, 0 for all that has none.
Pins = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Sources:
    """The sources of a pipeline in one run."""

    pipeline: Pipeline
    held: Held
    run: Run
    spark: Callable[[], SparkSession]
    config: str | Path | None = None
    stop: Stop = never

    # -- before anything is read -----------------------------------------------------------------

    def pin(self, number: int) -> tuple[Pins, Mapping[str, Sequence[File]]]:
        """What there is of each source now, and the files that are to be recorded together with that."""
        found = {source.name: files.found(source.where, self.spark) for source in self._of(FILES)}
        pins: dict[str, dict[str, Any]] = {name: {"version": number} for name in found}
        for source in self._of(TABLE):
            pins[source.name] = self._table(source)
        for source in self._of(STREAM):  # last: nothing is taken over if another source cannot be read
            self._take_over(source)
            pins[source.name] = self._table(source)
        return {name: pins.get(name, {"version": 0}) for name in self.pipeline.sources}, found

    def _of(self, kind: str) -> Iterator[Source]:
        return (source for source in self.pipeline.sources.values() if source.kind == kind)

    def _table(self, source: Source) -> dict[str, Any]:
        try:
            target = targets.find(source.table, self.config)
            return {
                "version": int(target.open().version),
                "location": target.table().location,
                "table_name": source.table,
            }
        except LanceNamespaceError as error:
            raise at(self.pipeline.file, source.line, f"The source {source.name!r} cannot be read: {error}") from error

    def _take_over(self, source: Source) -> None:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import AnalysisException, ParseException, PySparkException

        spark = self.spark()
        try:
            streams.take_over(spark, self.pipeline, source, self.config, self.stop, run=self.run.key)
        except (AnalysisException, ParseException, Py4JJavaError) as error:
            raise at(self.pipeline.file, source.line, f"The source {source.name!r}: {said(error)}") from error
        except PySparkException as error:
            raise at(self.pipeline.file, source.line, str(failures.translated(source.name, error))) from error
        except LanceNamespaceError as error:
            raise at(self.pipeline.file, source.line, f"The source {source.name!r} cannot be read: {error}") from error

    def has_news(self, source: Source, after: int, version: int) -> bool:
        """Whether there is more of it, or other, than there was."""
        if source.kind == FILES:
            return self.held.ledger.has_changed(self.run, source.name, after=after, until=version)
        return not source.has_versions or version != after

    # -- rows ------------------------------------------------------------------------------------

    def rows(self, source: Source, after: int, version: int) -> DataFrame:
        """What came after `after`, up to `version`; 0 means all. Raises InvalidPipelineError with the source's line."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import AnalysisException, ParseException

        try:
            return self._rows(source, after, version)
        except (AnalysisException, ParseException, Py4JJavaError) as error:  # the last for a format that is not there
            raise at(self.pipeline.file, source.line, f"The source {source.name!r}: {said(error)}") from error

    def _rows(self, source: Source, after: int, version: int) -> DataFrame:
        if source.kind == FILES:
            return self._files(source, after, version)
        if source.kind in (TABLE, STREAM):
            return self._added(source, after, version)
        if source.kind == PYTHON:
            function = functions.find(source.where[0])
            with Named(source.name, source.where[0]), functions.travelling(function, self.pipeline.folder):
                return function(self.spark(), **source.arguments)  # type: ignore[no-any-return]
        reader = self._reader(source).format("jdbc" if source.kind == JDBC else str(source.format))
        return (reader.option("url", source.where[0]) if source.kind == JDBC else reader).load()

    def _reader(self, source: Source) -> DataFrameReader:
        reader = self.spark().read.options(**source.options)
        return reader.schema(source.schema) if source.schema else reader

    def _files(self, source: Source, after: int, version: int) -> DataFrame:
        new, every = self._listed(source, after, version), self._listed(source, 0, version)
        reader = self._reader(source).format(str(source.format))
        base = files.base(source.where)
        reader = reader.option("basePath", base) if base else reader
        if new:
            return reader.load([files.literal(file.path) for file in new])
        if source.schema:
            return self.spark().createDataFrame([], source.schema)
        if not every:
            raise at(
                self.pipeline.file,
                source.line,
                f"The source {source.name!r} has no files yet. Give it a schema, and it may be empty.",
            )
        return reader.load([files.literal(every[0].path)]).limit(0)

    def _listed(self, source: Source, after: int, version: int) -> list[File]:
        return list(self.held.ledger.files(self.run, source.name, after=after, until=version))

    def _added(self, source: Source, after: int, version: int) -> DataFrame:
        target = targets.find(source.table, self.config)
        given = {} if source.kind == STREAM else source.options
        options = {**target.to_options(), **given, "version": str(version)}
        if after == 0:
            return self.spark().read.format("lance").options(**options).load()
        if after == version:
            return self.spark().read.format("lance").options(**options).load().limit(0)
        try:
            return incremental.rows(self.spark(), target, after, version)
        except (InvalidTableStateError, TableVersionNotFoundError) as error:
            raise at(
                self.pipeline.file,
                source.line,
                f"What is new in {source.table} since its version {after} cannot be told: {error} Run the pipeline "
                "with --full, or set incremental to false.",
            ) from error
