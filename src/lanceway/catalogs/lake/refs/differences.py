"""Tags and branches on which rows and storage disagree: found, and brought into agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.catalogs.lake.refs.adoption import Adoption, StoredRefs, stored_refs
from lanceway.catalogs.lake.refs.settling import RefSettling
from lanceway.lake.versions import refs
from lanceway.lake.versions.refs import REMOVED, Branch, Tag
from lanceway.tables.versions import manifests, ref_files

STRAY_TAG, STRAY_BRANCH = "stray tag", "stray branch"
UNWRITTEN_TAG, UNWRITTEN_BRANCH = "unwritten tag", "unwritten branch"


@dataclass(frozen=True, slots=True)
class Difference:
    """One version, tag or branch on which the lake and storage disagree.

    A `stray` is a manifest that was written without the lake, and is kept aside; of a table that the lake has not
    managed from its first version on it stays where it is, and is a version if it follows on the latest. An `uncopied`
    version was claimed, but its manifest was not yet at its final path. A `vanished` one has a row, but a clean-up
    deleted its manifest. A `stray tag` or a `stray branch` was made in storage without the lake, which does not show
    it; an `unwritten tag` or an `unwritten branch` has a row, and storage said something else or nothing. `fixed` says
    that they agree now; `path` is where the file is or would be, below the table's location, and `name` that of the
    tag or the branch.
    """

    kind: str
    branch: str
    version: int
    path: str
    fixed: bool
    name: str = ""


def compare(stored: StoredRefs, tags: Sequence[Tag], branches: Sequence[Branch]) -> Iterator[Difference]:
    """Yield the tags and branches in storage without a row, and the rows of which storage says something else."""
    lines = {branch.name: branch for branch in branches if branch.is_there}
    rows = {tag.name: tag for tag in tags if tag.state != REMOVED}
    for name, branch in lines.items():
        if name not in stored.branches:
            yield _branch(UNWRITTEN_BRANCH, name, branch.parent, branch.parent_version)
    for name, line in stored.branches.items():
        if name not in lines:
            yield _branch(STRAY_BRANCH, name, line.parent, line.parent_version)
    for name, tag in rows.items():
        file = stored.tags.get(name)
        if file is None or (file.branch, file.version) != (tag.branch, tag.version):
            yield _tag(UNWRITTEN_TAG, name, tag.branch, tag.version)
    for name, file in stored.tags.items():
        if name not in rows:
            yield _tag(STRAY_TAG, name, file.branch, file.version)


def _tag(kind: str, name: str, branch: str, version: int) -> Difference:
    return Difference(kind, branch, version, ref_files.tag_path(name), fixed=False, name=name)


def _branch(kind: str, name: str, parent: str, version: int) -> Difference:
    return Difference(kind, parent, version, ref_files.branch_key(name), fixed=False, name=name)


@dataclass(frozen=True, slots=True)
class RefRepair:
    """Bringing tags and branches into agreement, on demand."""

    lake: LakeConnection

    def reconcile(self, table: Manifests, *, adopt: bool, remove: bool) -> Iterator[Difference]:
        """Write the files that rows promise; adopt or remove what storage has without a row, if that is asked."""
        Adoption(self.lake).adopt(table.row)
        RefSettling(self.lake).settle(table)
        before = list(self._compare(table))
        self._write(table, before)
        if adopt:
            self.lake.store.transact(self._adopt, table, stored_refs(table.table.store()))
        if remove:
            self._remove(table, list(self._compare(table)))
        left = {(difference.kind, difference.name) for difference in self._compare(table)}
        for each in before:
            fixed = (each.kind, each.name) not in left
            yield Difference(each.kind, each.branch, each.version, each.path, fixed, each.name)

    def _compare(self, table: Manifests) -> Iterator[Difference]:
        # Files before rows: a tag that is made in between has a row, rather than seemingly none. One that is deleted in
        # between is looked for again.
        stored = stored_refs(table.table.store())
        tags = self.lake.store.read(refs.tags_of, table.row.id)
        branches = self.lake.store.read(refs.branches_of, table.row.id)
        return compare(stored, tags, branches)

    def _write(self, table: Manifests, differences: Sequence[Difference]) -> None:
        settling = RefSettling(self.lake)
        for each in differences:
            if each.kind == UNWRITTEN_TAG:
                settling.settle_tag(table, each.name)
            elif each.kind == UNWRITTEN_BRANCH:
                branch = settling.branch(table.row, each.name)
                # Where its manifests are gone as well, a client has deleted the branch, and the next reader says so.
                if branch is not None and table.table.store().has_any(manifests.folder(each.name)):
                    settling.write_branch(table, branch)

    def _adopt(self, connection: Connection, table: Manifests, stored: StoredRefs) -> None:
        stored.adopt(connection, table.lock(connection), by=self.lake.user)

    def _remove(self, table: Manifests, differences: Sequence[Difference]) -> None:
        """Delete what has no row: the file of a tag, and a branch with all that it has."""
        settling, store = RefSettling(self.lake), table.table.store()
        for each in sorted(differences, key=lambda each: each.kind != STRAY_TAG):  # a branch with a tag stays
            if each.kind == STRAY_TAG:
                store.delete(each.path)
                settling.settle_tag(table, each.name)  # a tag of the name that was made just now keeps its file
            elif each.kind == STRAY_BRANCH:
                settling.delete_files(table, each.name)
