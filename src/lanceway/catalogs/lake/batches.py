"""Changes to several tables in one transaction: all of them, or none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

import lance_namespace as ln
from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation
from lance_namespace_urllib3_client.models.commit_table_result import CommitTableResult
from lance_namespace_urllib3_client.models.table_version import TableVersion
from sqlalchemy import Connection

from lanceway.catalogs.contract.requests import table_id
from lanceway.catalogs.lake.claims import ClaimedVersion, LakeClaims, requested_claim
from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.catalogs.lake.refs.adoption import Adoption
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.tables import LakeTables, Place
from lanceway.catalogs.lake.versions import LakeVersions, branch_of
from lanceway.errors import ConcurrentModificationError, InvalidInputError, NamespaceNotFoundError, TableNotFoundError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions.versions import Version

Step = (
    ln.DeclareTableRequest
    | ln.CreateTableVersionRequest
    | ln.BatchDeleteTableVersionsRequest
    | ln.DeregisterTableRequest
)


# Why a batch takes no table that keeps its versions in storage.
_NOT_IN_STORAGE = ", where no other table's change can be part of its commit. Make it managed first."


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What storage says before the transaction: what is where a table is declared, and which versions are settled."""

    place: Place | None = None
    settled: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class _StepResult:
    """What a step did in the transaction, to be made true in storage afterwards."""

    table: Manifests
    versions: Sequence[Version] = ()


@dataclass(frozen=True, slots=True)
class LakeBatches:
    """Changes to several tables in one transaction, which nothing but one database can offer."""

    lake: LakeConnection
    tables: LakeTables
    claims: LakeClaims
    versions: LakeVersions

    def create_versions(self, request: ln.BatchCreateTableVersionsRequest) -> ln.BatchCreateTableVersionsResponse:
        steps = [ln.CreateTableVersionRequest(**entry.model_dump()) for entry in request.entries]
        results = self._commit(steps, "batch_create_table_versions")
        return ln.BatchCreateTableVersionsResponse(versions=[_created(result) for result in results])

    def commit(self, request: ln.BatchCommitTablesRequest) -> ln.BatchCommitTablesResponse:
        steps = [_step(operation) for operation in request.operations]
        results = self._commit(steps, "batch_commit_tables")
        answers = [self._answer(step, result) for step, result in zip(steps, results, strict=True)]
        return ln.BatchCommitTablesResponse(results=answers)

    def _commit(self, steps: Sequence[Step], operation: str) -> Sequence[_StepResult]:
        names = [table_id(step.id, operation) for step in steps]
        written = {
            table for step, table in zip(steps, names, strict=True) if isinstance(step, ln.CreateTableVersionRequest)
        }
        prepared = [self._prepare(step, table, written) for step, table in zip(steps, names, strict=True)]
        try:
            results = self.lake.store.transact(self._apply_all, steps, names, prepared)
        except ConcurrentModificationError:
            self._unblock_writers(steps)
            raise
        for step, result in zip(steps, results, strict=True):
            if isinstance(step, ln.DeregisterTableRequest):
                Removals(self.lake).unmark(result.table.table.location)
        return results

    # -- before the transaction ------------------------------------------------------------------

    def _prepare(self, step: Step, table: Identifier, written: Collection[Identifier]) -> _Prepared:
        """Do what needs storage, for which a transaction should not wait."""
        if isinstance(step, ln.DeclareTableRequest):
            return _Prepared(place=self.tables.look_at(table, step.location, staged=table in written))
        if isinstance(step, ln.DeregisterTableRequest):
            return _Prepared(settled=self.tables.reconcile_storage(table))
        if isinstance(step, ln.BatchDeleteTableVersionsRequest):
            managed = self._managed(self.tables.row(table))
            managed.require_manager()
            Adoption(self.lake).adopt(managed.row)
        elif isinstance(step, ln.CreateTableVersionRequest):
            self._publish_pending(table)
        return _Prepared()

    def _publish_pending(self, table: Identifier) -> None:
        with suppress(NamespaceNotFoundError, TableNotFoundError):  # it may be declared by the step before
            row = self.tables.row(table)
            if row.managed:
                managed = self.lake.manifests(row)
                managed.require_manager()
                managed.publish_pending()

    def _managed(self, row: TableRow) -> Manifests:
        return self.tables.require_managed(row, _NOT_IN_STORAGE)

    # -- in the transaction ----------------------------------------------------------------------

    def _apply_all(
        self,
        connection: Connection,
        steps: Sequence[Step],
        names: Sequence[Identifier],
        prepared: Sequence[_Prepared],
    ) -> Sequence[_StepResult]:
        self._lock(connection, names)
        return [self._apply(connection, *each) for each in zip(steps, names, prepared, strict=True)]

    def _lock(self, connection: Connection, names: Sequence[Identifier]) -> None:
        """Lock the tables that exist, in the order of their ids, so that two batches never wait for each other."""
        rows: dict[int, TableRow] = {}
        for table in names:
            with suppress(NamespaceNotFoundError, TableNotFoundError):
                row = lookups.find(connection, self.lake.catalog.id, table)
                rows[row.id] = row
        for _, row in sorted(rows.items()):
            with suppress(NamespaceNotFoundError, TableNotFoundError):  # dropped since; the step that needs it says so
                lookups.lock(connection, self.lake.catalog.id, row.identifier)

    def _apply(self, connection: Connection, step: Step, table: Identifier, prepared: _Prepared) -> _StepResult:
        if isinstance(step, ln.DeclareTableRequest):
            row = self.tables.declare_row(connection, table, prepared.place, step.properties or {})
            return _StepResult(self.lake.manifests(row))
        manifests = self.lake.manifests(lookups.lock(connection, self.lake.catalog.id, table))
        if isinstance(step, ln.DeregisterTableRequest):
            if self.tables.release(connection, table, prepared.settled) is None:
                raise ConcurrentModificationError(f"The table {table} is being written to. Try again.")
            return _StepResult(manifests)
        self._managed(manifests.row)
        if isinstance(step, ln.BatchDeleteTableVersionsRequest):
            return _StepResult(manifests, self.versions.delete_rows(connection, manifests, step))
        claim, _ = requested_claim(manifests, step)
        return _StepResult(manifests, [self.claims.claim_row(connection, manifests, claim)])

    # -- after the transaction -------------------------------------------------------------------

    def _answer(self, step: Step, result: _StepResult) -> CommitTableResult:
        entry, id_ = self.lake.entry(result.table.row), list(result.table.row.identifier)
        if isinstance(step, ln.DeclareTableRequest):
            declared = ln.DeclareTableResponse(
                location=entry.location,
                storage_options=dict(entry.storage_options) if entry.storage_options else None,
                properties=dict(entry.properties or {}),
                managed_versioning=entry.managed,
            )
            return CommitTableResult(declare_table=declared)
        if isinstance(step, ln.DeregisterTableRequest):
            properties = dict(entry.properties or {})
            deregistered = ln.DeregisterTableResponse(id=id_, location=entry.location, properties=properties)
            return CommitTableResult(deregister_table=deregistered)
        if isinstance(step, ln.BatchDeleteTableVersionsRequest):
            deleted = ln.BatchDeleteTableVersionsResponse(deleted_count=result.table.delete(result.versions))
            return CommitTableResult(delete_table_versions=deleted)
        return CommitTableResult(create_table_version=ln.CreateTableVersionResponse(version=_created(result)))

    def _unblock_writers(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, ln.CreateTableVersionRequest):
                with suppress(NamespaceNotFoundError, TableNotFoundError):  # it would have been declared with the rest
                    table = self._managed(self.tables.row(Identifier(step.id or ())))
                    self.claims.unblock_writer(table, branch_of(step.branch), step.version)


def _created(result: _StepResult) -> TableVersion:
    return ClaimedVersion(result.table, result.versions[0]).publish()


def _step(operation: CommitTableOperation) -> Step:
    steps: list[Step] = [
        step
        for step in (
            operation.declare_table,
            operation.create_table_version,
            operation.delete_table_versions,
            operation.deregister_table,
        )
        if step is not None
    ]
    if len(steps) != 1:
        raise InvalidInputError(
            "batch_commit_tables: each operation must be exactly one of declare_table, create_table_version, "
            f"delete_table_versions and deregister_table, but one has {len(steps)} of them."
        )
    return steps[0]
