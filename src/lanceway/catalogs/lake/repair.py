"""Repair of a managed table: what its rows and storage disagree on, and who is to own its versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection, location_of
from lanceway.catalogs.lake.managed_table import Manifests, Quarantine
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.identifiers import Identifier
from lanceway.lake.tree import lookups, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import orphans, versions
from lanceway.lake.versions.orphans import OrphanManifest
from lanceway.lake.versions.versions import MAIN, Version, VersionClaim
from lanceway.tables.versions import manifests

STRAY = "stray"
UNCOPIED = "uncopied"
VANISHED = "vanished"
_NOTHING_TO_COMPARE = ": there is nothing that they could disagree with. Make it managed to have the lake own them."


@dataclass(frozen=True, slots=True)
class Difference:
    """One version on which the lake and storage disagree.

    A `stray` is a manifest that was written without the lake, and is kept aside; of a table that the lake has not
    managed from its first version on it stays where it is, and is a version if it follows on the latest. An `uncopied`
    version was claimed, but its manifest was not yet at its final path. A `vanished` one has a row, but a clean-up
    deleted its manifest. `mended` says that they agree now; `path` is where the manifest is or would be, below the
    table's location.
    """

    kind: str
    branch: str
    version: int
    path: str
    mended: bool


@dataclass(frozen=True, slots=True)
class LakeRepair:
    """Bringing rows and storage into agreement, on demand."""

    lake: LakeConnection
    tables: LakeTables

    def reconcile(self, name: Identifier, *, adopt: bool) -> list[Difference]:
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
        orphan_rows = store.read(orphans.of_table, table.row.id)
        missing = {(row.branch, row.version) for row in vanished}
        return [
            *(_difference(UNCOPIED, row, mended=(row.branch, row.version) not in missing) for row in uncopied),
            *(_difference(VANISHED, row, mended=(row.branch, row.version) in forgotten) for row in vanished),
            *adopted,
            *unmoved,
            *(Difference(STRAY, row.branch, row.version, row.kept_path, mended=False) for row in orphan_rows),
        ]

    # -- orphan manifests ------------------------------------------------------------------------

    def _adopt_orphans(self, table: Manifests) -> Iterator[Difference]:
        rows = self.lake.store.read(orphans.of_table, table.row.id)
        for orphan in sorted(rows, key=lambda orphan: (orphan.branch, orphan.version, orphan.id)):
            claim = _claim(table, orphan)
            version = None if claim is None else self.lake.store.transact(self._adopt, table, orphan, claim)
            if version is not None:
                yield _difference(STRAY, table.published(version), mended=True)

    def _adopt(
        self, connection: Connection, table: Manifests, orphan: OrphanManifest, claim: VersionClaim
    ) -> Version | None:
        """Make an orphan manifest a version, from where it is kept, if it continues the latest."""
        row = table.lock(connection)
        latest = versions.latest(connection, row.id, orphan.branch)
        others = orphans.of_table(connection, row.id)
        # As for every claim, the version before must be published.
        if table.has_pending(connection) or not _continues(orphan, latest, others):
            return None
        orphans.forget(connection, orphan)
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
            versions.remove(connection, row, [only], branch=version.branch)
        return {(version.branch, version.version) for version in doomed}

    # -- who owns the versions -------------------------------------------------------------------

    def set_versioning(self, table: Identifier, *, managed: bool) -> None:
        if managed:
            with self.tables.marking_managed(location_of(self.tables.row(table))):
                self.lake.store.transact(self._manage, table)
        else:
            row = self.tables.after_reconcile(table, lambda connection: self._leave_to_storage(connection, table))
            Removals(self.lake).unmark(location_of(row))

    def _manage(self, connection: Connection, table: Identifier) -> None:
        row = lookups.lock(connection, self.lake.catalog.id, table)
        if not row.managed:
            self.lake.manifests(row).take_over()
            tables.alter(connection, self.lake.catalog.id, table, by=self.lake.user, managed=True)
            self.lake.manifests(row).adopt(connection, by=self.lake.user)

    def _leave_to_storage(self, connection: Connection, table: Identifier) -> TableRow | None:
        row = lookups.lock(connection, self.lake.catalog.id, table)
        if row.managed and self.lake.manifests(row).has_pending(connection):
            return None
        for branch in versions.branches(connection, row.id):
            versions.remove(connection, row, [(0, None)], branch=branch)
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
        yield Difference(STRAY, branch, manifests.version_of(key) or 0, key, mended=key in quarantine.adopted)


def _difference(kind: str, row: Version, *, mended: bool) -> Difference:
    return Difference(kind, row.branch, row.version, row.final_path, mended)
