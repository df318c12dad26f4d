"""Files of tags and branches that are to follow their rows: any process may write or delete them, and do so again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.errors import TableBranchNotFoundError
from lanceway.lake.tree import definitions
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import refs
from lanceway.lake.versions.refs import PENDING, REMOVED, WRITTEN, Branch, NewBranch, Tag
from lanceway.lake.versions.versions import MAIN
from lanceway.tables.dataset import open_at
from lanceway.tables.errors import translated
from lanceway.tables.versions import manifests, ref_files
from lanceway.tables.versions.ref_files import BranchFile, TagFile

_ATTEMPTS = 10
# How long a client may take from the first version of a branch to the file that says so. A branch without one after
# that was left by a client that was killed.
_GRACE = 60_000  # milliseconds


@dataclass(frozen=True, slots=True)
class RefSettling:
    """Finishing what was begun with a row: after that, storage says the same."""

    lake: LakeConnection

    def settle(self, table: Manifests) -> None:
        """Finish all that is unfinished of a table's tags and branches."""
        for branch in self.lake.store.read(refs.branches_of, table.row.id):
            if branch.state != WRITTEN:
                self.settle_branch(table, branch)
        for tag in self.lake.store.read(refs.tags_of, table.row.id):
            if tag.state != WRITTEN:
                self.settle_tag(table, tag.name)

    # -- tags ------------------------------------------------------------------------------------

    def settle_tag(self, table: Manifests, name: str, known: Tag | None = None) -> None:
        """Make the file of a tag what its row says, however many processes do so at once.

        One that writes late notices that the row has changed since it was read, and begins again.
        """
        store, key = table.table.store(), ref_files.tag_key(name)
        for _ in range(_ATTEMPTS):
            tag = known or self.lake.store.read(refs.current_tag, table.row.id, name)
            known = None
            if tag is None or tag.state == REMOVED:
                store.delete(key)
            else:
                store.put(key, _tag_file(tag).content(tag.created_at, tag.changed_at))
            if self._settled(table.row, tag, name):
                return

    def _settled(self, row: TableRow, tag: Tag | None, name: str) -> bool:
        if tag is None:
            return self.lake.store.read(refs.current_tag, row.id, name) is None
        return self.lake.store.execute_one(refs.forget_tag if tag.state == REMOVED else refs.mark_tag_written, tag)

    # -- branches --------------------------------------------------------------------------------

    def branch(self, row: TableRow, name: str) -> Branch | None:
        """Return a branch, in whatever state."""
        return self.lake.store.read(refs.branch_named, self.lake.catalog.id, row.identifier, name)[1]

    def settle_branch(self, table: Manifests, branch: Branch) -> None:
        """Finish what is unfinished of a branch: its deletion, or what its row is to say and its file."""
        if branch.state == REMOVED:
            self.delete_files(table, branch.name)
            self.lake.store.execute_one(refs.forget_branch, branch)
        elif branch.state == PENDING and branch.has_versions:
            if branch.age > _GRACE:
                self.write_branch(table, branch)
            self.complete(table, branch.name)

    def write_branch(self, table: Manifests, branch: Branch) -> None:
        """Write the file of a branch that has none."""
        parent = self.branch(table.row, branch.parent) if branch.parent != MAIN else None
        lineage = branch.lineage or ref_files.new_lineage(parent.lineage if parent else (), branch.parent_version)
        size = branch.size
        file = BranchFile(branch.name, branch.parent, branch.parent_version, size, lineage, branch.metadata)
        table.table.store().put_if_absent(ref_files.branch_key(branch.name), file.content(branch.created_at))

    def complete(self, table: Manifests, name: str) -> Branch | None:
        """Record what the file of a branch says, once it is there."""
        file = ref_files.branch(table.table.store(), name)
        if file is not None and file.parent_version:
            self.lake.store.transact(self._record_branch, table, file)
        return self.branch(table.row, name)

    def _record_branch(self, connection: Connection, table: Manifests, file: BranchFile) -> None:
        refs.complete_branch(connection, table.row.id, new_branch(file))
        definitions.copy(connection, table.row.id, file.parent, file.name)

    def delete_files(self, table: Manifests, name: str) -> None:
        """Delete the files of a branch; none may be left by one that was interrupted."""
        store = table.table.store()
        if ref_files.branch(store, name) is None and not store.has_any(manifests.folder(name)):
            return
        dataset = open_at(table.table)
        with suppress(TableBranchNotFoundError), translated(table.table, "delete_table_branch"):
            dataset.branches.delete(name)


def new_branch(file: BranchFile) -> NewBranch:
    """Return the row of a branch's file. `lake` and `tables` do not know each other, so each has a class of its own."""
    return NewBranch(file.name, file.parent, file.parent_version, file.size, file.lineage, file.metadata)


def _tag_file(tag: Tag) -> TagFile:
    return TagFile(tag.name, tag.branch, tag.version, tag.size, tag.metadata)
