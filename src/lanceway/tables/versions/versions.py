"""Versions as storage has them: listed, described, created from a staged manifest, deleted, restored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import lance_namespace as ln
from lance_namespace_urllib3_client.models.table_version import TableVersion
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
)
from lanceway.tables import bases
from lanceway.tables.dataset import StoredTable, is_main, no_version, open_at
from lanceway.tables.errors import translated
from lanceway.tables.versions import manifests, tags

if TYPE_CHECKING:
    from lanceway.tables.storage.store import Object, Store

# A key of the table's configuration, which no reader looks at.
BARRED = "lanceway.barred"


def list_(table: StoredTable, request: ln.ListTableVersionsRequest, after: int | None) -> list[TableVersion]:
    """Return the versions that come after `after`: oldest first, newest first if `descending`."""
    stored = _all(table, table.store(), request.branch)
    ordered = sorted(stored, reverse=bool(request.descending))
    if after is not None:
        ordered = [version for version in ordered if (version < after if request.descending else version > after)]
    return [_version(table, version, stored[version]) for version in ordered]


def numbers(table: StoredTable) -> list[int]:
    """Return the versions of the main branch, in no order: as they were claimed, or as storage has them."""
    if table.client is not None:
        claimed = table.client.list_table_versions(ln.ListTableVersionsRequest(id=list(table.id)))
        return [version.version for version in claimed.versions]
    return [version for version, _ in manifests.all_in(table.store())]


def _all(table: StoredTable, store: Store, branch: str | None) -> dict[int, Object]:
    """Return every version of a branch. Where there is none, opening says why."""
    stored = dict(manifests.all_in(store, branch))
    if not stored:
        open_at(table, branch=branch)
    return stored


def _version(table: StoredTable, version: int, manifest: Object) -> TableVersion:
    return TableVersion(
        version=version,
        manifest_path=manifests.path_of(table, manifest.key),
        manifest_size=manifest.size,
        e_tag=manifest.e_tag,
        timestamp_millis=manifest.modified_millis,
    )


def describe(table: StoredTable, request: ln.DescribeTableVersionRequest) -> ln.DescribeTableVersionResponse:
    """Describe a version, the latest if none is named."""
    store, version = table.store(), request.version
    if version is None:
        version = max(_all(table, store, request.branch))
    manifest = manifests.find(store, version, request.branch)
    if manifest is None:
        open_at(table, version=version, branch=request.branch)
        raise no_version(table, version, request.branch)
    return ln.DescribeTableVersionResponse(version=_version(table, version, manifest))


def create(table: StoredTable, request: ln.CreateTableVersionRequest) -> ln.CreateTableVersionResponse:
    """Make a staged manifest the next version. Of several writers of one version one succeeds.

    Raises ConcurrentModificationError for the others, and for a version that is not the next one.
    """
    store = table.store()
    stored = dict(manifests.all_in(store, request.branch))
    # A branch begins with the version of its parent that it was made from.
    expected = max(stored) + 1 if stored else 1 if is_main(request.branch) else request.version
    if request.version != expected:
        raise _conflict(table, request, f"the next version is {expected}")
    staged = manifests.staged(table, request.manifest_path, request.branch)
    final = manifests.key(request.version, request.branch, scheme=manifests.scheme(request.naming_scheme))
    manifest_bytes = store.read(staged) if bases.checks_claims() else None
    if manifest_bytes is not None:
        bases.check_manifest(table, manifest_bytes)
    if not store.copy_if_absent(staged, final):
        raise _conflict(table, request, "another writer has just created it")
    store.delete(staged)
    manifest = store.head(final)
    if manifest is None:
        raise _conflict(table, request, "it was deleted as soon as it was there")
    return ln.CreateTableVersionResponse(version=_version(table, request.version, manifest))


def _conflict(table: StoredTable, request: ln.CreateTableVersionRequest, why: str) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"create_table_version: version {request.version} of {table.name} cannot be created: {why}. "
        "Read the latest version and try again on top of it."
    )


def delete(table: StoredTable, request: ln.BatchDeleteTableVersionsRequest) -> ln.BatchDeleteTableVersionsResponse:
    """Delete the versions in some ranges, all or, where one of them is needed, none.

    The latest version stays, and so does a tagged one.
    """
    store, parts = table.store(), ranges(request)
    stored = _all(table, store, request.branch)
    doomed = within(stored, parts)
    refuse_latest(table, max(stored), doomed)
    refuse_tagged(table, _tagged(table, request.branch, doomed))
    store.delete(*(stored[version].key for version in sorted(doomed)))
    return ln.BatchDeleteTableVersionsResponse(deleted_count=len(doomed))


def ranges(request: ln.BatchDeleteTableVersionsRequest) -> list[tuple[int, int | None]]:
    """Return the ranges of versions that are to be deleted; an end is exclusive, and None where there is none."""
    return [_bounds(part) for part in request.ranges]


def _bounds(part: VersionRange) -> tuple[int, int | None]:
    if part.start_version < 0 or part.end_version < -1:
        raise InvalidInputError(
            f"batch_delete_table_versions: {part.start_version} to {part.end_version} is not a range of versions; "
            "start_version is 0 or more, end_version is exclusive and -1 for no end."
        )
    return part.start_version, None if part.end_version == -1 else part.end_version


def within(versions: Iterable[int], parts: Sequence[tuple[int, int | None]]) -> set[int]:
    """Return those of the versions that are in one of the ranges."""
    return {
        version
        for version in versions
        if any(start <= version and (end is None or version < end) for start, end in parts)
    }


def refuse_latest(table: StoredTable, latest: int | None, doomed: set[int]) -> None:
    if latest in doomed:
        raise InvalidInputError(
            f"batch_delete_table_versions: {latest} is the latest version of {table.name} and cannot be deleted. "
            f"End the range before it (end_version {latest}, which is exclusive), or drop the table."
        )


def _tagged(table: StoredTable, branch: str | None, doomed: set[int]) -> dict[str, int]:
    return {
        name: tag.version
        for name, tag in tags.list_(table, None).items()
        if tag.version in doomed and ((is_main(tag.branch) and is_main(branch)) or tag.branch == branch)
    }


def refuse_tagged(table: StoredTable, tagged: Mapping[str, int]) -> None:
    """Refuse to delete versions that have tags, which are given by their names."""
    if tagged:
        raise InvalidTableStateError(
            f"batch_delete_table_versions: versions of {table.name} are tagged and cannot be deleted: "
            f"{', '.join(f'{version} ({name})' for name, version in tagged.items())}. Delete the tags first."
        )


def bar(table: StoredTable, branch: str | None) -> None:
    """Make a version that changes nothing, so that its number is taken. Every other change gets along with it."""
    dataset = open_at(table, branch=branch)
    with translated(table, "bar"):
        dataset.update_config({BARRED: str(dataset.version)})


def restore(table: StoredTable, request: ln.RestoreTableRequest) -> None:
    """Make an earlier version the latest again, as a new version."""
    dataset = open_at(table, version=request.version, branch=request.branch)
    with translated(table, "restore_table"):
        dataset.restore()  # type: ignore[no-untyped-call]
