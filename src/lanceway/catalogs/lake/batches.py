"""Changes to several tables in one transaction: all of them, or none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lance_namespace import (
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    BatchCreateTableVersionsRequest,
    BatchCreateTableVersionsResponse,
    BatchDeleteTableVersionsRequest,
    BatchDeleteTableVersionsResponse,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DeclareTableRequest,
    DeclareTableResponse,
    DeregisterTableRequest,
    DeregisterTableResponse,
)
from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation
from lance_namespace_urllib3_client.models.commit_table_result import CommitTableResult
from lance_namespace_urllib3_client.models.table_version import TableVersion
from sqlalchemy import Connection

from lanceway.catalogs.contract.requests import accept, table_id
from lanceway.catalogs.lake.claims import ClaimedVersion, asked_for, branch_of
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.catalogs.lake.tables import Place
from lanceway.catalogs.lake.versions import LakeVersions
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow as Row
from lanceway.lake.versions.versions import Version

Step = DeclareTableRequest | CreateTableVersionRequest | BatchDeleteTableVersionsRequest | DeregisterTableRequest


@dataclass(frozen=True, slots=True)
class _Done:
    """What a step did in the transaction, to be made true in storage afterwards."""

    table: Manifests
    versions: Sequence[Version] = ()


class LakeBatches(LakeVersions):
    """The operations that nothing but one database can offer."""

    def batch_create_table_versions(self, request: BatchCreateTableVersionsRequest) -> BatchCreateTableVersionsResponse:
        request = accept(BatchCreateTableVersionsRequest, request)
        steps = [CreateTableVersionRequest(**entry.model_dump()) for entry in request.entries]
        done = self._commit(steps, "batch_create_table_versions")
        return BatchCreateTableVersionsResponse(versions=[_created(each) for each in done])

    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse:
        request = accept(BatchCommitTablesRequest, request)
        steps = [_step(operation) for operation in request.operations]
        done = self._commit(steps, "batch_commit_tables")
        results = [self._result(step, each) for step, each in zip(steps, done, strict=True)]
        return BatchCommitTablesResponse(results=results)

    def _commit(self, steps: Sequence[Step], operation: str) -> Sequence[_Done]:
        names = [table_id(step.id, operation) for step in steps]
        written = {
            table for step, table in zip(steps, names, strict=True) if isinstance(step, CreateTableVersionRequest)
        }
        places = [self._prepare(step, table, written) for step, table in zip(steps, names, strict=True)]
        try:
            done = self._lake.transact(self._apply, steps, names, places)
            for step, each in zip(steps, done, strict=True):
                if isinstance(step, DeregisterTableRequest):
                    self._leave(each.table.table.location)
            return done
        except ConcurrentModificationError:
            self._make_way_for(steps)
            raise

    def _apply(
        self,
        connection: Connection,
        steps: Sequence[Step],
        names: Sequence[Identifier],
        places: Sequence[Place | None],
    ) -> Sequence[_Done]:
        self._lock(connection, names)
        return [self._carry_out(connection, *each) for each in zip(steps, names, places, strict=True)]

    def _lock(self, connection: Connection, names: Sequence[Identifier]) -> None:
        """Lock the tables that there are: everybody in the same order, so that two batches never wait in a circle."""
        found: dict[int, Row] = {}
        for table in names:
            with suppress(NamespaceNotFoundError, TableNotFoundError):
                row = lookups.find(connection, self._catalog.id, table)
                found[row.id] = row
        for _, row in sorted(found.items()):
            with suppress(NamespaceNotFoundError, TableNotFoundError):  # dropped since; the step that needs it says so
                lookups.lock(connection, self._catalog.id, row.identifier)

    # -- before the transaction ------------------------------------------------------------------

    def _prepare(self, step: Step, table: Identifier, written: Collection[Identifier]) -> Place | None:
        """What needs storage, which a transaction should not wait for: of a declaration, where it is to lie."""
        if isinstance(step, DeclareTableRequest):
            return self._looked_at(table, step.location, staged=table in written)
        if isinstance(step, DeregisterTableRequest):
            self._settle_storage(table)
        elif isinstance(step, BatchDeleteTableVersionsRequest):
            found = self._in_the_lake(self._row(table))
            found.require_manager()
            self._refuse_tagged(found, step)
        elif isinstance(step, CreateTableVersionRequest):
            self._settle_claims(table)
        return None

    def _settle_claims(self, table: Identifier) -> None:
        with suppress(NamespaceNotFoundError, TableNotFoundError):  # it may be declared by the step before
            row = self._row(table)
            if row.managed:
                self._manifests(row).require_manager()
                self._manifests(row).settle()

    def _in_the_lake(self, row: Row) -> Manifests:
        if not row.managed:
            raise InvalidTableStateError(
                f"The table {row.identifier} keeps its versions in storage alone, where no other table's change can "
                "be part of its commit. Make it managed first."
            )
        return self._manifests(row)

    # -- in the transaction ----------------------------------------------------------------------

    def _carry_out(self, connection: Connection, step: Step, table: Identifier, place: Place | None) -> _Done:
        if isinstance(step, DeclareTableRequest):
            return _Done(self._manifests(self._declared(connection, table, place, step.properties or {})))
        found = self._manifests(lookups.lock(connection, self._catalog.id, table))
        if isinstance(step, DeregisterTableRequest):
            if self._let_go(connection, table) is None:
                raise ConcurrentModificationError(f"The table {table} is being written to. Try again.")
            return _Done(found)
        self._in_the_lake(found.row)
        if isinstance(step, BatchDeleteTableVersionsRequest):
            return _Done(found, self._forgotten(connection, found, step))
        return _Done(found, [self._claim_version(connection, found, asked_for(found, step)[0])])

    # -- after the transaction -------------------------------------------------------------------

    def _result(self, step: Step, done: _Done) -> CommitTableResult:
        entry, id_ = self._entry(done.table.row), list(done.table.row.identifier)
        if isinstance(step, DeclareTableRequest):
            declared = DeclareTableResponse(
                location=entry.location,
                storage_options=dict(entry.storage_options) if entry.storage_options else None,
                properties=dict(entry.properties or {}),
                managed_versioning=entry.managed,
            )
            return CommitTableResult(declare_table=declared)
        if isinstance(step, DeregisterTableRequest):
            forgotten = DeregisterTableResponse(
                id=id_, location=entry.location, properties=dict(entry.properties or {})
            )
            return CommitTableResult(deregister_table=forgotten)
        if isinstance(step, BatchDeleteTableVersionsRequest):
            deleted = BatchDeleteTableVersionsResponse(deleted_count=done.table.erase(done.versions))
            return CommitTableResult(delete_table_versions=deleted)
        return CommitTableResult(create_table_version=CreateTableVersionResponse(version=_created(done)))

    def _make_way_for(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, CreateTableVersionRequest):
                with suppress(NamespaceNotFoundError, TableNotFoundError):  # it would have been declared with the rest
                    table = self._in_the_lake(self._row(Identifier(step.id or ())))
                    self._make_way(table, branch_of(step.branch), step.version)


def _created(done: _Done) -> TableVersion:
    return ClaimedVersion(done.table, done.versions[0]).published()


def _step(operation: CommitTableOperation) -> Step:
    given: list[Step] = [
        step
        for step in (
            operation.declare_table,
            operation.create_table_version,
            operation.delete_table_versions,
            operation.deregister_table,
        )
        if step is not None
    ]
    if len(given) != 1:
        raise InvalidInputError(
            "batch_commit_tables: each operation must be exactly one of declare_table, create_table_version, "
            f"delete_table_versions and deregister_table, but one has {len(given)} of them."
        )
    return given[0]
