"""Of rows with the same keys, one stays: the last or the first. The others are deleted, in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import ConcurrentModificationError, LanceNamespaceError
from lanceway.jobs import parts, running
from lanceway.jobs.job_table import Held
from lanceway.jobs.running import Stop
from lanceway.jobs.summaries import Step, Summary, Watcher, unwatched
from lanceway.jobs.table import duplicates
from lanceway.jobs.table.duplicates import LAST, Keys
from lanceway.spark.write.rewriting import Base
from lanceway.tables.errors import translated
from lanceway.writes import commit, deletions, named, stage
from lanceway.writes.conflicts import insistently
from lanceway.writes.write_id import Mark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def dedupe(
    table: named.Named,
    on: str | Sequence[str],
    *,
    order: str | None = None,
    keep: str = LAST,
    dry_run: bool = False,
    threads: int = parts.THREADS,
    spark: SparkSession | None = None,
    watch: Watcher = unwatched,
    stop: Stop = running.never,
) -> Summary:
    """Delete all rows but one of those with the same values in the columns `on`.

    The one with the largest value of `order` stays, or with `keep="first"` the smallest; nulls never win. Where that
    is no difference, or `order` is not set, the last or the first row by its place in the table stays. So the same
    rows stay however often it is asked. A row with a null among its keys is the same as no other.

    Raises ConcurrentModificationError where others change the rows faster than they can be compared.
    """
    running.check_threads(threads)
    found, keys = Held.of(table), Keys(duplicates.names(on), order, keep)
    opened = found.open()
    keys.check(found, opened.schema)
    summary = Summary("dedupe", found.name, dry_run, version=int(opened.version))
    summary.facts = {"on": list(keys.on), "keep": keep, "deleted": 0}
    return insistently(lambda: _attempt(found, Base.of(found.place.target), keys, summary, threads, spark, watch, stop))


def _attempt(
    found: Held,
    base: Base,
    keys: Keys,
    summary: Summary,
    threads: int,
    spark: SparkSession | None,
    watch: Watcher,
    stop: Stop,
) -> Summary:
    opened = found.open(base.version)
    gone = duplicates.here(found, opened, keys) if spark is None else duplicates.by_spark(spark, base, keys)
    summary.version, summary.rows = base.version, int(opened.count_rows())
    summary.facts["deleted"], summary.parts = duplicates.count(gone), len(gone)
    if summary.dry_run or not gone:
        return summary.ended()
    watch(Step(0, len(gone)))
    work = _Deleter(found, base.version)
    left: dict[int, str | None] = {}
    try:
        for (id_, _), rest in parts.carried_out(work, list(gone.items()), threads=threads, spark=spark, stop=stop):
            left[id_] = rest
            watch(Step(len(left), len(gone)))
    except LanceNamespaceError:
        _discard(found, left)
        raise
    summary.done = len(left)
    if len(left) < len(gone):
        _discard(found, left)
        summary.facts["deleted"] = 0
        return summary.ended(stopped=True)
    try:
        summary.version = _commit(base, left, keys)
    except ConcurrentModificationError:  # after any other error the commit may have been made all the same
        _discard(found, left)
        raise
    summary.changed = True
    return summary.ended()


def _updated(left: Mapping[int, str | None]) -> list[str]:
    return [rest for rest in left.values() if rest is not None]


def _discard(found: Held, left: Mapping[int, str | None]) -> None:
    found.handle().store().delete(*deletions.files(_updated(left)))


def _commit(base: Base, left: Mapping[int, str | None], keys: Keys) -> int:
    import lance

    removed = [id_ for id_, rest in left.items() if rest is None]
    why = f"rows with the same {', '.join(keys.on)}"
    operation = lance.LanceOperation.Delete(stage.read(_updated(left)), removed, why)
    return commit.commit(base.plan, operation, Mark.of_job())


@dataclass(frozen=True)
class _Deleter:
    """Writes down which rows of one fragment are deleted, wherever it runs."""

    table: Held
    version: int

    def __call__(self, part: tuple[int, bytes]) -> str | None:
        import numpy as np

        id_, offsets = part
        opened = self.table.open(self.version)
        with translated(self.table.handle(), "Deleting rows"):
            fragment = opened.get_fragment(id_)
            assert fragment is not None, "a version keeps its fragments"
            rest = fragment.delete_rows(np.frombuffer(offsets, np.uint32))
        return None if rest is None else stage.written(rest)
