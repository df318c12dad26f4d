"""Compare storage with the lake's rows (manifests, tags, branches, folders of no table), and repair it.

Others may go on writing meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain

from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection, location_of
from lanceway.catalogs.lake.managed_table import Manifests, Quarantine, stored_versions, take_over
from lanceway.catalogs.lake.refs.adoption import StoredRefs, stored_refs
from lanceway.catalogs.lake.refs.differences import (
    STRAY_BRANCH,
    STRAY_TAG,
    UNWRITTEN_BRANCH,
    UNWRITTEN_TAG,
    Difference,
    RefRepair,
    compare,
)
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.identifiers import Identifier
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import lookups, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import checks, refs, versions
from lanceway.lake.versions.checks import Finding, Holder, InventoryVersion, OrphanManifest
from lanceway.lake.versions.versions import MAIN, Version, VersionClaim
from lanceway.tables.storage import store as storage
from lanceway.tables.storage.store import local_path
from lanceway.tables.versions import manifests

# Remote storage answers slowly, but many requests at once.
_THREADS = 8
_SHOWN = 10

_MEANING = {
    STRAY_TAG: "The tag {name!r} was made without the lake, which does not show it.",
    STRAY_BRANCH: "The branch {name!r} was made without the lake, which does not show it.",
    UNWRITTEN_TAG: "Storage does not say of the tag {name!r} what the lake does.",
    UNWRITTEN_BRANCH: "Storage does not have the branch {name!r}.",
}

Options = Mapping[str, str]
Number = tuple[str, int]  # a branch and a version


def check(store: LakeStore, options: Options, root: str | None) -> Iterator[Finding]:
    """Find versions without a manifest, manifests without a version, and folders without a table; below one `root`."""
    only = None if root is None else str(local_path(root) or root).rstrip("/")
    with ThreadPoolExecutor(_THREADS) as pool:
        for page in _pages(store):
            inside = [holder for holder in page if only is None or f"{holder.location}/".startswith(f"{only}/")]
            yield from chain.from_iterable(pool.map(lambda holder: list(_table(store, holder, options)), inside))
    for place in store.read(checks.roots) if only is None else [only]:
        yield from _folders(store, place, options)


def _pages(store: LakeStore) -> Iterator[Sequence[Holder]]:
    page = store.read(checks.holders)
    while page:
        yield page
        page = store.read(checks.holders, after=page[-1].id)


def _table(store: LakeStore, holder: Holder, options: Options) -> Iterator[Finding]:
    """Compare a table's folder with its rows before and after: what was added or deleted in between is no finding."""
    before = store.read(checks.claimed, holder.id)
    files = {branch: _files(holder.location, branch, options) for branch in {"", *(row.branch for row in before)}}
    after = store.read(checks.claimed, holder.id)
    # A claim may have been published in between, and is another row then: versions are compared by number.
    staying = [row for row in before if _number(row) in {_number(other) for other in after}]
    yield from _missing(holder, [row for row in staying if not _has_manifest(row, files[row.branch])], before)
    claimed = {_number(row) for row in before | after}
    written = {(branch, version) for branch, names in files.items() for version in _versions(names)}
    yield from _orphans(holder, sorted(written - claimed))
    yield from _named_otherwise(store, holder, options)


def _named_otherwise(store: LakeStore, holder: Holder, options: Options) -> Iterator[Finding]:
    """Compare tags and branches, unless they are still to be adopted; what is being made or deleted is no finding."""
    if not holder.adopted:
        return
    # Row and file change one after the other, so what is under way differs for a moment, and hardly twice.
    first = {(each.kind, each.name) for each in _compare_refs(store, holder, options)}
    again = _compare_refs(store, holder, options) if first else ()
    for each in again:
        if (each.kind, each.name) in first:
            text = f"{_MEANING[each.kind].format(name=each.name)} `tables reconcile` says more, and repairs it."
            yield Finding(each.kind, _named(holder), text, wrong=False)


def _compare_refs(store: LakeStore, holder: Holder, options: Options) -> list[Difference]:
    stored = stored_refs(storage.open_store(holder.location, options))
    tags, branches = store.read(refs.tags_of, holder.id), store.read(refs.branches_of, holder.id)
    return list(compare(stored, tags, branches))


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
        text = f"Written without the lake, which does not show it: {_listed(numbers)}. `tables reconcile` says more."
        yield Finding("stray", _named(holder), text, wrong=False)


def _folders(store: LakeStore, root: str, options: Options) -> Iterator[Finding]:
    """Find folders under a root that belong to no table, such as those of deregistered ones."""
    for name in sorted(storage.open_store(root, options).names()):
        location = f"{root}/{name}"
        if not store.read(checks.is_known, location):
            yield Finding("folder", location, "It belongs to no table of the lake.", wrong=False)


def _listed(numbers: list[Number]) -> str:
    some = ", ".join(f"{version} of {branch!r}" if branch else str(version) for branch, version in numbers[:_SHOWN])
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"version {some}{more}" if len(numbers) == 1 else f"the versions {some}{more}"


def _named(holder: Holder) -> str:
    return f"table {holder.identifier} of {holder.catalog}"


STRAY = "stray"
UNCOPIED = "uncopied"
VANISHED = "vanished"
_NOTHING_TO_COMPARE = ": there is nothing that they could disagree with. Make it managed to have the lake own them."


@dataclass(frozen=True, slots=True)
class LakeRepair:
    """Bringing rows and storage into agreement, on demand."""

    lake: LakeConnection
    tables: LakeTables

    def reconcile(self, name: Identifier, *, adopt: bool, remove: bool = False) -> list[Difference]:
        """Return what a managed table's rows and its storage disagreed on, and repair what can be repaired."""
        store = self.lake.store
        table = self.tables.require_managed(self.tables.row(name), _NOTHING_TO_COMPARE)
        # The order matters: only when all claims are published are other manifests certain to be orphans, and only
        # when those are adopted is a version without a manifest certain to have vanished.
        uncopied = table.publish_pending()
        unmoved = [
            difference
            for branch, quarantine in table.reconcile().items()
            for difference in _unmoved(branch, quarantine)
        ]
        adopted = [*self._adopt_orphans(table)] if adopt else []
        vanished = self._vanished(table)
        forgotten = store.transact(self._forget_vanished, table, vanished) if adopt else set()
        orphan_rows = store.read(checks.of_table, table.row.id)
        missing = {(row.branch, row.version) for row in vanished}
        return [
            *(_difference(UNCOPIED, row, fixed=(row.branch, row.version) not in missing) for row in uncopied),
            *(_difference(VANISHED, row, fixed=(row.branch, row.version) in forgotten) for row in vanished),
            *adopted,
            *unmoved,
            *(Difference(STRAY, row.branch, row.version, row.kept_path, fixed=False) for row in orphan_rows),
            # After the versions, which tags and branches are made of.
            *RefRepair(self.lake).reconcile(table, adopt=adopt, remove=remove),
        ]

    # -- orphan manifests ------------------------------------------------------------------------

    def _adopt_orphans(self, table: Manifests) -> Iterator[Difference]:
        rows = self.lake.store.read(checks.of_table, table.row.id)
        for orphan in sorted(rows, key=lambda orphan: (orphan.branch, orphan.version, orphan.id)):
            claim = _claim(table, orphan)
            if claim is None:
                continue
            version = self.lake.store.transact(self._adopt, table, orphan, claim, table.settled())
            if version is not None:
                yield _difference(STRAY, table.published(version), fixed=True)

    def _adopt(
        self,
        connection: Connection,
        table: Manifests,
        orphan: OrphanManifest,
        claim: VersionClaim,
        settled: Collection[str],
    ) -> Version | None:
        """Make an orphan manifest a version, from where it is kept, if it continues the latest."""
        row = table.lock(connection)
        latest = versions.latest(connection, row.id, orphan.branch)
        others = checks.of_table(connection, row.id)
        # As for every claim, the version before must be published.
        if table.has_pending(connection, settled) or not _continues(orphan, latest, others):
            return None
        checks.forget(connection, orphan)
        refs.ensure_branch(connection, row.id, claim.branch, claim.version, claim.size, by=self.lake.user)
        return versions.claim(connection, row, claim, by=self.lake.user)

    # -- vanished --------------------------------------------------------------------------------

    def _vanished(self, table: Manifests) -> Sequence[Version]:
        branches = self.lake.store.read(versions.branches, table.row.id)
        return [row for branch in branches for row in self._vanished_from(table, branch)]

    def _vanished_from(self, table: Manifests, branch: str) -> Iterator[Version]:
        # Rows before files: a version that is claimed in between is in neither, rather than seemingly without a file.
        rows = self.lake.store.read(versions.page, table.row, branch=branch)
        keys = {file.key for _, file in manifests.all_in(table.table.store(), branch)}
        return (row for row in rows if row.final_path not in keys)

    def _forget_vanished(
        self, connection: Connection, table: Manifests, vanished: Sequence[Version]
    ) -> set[tuple[str, int]]:
        """Delete rows without a manifest, but never the latest of a branch: that is a loss, to be looked into."""
        row = table.lock(connection)
        branches = {version.branch for version in vanished}
        latest = {branch: versions.latest(connection, row.id, branch) for branch in branches}
        doomed = [version for version in vanished if version.version != latest[version.branch]]
        for version in doomed:
            only = (version.version, version.version + 1)
            versions.remove(connection, row, [only], branch=version.branch, by=self.lake.user)
        return {(version.branch, version.version) for version in doomed}

    # -- who owns the versions -------------------------------------------------------------------

    def set_versioning(self, table: Identifier, *, managed: bool) -> None:
        if managed:
            self._manage(self.tables.row(table))
        else:
            row = self.tables.after_reconcile(
                table, lambda connection, settled: self._leave_to_storage(connection, table, settled)
            )
            Removals(self.lake).unmark(location_of(row))

    def _manage(self, row: TableRow) -> None:
        if row.managed:
            return
        with self.tables.marking_managed(location_of(row)):
            # Storage is asked before the transaction. A version that is written in between is adopted when it is met.
            stored = self.lake.stored(row)
            take_over(self.lake.store, stored)
            store = stored.store()
            found, named = stored_versions(store), stored_refs(store)
            self.lake.store.transact(self._manage_row, self.lake.manifests(row), found, named)

    def _manage_row(
        self, connection: Connection, table: Manifests, found: Sequence[VersionClaim], named: StoredRefs
    ) -> None:
        row = table.lock(connection)
        if not row.managed:
            tables.alter(connection, self.lake.catalog.id, row.identifier, by=self.lake.user, managed=True)
            versions.adopt(connection, row.id, found, by=self.lake.user)
            named.adopt(connection, row, by=self.lake.user)

    def _leave_to_storage(self, connection: Connection, table: Identifier, settled: Collection[str]) -> TableRow | None:
        row = lookups.lock(connection, self.lake.catalog.id, table)
        if row.managed and self.lake.manifests(row).has_pending(connection, settled):
            return None
        for branch in versions.branches(connection, row.id):
            versions.remove(connection, row, [(0, None)], branch=branch, by=self.lake.user)
        refs.forget_tags(connection, row.id)
        refs.forget_branches(connection, row.id)
        return tables.alter(connection, self.lake.catalog.id, table, by=self.lake.user, managed=False)


def _continues(orphan: OrphanManifest, latest: int | None, others: Sequence[OrphanManifest]) -> bool:
    if latest is None:
        # The first version of the table; or of a branch, which begins at any number.
        return orphan.version == 1 if orphan.branch == MAIN else True
    numbers = {other.version for other in others if other.branch == orphan.branch}
    # A number says nothing of what a manifest was built on, once there were two of that number.
    return orphan.version == latest + 1 and latest not in numbers


def _claim(table: Manifests, orphan: OrphanManifest) -> VersionClaim | None:
    """Return the claim for an orphan manifest, None if it is no longer where it was kept."""
    file = table.table.store().head(orphan.kept_path)
    if file is None:
        return None
    scheme = "V2" if orphan.path == manifests.key(orphan.version, orphan.branch) else "V1"
    claim = VersionClaim(orphan.version, orphan.kept_path, orphan.path, branch=orphan.branch, naming_scheme=scheme)
    return replace(claim, size=file.size, e_tag=file.e_tag)


def _unmoved(branch: str, quarantine: Quarantine) -> Iterator[Difference]:
    """Return what the lake may not move: adopted where it follows on the latest version, even if that was not asked."""
    for key in (*quarantine.adopted, *quarantine.unmoved):
        yield Difference(STRAY, branch, manifests.version_of(key) or 0, key, fixed=key in quarantine.adopted)


def _difference(kind: str, row: Version, *, fixed: bool) -> Difference:
    return Difference(kind, row.branch, row.version, row.final_path, fixed)
