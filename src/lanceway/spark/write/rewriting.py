"""Rows of a table replaced, removed and added in one transaction, by Spark.

A change is a data frame: the table's columns, and beside them what becomes of each row. Tasks write the new rows and
answer the addresses of the old ones; tasks again write these down as deleted; the driver commits both at once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, LanceNamespaceError, TableNotFoundError
from lanceway.spark.types import ROW_ID
from lanceway.spark.write import changed_rows
from lanceway.spark.write.changed_rows import ANSWER, COUNT, DELETE, GONE, INSERT, NEW, TWICE, UPDATE
from lanceway.tables import dataset
from lanceway.writes import commit, deletions, destination, journal, stage
from lanceway.writes.conflicts import insistently
from lanceway.writes.destination import Destination
from lanceway.writes.plan import APPEND, Plan
from lanceway.writes.write_id import Mark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lanceway.writes.table_ref import Target


@dataclass(frozen=True)
class Changed:
    """What a change did: the version that it made, or the one that it found if there was nothing to do."""

    version: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True)
class Base:
    """The version of a table that a change builds on."""

    target: Target
    place: Destination
    schema: pa.Schema
    version: int
    stable: bool

    @classmethod
    def of(cls, target: Target) -> Base:
        place = destination.find(target)
        if place is None:
            raise TableNotFoundError(f"There is no table {target.name}.")
        place.require_writable()
        opened = dataset.open_at(place.reading)
        return cls(target, place, opened.schema, int(opened.version), bool(opened.has_stable_row_ids))

    def rows(self, spark: SparkSession, columns: list[str] | None = None) -> DataFrame:
        """The table's rows with their addresses, and ids where these stay when a row is rewritten."""
        reader = spark.read.format("lance").options(**self.target.to_options(), version=str(self.version))
        reader = reader.option("with_row_address", "true").option("with_row_id", str(self.stable).lower())
        return (reader if columns is None else reader.option("columns", json.dumps(columns))).load()

    @property
    def plan(self) -> Plan:
        return Plan(APPEND, self.place, self.schema, self.version)


def rewrite(spark: SparkSession, target: Target, changes: Callable[[Base], DataFrame], mark: Mark | None) -> Changed:
    """Carry out changes, computed anew where somebody else was faster.

    Raises ConcurrentModificationError where somebody else always is, and InvalidInputError for keys given twice.
    """

    def attempt() -> Changed:
        base = Base.of(target)
        return _attempt(spark, base, changes(base), mark or Mark.of_job())

    return insistently(attempt)


@dataclass(frozen=True)
class _Staged:
    """What tasks have written for a change: fragments with new rows, and others without the rows that go."""

    new: list[str]
    updated: list[str]
    removed: list[int]
    counts: Counter[str]

    @property
    def files(self) -> list[str]:
        return [*stage.files(self.new), *deletions.files(self.updated)]


def _attempt(spark: SparkSession, base: Base, changes: DataFrame, mark: Mark) -> Changed:
    write, staged = journal.begin(base.place), None
    try:
        staged = _stage(spark, base, replace(base.plan, write=write), changes)
    finally:
        if staged is None:
            journal.end(base.place, write)
    try:
        version = _commit(base, staged, mark)
    except LanceNamespaceError:
        journal.end(base.place, write)
        raise
    journal.finish(base.place, write, staged.files)
    return Changed(version, staged.counts[INSERT], staged.counts[UPDATE], staged.counts[DELETE])


def _stage(spark: SparkSession, base: Base, plan: Plan, changes: DataFrame) -> _Staged:
    if base.stable and ROW_ID in changes.columns:  # rows that keep their ids come before those that get new ones
        changes = changes.sortWithinPartitions(changes[ROW_ID].isNull())
    answers = changes.mapInArrow(partial(changed_rows.stage, plan, base.stable), ANSWER).collect()
    twins = sorted(row.name for row in answers if row.kind == TWICE)
    if twins:
        raise _twice(base, twins[0])
    gone = deletions.united((row.fragment, bytes(row.payload)) for row in answers if row.kind == GONE)
    if gone.twice:
        raise _twice(base, None)
    counts: Counter[str] = Counter()
    for row in answers:
        if row.kind == COUNT:
            counts[row.name] += row.fragment
    updated, removed = deletions.write(spark, plan, gone.offsets)
    return _Staged([bytes(row.payload).decode() for row in answers if row.kind == NEW], updated, removed, counts)


def _twice(base: Base, keys: str | None) -> InvalidInputError:
    which = f" ({keys})" if keys else ""
    return InvalidInputError(
        f"{base.target.name} was not changed: several rows of the source have the same keys{which}, and only one can "
        "decide what becomes of a row. Remove the others first, with dropDuplicates for example."
    )


def _commit(base: Base, staged: _Staged, mark: Mark) -> int:
    import lance

    updated, new = stage.read(staged.updated), stage.read(staged.new)
    if not new and not updated and not staged.removed:
        return base.version
    if not new:
        deletion = lance.LanceOperation.Delete(updated, staged.removed, "rows chosen by Spark")
        return commit.commit(base.plan, deletion, mark)
    inserts = staged.counts[INSERT] > 0
    return commit.update(base.plan, staged.removed, updated, new, mark, inserts=inserts)
