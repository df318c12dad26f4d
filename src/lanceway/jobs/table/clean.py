"""Remove old versions of a table and the files that only they need. Tagged versions stay, and so do branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from lance_namespace import BatchDeleteTableVersionsRequest
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lanceway.errors import InvalidInputError
from lanceway.jobs.job_table import JobTable
from lanceway.jobs.report import JobSummary
from lanceway.tables.errors import translated
from lanceway.tables.versions import manifests
from lanceway.writes import table_ref

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
    with translated(handle, "Looking for old versions"):
        plan = opened.explain_cleanup_old_versions(**options, include_files=True, max_files=_MOST_FILES)
    versions = sorted(_versions(plan.candidate_files))
    stats = plan.stats
    if not dry_run:
        with translated(handle, "Removing old versions"):
            stats = opened.cleanup_old_versions(**options)
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


def _forget(table: JobTable, versions: Sequence[int]) -> None:
    """Delete the versions from a catalog that manages the table, too."""
    if not table.place.managed or not versions:
        return
    ranges = [VersionRange(start_version=version, end_version=version + 1) for version in versions]
    request = BatchDeleteTableVersionsRequest(id=list(table.place.ref.id), ranges=ranges)
    table.place.ref.catalog().batch_delete_table_versions(request)
