"""A materialized view, refreshed: by what was added to its source since, by what changed, or made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import LanceNamespaceError
from lanceway.jobs import parts
from lanceway.jobs.job_table import Held, fragments
from lanceway.jobs.summaries import Step, Summary
from lanceway.jobs.worker import allowed, changes, shares, write
from lanceway.jobs.worker import sql as queries
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.lease import Holding
from lanceway.jobs.worker.shares import Counted, Room, Share, Writer
from lanceway.jobs.worker.write import Refresh, Shown
from lanceway.lake.runs.jobs import Job
from lanceway.tables.errors import translated
from lanceway.tables.schema.views import UDTF, View
from lanceway.writes import stage
from lanceway.writes.conflicts import insistently

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata
    from pyspark.sql import SparkSession

# How a refresh came about.
NOTHING, ADDED, MERGED, ANEW = "nothing new", "added", "merged", "anew"


def run(
    places: Places,
    job: Job,
    holding: Holding,
    *,
    functions: Sequence[str],
    sql: queries.Sessions,
    spark: SparkSession | None,
) -> Summary:
    """Refresh the view of a job. Raises what its source does, and InvalidTableStateError where it is no view."""
    held = Held.of(places.table(job))
    view = View.of(held.handle(), held.open().schema)
    if view.sql is not None:
        return queries.run(places, job, held, view, sql)
    if view.function is not None:
        allowed.check(view.function, functions)
    source = Held.of(places.beside(job, view.source), reading=True)
    return insistently(_Work(held, source, view, job.request, holding, spark).attempt)


@dataclass
class _Work:
    held: Held
    source: Held
    view: View
    request: Mapping[str, Any]
    holding: Holding
    spark: SparkSession | None

    def attempt(self) -> Summary:
        view, source = self.held.open(), self.source.open(self.request.get("src_version"))
        summary = Summary("refresh", self.held.name, version=int(view.version))
        known, wanted = write.shown(self.held, view), Shown.of(self.source, source)
        summary.facts = {"source": self.source.name, "source_version": wanted.version, "refreshed": NOTHING}
        if known == wanted:
            return summary.ended()
        refresh = Refresh(self.held, view, wanted, self.request.get("max_rows_per_fragment"))
        if known is not None and self.view.kind != UDTF and changes.is_still_there(self.source, source, known):
            found = changes.added(self.source, source, known.version)
            if found is not None:
                return self._write(refresh, summary, changes.shares_added(self.source, found), anew=False)
            if self.view.key:
                merged = self._merge(refresh, summary, self.source.open(known.version), source)
                if merged is not None:
                    return merged
        every = shares.of(wanted.version, fragments(source), together=self.view.kind == UDTF)
        return self._write(refresh, summary, every, anew=True)

    # -- rows that are added, or take the place of all -------------------------------------------

    def _write(self, refresh: Refresh, summary: Summary, found: Sequence[Share], *, anew: bool) -> Summary:
        made: list[FragmentMetadata] = []
        rows = 0
        limit, spark, threads = self.request.get("output_limit"), self.spark, self.request.get("concurrency")
        room = None if limit is None else Room(limit - (0 if anew else int(refresh.opened.count_rows())))
        if room is not None:  # what one share takes of it is not left for the next
            spark, threads = None, 1
        plan = refresh.plan(replacing=anew)
        calls = (threads or parts.THREADS) if self.view.partition else 1
        writer = Writer(self.source, self.view, plan, self.request.get("source_task_size"), room, calls)
        notes: dict[Share, Any] = {}
        summary.parts = len(found)
        try:
            for share, note in parts.carried_out(
                writer, found, threads=threads or parts.THREADS, spark=spark, stop=self.holding.stop
            ):
                notes[share] = note
                made += stage.read(note["fragments"])
                rows += note["rows"]
                self.holding.watch(Step(len(notes), len(found), rows))
            if self.holding.stop():
                refresh.discard(made)
                return summary.ended(stopped=True)
        except LanceNamespaceError:
            refresh.discard(made)
            raise
        # In the order of the source, whichever was ready first.
        made = [fragment for share in found for fragment in stage.read(notes[share]["fragments"])]
        summary.version = refresh.replace(made) if anew else refresh.add(made)
        summary.done = len(notes)
        return self._ended(summary, ANEW if anew else ADDED, rows)

    # -- rows that have changed ------------------------------------------------------------------

    def _merge(
        self, refresh: Refresh, summary: Summary, old: lance.LanceDataset, new: lance.LanceDataset
    ) -> Summary | None:
        """None where there is too much to merge, or keys cannot be compared."""
        import pyarrow as pa

        keyed = changes.Keyed(self.source, self.view, old, new)
        gone = keyed.removed()
        if gone is None:
            return None
        schema = refresh.opened.schema
        counted = Counted(keyed.rows())
        rows = pa.RecordBatchReader.from_batches(schema, write.fitted(counted, schema))
        merge = refresh.opened.merge_insert(list(self.view.key))
        merge = merge.when_matched_update_all().when_not_matched_insert_all()
        if gone:
            merge = merge.when_not_matched_by_source_delete(gone)
        with translated(self.held.handle(), "Merging into the view"):
            transaction, counts = merge.execute_uncommitted(rows)
        operation: Any = transaction.operation
        if self.holding.stop():
            refresh.discard(operation.new_fragments)
            return summary.ended(stopped=True)
        summary.version = refresh.change(operation)
        summary.facts["deleted"] = counts["num_deleted_rows"]
        return self._ended(summary, MERGED, counted.rows)

    def _ended(self, summary: Summary, how: str, rows: int) -> Summary:
        summary.facts["refreshed"], summary.rows, summary.changed = how, rows, True
        return summary.ended()
