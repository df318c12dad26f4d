"""A managed table's manifests, where the lake's rows and the storage below meet.

A row is a version, whatever storage says. What the row promises is made true by whoever meets it: its manifest
is copied to its final path. What lies in storage without a row was written behind the lake: it is recorded,
moved aside, and never shown. Only a lake that has managed a table from its first version on moves anything: to
another one, what it does not know may be a version that another lake has given out, and so it is adopted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from lance_namespace_urllib3_client.models.table_version import TableVersion
from sqlalchemy import Connection

from lanceway.errors import (
    ConcurrentModificationError,
    LanceNamespaceError,
    TableBranchNotFoundError,
)
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow as Row
from lanceway.lake.versions import orphans, versions
from lanceway.lake.versions.versions import MAIN, Version, VersionClaim
from lanceway.tables.dataset import Table
from lanceway.tables.storage.store import Store
from lanceway.tables.versions import manager as managers
from lanceway.tables.versions import manifests
from lanceway.tables.versions.manager import Manager

_COPIED_AT_ONCE = 1000
_MANAGING_AT_MOST = 10_000

# Who made a version that was found in storage.
_STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class Swept:
    """Manifests without a row that may not be moved: those that have one now, and those that cannot be versions."""

    adopted: Sequence[str] = ()
    left: Sequence[str] = ()


class OvertakenError(ConcurrentModificationError):
    """A version was claimed, and its place in storage has been taken by a manifest that may not be moved."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """One managed table: its `row` in the lake, and the `table` in storage."""

    lake: LakeStore
    catalog: int
    row: Row
    table: Table

    def answer(self, version: Version) -> TableVersion:
        """A version as the contract has it."""
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

    def take_over(self) -> None:
        """Say in storage that this lake manages a table that has versions. Raises if another lake does."""
        if managers.adopt(self.table.store(), self.lake.identity).lake != self.lake.identity:
            raise managers.refusal(
                f"{self.row.identifier} cannot be managed by this lake",
                self.table.location,
                "Register it with the property lanceway.versioning = storage to read it here, or deregister it in that "
                "lake first.",
            )

    def _manager(self) -> Manager:
        """Who manages the table: this lake, if no other says so."""
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
        """Whether what has no row is certain to be a stray."""
        return self._manager() == Manager(self.lake.identity, from_first=True)

    # -- in a transaction ------------------------------------------------------------------------

    def held(self, connection: Connection) -> Row:
        """The table for a claim: it stays, and others may claim too. Raises if it is another one by now."""
        return self._same(lookups.hold(connection, self.catalog, self.row.identifier))

    def locked(self, connection: Connection) -> Row:
        """The table alone: nobody claims a version meanwhile."""
        return self._same(lookups.lock(connection, self.catalog, self.row.identifier))

    def _same(self, found: Row) -> Row:
        if found.id != self.row.id:
            raise ConcurrentModificationError(
                f"The table {self.row.identifier} was replaced by another one meanwhile. Load it again."
            )
        return found

    # -- what the rows promise -------------------------------------------------------------------

    def settled(self, version: Version, manifest: bytes | None = None) -> Version:
        """A version whose manifest is at its final path: it is copied there if that is still to be done."""
        if version.copied:
            return version
        if not self.lake.published.knows(version):
            if not (self._copied(version, manifest) or self._is_in_place(version)):
                return version
            self.lake.published.add(version)
            self.table.store().delete(version.staging_path)
        return replace(version, copied=True)

    def settle(self) -> Sequence[Version]:
        """Copy all that is still to be copied, and answer what that was."""
        found = self.lake.read(versions.uncopied, self.row.id, limit=_COPIED_AT_ONCE)
        tried = [(version, self._copied(version)) for version in found]
        done = [version for version, copied in tried if copied or self._is_in_place(version)]
        if done:
            self.lake.transact(versions.mark_copied, *done)
            self.table.store().delete(*(version.staging_path for version in done))
        return [version for version, copied in tried if copied]

    def is_unsettled(self, connection: Connection) -> bool:
        """Whether a manifest is not in its place. The table must be locked: so there will be no other.

        Storage is asked only for what the rows leave open, which is little; to copy it is for others.
        """
        store = self.table.store()
        return any(
            not self.lake.published.knows(version)
            and (store.exists(version.staging_path) or not _is_copied(store, version))
            for version in versions.doubtful(connection, self.row.id)
        )

    def _copied(self, version: Version, manifest: bytes | None = None) -> bool:
        """Copy a manifest to its final path; False if it is staged no more."""
        paths = (version.staging_path, version.final_path)
        return manifests.publish(self.table.store(), *paths, lambda other: self._keep(version, other), manifest)

    def _is_in_place(self, version: Version) -> bool:
        """Whether a manifest that is staged no more lies where it belongs, or did until a clean-up took it."""
        if self.lake.published.knows(version) or _is_copied(self.table.store(), version):
            return True
        # A version is claimed only when the one before is in its place.
        latest = self.lake.read(versions.latest, version.table, version.branch)
        return latest is not None and version.version < latest

    def erase(self, gone: Sequence[Version]) -> int:
        """Delete the manifests of versions whose rows are gone, and answer how many those were.

        Without a row they are no versions any more: one that storage does not let go is a stray.
        """
        with suppress(LanceNamespaceError):
            self.table.store().delete(*{path for row in gone for path in (row.final_path, row.staging_path)})
        return len(gone)

    def _keep(self, version: Version, data: bytes) -> None:
        """Keep what lies where a claimed version's manifest belongs. Raises OvertakenError where that must stay."""
        if not self._may_move():
            self._give_way(version)
        self.lake.transact(self._record, version.branch, {version.final_path: data})
        self.table.store().put(manifests.kept_key(version.final_path, data), data)

    def _give_way(self, version: Version) -> NoReturn:
        """Take a claim back whose place is taken. Nothing follows on it, since its manifest is not in its place."""
        one = (version.version, version.version + 1)
        self.lake.transact(
            lambda connection: versions.remove(connection, self.locked(connection), [one], branch=version.branch)
        )
        raise OvertakenError(
            f"Version {version.version} of {self.table.name} was written to storage at the same time, and counts: the "
            "lake has not managed this table from its first version on. Load the latest version and commit again. "
            f"The manifest that was refused is at {manifests.path_of(self.table, version.staging_path)}."
        )

    # -- what lies beside them -------------------------------------------------------------------

    def clear_the_way(self, latest: Version) -> bool:
        """Look where the next version will be, as its writer is going to look; whether there are more versions now.

        A stray is moved aside, or adopted where it may not be moved.
        """
        following = manifests.key(latest.version + 1, latest.branch, scheme=latest.naming_scheme)
        return self.table.store().exists(following) and bool(self.sweep(latest.branch, above=latest.version).adopted)

    def sweep(self, branch: str = MAIN, *, above: int = 0) -> Swept:
        """Move aside all manifests of a branch that have no row, those `above` a version alone if one is given.

        What this lake may not move becomes the table's where it follows on the latest version, and stays in any case.
        """
        store = self.table.store()
        found = {file.key for number, file in manifests.all_in(store, branch) if number > above}
        doubtful = self.lake.read(self._rowless, self.row, branch, found)
        data = {key: content for key in doubtful if (content := store.read(key)) is not None}
        if not data:
            return Swept()
        if not self._may_move():
            return self._adopted(branch, data.keys())
        # Recorded first, so that a crash forgets none; and looked at again under the lock each time, because
        # what had no row a moment ago may be somebody's version by now.
        recorded = self.lake.transact(self._record_rowless, branch, data)
        for key in recorded:
            store.put(manifests.kept_key(key, data[key]), data[key])
        self.lake.transact(lambda connection: store.delete(*self._rowless_now(connection, branch, recorded)))
        return Swept()

    def agree(self) -> Mapping[str, Swept]:
        """Copy all that is still to be copied, and sweep every branch; what was adopted and left, for each branch."""
        self.settle()
        return {branch: self.sweep(branch) for branch in (MAIN, *manifests.branches(self.table.store()))}

    def _record_rowless(self, connection: Connection, branch: str, data: Mapping[str, bytes]) -> set[str]:
        rowless = self._rowless_now(connection, branch, set(data))
        self._record(connection, branch, {key: data[key] for key in rowless})
        return rowless

    def _rowless_now(self, connection: Connection, branch: str, keys: set[str]) -> set[str]:
        row = self.locked(connection)
        # A table that has left the lake's care meanwhile has its versions in storage alone.
        return self._rowless(connection, row, branch, keys) if row.managed else set()

    def _rowless(self, connection: Connection, row: Row, branch: str, keys: set[str]) -> set[str]:
        if not keys:
            return set()
        lowest = min(manifests.version_of(key) or 0 for key in keys)
        return keys - {version.final_path for version in _all(connection, row, branch, after=lowest - 1)}

    def _record(self, connection: Connection, branch: str, data: Mapping[str, bytes]) -> None:
        for number, key in sorted((manifests.version_of(key) or 0, key) for key in data):
            kept = manifests.kept_key(key, data[key])
            orphans.record(connection, self.row.id, branch, number, path=key, kept_path=kept)

    # -- from storage into the lake --------------------------------------------------------------

    def adopt(self, connection: Connection, *, by: str) -> None:
        """Make every version that lies in storage, of every branch, a row."""
        store = self.table.store()
        for branch in (MAIN, *manifests.branches(store)):
            versions.adopt(connection, self.row.id, [*_claims(store, branch)], by=by)

    def _adopted(self, branch: str, keys: Collection[str]) -> Swept:
        adopted = self.lake.transact(self._adopt_following, branch, keys)
        return Swept(adopted, sorted(set(keys) - set(adopted)))

    def _adopt_following(self, connection: Connection, branch: str, keys: Collection[str]) -> Sequence[str]:
        """Make rows of those manifests that follow on the latest version, where they are; which those were."""
        row = self.locked(connection)
        if not row.managed or self.is_unsettled(connection):
            return ()
        claims = {claim.version: claim for claim in _claims(self.table.store(), branch) if claim.final_path in keys}
        latest = versions.latest(connection, row.id, branch)
        if latest is None:
            # The first version of the table; or of a branch, which begins at any number.
            latest = 0 if branch == MAIN else min(claims, default=1) - 1
        following: list[VersionClaim] = []
        while (claim := claims.get(latest + 1 + len(following))) is not None:
            following.append(claim)
        versions.adopt(connection, row.id, following, by=_STORAGE)
        return [claim.final_path for claim in following]


def _is_copied(store: Store, version: Version) -> bool:
    """Whether a manifest that is staged no more lies where it belongs.

    Only who has copied it deletes the staged one. The row may still not say so: marks come late, or are lost with
    their process, and a database that was restored knows nothing of what happened after its backup.
    """
    found = store.head(version.final_path)
    return found is not None and found.size == version.size


def _claims(store: Store, branch: str) -> Iterator[VersionClaim]:
    for number, file in manifests.all_in(store, branch):
        scheme = "V2" if file.key == manifests.key(number, branch) else "V1"
        yield VersionClaim(
            number, file.key, file.key, branch=branch, size=file.size, e_tag=file.e_tag, naming_scheme=scheme
        )


def _all(connection: Connection, row: Row, branch: str, *, after: int = 0) -> Sequence[Version]:
    """The versions of a branch, none for a branch that the lake does not know."""
    try:
        return versions.page(connection, row, branch=branch, after=after)
    except TableBranchNotFoundError:
        return []
