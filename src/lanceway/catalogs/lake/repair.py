"""Where the lake and storage disagree about a table, and who is to own its versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from lanceway.catalogs.lake.batches import LakeBatches
from lanceway.catalogs.lake.managed_table import Manifests, Swept
from lanceway.errors import InvalidTableStateError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import lookups, tables
from lanceway.lake.tree.lookups import TableRow as Row
from lanceway.lake.versions import orphans, versions
from lanceway.lake.versions.orphans import Stray
from lanceway.lake.versions.versions import MAIN, Version, VersionClaim
from lanceway.tables.versions import manifests

STRAY, UNCOPIED, VANISHED = "stray", "uncopied", "vanished"


@dataclass(frozen=True, slots=True)
class Difference:
    """One version on which the lake and storage disagree.

    A `stray` was written behind the lake, and is kept aside; of a table that the lake has not managed from its first
    version on it stays where it is, and is a version if it follows on the latest. An `uncopied` version was claimed,
    but its manifest was not yet in its place. A `vanished` one is known to the lake, but a clean-up took its manifest.
    `mended` says that they agree now; `path` is where the manifest lies or would lie, below the table's location.
    """

    kind: str
    branch: str
    version: int
    path: str
    mended: bool


class LakeRepair(LakeBatches):
    """What keeps rows and storage in agreement, on demand."""

    def reconcile(self, table: str | Iterable[str], *, adopt: bool = False) -> list[Difference]:
        """Look for what a managed table's rows and its storage disagree on.

        What was claimed is copied, and strays are moved aside, as whoever meets them does. With `adopt`, strays
        that continue the latest version become versions, and vanished ones are forgotten. A stray continues the
        latest version if it has the next number and only one version of the number before it was ever seen.
        Adopt them soon: to a clean-up, the data of a stray is nobody's.
        """
        found = self._known(Identifier.of(table))
        uncopied = found.settle()
        unmoved = [difference for branch, swept in found.agree().items() for difference in _unmoved(branch, swept)]
        adopted = [*self._adopted(found)] if adopt else []
        vanished = self._vanished(found)
        forgotten = self._forget_vanished(found, vanished) if adopt else set()
        kept = self._lake.read(orphans.of_table, found.row.id)
        gone = {(row.branch, row.version) for row in vanished}
        return [
            *(_difference(UNCOPIED, row, mended=(row.branch, row.version) not in gone) for row in uncopied),
            *(_difference(VANISHED, row, mended=(row.branch, row.version) in forgotten) for row in vanished),
            *adopted,
            *unmoved,
            *(Difference(STRAY, stray.branch, stray.version, stray.kept_path, mended=False) for stray in kept),
        ]

    def _known(self, table: Identifier) -> Manifests:
        row = self._row(table)
        if not row.managed:
            raise InvalidTableStateError(
                f"The table {table} keeps its versions in storage alone: there is nothing that they could disagree "
                "with. Make it managed to have the lake own them."
            )
        return self._manifests(row)

    # -- strays ----------------------------------------------------------------------------------

    def _adopted(self, table: Manifests) -> Iterator[Difference]:
        found = self._lake.read(orphans.of_table, table.row.id)
        for stray in sorted(found, key=lambda stray: (stray.branch, stray.version, stray.id)):
            made = self._adopted_one(table, stray)
            if made is not None:
                yield _difference(STRAY, table.settled(made), mended=True)

    def _adopted_one(self, table: Manifests, stray: Stray) -> Version | None:
        claim = _claim(table, stray)
        if claim is None:
            return None
        return self._lake.transact(self._adopt, table, stray, claim)

    def _adopt(self, connection: Connection, table: Manifests, stray: Stray, claim: VersionClaim) -> Version | None:
        """Make a stray a version, from where it is kept, if it continues the latest."""
        row = table.locked(connection)
        latest = versions.latest(connection, row.id, stray.branch)
        known = orphans.of_table(connection, row.id)
        # As for every claim, the version before must be in its place.
        if table.is_unsettled(connection) or not _continues(stray, latest, known):
            return None
        orphans.forget(connection, stray)
        return versions.claim(connection, row, claim, by=self._user)

    # -- vanished --------------------------------------------------------------------------------

    def _vanished(self, table: Manifests) -> Sequence[Version]:
        branches = self._lake.read(versions.branches, table.row.id)
        return [row for branch in branches for row in self._vanished_from(table, branch)]

    def _vanished_from(self, table: Manifests, branch: str) -> Iterator[Version]:
        rows = self._lake.read(versions.page, table.row, branch=branch)
        there = {file.key for _, file in manifests.all_in(table.table.store(), branch)}
        return (row for row in rows if row.final_path not in there)

    def _forget_vanished(self, table: Manifests, vanished: Sequence[Version]) -> set[tuple[str, int]]:
        """Forget versions without a manifest, but never the latest of a branch: that is a loss, to be looked into."""

        def forgotten(connection: Connection) -> set[tuple[str, int]]:
            row = table.locked(connection)
            newest = {branch: versions.latest(connection, row.id, branch) for branch in {v.branch for v in vanished}}
            gone = [version for version in vanished if version.version != newest[version.branch]]
            for version in gone:
                one = (version.version, version.version + 1)
                versions.remove(connection, row, [one], branch=version.branch)
            return {(version.branch, version.version) for version in gone}

        return self._lake.transact(forgotten)

    # -- who owns the versions -------------------------------------------------------------------

    def set_versioning(self, table: str | Iterable[str], *, managed: bool) -> None:
        """Have the lake own a table's versions, or leave them to storage. Its data and history stay.

        Nobody should be writing to it meanwhile: one who has it open goes on as it was, and what is written to
        storage once the lake owns the versions is a stray.
        """
        name = Identifier.of(table)
        if managed:
            with self._taking_over(self._entry(self._row(name)).location):
                self._lake.transact(self._taken_in, name)
        else:
            row = self._settling(name, lambda connection: self._let_out(connection, name))
            self._leave(self._entry(row).location)

    def _taken_in(self, connection: Connection, table: Identifier) -> None:
        row = lookups.lock(connection, self._catalog.id, table)
        if not row.managed:
            self._manifests(row).take_over()
            tables.alter(connection, self._catalog.id, table, by=self._user, managed=True)
            self._manifests(row).adopt(connection, by=self._user)

    def _let_out(self, connection: Connection, table: Identifier) -> Row | None:
        row = lookups.lock(connection, self._catalog.id, table)
        if row.managed and self._manifests(row).is_unsettled(connection):
            return None
        for branch in versions.branches(connection, row.id):
            versions.remove(connection, row, [(0, None)], branch=branch)
        return tables.alter(connection, self._catalog.id, table, by=self._user, managed=False)


def _continues(stray: Stray, latest: int | None, known: Sequence[Stray]) -> bool:
    if latest is None:
        # The first version of the table; or of a branch, which begins at any number.
        return stray.version == 1 if stray.branch == MAIN else True
    others = {other.version for other in known if other.branch == stray.branch}
    # A number says nothing of what a manifest was built on, once there were two of that number.
    return stray.version == latest + 1 and latest not in others


def _claim(table: Manifests, stray: Stray) -> VersionClaim | None:
    """The claim for a stray, None if it is no longer where it was kept."""
    file = table.table.store().head(stray.kept_path)
    if file is None:
        return None
    scheme = "V2" if stray.path == manifests.key(stray.version, stray.branch) else "V1"
    claim = VersionClaim(stray.version, stray.kept_path, stray.path, branch=stray.branch, naming_scheme=scheme)
    return replace(claim, size=file.size, e_tag=file.e_tag)


def _unmoved(branch: str, swept: Swept) -> Iterator[Difference]:
    """What the lake may not move: adopted where it follows on the latest version, whether that was asked for or not."""
    for key in (*swept.adopted, *swept.left):
        yield Difference(STRAY, branch, manifests.version_of(key) or 0, key, mended=key in swept.adopted)


def _difference(kind: str, row: Version, *, mended: bool) -> Difference:
    return Difference(kind, row.branch, row.version, row.final_path, mended)
