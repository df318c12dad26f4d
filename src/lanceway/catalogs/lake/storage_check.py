"""Compare storage with the lake's rows: lost manifests, orphan manifests, and folders of no table.

Others may go on writing meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from lanceway.lake.store.database import LakeStore
from lanceway.lake.versions import inventory
from lanceway.lake.versions.checks import Finding
from lanceway.lake.versions.inventory import Holder, InventoryVersion
from lanceway.tables.storage import store as storage
from lanceway.tables.storage.store import local_path
from lanceway.tables.versions import manifests

# Remote storage answers slowly, but many requests at once.
_THREADS = 8
_SHOWN = 10

Options = Mapping[str, str]
Number = tuple[str, int]  # a branch and a version


def check(store: LakeStore, options: Options, root: str | None) -> Iterator[Finding]:
    """Find versions without a manifest, manifests without a version, and folders without a table; below one `root`."""
    only = None if root is None else str(local_path(root) or root).rstrip("/")
    with ThreadPoolExecutor(_THREADS) as pool:
        for page in _pages(store):
            inside = [holder for holder in page if only is None or f"{holder.location}/".startswith(f"{only}/")]
            yield from chain.from_iterable(pool.map(lambda holder: list(_table(store, holder, options)), inside))
    for place in store.read(inventory.roots) if only is None else [only]:
        yield from _folders(store, place, options)


def _pages(store: LakeStore) -> Iterator[Sequence[Holder]]:
    page = store.read(inventory.holders)
    while page:
        yield page
        page = store.read(inventory.holders, after=page[-1].id)


def _table(store: LakeStore, holder: Holder, options: Options) -> Iterator[Finding]:
    """Compare a table's folder with its rows before and after: what was added or deleted in between is no finding."""
    before = store.read(inventory.claimed, holder.id)
    files = {branch: _files(holder.location, branch, options) for branch in {"", *(row.branch for row in before)}}
    after = store.read(inventory.claimed, holder.id)
    # A claim may have been published in between, and is another row then: versions are compared by number.
    staying = [row for row in before if _number(row) in {_number(other) for other in after}]
    yield from _missing(holder, [row for row in staying if not _has_manifest(row, files[row.branch])], before)
    claimed = {_number(row) for row in before | after}
    written = {(branch, version) for branch, names in files.items() for version in _versions(names)}
    yield from _orphans(holder, sorted(written - claimed))


def _files(location: str, branch: str, options: Options) -> frozenset[str]:
    """Return the names of the files in the folder of a branch's manifests."""
    return frozenset(storage.open_store(location, options).level(manifests.folder(branch or None))[1])


def _versions(names: Iterable[str]) -> Iterator[int]:
    return (version for version in map(manifests.version_of, names) if version is not None)


def _number(row: InventoryVersion) -> Number:
    return row.branch, row.version


def _has_manifest(row: InventoryVersion, names: frozenset[str]) -> bool:
    """Return whether a version's manifest is at its final path, or still where its writer put it."""
    staged = not row.copied and row.staging_path.rpartition("/")[2] in names
    return staged or row.version in _versions(names)


def _missing(holder: Holder, rows: Iterable[InventoryVersion], known: Iterable[InventoryVersion]) -> Iterator[Finding]:
    """Tell lost manifests from cleaned ones: a client's clean-up deletes old ones without the lake, never the latest.

    An old one was published once, even if its row does not say so: else the next one could not have been claimed.
    """
    latest = {row.branch: row.version for row in sorted(known, key=_number)}
    lost: list[Number] = []
    cleaned: list[Number] = []
    for row in rows:
        (cleaned if row.version < latest[row.branch] else lost).append(_number(row))
    if lost:
        text = f"There is no manifest for {_listed(sorted(lost))} in its folder."
        yield Finding("lost manifest", _named(holder), text)
    if cleaned:
        text = f"A clean-up took the manifest of {_listed(sorted(cleaned))}. To forget them: tables reconcile --adopt"
        yield Finding("vanished", _named(holder), text, wrong=False)


def _orphans(holder: Holder, numbers: list[Number]) -> Iterator[Finding]:
    if numbers:
        text = (
            f"Somebody wrote {_listed(numbers)} without the lake, which shows none of it; `tables reconcile` says more."
        )
        yield Finding("stray", _named(holder), text, wrong=False)


def _folders(store: LakeStore, root: str, options: Options) -> Iterator[Finding]:
    """Find folders under a root that belong to no table, such as those of deregistered ones."""
    for name in sorted(storage.open_store(root, options).names()):
        location = f"{root}/{name}"
        if not store.read(inventory.is_known, location):
            yield Finding("folder", location, "It belongs to no table of the lake.", wrong=False)


def _listed(numbers: list[Number]) -> str:
    some = ", ".join(f"{version} of {branch!r}" if branch else str(version) for branch, version in numbers[:_SHOWN])
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"version {some}{more}" if len(numbers) == 1 else f"the versions {some}{more}"


def _named(holder: Holder) -> str:
    return f"table {holder.identifier} of {holder.catalog}"
