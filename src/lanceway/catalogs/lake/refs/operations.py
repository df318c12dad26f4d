"""Tags and branches of managed tables: rows of the lake, which files in storage follow.

A tag or a branch that is made or deleted in storage alone is neither shown nor missed. The row is written first. What
it promises is made true by any process that meets it: a file is written, or deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import lance_namespace as ln
from lance_namespace_urllib3_client.models.branch_contents import BranchContents
from lance_namespace_urllib3_client.models.tag_contents import TagContents
from sqlalchemy import Connection

from lanceway.catalogs.contract.requests import page_limit, page_of, page_start, table_id
from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.catalogs.lake.refs.adoption import Adoption
from lanceway.catalogs.lake.refs.settling import RefSettling
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.catalogs.lake.versions import branch_of
from lanceway.errors import (
    InvalidTableStateError,
    LanceNamespaceError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.lake.tree import clones, definitions
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import refs, versions
from lanceway.lake.versions.refs import PENDING, REMOVED, WRITTEN, Branch, NewBranch, NewTag, Tag
from lanceway.lake.versions.versions import Version
from lanceway.tables.versions import branches, manifests, ref_files


@dataclass(frozen=True, slots=True)
class LakeRefs:
    """The tags and branches of a catalog's managed tables. Each method returns None for a table that is not managed."""

    lake: LakeConnection
    tables: LakeTables

    @property
    def _settling(self) -> RefSettling:
        return RefSettling(self.lake)

    # -- tags: reading ---------------------------------------------------------------------------

    def list_tags(self, request: ln.ListTableTagsRequest) -> ln.ListTableTagsResponse | None:
        name, limit = table_id(request.id, "list_table_tags"), page_limit(request.limit)
        scope = f"tags\x00{name}"
        after, catalog = page_start(scope, request.page_token), self.lake.catalog.id

        def read() -> tuple[TableRow, Sequence[Tag]]:
            most = limit and limit + 1
            return self.lake.store.read(refs.tag_page, catalog, name, after=after, limit=most)

        row, found = read()
        if not row.managed:
            return None
        if Adoption(self.lake).adopt(row):
            row, found = read()
        tags, token = page_of(found, limit, scope, lambda tag: tag.name)
        self._settle_met(row, tags)
        there = {tag.name: _tag_contents(tag) for tag in tags if tag.state != REMOVED}
        return ln.ListTableTagsResponse(tags=there, page_token=token)

    def tag_version(self, request: ln.GetTableTagVersionRequest) -> ln.GetTableTagVersionResponse | None:
        name = table_id(request.id, "get_table_tag_version")
        row, tag = self.lake.store.read(refs.tag_named, self.lake.catalog.id, name, request.tag)
        if not row.managed:
            return None
        if Adoption(self.lake).adopt(row):
            row, tag = self.lake.store.read(refs.tag_named, self.lake.catalog.id, name, request.tag)
        if tag is None:
            raise self._no_tag(row, request.tag, "get_table_tag_version")
        self._settle_met(row, [tag])
        return ln.GetTableTagVersionResponse(version=tag.version, branch=tag.branch or None)

    def _settle_met(self, row: TableRow, found: Sequence[Tag]) -> None:
        for tag in found:
            if tag.state != WRITTEN:
                with suppress(LanceNamespaceError):  # a reader may lack the right to write, and does not need the file
                    self._settling.settle_tag(self.lake.manifests(row), tag.name)

    def _no_tag(self, row: TableRow, name: str, operation: str) -> TableTagNotFoundError:
        names = [tag.name for tag in self.lake.store.read(refs.tags_of, row.id) if tag.state != REMOVED]
        known = f"It has: {', '.join(names)}." if names else "It has none."
        return TableTagNotFoundError(f"{operation}: {row.identifier} has no tag {name!r}. {known}")

    # -- tags: writing ---------------------------------------------------------------------------

    def create_tag(self, request: ln.CreateTableTagRequest) -> Tag | None:
        table = self._managed(request.id, "create_table_tag")
        if table is None:
            return None
        ref_files.check_tag(request.tag)
        tag = self.lake.store.transact(self._create_tag, table, self._new_tag(table, request))
        if tag is None:
            raise TableTagAlreadyExistsError(
                f"create_table_tag: {table.table.name} already has a tag {request.tag!r}. Move it with "
                "update_table_tag."
            )
        return self._written(table, tag)

    def _create_tag(self, connection: Connection, table: Manifests, new: NewTag) -> Tag | None:
        self._hold_version(connection, table, new)
        return refs.create_tag(connection, table.row.id, new, by=self.lake.user)

    def update_tag(self, request: ln.UpdateTableTagRequest) -> Tag | None:
        table = self._managed(request.id, "update_table_tag")
        if table is None:
            return None
        tag = self.lake.store.transact(self._move_tag, table, self._new_tag(table, request))
        if tag is None:
            raise self._no_tag(table.row, request.tag, "update_table_tag")
        return self._written(table, tag)

    def _move_tag(self, connection: Connection, table: Manifests, new: NewTag) -> Tag | None:
        self._hold_version(connection, table, new)
        clones.refuse_held(connection, table.row, new.name, "update_table_tag")
        return refs.move_tag(connection, table.row.id, new, by=self.lake.user)

    def delete_tag(self, request: ln.DeleteTableTagRequest) -> Tag | None:
        table = self._managed(request.id, "delete_table_tag")
        if table is None:
            return None
        tag = self.lake.store.transact(self._remove_tag, table, request.tag)
        if tag is None:
            raise self._no_tag(table.row, request.tag, "delete_table_tag")
        return self._written(table, tag)

    def _remove_tag(self, connection: Connection, table: Manifests, name: str) -> Tag | None:
        row = table.hold(connection)  # who makes a clone locks the table, and looks whether its tag is there
        clones.refuse_held(connection, row, name, "delete_table_tag")
        return refs.remove_tag(connection, row.id, name, by=self.lake.user)

    def refuse_held(self, id_: list[str] | None, tag: str, operation: str) -> None:
        """Refuse to move or to delete a tag in storage that keeps the files of a clone."""
        self.lake.store.read(clones.refuse_held, self.tables.row(table_id(id_, operation)), tag, operation)

    def _managed(self, id_: list[str] | None, operation: str) -> Manifests | None:
        table = self.tables.managed(id_, operation)
        if table is not None:
            Adoption(self.lake).adopt(table.row)
        return table

    def _new_tag(self, table: Manifests, request: ln.CreateTableTagRequest | ln.UpdateTableTagRequest) -> NewTag:
        """Return what a tag is to name: a version that is there, in rows and in storage."""
        branch = branch_of(request.branch)
        version = self.lake.store.read(versions.describe, table.row, request.version, branch=branch)
        _require_manifest(table, version)
        return NewTag(request.tag, branch, version.version, version.size)

    def _hold_version(self, connection: Connection, table: Manifests, new: NewTag) -> None:
        """Keep a version that is to be tagged from being deleted until the transaction ends."""
        versions.describe(connection, table.hold(connection), new.version, branch=new.branch)

    def _written(self, table: Manifests, tag: Tag) -> Tag:
        """Make the file of a tag what its row says, if storage allows; if not, the next process that meets it does."""
        with suppress(LanceNamespaceError):
            self._settling.settle_tag(table, tag.name, tag)
        return tag

    # -- branches: reading -----------------------------------------------------------------------

    def list_branches(self, request: ln.ListTableBranchesRequest) -> ln.ListTableBranchesResponse | None:
        name, limit = table_id(request.id, "list_table_branches"), page_limit(request.limit)
        scope = f"branches\x00{name}"
        after, catalog = page_start(scope, request.page_token), self.lake.catalog.id

        def read() -> tuple[TableRow, Sequence[Branch]]:
            most = limit and limit + 1
            return self.lake.store.read(refs.branch_page, catalog, name, after=after, limit=most)

        row, found = read()
        if not row.managed:
            return None
        if Adoption(self.lake).adopt(row) or self._settle_branches(row, found):
            row, found = read()
        listed, token = page_of(found, limit, scope, lambda branch: branch.name)
        there = {branch.name: _branch_contents(branch) for branch in listed if branch.is_there}
        return ln.ListTableBranchesResponse(branches=there, page_token=token)

    def _settle_branches(self, row: TableRow, found: Sequence[Branch]) -> bool:
        """Finish what is unfinished of some branches; return whether anything was."""
        unfinished = [branch for branch in found if branch.state != WRITTEN]
        for branch in unfinished:
            with suppress(LanceNamespaceError):
                self._settling.settle_branch(self.lake.manifests(row), branch)
        return bool(unfinished)

    # -- branches: writing -----------------------------------------------------------------------

    def create_branch(self, request: ln.CreateTableBranchRequest) -> Branch | None:
        """Make a branch: its row, then its first version and its file, which pylance writes."""
        branches.refuse_main(request.name, "create_table_branch")
        manifests.check_branch(request.name)
        table = self._managed(request.id, "create_table_branch")
        if table is None:
            return None
        self._make_room(table, request.name)
        parent = branch_of(request.from_branch)
        source = self.lake.store.read(versions.describe, table.row, request.from_version, branch=parent)
        _require_manifest(table, source)
        new = NewBranch(request.name, parent, source.version)
        if not self.lake.store.transact(self._begin_branch, table, new):
            raise _branch_exists(table, request.name)
        begun = request.model_copy(update={"from_version": source.version})
        try:
            branches.create(self.tables.handle(request.id, "create_table_branch"), begun)
        except LanceNamespaceError:
            self._abandon(table, request.name)
            raise
        return self._settling.complete(table, request.name)

    def _begin_branch(self, connection: Connection, table: Manifests, new: NewBranch) -> bool:
        table.hold(connection)
        return refs.begin_branch(connection, table.row.id, new, by=self.lake.user)

    def _make_room(self, table: Manifests, name: str) -> None:
        """Finish the deletion of a branch, or refuse where there is one of the name, in rows or only in storage."""
        branch = self._settling.branch(table.row, name)
        if branch is not None and branch.state == REMOVED:
            self._settling.settle_branch(table, branch)
            branch = self._settling.branch(table.row, name)
        if branch is not None and branch.has_versions:
            raise _branch_exists(table, name)
        if ref_files.branch(table.table.store(), name) is not None:
            raise TableBranchAlreadyExistsError(
                f"create_table_branch: {table.table.name} has a branch {name!r} in storage that was made without the "
                f"lake, and is not shown. Remove it with: lanceway tables reconcile {table.row.identifier} --remove"
            )

    def _abandon(self, table: Manifests, name: str) -> None:
        """Delete the rows of a branch that could not be made: its file was not written."""
        with suppress(LanceNamespaceError):
            branch = self._settling.branch(table.row, name)
            if branch is not None and branch.state == PENDING and ref_files.branch(table.table.store(), name) is None:
                table.delete(self.lake.store.transact(self._drop_branch, table, name))

    def _drop_branch(self, connection: Connection, table: Manifests, name: str) -> Sequence[Version]:
        row = table.lock(connection)
        refs.drop_branch(connection, row.id, name, by=self.lake.user)
        definitions.remove(connection, row.id, name, by=self.lake.user)
        return versions.remove(connection, row, [(0, None)], branch=name, by=self.lake.user)

    def delete_branch(self, request: ln.DeleteTableBranchRequest) -> Branch | None:
        """Delete a branch: its versions and its row, then its files."""
        branches.refuse_main(request.name, "delete_table_branch")
        manifests.check_branch(request.name)
        table = self._managed(request.id, "delete_table_branch")
        if table is None:
            return None
        branch = self._settling.branch(table.row, request.name)
        if branch is None or not branch.is_there:
            raise self._no_branch(table.row, request.name)
        self.lake.store.transact(self._remove_branch, table, request.name)
        with suppress(LanceNamespaceError):  # the next process that lists the branches tries again
            removed = self._settling.branch(table.row, request.name)
            if removed is not None:
                self._settling.settle_branch(table, removed)
        return branch

    def _remove_branch(self, connection: Connection, table: Manifests, name: str) -> None:
        row = table.lock(connection)
        users = refs.users_of_branch(connection, row.id, name)
        if users:
            raise InvalidTableStateError(
                f"delete_table_branch: the branch {name!r} of {row.identifier} is needed by {', '.join(users)}. Delete "
                "them first."
            )
        versions.remove(connection, row, [(0, None)], branch=name, by=self.lake.user)
        definitions.remove(connection, row.id, name, by=self.lake.user)
        refs.remove_branch(connection, row.id, name, by=self.lake.user)

    def _no_branch(self, row: TableRow, name: str) -> TableBranchNotFoundError:
        names = [branch.name for branch in self.lake.store.read(refs.branches_of, row.id) if branch.is_there]
        return TableBranchNotFoundError(
            f"{row.identifier} has no branch {name!r}. It has: {', '.join(['main', *names])}."
        )


def _require_manifest(table: Manifests, version: Version) -> None:
    """Refuse a version whose manifest a clean-up took from storage."""
    if not table.table.store().exists(table.published(version).final_path):
        raise TableVersionNotFoundError(
            f"The manifest of version {version.version} of {table.table.name} is no longer in storage: a clean-up "
            "removed it. List the versions to see which are left."
        )


def _tag_contents(tag: Tag) -> TagContents:
    return TagContents(branch=tag.branch or None, version=tag.version, manifestSize=tag.size or 0)


def _branch_contents(branch: Branch) -> BranchContents:
    return BranchContents(
        parentBranch=branch.parent or None,
        parentVersion=branch.parent_version,
        createAt=branch.created_at // 1000,
        manifestSize=branch.size or 0,
        metadata=dict(branch.metadata),
    )


def _branch_exists(table: Manifests, name: str) -> TableBranchAlreadyExistsError:
    return TableBranchAlreadyExistsError(
        f"create_table_branch: {table.table.name} already has a branch {name!r}. Choose another name."
    )
