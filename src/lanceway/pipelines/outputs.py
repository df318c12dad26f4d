"""Write the table of an output: rows fitted to its schema, staged, checked for unique keys, and committed at once.

Keys are read back from the staged files, which is far cheaper than sorting whole rows by them before writing. Several
tables of one run become visible at once where that is asked for: their versions are claimed in one transaction.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lance_namespace import (
    BatchCommitTablesRequest,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    LanceNamespace,
)
from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation
from lance_namespace_urllib3_client.models.table_version import TableVersion

from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import InvalidInputError, LanceNamespaceError, NamespaceNotFoundError
from lanceway.identifiers import Identifier
from lanceway.jobs.between.register import Registrar
from lanceway.pipelines.file.yaml import problem_at
from lanceway.pipelines.model import MERGE, OVERWRITE, PipelineOutput
from lanceway.pipelines.runs.report import said
from lanceway.spark.errors import hide_traceback
from lanceway.spark.types import arrow_schema, rows_schema, spark_schema, to_spark
from lanceway.spark.write.merge import merge
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.tables.schema.fields import quoted
from lanceway.writes import commit, plan, stage
from lanceway.writes import plan as planning
from lanceway.writes.commit import WriteId
from lanceway.writes.plan import WritePlan
from lanceway.writes.table_ref import TableRef

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import BaseModel
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# The deferred catalogs of this process, by the keys of their runs.
_DEFERRED: dict[str, DeferredCatalog] = {}


class DeferredCatalog(Wrapper):
    """A catalog that collects new versions instead of committing them; to a writer it looks as if it had committed."""

    def __init__(self, inner: LanceNamespace) -> None:
        super().__init__(inner)
        self.waiting: list[CreateTableVersionRequest] = []
        self._lock = threading.Lock()

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        if not isinstance(request, CreateTableVersionRequest):
            return super()._forward(operation, request, *data)
        with self._lock:
            self.waiting.append(request)
        version = TableVersion(
            version=request.version,
            manifest_path=request.manifest_path,
            manifest_size=request.manifest_size,
            e_tag=request.e_tag,
        )
        return CreateTableVersionResponse(version=version)

    def commit(self) -> None:
        """Make all versions visible, or none. Raise ConcurrentModificationError if another writer has changed a
        table.
        """
        if self.waiting:
            operations = [CommitTableOperation(create_table_version=request) for request in self.waiting]
            self._inner.batch_commit_tables(BatchCommitTablesRequest(operations=operations))


@dataclass(frozen=True)
class DeferredTable(TableRef):
    """A table whose new versions are deferred, in the process that collects them."""

    key: str = ""

    def catalog(self) -> LanceNamespace:
        return _DEFERRED.get(self.key) or super().catalog()

    def to_options(self) -> dict[str, str]:
        return _plain(self).to_options()


def _plain(target: TableRef) -> TableRef:
    return TableRef(target.type, target.settings, target.id, target.path, target.storage_options)


@contextmanager
def deferred_commit(targets: list[TableRef], key: str) -> Iterator[DeferredCatalog]:
    """Collect the new versions of the tables of one run, until `commit` is called.

    Raise InvalidInputError if they are not of one catalog, and UnsupportedOperationError if it has no transactions over
    several tables.
    """
    first = targets[0]
    for target in targets:
        if target.type is None or (target.type, dict(target.settings)) != (first.type, dict(first.settings)):
            raise InvalidInputError(
                f"{first.name} and {target.name} cannot become visible together: they are not of one catalog."
            )
    if len({target.id for target in targets}) < len(targets):
        raise InvalidInputError("Tables become visible together once each: two outputs have the same table.")
    catalog = first.catalog()
    catalog.batch_commit_tables(BatchCommitTablesRequest(operations=[]))  # one that cannot says so
    deferred_catalog = _DEFERRED[key] = DeferredCatalog(catalog)
    try:
        yield deferred_catalog
    finally:
        del _DEFERRED[key]


def deferred(target: TableRef, key: str) -> DeferredTable:
    """Return the table as the run with this key writes it, while its versions are collected."""
    return DeferredTable(target.type, target.settings, target.id, target.path, target.storage_options, key)


def require_managed(target: TableRef, *, managed: bool) -> None:
    if not managed:
        raise InvalidInputError(
            f"{target.name} keeps its versions in storage alone, and cannot become visible together with others. Make "
            "it managed first, or leave together out."
        )


_BATCH = 65_536  # rows
_TASKS = 64
# So many are compared in the driver, before a job of Spark's would have begun.
_FEW = 1_000_000
_SHOWN = 300  # characters of a row in a message


def require_unique(spark: SparkSession, plan: WritePlan, fragments: Sequence[str], keys: Sequence[str]) -> None:
    """Raise InvalidInputError if two rows have the same keys. Keys that contain a null match no others."""
    import pyarrow as pa

    schema = pa.schema([plan.schema.field(key) for key in keys])
    rows = sum(fragment.physical_rows for fragment in stage.from_json(fragments))
    few = rows <= _FEW and not any(pa.types.is_nested(field.type) for field in schema)
    files = stage.files(fragments)
    twice = _twice_here(plan, files, schema) if few else _twice_by_spark(spark, plan, files, schema)
    if twice is not None:
        same = ", ".join(f"{name} = {value}" for name, value in twice.items())
        raise InvalidInputError(
            f"{plan.destination.ref.name} was not written: several rows have the same keys ({same}). Leave all but "
            "one out in a transform, or give keys that tell rows apart."
        )


def _twice_here(plan: WritePlan, files: Sequence[str], schema: pa.Schema) -> Mapping[str, Any] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    read = pa.Table.from_batches((batch for file in files for batch in _read(plan, file, schema.names)), schema)
    counted = read.drop_null().group_by(schema.names).aggregate([([], "count_all")])
    duplicates = counted.filter(pc.field("count_all") > 1).select(schema.names).slice(0, 1).to_pylist()
    return duplicates[0] if duplicates else None


def _twice_by_spark(
    spark: SparkSession, plan: WritePlan, files: Sequence[str], schema: pa.Schema
) -> Mapping[str, Any] | None:
    key_schema = spark_schema(schema)
    numbers = spark.range(0, len(files), 1, min(len(files), _TASKS))
    rows = numbers.mapInArrow(partial(_share, plan, files, key_schema), key_schema).dropna()
    count = "_lanceway_count"
    counted = rows.groupBy(*map(quoted, key_schema.names)).count().withColumnRenamed("count", count)
    duplicates = counted.where(f"{count} > 1").drop(count).limit(1).collect()
    return duplicates[0].asDict() if duplicates else None


def _share(
    plan: WritePlan, files: Sequence[str], schema: StructType, numbers: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    arrow = arrow_schema(schema)
    with hide_traceback():
        for file in (files[number] for batch in numbers for number in batch.column(0).to_pylist()):
            for batch in _read(plan, file, schema.names):
                yield to_spark(batch, arrow)


def _read(plan: WritePlan, file: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    from lance.file import LanceFileReader

    place = plan.destination.current()
    path, options = f"{place.table.path}/{file}", place.table.options
    with translated(place.table, "Reading the keys that were written"):
        reader = LanceFileReader(path, options, columns=columns, **place.renewal)
        yield from reader.read_all(batch_size=_BATCH).to_batches()


def write_in_two_phases(
    spark: SparkSession,
    frame: DataFrame,
    target: TableRef,
    options: Mapping[str, str],
    *,
    unique: Sequence[str],
    overwrite: bool,
    job: WriteId,
) -> None:
    """Write rows in one version or not at all. The version of a deferred table waits for those of other tables.

    Raise InvalidInputError if two rows have the same values in the columns `unique`, or if a deferred table keeps its
    versions in storage.
    """
    plan = planning.plan({**target.to_options(), **options}, rows_schema(frame.schema), overwrite=overwrite)
    tried = done = False
    try:
        if isinstance(target, DeferredTable):
            require_managed(target, managed=plan.destination.managed)
        fragments = [row.fragment for row in frame.mapInArrow(partial(_stage, plan), "fragment string").collect()]
        if unique:
            require_unique(spark, plan, fragments, unique)
        tried = True
        through = replace(plan, destination=replace(plan.destination, ref=target))
        commit.publish(through, fragments, job)
        done = True
    finally:
        if not done:
            with suppress(LanceNamespaceError):  # the first error is the one to report
                commit.give_up(plan, (), job if tried else None)


def _stage(plan: WritePlan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with hide_traceback():
        fragments = stage.stage(plan, batches)
    yield pa.RecordBatch.from_arrays([pa.array(fragments, pa.string())], ["fragment"])


@dataclass(frozen=True, slots=True)
class Committed:
    """A version that a step has committed."""

    version: int
    rows: int
    bytes: int


def version_of(target: TableRef) -> int:
    """Return the table's latest version; 0 if the table does not exist or is only declared."""
    try:
        place = target.destination()
    except NamespaceNotFoundError:
        return 0
    return int(dataset.open_at(place.reading).version) if place is not None and place.has_data() else 0


def committed(target: TableRef, job: str, *, after: int) -> Committed | None:
    """Return what a job has committed after a version, or None."""
    if version_of(target) <= after:
        return None
    table = target.table()
    version = WriteId(job=job).committed_version(table, after=after)
    if version is None:
        return None
    with translated(table, f"Reading the transaction of version {version}"):
        transaction = dataset.open_at(table).read_transaction(version)
    operation: Any = None if transaction is None else transaction.operation
    new = list(getattr(operation, "new_fragments", None) or getattr(operation, "fragments", None) or ())
    size = sum(file.file_size_bytes or 0 for fragment in new for file in fragment.files)
    return Committed(version, sum(fragment.physical_rows for fragment in new), size)


def fitted(file: Path, output: PipelineOutput, frame: DataFrame, target: TableRef, *, replaces: bool) -> DataFrame:
    """Return the rows in the output's schema. Raise, before anything is written, if the table cannot take them."""
    from pyspark.errors import AnalysisException, ParseException

    if output.schema is not None:
        try:
            frame = _declared(file, output, frame)
        except (AnalysisException, ParseException) as error:
            raise problem_at(file, output.line_of("schema"), f"The output {output.name!r}: {said(error)}") from error
    for key in output.keys:
        if key not in frame.columns:
            raise problem_at(
                file,
                output.line_of("keys"),
                f"The output {output.name!r} has no column {key!r} for a key: {', '.join(frame.columns)}.",
            )
    for column in output.vectors:
        if column not in frame.columns:
            raise problem_at(file, output.line_of("vectors"), f"The output {output.name!r} has no column {column!r}.")
    if not replaces and version_of(target):
        try:
            plan.require_fit(target, arrow_schema(frame.schema.toNullable()), target.open().schema)
        except LanceNamespaceError as error:
            raise problem_at(file, output.line_of("table"), f"The output {output.name!r}: {error}") from error
    return _with_keys(output, frame) if output.mode == MERGE else frame


def _with_keys(output: PipelineOutput, frame: DataFrame) -> DataFrame:
    """Return the rows of a merge. One with a null key fails: it matches no other, and each run would add it again."""
    from pyspark.sql import functions as f

    row = f.substring(f.to_json(f.struct(*(f.col(quoted(name)) for name in frame.columns))), 1, _SHOWN)
    for key in output.keys:
        text = (
            f"The output {output.name!r} is merged by {key}, which is null and matches nothing. Leave such rows out, "
            f"or put them aside with an expectation (that: {key} IS NOT NULL, otherwise: quarantine). It is null in "
        )
        refused = f.raise_error(f.concat(f.lit(text), row)).cast("boolean")
        frame = frame.where(f.when(f.col(quoted(key)).isNotNull(), f.lit(True)).otherwise(refused))
    return frame


def _declared(file: Path, output: PipelineOutput, frame: DataFrame) -> DataFrame:
    from pyspark.sql.types import StructType

    declared = StructType.fromDDL(str(output.schema))
    assert isinstance(declared, StructType)
    more = [name for name in frame.columns if name not in declared.names]
    if more:
        raise problem_at(
            file,
            output.line_of("schema"),
            f"The output {output.name!r} has the column {more[0]!r}, which its schema does not have.",
        )
    return frame.to(declared)


class NamespaceScope:
    """The namespaces that are created above new tables of one run; those that remain empty are removed at the end."""

    def __init__(self) -> None:
        self._registrars: dict[int, Registrar] = {}
        self._lock = threading.Lock()
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.close()

    @contextmanager
    def above(self, target: TableRef) -> Iterator[None]:
        """Create the namespaces above a table; keep them if the block succeeds."""
        if target.type is None:
            yield
            return
        table, registrar = Identifier(target.id), self._registrar(target)
        registrar.make_room(table, original=table)
        yield
        registrar.filled(table)

    def _registrar(self, target: TableRef) -> Registrar:
        catalog = target.catalog()
        with self._lock:
            if id(catalog) not in self._registrars:
                self._registrars[id(catalog)] = self._leaving.enter_context(Registrar(catalog))
            return self._registrars[id(catalog)]


def write(
    spark: SparkSession,
    frame: DataFrame,
    output: PipelineOutput,
    target: TableRef,
    namespaces: NamespaceScope,
    *,
    mode: str,
    job: WriteId,
) -> None:
    """Write rows in one version or not at all. Namespaces above a new table are created."""
    with namespaces.above(target):
        if mode == MERGE and version_of(target):
            if isinstance(target, DeferredTable):
                require_managed(target, managed=target.table().client is not None)
            merge(
                spark,
                frame,
                target,
                on=output.keys,
                when_matched_update=True,
                when_not_matched_insert=True,
                job=job,
            )
            return
        options: dict[str, str] = {}
        if output.vectors and not version_of(target):
            options["vector_columns"] = json.dumps(dict(output.vectors))
        write_in_two_phases(spark, frame, target, options, unique=output.keys, overwrite=mode == OVERWRITE, job=job)
