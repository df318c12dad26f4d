"""Versions and branches of a managed table: listed, described and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import lance_namespace as ln
from sqlalchemy import Connection

from lanceway.catalogs.contract.requests import page_limit, page_of, page_start
from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.catalogs.lake.refs.adoption import Adoption
from lanceway.errors import PermissionDeniedError, TableBranchNotFoundError, TableVersionNotFoundError
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import definitions
from lanceway.lake.versions import refs, versions
from lanceway.lake.versions.refs import REMOVED
from lanceway.lake.versions.versions import MAIN, Version
from lanceway.tables.dataset import is_main
from lanceway.tables.versions import manifests
from lanceway.tables.versions import versions as stored


@dataclass(frozen=True, slots=True)
class LakeVersions:
    """The versions that the lake's rows give a managed table, whatever else is in storage."""

    lake: LakeConnection

    @property
    def store(self) -> LakeStore:
        return self.lake.store

    # -- reading ---------------------------------------------------------------------------------

    def list(self, table: Manifests, request: ln.ListTableVersionsRequest) -> ln.ListTableVersionsResponse:
        limit, branch = page_limit(request.limit), branch_of(request.branch)
        scope = "\x00".join(("versions", str(bool(request.descending)), branch, str(table.row.id)))
        after = page_start(scope, request.page_token)
        rows = self._rows(table, branch, int(after) if after else None, limit and limit + 1, bool(request.descending))
        page, token = page_of(rows, limit, scope, lambda row: str(row.version))
        published = [table.published(row) for row in page]
        answers = [table.answer(row) for row in self._present(table, branch, published)]
        return ln.ListTableVersionsResponse(versions=answers, page_token=token)

    def _rows(
        self, table: Manifests, branch: str, after: int | None, limit: int | None, descending: bool
    ) -> Sequence[Version]:
        def page(connection: Connection) -> Sequence[Version]:
            return versions.page(connection, table.row, branch=branch, after=after, limit=limit, descending=descending)

        try:
            rows = self.store.read(page)
            if after is None and branch != MAIN:
                self._refuse_deleted(table, branch)
        except TableBranchNotFoundError:
            # A client that hears of no branch looks for it in storage, and must not find orphans there.
            if not table.quarantine_orphans(branch).adopted:
                raise
            return self.store.read(page)
        adopted = False
        if not rows and after is None:
            adopted = bool(table.quarantine_orphans(branch).adopted)  # and so does one that hears of no version
        elif descending and after is None:
            # The newest first is what a writer asks for before it commits: the next number must be free in storage.
            with suppress(PermissionDeniedError):  # a reader without the right to move files does not need it free
                adopted = table.quarantine_next(rows[0])
        return self.store.read(page) if adopted else rows

    def _present(self, table: Manifests, branch: str, page: Sequence[Version]) -> Sequence[Version]:
        """Leave out versions whose manifests a clean-up took from storage; for a single one, nothing is looked up."""
        if len(page) < 2:
            return page
        keys = {file.key for _, file in manifests.all_in(table.table.store(), branch)}
        return [row for row in page if not row.copied or row.final_path in keys] if keys else page

    def describe(self, table: Manifests, request: ln.DescribeTableVersionRequest) -> ln.DescribeTableVersionResponse:
        branch = branch_of(request.branch)
        if branch != MAIN:
            self._refuse_deleted(table, branch)
        row = self.store.read(versions.describe, table.row, request.version, branch=branch)
        if not table.table.store().exists(table.published(row).final_path):
            raise TableVersionNotFoundError(
                f"The manifest of version {row.version} of {table.table.name} is no longer in storage: a clean-up "
                "removed it. List the versions to see which are left."
            )
        return ln.DescribeTableVersionResponse(version=table.answer(row))

    # -- deleting --------------------------------------------------------------------------------

    def delete(
        self, table: Manifests, request: ln.BatchDeleteTableVersionsRequest
    ) -> ln.BatchDeleteTableVersionsResponse:
        Adoption(self.lake).adopt(table.row)
        deleted = self.store.transact(self.delete_rows, table, request)
        return ln.BatchDeleteTableVersionsResponse(deleted_count=table.delete(deleted))

    def delete_rows(
        self, connection: Connection, table: Manifests, request: ln.BatchDeleteTableVersionsRequest
    ) -> Sequence[Version]:
        """Delete the rows of all versions that are asked for, or none where one of them is needed; return them."""
        row, branch = table.lock(connection), branch_of(request.branch)
        latest = versions.latest(connection, row.id, branch)
        deleted = versions.remove(connection, row, stored.ranges(request), branch=branch, by=self.lake.user)
        numbers = {version.version for version in deleted}
        stored.refuse_latest(table.table, latest, numbers)
        there = (tag for tag in refs.tags_of(connection, row.id) if tag.state != REMOVED and tag.branch == branch)
        stored.refuse_tagged(table.table, {tag.name: tag.version for tag in there if tag.version in numbers})
        return deleted

    # -- branches --------------------------------------------------------------------------------

    def _forget_branch(self, connection: Connection, table: Manifests, branch: str) -> None:
        """Delete the rows of a branch that is gone from storage."""
        row = table.lock(connection)
        versions.remove(connection, row, [(0, None)], branch=branch, by=self.lake.user)
        definitions.remove(connection, row.id, branch, by=self.lake.user)
        refs.drop_branch(connection, row.id, branch, by=self.lake.user)

    def _refuse_deleted(self, table: Manifests, branch: str) -> None:
        """Refuse a branch that a client deleted from storage without the lake, and delete its rows.

        Only where the main branch is still there, so that nothing is deleted because storage is not mounted.
        """
        row = self.store.read(versions.describe, table.row, branch=branch)
        store = table.table.store()
        if any(store.exists(path) for path in (row.final_path, row.staging_path)):
            return
        main = self.store.read(versions.describe, table.row)
        if store.exists(main.final_path):
            self.store.transact(self._forget_branch, table, branch)
            raise TableBranchNotFoundError(f"The table {table.table.name} has no branch {branch!r}: it was deleted.")


def branch_of(branch: str | None) -> str:
    """Return the branch that a request means. Raises InvalidInputError for a name that no branch can have."""
    if branch is None or is_main(branch):
        return MAIN
    manifests.check_branch(branch)
    return branch
