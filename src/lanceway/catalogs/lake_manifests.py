"""A managed table's manifests, where the lake's rows and the storage below meet.

A row is a version, whatever storage says. What the row promises is made true by whoever meets it: its manifest
is copied to its final path. What lies in storage without a row was written behind the lake: it is recorded,
moved aside, and never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from lance_namespace_urllib3_client.models.table_version import TableVersion
from sqlalchemy import Connection

from lanceway.errors import ConcurrentModificationError, LanceNamespaceError, TableBranchNotFoundError
from lanceway.lake import lookups, strays, versions
from lanceway.lake.lookups import Table as Row
from lanceway.lake.store import LakeStore
from lanceway.lake.versions import MAIN, Claim, Version
from lanceway.tables import manifests, publishing
from lanceway.tables.dataset import Table
from lanceway.tables.storage import Store

_COPIED_AT_ONCE = 1000


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
        if not self.lake.marks.knows(version):
            if not (self._copied(version, manifest) or self._is_in_place(version)):
                return version
            self.lake.marks.add(version)
            self.table.store().delete(version.staging_path)
        return replace(version, copied=True)

    def settle(self) -> Sequence[Version]:
        """Copy all that is still to be copied, and answer what that was."""
        found = self.lake.read(lambda connection: versions.uncopied(connection, self.row.id, limit=_COPIED_AT_ONCE))
        tried = [(version, self._copied(version)) for version in found]
        done = [version for version, copied in tried if copied or self._is_in_place(version)]
        if done:
            self.lake.run(lambda connection: versions.mark_copied(connection, *done))
            self.table.store().delete(*(version.staging_path for version in done))
        return [version for version, copied in tried if copied]

    def is_unsettled(self, connection: Connection) -> bool:
        """Whether a manifest is not in its place. The table must be locked: so there will be no other.

        Storage is asked only for what the rows leave open, which is little; to copy it is for others.
        """
        store = self.table.store()
        return any(
            not self.lake.marks.knows(version)
            and (store.exists(version.staging_path) or not _is_copied(store, version))
            for version in versions.doubtful(connection, self.row.id)
        )

    def _copied(self, version: Version, manifest: bytes | None = None) -> bool:
        """Copy a manifest to its final path; False if it is staged no more."""
        paths = (version.staging_path, version.final_path)
        return publishing.publish(self.table.store(), *paths, lambda found: self._keep(version, found), manifest)

    def _is_in_place(self, version: Version) -> bool:
        """Whether a manifest that is staged no more lies where it belongs, or did until a clean-up took it."""
        if self.lake.marks.knows(version) or _is_copied(self.table.store(), version):
            return True
        # A version is claimed only when the one before is in its place.
        latest = self.lake.read(lambda connection: versions.latest(connection, version.table, version.branch))
        return latest is not None and version.version < latest

    def erase(self, gone: Sequence[Version]) -> int:
        """Delete the manifests of versions whose rows are gone, and answer how many those were.

        Without a row they are no versions any more: one that storage does not let go is a stray.
        """
        with suppress(LanceNamespaceError):
            self.table.store().delete(*{path for row in gone for path in (row.final_path, row.staging_path)})
        return len(gone)

    def _keep(self, version: Version, data: bytes) -> None:
        """Keep what lies where a claimed version's manifest belongs."""
        self.lake.run(lambda connection: self._record(connection, version.branch, {version.final_path: data}))
        self.table.store().put(publishing.kept_key(version.final_path, data), data)

    # -- what lies beside them -------------------------------------------------------------------

    def clear_the_way(self, latest: Version) -> None:
        """Look where the next version will be, as its writer is going to look, and move a stray aside."""
        following = manifests.key(latest.version + 1, latest.branch, scheme=latest.naming_scheme)
        if self.table.store().exists(following):
            self.sweep(latest.branch, above=latest.version)

    def sweep(self, branch: str = MAIN, *, above: int = 0) -> None:
        """Move aside all manifests of a branch that have no row, those `above` a version alone if one is given."""
        store = self.table.store()
        found = {file.key for number, file in manifests.all_in(store, branch) if number > above}
        doubtful = self.lake.read(lambda connection: self._rowless(connection, self.row, branch, found))
        data = {key: content for key in doubtful if (content := store.read(key)) is not None}
        if not data:
            return
        # Recorded first, so that a crash forgets none; and looked at again under the lock each time, because
        # what had no row a moment ago may be somebody's version by now.
        recorded = self.lake.run(lambda connection: self._record_rowless(connection, branch, data))
        for key in recorded:
            store.put(publishing.kept_key(key, data[key]), data[key])
        self.lake.run(lambda connection: store.delete(*self._rowless_now(connection, branch, recorded)))

    def agree(self) -> None:
        """Copy all that is still to be copied, and move aside all that has no row, on every branch."""
        self.settle()
        for branch in (MAIN, *publishing.branches(self.table.store())):
            self.sweep(branch)

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
            kept = publishing.kept_key(key, data[key])
            strays.record(connection, self.row.id, branch, number, path=key, kept_path=kept)

    # -- from storage into the lake --------------------------------------------------------------

    def adopt(self, connection: Connection, *, by: str) -> None:
        """Make every version that lies in storage, of every branch, a row."""
        store = self.table.store()
        for branch in (MAIN, *publishing.branches(store)):
            versions.adopt(connection, self.row.id, [*_claims(store, branch)], by=by)


def _is_copied(store: Store, version: Version) -> bool:
    """Whether a manifest that is staged no more lies where it belongs.

    Only who has copied it deletes the staged one. The row may still not say so: marks come late, or are lost with
    their process, and a database that was restored knows nothing of what happened after its backup.
    """
    found = store.head(version.final_path)
    return found is not None and found.size == version.size


def _claims(store: Store, branch: str) -> Iterator[Claim]:
    for number, file in manifests.all_in(store, branch):
        scheme = "V2" if file.key == manifests.key(number, branch) else "V1"
        yield Claim(number, file.key, file.key, branch=branch, size=file.size, e_tag=file.e_tag, naming_scheme=scheme)


def _all(connection: Connection, row: Row, branch: str, *, after: int = 0) -> Sequence[Version]:
    """The versions of a branch, none for a branch that the lake does not know."""
    try:
        return versions.page(connection, row, branch=branch, after=after)
    except TableBranchNotFoundError:
        return []
