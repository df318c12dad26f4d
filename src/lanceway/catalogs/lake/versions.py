"""Versions of a lake's tables: rows for managed ones, as storage has them for the others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    DeleteTableBranchRequest,
    DeleteTableBranchResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    ListTableBranchesRequest,
    ListTableBranchesResponse,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
)
from sqlalchemy import Connection

from lanceway.catalogs.contract.requests import accept, page_limit, page_of, page_start
from lanceway.catalogs.lake.claims import LakeClaims, branch_of
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.errors import (
    PermissionDeniedError,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import MAIN, Version
from lanceway.tables.versions import branches, manifests
from lanceway.tables.versions import versions as stored


class LakeVersions(LakeClaims):
    """The catalog owns the latest version of a managed table."""

    # -- reading ---------------------------------------------------------------------------------

    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        request = accept(ListTableVersionsRequest, request)
        table = self._managed(request.id, "list_table_versions")
        if table is None:
            return super().list_table_versions(request)
        limit, branch = page_limit(request.limit), branch_of(request.branch)
        scope = "\x00".join(("versions", str(bool(request.descending)), branch, str(table.row.id)))
        after = page_start(scope, request.page_token)
        rows = self._rows(table, branch, int(after) if after else None, limit and limit + 1, bool(request.descending))
        page, token = page_of(rows, limit, scope, lambda row: str(row.version))
        settled = [table.settled(row) for row in page]
        found = [table.answer(row) for row in self._present(table, branch, settled)]
        return ListTableVersionsResponse(versions=found, page_token=token)

    def _rows(
        self, table: Manifests, branch: str, after: int | None, limit: int | None, descending: bool
    ) -> Sequence[Version]:
        def page(connection: Connection) -> Sequence[Version]:
            return versions.page(connection, table.row, branch=branch, after=after, limit=limit, descending=descending)

        try:
            rows = self._lake.read(page)
            if after is None and branch != MAIN:
                self._refuse_deleted(table, branch)
        except TableBranchNotFoundError:
            if not table.sweep(branch).adopted:  # a client that is told of no branch looks for it in storage
                raise
            return self._lake.read(page)
        adopted = False
        if not rows and after is None:
            adopted = bool(table.sweep(branch).adopted)  # and so does one that is told of no version
        elif descending and after is None:
            with suppress(PermissionDeniedError):  # only a writer needs the way to be clear
                adopted = table.clear_the_way(rows[0])
        return self._lake.read(page) if adopted else rows

    def _present(self, table: Manifests, branch: str, page: Sequence[Version]) -> Sequence[Version]:
        """Without those whose manifests a clean-up took from storage; for a single one, nothing is looked up."""
        if len(page) < 2:
            return page
        there = {file.key for _, file in manifests.all_in(table.table.store(), branch)}
        return [row for row in page if not row.copied or row.final_path in there] if there else page

    def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
        request = accept(DescribeTableVersionRequest, request)
        table = self._managed(request.id, "describe_table_version")
        if table is None:
            return super().describe_table_version(request)
        branch = branch_of(request.branch)
        if branch != MAIN:
            self._refuse_deleted(table, branch)
        row = self._lake.read(versions.describe, table.row, request.version, branch=branch)
        if not table.table.store().exists(table.settled(row).final_path):
            raise TableVersionNotFoundError(
                f"The manifest of version {row.version} of {table.table.name} is no longer in storage: a clean-up "
                "removed it. List the versions to see which are left."
            )
        return DescribeTableVersionResponse(version=table.answer(row))

    # -- deleting --------------------------------------------------------------------------------

    def batch_delete_table_versions(self, request: BatchDeleteTableVersionsRequest) -> BatchDeleteTableVersionsResponse:
        request = accept(BatchDeleteTableVersionsRequest, request)
        table = self._managed(request.id, "batch_delete_table_versions")
        if table is None:
            return super().batch_delete_table_versions(request)
        self._refuse_tagged(table, request)
        gone = self._lake.transact(self._forgotten, table, request)
        return BatchDeleteTableVersionsResponse(deleted_count=table.erase(gone))

    def _refuse_tagged(self, table: Manifests, request: BatchDeleteTableVersionsRequest) -> None:
        branch = branch_of(request.branch)
        known = self._lake.read(versions.page, table.row, branch=branch)
        doomed = stored.within((row.version for row in known), stored.ranges(request))
        if doomed:
            stored.refuse_tagged(table.table, request.branch, doomed)

    def _forgotten(
        self, connection: Connection, table: Manifests, request: BatchDeleteTableVersionsRequest
    ) -> Sequence[Version]:
        """Delete rows, all that are asked for or none."""
        row, branch = table.locked(connection), branch_of(request.branch)
        latest = versions.latest(connection, row.id, branch)
        gone = versions.remove(connection, row, stored.ranges(request), branch=branch)
        stored.refuse_latest(table.table, latest, {version.version for version in gone})
        return gone

    # -- branches --------------------------------------------------------------------------------

    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        request = accept(ListTableBranchesRequest, request)
        table = self._managed(request.id, "list_table_branches")
        if table is None:
            return super().list_table_branches(request)
        limit, scope = page_limit(request.limit), f"branches\x00{table.row.id}"
        known = set(self._lake.read(versions.branches, table.row.id))
        found = branches.list_(table.table, page_start(scope, request.page_token))
        claimed = [(name, contents) for name, contents in found.items() if name in known]
        page, token = page_of(claimed, limit, scope, lambda item: item[0])
        return ListTableBranchesResponse(branches=dict(page), page_token=token)

    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        request = accept(DeleteTableBranchRequest, request)
        answer = super().delete_table_branch(request)
        table = self._managed(request.id, "delete_table_branch")
        if table is not None:
            self._forget_branch(table, request.name)
        return answer

    def _forget_branch(self, table: Manifests, branch: str) -> None:
        self._lake.transact(
            lambda connection: versions.remove(connection, table.locked(connection), [(0, None)], branch=branch)
        )

    def _refuse_deleted(self, table: Manifests, branch: str) -> None:
        """Forget a branch that a client deleted from storage, of which it tells nobody.

        Only where the main branch is in its place, so that nothing is forgotten for a storage that is away.
        """
        row = self._lake.read(versions.describe, table.row, branch=branch)
        store = table.table.store()
        if any(store.exists(path) for path in (row.final_path, row.staging_path)):
            return
        main = self._lake.read(versions.describe, table.row)
        if store.exists(main.final_path):
            self._forget_branch(table, branch)
            raise TableBranchNotFoundError(f"The table {table.table.name} has no branch {branch!r}: it was deleted.")
