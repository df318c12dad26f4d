"""Compact a table: rewrite small fragments as large ones; and clean it: remove old versions and unused files.

Rounds follow each other: each plans on the latest version, rewrites some groups of fragments side by side, and
commits them at once. So a job that is killed has done what it had committed, and the next run goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_namespace import BatchDeleteTableVersionsRequest
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lanceway.errors import ConcurrentModificationError, InvalidInputError, LanceNamespaceError
from lanceway.jobs import executor, job_table
from lanceway.jobs.executor import PART_THREADS, JobContext, Stop, Watcher, never_stop, no_progress
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobProgress, JobSummary
from lanceway.tables.errors import translated
from lanceway.tables.versions import manifests, tags
from lanceway.writes import table_ref
from lanceway.writes.commit import ATTEMPTS

if TYPE_CHECKING:
    from lance.optimize import CompactionPlan, RewriteResult
    from pyspark.sql import SparkSession

    from lanceway.tables.dataset import StoredTable

TARGET_ROWS = 1024 * 1024
DELETED = 0.1
# So many groups are committed together, for each that is worked on at a time.
_TOGETHER = 4


def compact(
    table: table_ref.TableName,
    *,
    target_rows: int = TARGET_ROWS,
    deleted: float = DELETED,
    dry_run: bool = False,
    threads: int = PART_THREADS,
    spark: SparkSession | None = None,
    watch: Watcher = no_progress,
    stop: Stop = never_stop,
) -> JobSummary:
    """Rewrite fragments with fewer than `target_rows` rows, and those of which the share `deleted` is deleted.

    Rows and indices stay what they are. Others may write at the same time: a group that they change is planned again.

    Raises ConcurrentModificationError where others change every group first; what was committed before stays.
    """
    context = JobContext(dry_run, threads, spark, progress=watch, should_stop=stop)
    if target_rows < 1:
        raise InvalidInputError(f"target_rows is {target_rows}, but a fragment needs at least 1 row.")
    if not 0 <= deleted <= 1:
        raise InvalidInputError(f"deleted is {deleted}, but a share is between 0 and 1.")
    target = JobTable.of(table)
    options = {"target_rows_per_fragment": target_rows, "materialize_deletions_threshold": deleted}
    return _Compaction(target, options, context, JobSummary("compact", target.name, dry_run=dry_run)).run()


@dataclass
class _Compaction:
    table: JobTable
    options: dict[str, Any]
    context: JobContext
    summary: JobSummary
    lost: int = field(default=0)  # rounds in a row of which nothing could be committed

    def run(self) -> JobSummary:
        plan = self._plan()
        self.summary.parts = plan.num_tasks()
        self.summary.facts = {"fragments_removed": 0, "fragments_added": 0}
        if self.context.dry_run:
            return self._planned(plan)
        should_stop = self.context.should_stop
        self.context.progress(JobProgress(0, self.summary.parts))
        while plan.num_tasks() and self.summary.done < self.summary.parts and not should_stop():
            room = min(self.context.threads * _TOGETHER, self.summary.parts - self.summary.done)
            self._round(plan, plan.tasks[:room])
            plan = self._plan()
        self.summary.version = int(self.table.open().version)
        return self.summary.finish(stopped=should_stop() and plan.num_tasks() > 0)

    def _plan(self) -> CompactionPlan:
        from lance.optimize import Compaction

        opened = self.table.open()
        with translated(self.table.handle(), "Planning the compaction"):
            return Compaction.plan(opened, self.options)  # type: ignore[arg-type]

    def _planned(self, plan: CompactionPlan) -> JobSummary:
        old = [fragment for task in plan.tasks for fragment in task.fragments]
        self.summary.version = plan.read_version
        self.summary.facts["fragments_removed"] = len(old)
        del self.summary.facts["fragments_added"]  # only the rewrite itself can tell
        self.summary.rows, self.summary.bytes = sum(map(job_table.rows, old)), sum(map(job_table.size, old))
        return self.summary.finish()

    def _round(self, plan: CompactionPlan, tasks: Sequence[Any]) -> None:
        results: list[RewriteResult] = []
        work, total = _Rewriter(self.table, plan.read_version), self.summary.parts
        try:
            for _, text in executor.run_parts(work, [task.json() for task in tasks], self.context):
                results.append(_result(text))
                moved = sum(job_table.rows(fragment) for done in results for fragment in done.new_fragments)
                self.context.progress(JobProgress(self.summary.done + len(results), total, self.summary.rows + moved))
            committed = self._commit(plan.read_version, results)
        except LanceNamespaceError:
            self._discard(results)
            raise
        self.lost = 0 if committed or not results else self.lost + 1
        if self.lost >= ATTEMPTS:
            raise ConcurrentModificationError(
                f"{self.table.name} is being changed faster than it can be compacted: {self.summary.done} of "
                f"{total} groups of fragments were. Run the job again when fewer rows are updated or deleted."
            )
        self._count(committed)

    def _commit(self, version: int, results: list[RewriteResult]) -> list[RewriteResult]:
        """Commit the groups that no other writer has changed, and discard the others."""
        from lance.optimize import Compaction

        while results:
            opened = self.table.open(version)
            try:
                with translated(self.table.handle(), "Committing the compaction"):
                    Compaction.commit(opened, results, self.options)  # type: ignore[arg-type]
                return results
            except ConcurrentModificationError:
                if self._landed(results):  # a response that was lost on its way is not a failure
                    return results
                unchanged = self._unchanged(results)
                self._discard([result for result in results if result not in unchanged])
                results = unchanged
        return []

    def _landed(self, results: Sequence[RewriteResult]) -> bool:
        new = {str(file.path) for result in results for fragment in result.new_fragments for file in fragment.files}
        return bool(new & self.table.files())

    def _unchanged(self, results: list[RewriteResult]) -> list[RewriteResult]:
        """Return the groups whose fragments have not changed. If none has, the conflict is another one: return none."""
        now = {fragment.id: fragment.to_json() for fragment in job_table.fragments(self.table.open())}
        unchanged = [result for result in results if all(now.get(old.id) == old.to_json() for old in _old(result))]
        return unchanged if len(unchanged) < len(results) else []

    def _discard(self, results: Sequence[RewriteResult]) -> None:
        self.table.discard(fragment for result in results for fragment in result.new_fragments)

    def _count(self, committed: Sequence[RewriteResult]) -> None:
        old = [fragment for result in committed for fragment in _old(result)]
        new = [fragment for result in committed for fragment in result.new_fragments]
        self.summary.done += len(committed)
        self.summary.changed |= bool(committed)
        self.summary.rows += sum(map(job_table.rows, new))
        self.summary.bytes += sum(map(job_table.size, new))
        self.summary.facts["fragments_removed"] += len(old)
        self.summary.facts["fragments_added"] += len(new)


@dataclass(frozen=True)
class _Rewriter:
    """Rewrites one group of fragments, wherever it runs."""

    table: JobTable
    version: int

    def __call__(self, task: str) -> str:
        from lance.optimize import CompactionTask

        opened = self.table.open(self.version)
        with translated(self.table.handle(), "Compacting fragments"):
            rewritten: Any = CompactionTask.from_json(task).execute(opened)  # type: ignore[attr-defined]
            return str(rewritten.json())


def _result(text: str) -> RewriteResult:
    from lance.optimize import RewriteResult

    rewritten: RewriteResult = RewriteResult.from_json(text)  # type: ignore[attr-defined]
    return rewritten


def _old(result: Any) -> Sequence[Any]:
    return list(result.original_fragments)


OLDER_THAN = timedelta(days=14)
# So many files are named at most where pylance explains a clean-up.
_MOST_FILES = 1_000_000
_COUNTS = ("data_files_removed", "transaction_files_removed", "index_files_removed", "deletion_files_removed")


def clean(
    table: table_ref.TableName,
    *,
    older_than: timedelta | None = None,
    keep: int | None = None,
    uncommitted: bool = False,
    dry_run: bool = False,
) -> JobSummary:
    """Remove versions that are older than `older_than` and not among the last `keep`; two weeks if neither is given.

    The latest version stays, and so does every tagged one with the files that it needs. Files that no version has
    may belong to a write under way, and are left alone for seven days; with `uncommitted` they go at once, which is
    safe only while no other program writes.
    """
    if keep is not None and keep < 1:
        raise InvalidInputError(f"keep is {keep}, but the latest version always stays: at least 1.")
    if older_than is not None and older_than < timedelta(0):
        raise InvalidInputError(f"older_than is {older_than}, but versions are only as old as 0 or more.")
    if older_than is None and keep is None:
        older_than = OLDER_THAN
    target = JobTable.of(table)
    opened, handle = target.open(), target.handle()
    summary = JobSummary("clean", target.name, version=int(opened.version), dry_run=dry_run)
    options: dict[str, Any] = {
        "older_than": older_than,
        "retain_versions": keep,
        "delete_unverified": uncommitted,
        "error_if_tagged_old_versions": False,
    }
    tags.write_missing(handle)
    with translated(handle, "Looking for old versions"):
        plan = opened.explain_cleanup_old_versions(**options, include_files=True, max_files=_MOST_FILES)
    versions = sorted(_versions(plan.candidate_files))
    stats = plan.stats
    if not dry_run:
        there = _versions_in_storage(handle)
        with translated(handle, "Removing old versions"):
            stats = opened.cleanup_old_versions(**options)
        # Not those that were planned: beside a writer, another version may have grown old in the meantime.
        versions = sorted(there - _versions_in_storage(handle))
        _forget(target, versions)
    removed = {name: int(getattr(stats, name)) for name in _COUNTS}
    summary.bytes = int(stats.bytes_removed)
    summary.facts = {"versions_removed": int(stats.old_versions), "versions": versions, **removed}
    summary.changed = not dry_run and bool(summary.bytes)
    return summary.finish()


def _versions(files: Sequence[Any]) -> Iterator[int]:
    for file in files:
        version = manifests.version_of(file.path) if file.kind == "manifest" else None
        if version is not None and "/tree/" not in file.path:
            yield version


def _versions_in_storage(table: StoredTable) -> set[int]:
    return {version for version, _ in manifests.all_in(table.store())}


def _forget(table: JobTable, versions: Sequence[int]) -> None:
    """Delete the versions from a catalog that manages the table, too."""
    if not table.place.managed or not versions:
        return
    ranges = [VersionRange(start_version=version, end_version=version + 1) for version in versions]
    request = BatchDeleteTableVersionsRequest(id=list(table.place.ref.id), ranges=ranges)
    table.place.ref.catalog().batch_delete_table_versions(request)
