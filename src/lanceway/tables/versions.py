"""Versions as storage has them: listed, described, created from a staged manifest, deleted, restored."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    ListTableVersionsRequest,
    RestoreTableRequest,
)
from lance_namespace_urllib3_client.models.table_version import TableVersion
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableVersionNotFoundError,
)
from lanceway.tables import manifests, tags
from lanceway.tables.dataset import Table, is_main, open_at
from lanceway.tables.failures import translated
from lanceway.tables.storage import local_path

if TYPE_CHECKING:
    from lanceway.tables.storage import Object, Store

_SCHEMES = ("V2", "V1")


def list_(table: Table, request: ListTableVersionsRequest, after: int | None) -> list[TableVersion]:
    """The versions that come after `after`: oldest first, newest first if `descending`."""
    found = _all(table, table.store(), request.branch)
    ordered = sorted(found, reverse=bool(request.descending))
    if after is not None:
        ordered = [version for version in ordered if (version < after if request.descending else version > after)]
    return [_version(table, version, found[version]) for version in ordered]


def _all(table: Table, store: Store, branch: str | None) -> dict[int, Object]:
    """Every version of a branch. Where there is none, opening says why."""
    found = dict(manifests.all_in(store, branch))
    if not found:
        open_at(table, branch=branch)
    return found


def _version(table: Table, version: int, manifest: Object) -> TableVersion:
    return TableVersion(
        version=version,
        manifest_path=f"{_root(table)}/{manifest.key}".lstrip("/"),
        manifest_size=manifest.size,
        e_tag=manifest.e_tag,
        timestamp_millis=manifest.modified_millis,
    )


def _root(table: Table) -> str:
    """The location as a path from its store's root: no scheme, no bucket, no leading slash."""
    path = local_path(table.location)
    return (unquote(urlsplit(table.location).path) if path is None else path.as_posix()).strip("/")


def describe(table: Table, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
    """One version, or the latest where none is named."""
    store, version = table.store(), request.version
    if version is None:
        version = max(_all(table, store, request.branch))
    manifest = manifests.find(store, version, request.branch)
    if manifest is None:
        open_at(table, version=version, branch=request.branch)
        raise TableVersionNotFoundError(f"{table.name} has no version {version}. list_table_versions names them.")
    return DescribeTableVersionResponse(version=_version(table, version, manifest))


def create(table: Table, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
    """Make a staged manifest the next version. Of several writers of one version one succeeds.

    Raises ConcurrentModificationError for the others, and for a version that is not the next one.
    """
    store = table.store()
    found = dict(manifests.all_in(store, request.branch))
    # A branch begins with the version of its parent that it was made from.
    expected = max(found) + 1 if found else 1 if is_main(request.branch) else request.version
    if request.version != expected:
        raise _conflict(table, request, f"the next version is {expected}")
    staged = _staged(table, request)
    final = manifests.key(request.version, request.branch, scheme=_scheme(request.naming_scheme))
    if not store.copy_if_absent(staged, final):
        raise _conflict(table, request, "somebody else has just created it")
    store.delete(staged)
    made = store.head(final)
    if made is None:
        raise _conflict(table, request, "it was deleted as soon as it was there")
    return CreateTableVersionResponse(version=_version(table, request.version, made))


def _conflict(table: Table, request: CreateTableVersionRequest, why: str) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"create_table_version: version {request.version} of {table.name} cannot be created: {why}. "
        "Read the latest version and try again on top of it."
    )


def _scheme(given: str | None) -> str:
    scheme = (given or _SCHEMES[0]).upper()
    if scheme not in _SCHEMES:
        raise InvalidInputError(
            f"create_table_version: the naming scheme is {given!r}, but must be one of {', '.join(_SCHEMES)}."
        )
    return scheme


def _staged(table: Table, request: CreateTableVersionRequest) -> str:
    """The staged manifest's key. It must lie where the branch keeps its versions, and be none yet."""
    path = request.manifest_path.lstrip("/").removeprefix(f"{_root(table)}/")
    folder, _, name = path.rpartition("/")
    if folder != manifests.folder(request.branch) or name in ("", ".", "..") or manifests.version_of(path) is not None:
        raise InvalidInputError(
            f"create_table_version: {request.manifest_path!r} is no staged manifest of {table.name}. Write it into "
            f"{_root(table)}/{manifests.folder(request.branch)} under a name of its own and give that path."
        )
    return path


def delete(table: Table, request: BatchDeleteTableVersionsRequest) -> BatchDeleteTableVersionsResponse:
    """Delete the versions in some ranges, all or, where one of them is needed, none.

    The latest version stays, and so does a tagged one.
    """
    store = table.store()
    found = _all(table, store, request.branch)
    doomed = {version for version in found if any(_inside(version, part) for part in request.ranges)}
    if max(found) in doomed:
        raise InvalidInputError(
            f"batch_delete_table_versions: {max(found)} is the latest version of {table.name} and cannot be deleted. "
            f"End the range before it (end_version {max(found)}, which is exclusive), or drop the table."
        )
    _check_untagged(table, request.branch, doomed)
    store.delete(*(found[version].key for version in sorted(doomed)))
    return BatchDeleteTableVersionsResponse(deleted_count=len(doomed))


def _inside(version: int, part: VersionRange) -> bool:
    if part.start_version < 0 or part.end_version < -1:
        raise InvalidInputError(
            f"batch_delete_table_versions: {part.start_version} to {part.end_version} is no range of versions; "
            "start_version is 0 or more, end_version is exclusive and -1 for no end."
        )
    return part.start_version <= version and (part.end_version == -1 or version < part.end_version)


def _check_untagged(table: Table, branch: str | None, doomed: set[int]) -> None:
    tagged = {
        name: tag.version
        for name, tag in tags.list_(table, None).items()
        if tag.version in doomed and ((is_main(tag.branch) and is_main(branch)) or tag.branch == branch)
    }
    if tagged:
        raise InvalidTableStateError(
            f"batch_delete_table_versions: versions of {table.name} are tagged and cannot be deleted: "
            f"{', '.join(f'{version} ({name})' for name, version in tagged.items())}. Delete the tags first."
        )


def restore(table: Table, request: RestoreTableRequest) -> None:
    """Make an earlier version the latest again, as a new version."""
    dataset = open_at(table, version=request.version, branch=request.branch)
    with translated(table, "restore_table"):
        dataset.restore()  # type: ignore[no-untyped-call]
