"""The sources of a pipeline: files, tables, streams and others; what is there, what is new, and its rows."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, InvalidTableStateError, LanceNamespaceError, TableVersionNotFoundError
from lanceway.jobs.executor import Stop, never_stop
from lanceway.lake.runs.runs import Run
from lanceway.lake.runs.source_files import File
from lanceway.pipelines import model, outputs
from lanceway.pipelines.file.yaml import problem_at
from lanceway.pipelines.model import FILES, JDBC, PYTHON, STREAM, TABLE, Pipeline, PipelineSource
from lanceway.pipelines.runs import report
from lanceway.pipelines.runs.report import said, user_function
from lanceway.pipelines.runs.store import PipelineLease
from lanceway.pipelines.transforms import functions
from lanceway.spark.errors import hide_traceback
from lanceway.spark.types import arrow_schema, spark_schema, to_spark
from lanceway.spark.write.changes import CHANGE, read_changes
from lanceway.spark.write.rewrite import DELETE
from lanceway.tables.errors import translated
from lanceway.tables.storage.store import local_path
from lanceway.writes import additions
from lanceway.writes.additions import Additions
from lanceway.writes.commit import WriteId, transaction_of

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

    from lanceway.writes.table_ref import TableRef

# Formats of which Spark hands on a row that it cannot read as nulls; the column that has the row's text instead.
_TEXT_FORMATS = ("csv", "json", "xml")
MALFORMED = "_malformed"
# By any of these options a user decides what becomes of such rows; the column is Spark's own, in a schema.
_DECIDING = {"mode", "columnnameofcorruptrecord", "badrecordspath"}
_CORRUPT = "_corrupt_record"
_GLOB = re.compile(r"([\[\]{}*?\\])")


def find_files(patterns: tuple[str, ...], spark: Callable[[], SparkSession]) -> list[File]:
    """Return every file of some paths and globs. Local ones are listed without Spark."""
    files: list[File] = []
    for pattern in patterns:
        path = local_path(pattern)
        # Only Spark has alternatives in braces.
        if path is None or "{" in pattern or "\\" in pattern:
            files += _by_spark(pattern, spark())
        else:
            files += _here(path)
    return sorted(set(files), key=lambda file: file.path)


def _here(path: Path) -> Iterator[File]:
    text = str(path.absolute())
    if not glob.has_magic(text) and not path.exists():
        raise InvalidInputError(f"There is no file or folder {text}.")
    for name in glob.glob(text) if glob.has_magic(text) else [text]:
        for file in _below(Path(name)):
            status = file.stat()
            yield File(str(file), status.st_mtime_ns // 1_000_000, status.st_size)


def _below(path: Path) -> Iterator[Path]:
    """Yield files as Spark lists them: those of a folder and of folders such as day=2026-01-31, without hidden ones."""
    if path.is_file():
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.name.startswith((".", "_")) and (child.is_file() or "=" in child.name):
            yield from _below(child)


def _by_spark(pattern: str, spark: SparkSession) -> Iterator[File]:
    from pyspark.errors import AnalysisException

    try:
        listed = spark.read.format("binaryFile").load(pattern)
    except AnalysisException as error:
        raise InvalidInputError(f"There is no file {pattern}: {error.getMessage()}") from error
    for row in listed.selectExpr("path", "unix_millis(modificationTime) AS modified", "length").collect():
        yield File(row["path"], row["modified"], row["length"])


def keeps_malformed(source: PipelineSource) -> bool:
    """Tell whether rows that cannot be read are kept, with their text in a column of its own.

    They are unless the source has another format, or its options or its schema say what becomes of them.
    """
    format_ = source.where[0] if source.kind == STREAM and source.where else source.format
    if source.kind not in (FILES, STREAM) or (format_ or "").lower() not in _TEXT_FORMATS:
        return False
    return not _DECIDING & {option.lower() for option in source.options} and _CORRUPT not in (source.schema or "")


def with_malformed(schema: str | StructType) -> StructType:
    """Return a schema with the column for the text of rows that cannot be read."""
    from pyspark.sql.types import StringType, StructType

    parsed = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    fields = [field for field in parsed.fields if field.name != _CORRUPT]  # type: ignore[attr-defined]
    return StructType(fields).add(MALFORMED, StringType())


def literal(path: str) -> str:
    """Escape a path, so that Spark does not take it as a glob."""
    return _GLOB.sub(r"\\\1", path)


def base_path(patterns: tuple[str, ...]) -> str | None:
    """Return the folder below which names of folders may be columns, or None."""
    if len(patterns) != 1 or glob.has_magic(patterns[0]):
        return None
    path = local_path(patterns[0])
    if path is None:
        return patterns[0]
    return str(path.absolute()) if path.is_dir() else None


def rows_since(spark: SparkSession, target: TableRef, after: int, version: int) -> DataFrame:
    """Return the rows that were added after a version; if rows were changed too, these as they are in the last version.

    Raise InvalidTableStateError if that is not known, and TableVersionNotFoundError.
    """
    if version < after:
        raise InvalidTableStateError(f"{target.name} has only {version} versions: it was dropped and created again.")
    added = _only_added(target, after, version)
    if added is not None:
        return _fragments(spark, target, version, added)
    changes = read_changes(spark, target, after, version)
    return changes.where(changes[CHANGE] != DELETE).drop(CHANGE)


def _only_added(target: TableRef, after: int, version: int) -> list[tuple[int, int]] | None:
    """Return the added fragments with the versions that added them; None if rows may have been changed as well."""
    try:
        added = [(addition.version, addition.fragment) for addition in Additions(target).between(after + 1, version)]
    except InvalidTableStateError:
        return None
    # A column that was dropped, and added by another version, is new to each version by itself.
    return None if additions.recreated(_first(target, after), target.open(version=version)) else added


def _first(target: TableRef, after: int) -> lance.LanceDataset:
    """Open the version after which rows are new, or the next one if that was cleaned up."""
    try:
        return target.open(version=after)
    except TableVersionNotFoundError:
        return target.open(version=after + 1)


def _fragments(spark: SparkSession, target: TableRef, version: int, added: list[tuple[int, int]]) -> DataFrame:
    """Return the rows of fragments, each as of the version that added it."""
    schema = spark_schema(target.open(version=version).schema)
    shares = spark.createDataFrame([(json.dumps(pair),) for pair in added], "fragment string")
    shares = shares.repartition(max(1, min(len(added), 64)))
    return shares.mapInArrow(partial(_read, target, schema), schema)


def _read(target: TableRef, schema: StructType, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    arrow = arrow_schema(schema)
    with hide_traceback():
        for version, fragment in (json.loads(text) for batch in batches for text in batch.column(0).to_pylist()):
            dataset = target.open(version=version)
            data = dataset.get_fragment(fragment)
            assert data is not None, "a version keeps its fragments"
            names = [name for name in schema.names if name in dataset.schema.names]
            with translated(target.table(), "Reading what was added"):
                for batch in data.scanner(columns=names, blob_handling="all_binary").to_batches():
                    # A column that the table has got since is null.
                    columns = [
                        batch.column(name) if name in names else pa.nulls(batch.num_rows) for name in schema.names
                    ]
                    yield to_spark(pa.RecordBatch.from_arrays(columns, schema.names), arrow)


# Beside what tasks note of their writes, and gone with the table's folder as well.
_FOLDER = ".lanceway/streams"
_LOOK = 0.2  # seconds between two looks whether to stop


def take_over(
    spark: SparkSession, pipeline: Pipeline, source: PipelineSource, config: str | Path | None, stop: Stop, *, run: str
) -> None:
    """Copy all that a stream has by now into its table, which is created if needed.

    When asked to stop, it ends with the batch that is under way; the next run goes on from there. Raise
    InvalidInputError if Spark has no place for its checkpoint; errors of Spark pass through.
    """
    target = model.find(source.table, config)
    version = outputs.version_of(target)
    frame = _frame(spark, source, keep=not version or MALFORMED in target.open().schema.names)
    if not version:
        _make(spark, frame, target, job=f"{run}/{source.name}")
    writer = frame.writeStream.format("lance").options(**target.to_options()).outputMode("append")
    writer = writer.option("checkpointLocation", _checkpoint(pipeline, source, target))
    query = writer.trigger(availableNow=True).start()
    try:
        while not query.awaitTermination(_LOOK):  # type: ignore[arg-type]
            if stop():
                break
    finally:
        query.stop()


def _frame(spark: SparkSession, source: PipelineSource, *, keep: bool) -> DataFrame:
    """Return the rows of a stream. Those that cannot be read are kept, or fail if its table has no column for them."""
    reader = spark.readStream.format(source.where[0]).options(**source.options)
    if not source.schema:
        return reader.load()
    if not keeps_malformed(source):
        return reader.schema(source.schema).load()
    frame = reader.schema(with_malformed(source.schema)).option("columnNameOfCorruptRecord", MALFORMED).load()
    return frame if keep else _only_readable(source, frame)


def _only_readable(source: PipelineSource, frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    text = (
        f"A row of the source {source.name!r} cannot be read by its schema, and its table {source.table} has no column "
        f"{MALFORMED} to keep it in. Add that column (STRING), or say with the option mode what becomes of such rows: "
    )
    refused = f.raise_error(f.concat(f.lit(text), f.substring(MALFORMED, 1, 300))).cast("boolean")
    return frame.where(f.when(f.col(MALFORMED).isNull(), f.lit(True)).otherwise(refused)).drop(MALFORMED)


def _make(spark: SparkSession, frame: DataFrame, target: TableRef, *, job: str) -> None:
    """Create the table without rows, so that it has a location before anything has arrived."""
    with outputs.NamespaceScope() as namespaces, namespaces.above(target):
        nothing = spark.createDataFrame([], frame.schema)
        outputs.write_in_two_phases(spark, nothing, target, {}, unique=(), overwrite=False, job=WriteId(job=job))


def _checkpoint(pipeline: Pipeline, source: PipelineSource, target: TableRef) -> str:
    if source.checkpoint is not None:
        return str(local_path(source.checkpoint) or source.checkpoint)
    folder = local_path(target.table().location)
    if folder is None:
        raise InvalidInputError(
            f"{source.table} is stored where Spark may not be able to write. Give checkpoint: a folder in which Spark "
            "can note how far it has read."
        )
    return str(folder / _FOLDER / pipeline.name / source.name)


# As of what a source is read: a table's version, the number of the run for files, 0 for all that has none.
SourceVersions = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Sources:
    """The sources of a pipeline in one run."""

    pipeline: Pipeline
    lease: PipelineLease
    run: Run
    spark: Callable[[], SparkSession]
    config: str | Path | None = None
    stop: Stop = never_stop

    # -- before anything is read -----------------------------------------------------------------

    def pin(self, number: int) -> tuple[SourceVersions, Mapping[str, Sequence[File]]]:
        """Return the present version of each source, and the files to record with it."""
        files = {source.name: find_files(source.where, self.spark) for source in self._of(FILES)}
        versions: dict[str, dict[str, Any]] = {name: {"version": number} for name in files}
        for source in self._of(TABLE):
            versions[source.name] = self._table(source)
        for source in self._of(STREAM):  # last: nothing is taken over if another source cannot be read
            self._take_over(source)
            versions[source.name] = self._table(source)
        return {name: versions.get(name, {"version": 0}) for name in self.pipeline.sources}, files

    def _of(self, kind: str) -> Iterator[PipelineSource]:
        return (source for source in self.pipeline.sources.values() if source.kind == kind)

    def _table(self, source: PipelineSource) -> dict[str, Any]:
        try:
            target = model.find(source.table, self.config)
            opened, table = target.open(), target.table()
            made_by = transaction_of(table, opened, int(opened.version))
            return {
                "version": int(opened.version),
                "location": table.location,
                "table_name": source.table,
                # By it, a table that was dropped and created again is told from this one.
                "transaction": "" if made_by is None else str(made_by.uuid),
            }
        except LanceNamespaceError as error:
            raise problem_at(
                self.pipeline.file, source.line, f"The source {source.name!r} cannot be read: {error}"
            ) from error

    def _take_over(self, source: PipelineSource) -> None:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import AnalysisException, ParseException, PySparkException

        spark = self.spark()
        try:
            take_over(spark, self.pipeline, source, self.config, self.stop, run=self.run.key)
        except (AnalysisException, ParseException, Py4JJavaError) as error:
            raise problem_at(self.pipeline.file, source.line, f"The source {source.name!r}: {said(error)}") from error
        except PySparkException as error:
            raise problem_at(self.pipeline.file, source.line, str(report.translated(source.name, error))) from error
        except LanceNamespaceError as error:
            raise problem_at(
                self.pipeline.file, source.line, f"The source {source.name!r} cannot be read: {error}"
            ) from error

    def has_news(self, source: PipelineSource, after: int, version: int) -> bool:
        """Tell whether a source has changed after a version."""
        if source.kind == FILES:
            return self.lease.run_store.has_changed(self.run, source.name, after=after, until=version)
        return not source.has_versions or version != after

    # -- rows ------------------------------------------------------------------------------------

    def rows(self, source: PipelineSource, after: int, version: int) -> DataFrame:
        """Return the rows that came after `after`, up to `version`; 0 means all.

        Raise InvalidPipelineError with the source's line if they cannot be read.
        """
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import AnalysisException, ParseException

        try:
            return self._rows(source, after, version)
        except (AnalysisException, ParseException, Py4JJavaError) as error:  # the last for a format that is not there
            raise problem_at(self.pipeline.file, source.line, f"The source {source.name!r}: {said(error)}") from error

    def _rows(self, source: PipelineSource, after: int, version: int) -> DataFrame:
        if source.kind == FILES:
            return self._files(source, after, version)
        if source.kind in (TABLE, STREAM):
            return self._added(source, after, version)
        if source.kind == PYTHON:
            function = functions.find(source.where[0])
            with user_function(source.name, source.where[0]), functions.travelling(function, self.pipeline.folder):
                return function(self.spark(), **source.arguments)  # type: ignore[no-any-return]
        reader = self._reader(source).format("jdbc" if source.kind == JDBC else str(source.format))
        return (reader.option("url", source.where[0]) if source.kind == JDBC else reader).load()

    def _reader(self, source: PipelineSource) -> DataFrameReader:
        reader = self.spark().read.options(**source.options)
        return reader.schema(source.schema) if source.schema else reader

    def _files(self, source: PipelineSource, after: int, version: int) -> DataFrame:
        new, every = self._listed(source, after, version), self._listed(source, 0, version)
        if new:
            return self._read_files(source, new)
        if source.schema:
            schema = with_malformed(source.schema) if keeps_malformed(source) else source.schema
            return self.spark().createDataFrame([], schema)
        if not every:
            raise problem_at(
                self.pipeline.file,
                source.line,
                f"The source {source.name!r} has no files yet. Give it a schema, and it may be empty.",
            )
        return self._read_files(source, every[:1]).limit(0)

    def _read_files(self, source: PipelineSource, files: Sequence[File]) -> DataFrame:
        paths, base = [literal(file.path) for file in files], base_path(source.where)
        reader = self._reader(source).format(str(source.format))
        reader = reader.option("basePath", base) if base else reader
        if not keeps_malformed(source):
            return reader.load(paths)
        schema = with_malformed(source.schema or reader.load(paths).schema)
        return reader.schema(schema).option("columnNameOfCorruptRecord", MALFORMED).load(paths)

    def _listed(self, source: PipelineSource, after: int, version: int) -> list[File]:
        return list(self.lease.run_store.files(self.run, source.name, after=after, until=version))

    def _added(self, source: PipelineSource, after: int, version: int) -> DataFrame:
        target = model.find(source.table, self.config)
        own_options = {} if source.kind == STREAM else source.options
        options = {**target.to_options(), **own_options, "version": str(version)}
        if after == 0:
            return self.spark().read.format("lance").options(**options).load()
        if after == version:
            return self.spark().read.format("lance").options(**options).load().limit(0)
        try:
            return rows_since(self.spark(), target, after, version)
        except (InvalidTableStateError, TableVersionNotFoundError) as error:
            raise problem_at(
                self.pipeline.file,
                source.line,
                f"What is new in {source.table} since its version {after} is not known: {error} Run the pipeline "
                "with --full, or set incremental to false.",
            ) from error
