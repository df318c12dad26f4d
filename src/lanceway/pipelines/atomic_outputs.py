"""Several tables of one run that become visible at once: their versions are staged, and claimed in one transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    BatchCommitTablesRequest,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    LanceNamespace,
)
from lance_namespace_urllib3_client.models.commit_table_operation import CommitTableOperation
from lance_namespace_urllib3_client.models.table_version import TableVersion

from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import InvalidInputError
from lanceway.writes.table_ref import TableRef

if TYPE_CHECKING:
    from pydantic import BaseModel

# What is gathered in this process, by the keys of the runs.
_OPEN: dict[str, DeferredCatalog] = {}


class DeferredCatalog(Wrapper):
    """A catalog that collects new versions instead of committing them; to a writer it looks as if it had committed."""

    def __init__(self, inner: LanceNamespace) -> None:
        super().__init__(inner)
        self.waiting: list[CreateTableVersionRequest] = []
        self._lock = threading.Lock()

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        if not isinstance(request, CreateTableVersionRequest):
            return super()._forward(operation, request, *data)
        with self._lock:
            self.waiting.append(request)
        version = TableVersion(
            version=request.version,
            manifest_path=request.manifest_path,
            manifest_size=request.manifest_size,
            e_tag=request.e_tag,
        )
        return CreateTableVersionResponse(version=version)

    def commit(self) -> None:
        """Make all versions visible, or none. Raise ConcurrentModificationError if another writer has changed a
        table.
        """
        if self.waiting:
            operations = [CommitTableOperation(create_table_version=request) for request in self.waiting]
            self._inner.batch_commit_tables(BatchCommitTablesRequest(operations=operations))


@dataclass(frozen=True)
class DeferredTable(TableRef):
    """A table whose new versions are deferred, in the process that collects them."""

    key: str = ""

    def catalog(self) -> LanceNamespace:
        return _OPEN.get(self.key) or super().catalog()

    def to_options(self) -> dict[str, str]:
        return _plain(self).to_options()


def _plain(target: TableRef) -> TableRef:
    return TableRef(target.type, target.settings, target.id, target.path, target.storage_options)


@contextmanager
def deferred_commit(targets: list[TableRef], key: str) -> Iterator[DeferredCatalog]:
    """Collect the new versions of the tables of one run, until `commit` is called.

    Raise InvalidInputError if they are not of one catalog, and UnsupportedOperationError if it has no transactions over
    several tables.
    """
    first = targets[0]
    for target in targets:
        if target.type is None or (target.type, dict(target.settings)) != (first.type, dict(first.settings)):
            raise InvalidInputError(
                f"{first.name} and {target.name} cannot become visible together: they are not of one catalog."
            )
    if len({target.id for target in targets}) < len(targets):
        raise InvalidInputError("Tables become visible together once each: two outputs have the same table.")
    catalog = first.catalog()
    catalog.batch_commit_tables(BatchCommitTablesRequest(operations=[]))  # one that cannot says so
    deferred_catalog = _OPEN[key] = DeferredCatalog(catalog)
    try:
        yield deferred_catalog
    finally:
        del _OPEN[key]


def deferred(target: TableRef, key: str) -> DeferredTable:
    """Return the table as the run with this key writes it, while its versions are collected."""
    return DeferredTable(target.type, target.settings, target.id, target.path, target.storage_options, key)


def require_managed(target: TableRef, *, managed: bool) -> None:
    if not managed:
        raise InvalidInputError(
            f"{target.name} keeps its versions in storage alone, and cannot become visible together with others. Make "
            "it managed first, or leave together out."
        )
