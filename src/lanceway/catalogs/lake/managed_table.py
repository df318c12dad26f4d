"""A managed table's manifests, where the lake's rows and the storage below meet.

A row is a version, whatever storage says. What the row promises is made true by any process that reads it: the
manifest is published, which means copied to its final path. A manifest in storage without a row was written without
the lake, and is an orphan: it is recorded, moved aside, and never shown. Only a lake that has managed a table from its
first version on moves anything: to another one, a manifest that it does not know may be a version that another lake
has given out, and so it is adopted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from lance_namespace_urllib3_client.models.table_version import TableVersion
from sqlalchemy import Connection

from lanceway.errors import ConcurrentModificationError, LanceNamespaceError, TableBranchNotFoundError
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import checks, refs, versions
from lanceway.lake.versions.versions import MAIN, Version, VersionClaim
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage.store import Store
from lanceway.tables.versions import manager as managers
from lanceway.tables.versions import manifests
from lanceway.tables.versions.manager import Manager

_COPIED_AT_ONCE = 1000
_MANAGING_AT_MOST = 10_000

# Who made a version that was found in storage.
_STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Orphan manifests that may not be moved: those that have become versions, and those that cannot."""

    adopted: Sequence[str] = ()
    unmoved: Sequence[str] = ()


class OvertakenError(ConcurrentModificationError):
    """A version was claimed, and its place in storage has been taken by a manifest that may not be moved."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """One managed table: its `row` in the lake, and the `table` in storage."""

    lake: LakeStore
    catalog: int
    row: TableRow
    table: StoredTable

    def answer(self, version: Version) -> TableVersion:
        """Return a version as the contract has it."""
        return TableVersion(
            version=version.version,
            manifest_path=manifests.path_of(self.table, version.final_path),
            manifest_size=version.size,
            e_tag=version.e_tag,
            timestamp_millis=version.created_at,
            metadata=dict(version.metadata) or None,
        )

    # -- which lake manages it -------------------------------------------------------------------

    def require_manager(self) -> None:
        """Refuse what only the lake that manages the table may do. Storage is asked once for each process."""
        if self.row.id not in self.lake.managing and self._manager().lake != self.lake.identity:
            raise managers.refusal(
                f"{self.table.name} cannot be written to through this lake",
                self.table.location,
                f"Write to it through that lake, and let this one follow: lanceway tables versioning "
                f"{self.row.identifier} storage.",
            )

    def _manager(self) -> Manager:
        """Return which lake manages the table: this one, if no other says so."""
        store = self.table.store()
        manager = managers.find(store)
        if manager is None:
            from_first = self.lake.read(versions.is_from_first, self.row.id)
            manager = managers.take(store, Manager(self.lake.identity, from_first))
        if manager.lake == self.lake.identity:
            if len(self.lake.managing) >= _MANAGING_AT_MOST:
                self.lake.managing.clear()
            self.lake.managing.add(self.row.id)
        return manager

    def _may_move(self) -> bool:
        """Return whether a manifest without a row is certain to be an orphan."""
        return self._manager() == Manager(self.lake.identity, from_first=True)

    # -- in a transaction ------------------------------------------------------------------------

    def hold(self, connection: Connection) -> TableRow:
        """Keep the table from being dropped or locked; others may claim versions too. Raises if it was replaced."""
        return self._same(lookups.hold(connection, self.catalog, self.row.identifier))

    def lock(self, connection: Connection) -> TableRow:
        """Lock the table: until the transaction ends, no version is claimed. Raises if it was replaced."""
        return self._same(lookups.lock(connection, self.catalog, self.row.identifier))

    def _same(self, row: TableRow) -> TableRow:
        if row.id != self.row.id:
            raise ConcurrentModificationError(
                f"The table {self.row.identifier} was replaced by another one meanwhile. Load it again."
            )
        return row

    # -- publishing what the rows promise --------------------------------------------------------

    def published(self, version: Version, manifest: bytes | None = None) -> Version:
        """Publish a version's manifest if that is still to be done, and return the version."""
        if version.copied:
            return version
        if not self.lake.published.knows(version):
            if not (self._publish(version, manifest) or self._is_in_place(version)):
                return version
            self.lake.published.add(version)
            # Last: a staged manifest that is gone means to others that the published one is there.
            self.table.store().delete(version.staging_path)
        return replace(version, copied=True)

    def publish_pending(self) -> Sequence[Version]:
        """Publish all manifests that are still to be published, and return their versions."""
        rows = self.lake.read(versions.uncopied, self.row.id, limit=_COPIED_AT_ONCE)
        attempts = [(version, self._publish(version)) for version in rows]
        in_place = [version for version, copied in attempts if copied or self._is_in_place(version)]
        if in_place:
            self.lake.transact(versions.mark_copied, *in_place)
            self.table.store().delete(*(version.staging_path for version in in_place))
        return [version for version, copied in attempts if copied]

    def settled(self) -> frozenset[str]:
        """Return the staging paths of versions that are in place though their rows do not say so: for `has_pending`.

        Storage is asked only for what the rows leave open, which is little, and before a transaction, which should not
        wait for it. What is settled stays so.
        """
        doubtful = self.lake.read(versions.doubtful, self.row.id)
        return frozenset(version.staging_path for version in doubtful if self._is_settled(version))

    def has_pending(self, connection: Connection, settled: Collection[str]) -> bool:
        """Return whether a manifest is still to be published. The table must be locked: so there will be no other.

        Storage is asked only for a version that was claimed since `settled` was looked up. Nothing is published here.
        """
        return any(
            version.staging_path not in settled and not self._is_settled(version)
            for version in versions.doubtful(connection, self.row.id)
        )

    def _is_settled(self, version: Version) -> bool:
        store = self.table.store()
        return self.lake.published.knows(version) or (
            not store.exists(version.staging_path) and _is_copied(store, version)
        )

    def _publish(self, version: Version, manifest: bytes | None = None) -> bool:
        """Copy a manifest to its final path; return False if it is not staged any more."""
        paths = (version.staging_path, version.final_path)
        return manifests.publish(self.table.store(), *paths, lambda other: self._displace(version, other), manifest)

    def _is_in_place(self, version: Version) -> bool:
        """Return whether a manifest that is not staged any more was published, even if a clean-up has deleted it."""
        if self.lake.published.knows(version) or _is_copied(self.table.store(), version):
            return True
        # A version is claimed only when the one before is published.
        latest = self.lake.read(versions.latest, version.table, version.branch)
        return latest is not None and version.version < latest

    def _displace(self, version: Version, data: bytes) -> None:
        """Keep an orphan that is where a claimed version belongs. Raises OvertakenError where it may not be moved."""
        if not self._may_move():
            self._revoke(version)
        self.lake.transact(self._record, version.branch, {version.final_path: data})
        self.table.store().put(manifests.kept_key(version.final_path, data), data)

    def _revoke(self, version: Version) -> NoReturn:
        """Take a claim back whose place is taken. No version follows it, since its manifest was never published."""
        only = (version.version, version.version + 1)
        self.lake.transact(
            lambda connection: versions.remove(connection, self.lock(connection), [only], branch=version.branch)
        )
        raise OvertakenError(
            f"Version {version.version} of {self.table.name} was written to storage at the same time, and counts: the "
            "lake has not managed this table from its first version on. Load the latest version and commit again. "
            f"The manifest that was refused is at {manifests.path_of(self.table, version.staging_path)}."
        )

    def delete(self, deleted: Sequence[Version]) -> int:
        """Delete the manifests of versions whose rows are deleted, and return how many versions those were.

        Without a row they are versions no more: one that storage fails to delete is an orphan.
        """
        with suppress(LanceNamespaceError):
            self.table.store().delete(*{path for row in deleted for path in (row.final_path, row.staging_path)})
        return len(deleted)

    # -- orphan manifests ------------------------------------------------------------------------

    def reconcile(self) -> Mapping[str, Quarantine]:
        """Publish what is pending, and quarantine the orphans of every branch; return what could not be moved."""
        self.publish_pending()
        return {branch: self.quarantine_orphans(branch) for branch in (MAIN, *manifests.branches(self.table.store()))}

    def quarantine_next(self, latest: Version) -> bool:
        """Quarantine an orphan with the next number, where a writer is about to look; return whether it was adopted.

        One file is looked for, not the whole folder: this runs before every commit.
        """
        following = manifests.key(latest.version + 1, latest.branch, scheme=latest.naming_scheme)
        if not self.table.store().exists(following):
            return False
        return bool(self.quarantine_orphans(latest.branch, above=latest.version).adopted)

    def quarantine_orphans(self, branch: str = MAIN, *, above: int = 0) -> Quarantine:
        """Move aside all manifests of a branch without a row, or only those `above` a version.

        Those that this lake may not move stay, and become versions where they follow on the latest.
        """
        store = self.table.store()
        keys = {file.key for number, file in manifests.all_in(store, branch) if number > above}
        rowless = self.lake.read(self._rowless, self.row, branch, keys)
        data = {key: content for key in rowless if (content := store.read(key)) is not None}
        if not data:
            return Quarantine()
        if not self._may_move():
            return self._adopt_in_place(branch, data.keys())
        # Record, copy, delete: a crash in between loses nothing. Before the record and before the deletion the rows
        # are read again under the lock, because a manifest that had no row may be a version by now.
        recorded = self.lake.transact(self._record_rowless, branch, data)
        for key in recorded:
            store.put(manifests.kept_key(key, data[key]), data[key])
        self.lake.transact(lambda connection: store.delete(*self._rowless_now(connection, branch, recorded)))
        return Quarantine()

    def _record_rowless(self, connection: Connection, branch: str, data: Mapping[str, bytes]) -> set[str]:
        rowless = self._rowless_now(connection, branch, set(data))
        self._record(connection, branch, {key: data[key] for key in rowless})
        return rowless

    def _rowless_now(self, connection: Connection, branch: str, keys: set[str]) -> set[str]:
        row = self.lock(connection)
        # The versions of a table that is not managed any more are in storage alone.
        return self._rowless(connection, row, branch, keys) if row.managed else set()

    def _rowless(self, connection: Connection, row: TableRow, branch: str, keys: set[str]) -> set[str]:
        if not keys:
            return set()
        lowest = min(manifests.version_of(key) or 0 for key in keys)
        return keys - {version.final_path for version in _all(connection, row, branch, after=lowest - 1)}

    def _record(self, connection: Connection, branch: str, data: Mapping[str, bytes]) -> None:
        for number, key in sorted((manifests.version_of(key) or 0, key) for key in data):
            kept_path = manifests.kept_key(key, data[key])
            checks.record(connection, self.row.id, branch, number, path=key, kept_path=kept_path)

    # -- from storage into the lake --------------------------------------------------------------

    def _adopt_in_place(self, branch: str, keys: Collection[str]) -> Quarantine:
        claims = {claim.version: claim for claim in _claims(self.table.store(), branch) if claim.final_path in keys}
        adopted = self.lake.transact(self._adopt_following, branch, claims, self.settled())
        return Quarantine(adopted, sorted(set(keys) - set(adopted)))

    def _adopt_following(
        self, connection: Connection, branch: str, claims: Mapping[int, VersionClaim], settled: Collection[str]
    ) -> Sequence[str]:
        """Make rows of those manifests that follow on the latest version, where they are; return their keys."""
        row = self.lock(connection)
        if not row.managed or self.has_pending(connection, settled):
            return ()
        latest = versions.latest(connection, row.id, branch)
        if latest is None:
            # The first version of the table; or of a branch, which begins at any number.
            latest = 0 if branch == MAIN else min(claims, default=1) - 1
        following: list[VersionClaim] = []
        while (claim := claims.get(latest + 1 + len(following))) is not None:
            following.append(claim)
        versions.adopt(connection, row.id, following, by=_STORAGE)
        if following:
            first = following[0]
            refs.ensure_branch(connection, row.id, branch, first.version, first.size, by=_STORAGE)
        return [claim.final_path for claim in following]


def take_over(lake: LakeStore, table: StoredTable) -> None:
    """Say in storage that a lake manages a table that has versions. Raises if another lake does."""
    if managers.adopt(table.store(), lake.identity).lake != lake.identity:
        raise managers.refusal(
            f"{table.name} cannot be managed by this lake",
            table.location,
            "Register it with the property lanceway.versioning = storage to read it here, or deregister it in that "
            "lake first.",
        )


def stored_versions(store: Store) -> Sequence[VersionClaim]:
    """Return every version in a table's storage, of every branch."""
    return [claim for branch in (MAIN, *manifests.branches(store)) for claim in _claims(store, branch)]


def _is_copied(store: Store, version: Version) -> bool:
    """Return whether a manifest that is not staged any more is at its final path.

    Only the process that has copied it deletes the staged one. The row may still not say so: flags come late, or are
    lost with their process, and a database that was restored does not know what happened after its backup.
    """
    file = store.head(version.final_path)
    return file is not None and file.size == version.size


def _claims(store: Store, branch: str) -> Iterator[VersionClaim]:
    for number, file in manifests.all_in(store, branch):
        scheme = "V2" if file.key == manifests.key(number, branch) else "V1"
        yield VersionClaim(
            number, file.key, file.key, branch=branch, size=file.size, e_tag=file.e_tag, naming_scheme=scheme
        )


def _all(connection: Connection, row: TableRow, branch: str, *, after: int = 0) -> Sequence[Version]:
    """Return the versions of a branch, none for a branch that the lake does not know."""
    try:
        return versions.page(connection, row, branch=branch, after=after)
    except TableBranchNotFoundError:
        return []
