"""Delete rows that have the same keys as another, found in this process or by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableColumnNotFoundError,
)
from lanceway.jobs import executor
from lanceway.jobs.executor import PART_THREADS, JobContext, Stop, Watcher, never_stop, no_progress
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.spark.types import ROW_ADDRESS
from lanceway.spark.write.rewrite import BaseVersion
from lanceway.tables.errors import translated
from lanceway.tables.schema.fields import quoted
from lanceway.writes import commit, deletions, stage, table_ref
from lanceway.writes.commit import WriteId, retry_on_conflict

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

FIRST, LAST = "first", "last"
_NUMBER = "_lanceway_number"


@dataclass(frozen=True)
class Keys:
    """The columns by which rows are the same, and which of those stays: first or last by `order`, then by place."""

    on: tuple[str, ...]
    order: str | None
    keep: str

    def check(self, table: JobTable, schema: pa.Schema) -> None:
        import pyarrow as pa

        if not self.on:
            raise InvalidInputError("dedupe needs the columns that rows are compared by.")
        if self.keep not in (FIRST, LAST):
            raise InvalidInputError(f"keep is {self.keep!r}, but must be {FIRST} or {LAST}.")
        for name in self.columns:
            if name not in schema.names:
                raise TableColumnNotFoundError(
                    f"{table.name} has no column {name!r}. It has: {', '.join(schema.names)}."
                )
            kind = schema.field(name).type
            if pa.types.is_nested(kind) or (name in self.on and pa.types.is_floating(kind)):
                raise InvalidInputError(
                    f"The column {name!r} of {table.name} is {kind}, which rows cannot be compared by. Choose one with "
                    "numbers, texts or times."
                )

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.on, *([] if self.order is None else [self.order])]))


def here(table: JobTable, opened: lance.LanceDataset, keys: Keys) -> Mapping[int, bytes]:
    """Find the rows to delete, as offsets by fragment. The columns of the keys are held in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with translated(table.handle(), "Reading the keys"):
        rows = opened.to_table(columns=keys.columns, with_row_address=True)
    if not rows.num_rows:
        return {}
    for at, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            rows = rows.set_column(at, field.name, rows.column(at).cast(field.type.value_type))
    for name in keys.on:  # a null is the same as nothing
        rows = rows.filter(pc.is_valid(rows[name]))
    way = "descending" if keys.keep == LAST else "ascending"
    sorting = [(name, "ascending") for name in keys.on]
    sorting += [(name, way) for name in (keys.order, ROW_ADDRESS) if name is not None and name not in keys.on]
    ordered = rows.take(pc.sort_indices(rows, sort_keys=sorting)).combine_chunks()
    same = None
    for name in keys.on:
        equal = pc.equal(ordered[name].slice(1), ordered[name].slice(0, max(0, len(ordered) - 1)))
        same = equal if same is None else pc.and_(same, equal)
    gone = ordered[ROW_ADDRESS].slice(1).filter(same)
    return dict(deletions.by_fragment([gone.combine_chunks()]))


def by_spark(spark: SparkSession, base: BaseVersion, keys: Keys) -> Mapping[int, bytes]:
    """Find the rows to delete, as offsets by fragment, with Spark: for more keys than fit into one process."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    rows = base.rows(spark, keys.columns)
    for name in keys.on:
        rows = rows.where(rows[quoted(name)].isNotNull())
    by = [_ordering(rows, keys.order)] if keys.order is not None else []
    by.append(rows[ROW_ADDRESS])
    ways = [column.desc_nulls_last() if keys.keep == LAST else column.asc_nulls_last() for column in by]
    window = Window.partitionBy(*(rows[quoted(name)] for name in keys.on)).orderBy(*ways)
    gone = rows.withColumn(_NUMBER, f.row_number().over(window)).where(f.col(_NUMBER) > 1).select(ROW_ADDRESS)
    answers = gone.mapInArrow(_by_fragment, "fragment bigint, offsets binary").collect()
    return deletions.united((row.fragment, bytes(row.offsets)) for row in answers).offsets


def _ordering(rows: DataFrame, name: str) -> Column:
    """Return the column to order by, with null for NaN, so that it comes after all numbers."""
    from pyspark.sql import functions as f

    column = rows[quoted(name)]
    return f.when(~f.isnan(column), column) if dict(rows.dtypes)[name] in ("float", "double") else column


def _by_fragment(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    rows = list(deletions.by_fragment([batch.column(0) for batch in batches]))
    columns = [pa.array([entry[0] for entry in rows], pa.int64()), pa.array([entry[1] for entry in rows], pa.binary())]
    yield pa.RecordBatch.from_arrays(columns, ["fragment", "offsets"])


def count(offsets: Mapping[int, bytes]) -> int:
    return sum(map(len, offsets.values())) // 4


def names(on: str | Sequence[str]) -> tuple[str, ...]:
    return (on,) if isinstance(on, str) else tuple(on)


def dedupe(
    table: table_ref.TableName,
    on: str | Sequence[str],
    *,
    order: str | None = None,
    keep: str = LAST,
    dry_run: bool = False,
    threads: int = PART_THREADS,
    spark: SparkSession | None = None,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Delete all rows but one of those with the same values in the columns `on`.

    The one with the largest value of `order` stays, or with `keep="first"` the smallest; nulls never win. Where that
    is no difference, or `order` is not set, the last or the first row by its place in the table stays. So the same
    rows stay however often it is asked. A row with a null among its keys is the same as no other.

    Raises ConcurrentModificationError where others change the rows faster than they can be compared.
    """
    context = JobContext(dry_run, threads, spark, progress=watch, should_stop=stop)
    target, keys = JobTable.of(table), Keys(names(on), order, keep)
    opened = target.open()
    keys.check(target, opened.schema)
    summary = JobSummary("dedupe", target.name, version=int(opened.version), dry_run=dry_run)
    summary.facts = {"on": list(keys.on), "keep": keep, "deleted": 0}
    return retry_on_conflict(lambda: _attempt(target, BaseVersion.of(target.place.ref), keys, context, summary))


def _attempt(table: JobTable, base: BaseVersion, keys: Keys, context: JobContext, summary: JobSummary) -> JobSummary:
    opened = table.open(base.version)
    gone = here(table, opened, keys) if context.spark is None else by_spark(context.spark, base, keys)
    summary.version, summary.rows = base.version, int(opened.count_rows())
    summary.facts["deleted"], summary.parts = count(gone), len(gone)
    if context.dry_run or not gone:
        return summary.finish()
    context.progress(JobProgress(0, len(gone)))
    work = _Deleter(table, base.version)
    changed: dict[int, str | None] = {}  # None for a fragment of which no row stays
    try:
        for (id_, _), fragment in executor.run_parts(work, list(gone.items()), context):
            changed[id_] = fragment
            context.progress(JobProgress(len(changed), len(gone)))
    except LanceNamespaceError:
        _discard(table, changed)
        raise
    summary.done = len(changed)
    if len(changed) < len(gone):
        _discard(table, changed)
        summary.facts["deleted"] = 0
        return summary.finish(stopped=True)
    try:
        summary.version = _commit(base, changed, keys)
    except ConcurrentModificationError:  # after any other error the commit may have been made all the same
        _discard(table, changed)
        raise
    summary.changed = True
    return summary.finish()


def _updated(changed: Mapping[int, str | None]) -> list[str]:
    return [fragment for fragment in changed.values() if fragment is not None]


def _discard(table: JobTable, changed: Mapping[int, str | None]) -> None:
    table.handle().store().delete(*deletions.files(_updated(changed)))


def _commit(base: BaseVersion, changed: Mapping[int, str | None], keys: Keys) -> int:
    import lance

    removed = [id_ for id_, fragment in changed.items() if fragment is None]
    why = f"rows with the same {', '.join(keys.on)}"
    operation = lance.LanceOperation.Delete(stage.from_json(_updated(changed)), removed, why)
    return commit.commit(base.plan, operation, WriteId.of_job())


@dataclass(frozen=True)
class _Deleter:
    """Writes down which rows of one fragment are deleted, wherever it runs."""

    table: JobTable
    version: int

    def __call__(self, part: tuple[int, bytes]) -> str | None:
        import numpy as np

        id_, offsets = part
        opened = self.table.open(self.version)
        with translated(self.table.handle(), "Deleting rows"):
            fragment = opened.get_fragment(id_)
            assert fragment is not None, "a version keeps its fragments"
            changed = fragment.delete_rows(np.frombuffer(offsets, np.uint32))
        return None if changed is None else stage.to_json(changed)
