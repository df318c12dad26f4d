"""What lies in storage beside what the lake's rows say should. Others may go on writing meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.lake.store.database import LakeStore
    from lanceway.lake.versions.checks import Finding
    from lanceway.lake.versions.inventory import Holder, InventoryVersion

# Storage far away answers slowly, and many questions at once.
_AT_ONCE = 8
_SHOWN = 10

Options = Mapping[str, str]


def check(store: LakeStore, options: Options, root: str | None) -> Iterator[Finding]:
    """Versions whose manifests are lost, manifests that no version has, and folders that no table has."""
    from lanceway.lake.versions import inventory
    from lanceway.tables.storage.store import local_path

    only = None if root is None else str(local_path(root) or root).rstrip("/")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for page in _pages(store):
            inside = [holder for holder in page if only is None or f"{holder.location}/".startswith(f"{only}/")]
            yield from chain.from_iterable(pool.map(lambda holder: list(_table(store, holder, options)), inside))
    for place in store.read(inventory.roots) if only is None else [only]:
        yield from _folders(store, place, options)


def _pages(store: LakeStore) -> Iterator[Sequence[Holder]]:
    from lanceway.lake.versions import inventory

    page = store.read(inventory.holders)
    while page:
        yield page
        page = store.read(inventory.holders, after=page[-1].id)


def _table(store: LakeStore, holder: Holder, options: Options) -> Iterator[Finding]:
    """Compare a table's folder with its rows before and after: what came or went in between is nobody's fault."""
    before = _claimed(store, holder)
    files = {branch: _files(holder.location, branch, options) for branch in {"", *(row.branch for row in before)}}
    after = _claimed(store, holder)
    # A claim may have been copied in between, and is another row then: it is known by its key.
    staying = [row for row in before if _key(row) in {_key(other) for other in after}]
    yield from _missing(holder, [row for row in staying if not _is_there(row, files[row.branch])], before)
    known = {_key(row) for row in before | after}
    found = {(branch, version) for branch, names in files.items() for version in _versions(names)}
    yield from _strays(holder, sorted(found - known))


def _claimed(store: LakeStore, holder: Holder) -> frozenset[InventoryVersion]:
    from lanceway.lake.versions import inventory

    return store.read(inventory.claimed, table=holder.id)


def _files(location: str, branch: str, options: Options) -> frozenset[str]:
    """The names of the files beside the manifests of a branch."""
    from lanceway.tables.storage import store as storage
    from lanceway.tables.versions import manifests

    return frozenset(storage.open_store(location, options).level(manifests.folder(branch or None))[1])


def _versions(names: Iterable[str]) -> Iterator[int]:
    from lanceway.tables.versions import manifests

    return (version for version in map(manifests.version_of, names) if version is not None)


def _key(row: InventoryVersion) -> tuple[str, int]:
    return row.branch, row.version


def _is_there(row: InventoryVersion, names: frozenset[str]) -> bool:
    """Whether a version's manifest is there: at its final place, or still where its writer put it."""
    staged = not row.copied and row.staging_path.rpartition("/")[2] in names
    return staged or row.version in _versions(names)


def _missing(holder: Holder, rows: Iterable[InventoryVersion], known: Iterable[InventoryVersion]) -> Iterator[Finding]:
    """A client's clean-up takes old manifests without telling the lake; the latest, never.

    An old one was in its place once, even if its row does not say so: else the next one could not have been claimed.
    """
    from lanceway.lake.versions.checks import Finding

    latest = {row.branch: row.version for row in sorted(known, key=_key)}
    lost, cleaned = list[tuple[str, int]](), list[tuple[str, int]]()
    for row in rows:
        (cleaned if row.version < latest[row.branch] else lost).append(_key(row))
    if lost:
        text = f"There is no manifest for {_listed(sorted(lost))} in its folder."
        yield Finding("lost manifest", _named(holder), text)
    if cleaned:
        text = f"A clean-up took the manifest of {_listed(sorted(cleaned))}. To forget them: tables reconcile --adopt"
        yield Finding("vanished", _named(holder), text, wrong=False)


def _strays(holder: Holder, found: list[tuple[str, int]]) -> Iterator[Finding]:
    from lanceway.lake.versions.checks import Finding

    if found:
        text = (
            f"Somebody wrote {_listed(found)} without the lake, which shows none of it; `tables reconcile` says more."
        )
        yield Finding("stray", _named(holder), text, wrong=False)


def _folders(store: LakeStore, root: str, options: Options) -> Iterator[Finding]:
    """Folders under a root that belong to no table: of one that was deregistered, or of nobody."""
    from lanceway.lake.versions import inventory
    from lanceway.lake.versions.checks import Finding
    from lanceway.tables.storage import store as storage

    for name in sorted(storage.open_store(root, options).names()):
        location = f"{root}/{name}"
        if not store.read(inventory.is_known, location=location):
            yield Finding("folder", location, "It belongs to no table of the lake.", wrong=False)


def _listed(found: list[tuple[str, int]]) -> str:
    some = ", ".join(f"{version} of {branch!r}" if branch else str(version) for branch, version in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"version {some}{more}" if len(found) == 1 else f"the versions {some}{more}"


def _named(holder: Holder) -> str:
    return f"table {holder.identifier} of {holder.catalog}"
