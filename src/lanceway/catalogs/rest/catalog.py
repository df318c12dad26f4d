"""Any Lance REST server as a catalog: every operation of the contract is one request.

The routes are data (`wire.lance`); connections, retries and tokens belong to the one HTTP client (`wire.http`). Each
operation goes through `RestCatalog._forward`; those that need more than that are written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.catalogs.contract.base import OPERATIONS, Catalog, TableEntry
from lanceway.catalogs.contract.clones import CloneRequest
from lanceway.catalogs.contract.create import create_empty_table
from lanceway.catalogs.contract.hooks import WITH_DATA, stream_twin
from lanceway.catalogs.contract.jobs import Job
from lanceway.catalogs.contract.metadata import WIRE_DELIMITER
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.contract.schemas import Path, PathNaming
from lanceway.catalogs.rest import arrow, messages
from lanceway.catalogs.rest.interface import LancewayInterface
from lanceway.catalogs.rest.jobs import RestJobs
from lanceway.catalogs.rest.renewals import Renewals, is_renewal
from lanceway.catalogs.rest.schemas import RestSchemas
from lanceway.catalogs.rest.settings import SETTINGS, RestSettings
from lanceway.catalogs.rest.storage import StorageCatalog, is_on_storage
from lanceway.catalogs.wrappers.forward import Forwarder
from lanceway.identifiers import DEFAULT_SEPARATOR, HierarchicalName, Identifier
from lanceway.wire import http, lance

if TYPE_CHECKING:
    import pyarrow as pa


class RestCatalog(Forwarder, Catalog):
    """A Lance REST server. Which operations it supports only the server knows."""

    TYPE = "rest"
    SETTINGS = SETTINGS

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = RestSettings.read(self._settings)
        self._complete(uri=settings.uri, token_file=settings.token_file)
        self._rest_settings = settings
        self._client = http.Client(settings.uri, settings.client, settings.credentials, messages.refuse)
        self._interface = LancewayInterface(settings)
        self._jobs = RestJobs(self._interface, settings.delimiter)
        self._schemas = RestSchemas(self._interface)
        self._renewals = Renewals()

    @classmethod
    def support(cls) -> Mapping[str, frozenset[str]]:
        return {cls.TYPE: frozenset(OPERATIONS)}

    def close(self) -> None:
        super().close()
        self._client.close()
        self._interface.close()

    # -- requests and responses ------------------------------------------------------------------

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """Send the request of one operation, or of a twin that streams, and read the response."""
        if self._rest_settings.works_on_storage and is_on_storage(operation):
            return self._storage.run(operation, request, *data)
        if not data:
            return self._ask(operation, request)
        plain = operation.removesuffix(stream_twin(""))
        make = arrow.body if operation in WITH_DATA else arrow.ArrowUpload
        return self._ask(plain, request, make(plain, *data))

    def _write(self, operation: str, request: BaseModel, data: Any = None) -> http.Request:
        settings = self._rest_settings
        return messages.write(
            lance.BY_OPERATION[operation],
            request,
            data,
            delimiter=settings.delimiter,
            authenticated=settings.has_credentials,
        )

    def _ask(self, operation: str, request: BaseModel, data: Any = None) -> Any:
        """Ask the server."""
        written = self._write(operation, request, data)
        response = messages.read(lance.BY_OPERATION[operation], written, self._client.send(written))
        if options := self._rest_settings.storage:
            _add_options(response, options)
        return response

    @property
    def _storage(self) -> StorageCatalog:
        return StorageCatalog(self._ask, self)

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._storage._find_table(table)

    # -- operations that differ from one request -------------------------------------------------

    def _creates_in_root(self) -> bool:
        return False  # of most servers it holds catalogs

    def create_empty_table(self, request: ln.CreateTableRequest | Mapping[str, Any]) -> ln.CreateTableResponse:
        return create_empty_table(self, request)

    def describe_table(self, request: ln.DescribeTableRequest | Mapping[str, Any]) -> ln.DescribeTableResponse:
        if is_renewal(request):
            return self._renewals.renew(cast("Mapping[str, Any]", request), super().describe_table)
        return super().describe_table(request)

    def query_table(self, request: ln.QueryTableRequest | Mapping[str, Any]) -> ln.QueryTableResponse:
        if self._rest_settings.works_on_storage:
            return super().query_table(request)
        written = self._write("query_table", accept(ln.QueryTableRequest, request))
        http_response = self._client.send(written)
        data = arrow.whole(written.what, http_response.content)
        response: ln.QueryTableResponse = messages.model(
            lance.BY_OPERATION["query_table"], written, {"data": data}, http_response.headers
        )
        return response

    def query_table_stream(self, request: ln.QueryTableRequest | Mapping[str, Any]) -> pa.RecordBatchReader:
        """Run a query and return its rows as a reader, one batch at a time: `query_table` for results of any size."""
        if self._rest_settings.works_on_storage:
            return super().query_table_stream(request)
        written = self._write("query_table", accept(ln.QueryTableRequest, request))
        return arrow.reader(self._client.stream(written))

    def list_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        request = accept(ln.ListTablesRequest, request)
        response: ln.ListTablesResponse = self._ask("list_tables", request)
        response.tables = self._own_names(request.id or [], response.tables)
        return response

    def _own_names(self, parent: list[str], names: list[str]) -> list[str]:
        """Return the names of tables without their parent's: some servers list whole identifiers."""
        prefix = "".join(f"{name}{self._rest_settings.delimiter}" for name in parent)
        if prefix and all(name.startswith(prefix) for name in names):
            return [name.removeprefix(prefix) for name in names]
        return names

    def list_all_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        """List every table, or every one below a namespace: the protocol lists them all, and others are left out."""
        request = accept(ln.ListTablesRequest, request)
        response: ln.ListTablesResponse = self._ask("list_all_tables", request)
        if request.id:
            self.namespace_exists(
                ln.NamespaceExistsRequest(id=request.id, identity=request.identity, context=request.context)
            )
        response.tables = self._below(request.id, response.tables)
        while request.id and not response.tables and response.page_token:
            response = self._ask("list_all_tables", request.model_copy(update={"page_token": response.page_token}))
            response.tables = self._below(request.id, response.tables)
        return response

    def _below(self, namespace: list[str] | None, tables: list[str]) -> list[str]:
        """Return those of some tables that are below a namespace, written as every catalog lists them."""
        delimiter = self._rest_settings.delimiter
        prefix = lance.write_id(namespace, delimiter) + delimiter if namespace else ""
        below = [table for table in tables if table.startswith(prefix)]
        if delimiter == WIRE_DELIMITER:
            return below
        return [Identifier.parse(table, delimiter).format(WIRE_DELIMITER) for table in below]

    # -- namespaces by logical path, after the name of their catalog: lake.team:sales ------------

    def naming(self, names: Sequence[str] = ()) -> PathNaming | None:
        """Return how names are written in the catalog that an identifier begins with; None if the server does not say.

        Only a Lanceway server does.
        """
        return self._schemas.naming(names[0]) if names else None

    def list_schemas(self, parent: Path | None = None) -> list[str]:
        """Return the namespaces directly inside one, as `lake.team:sales`; all catalogs if none is given."""
        if parent and not isinstance(parent, str):
            catalog, *path = parent
            naming = self.naming([catalog])
            separator = DEFAULT_SEPARATOR if naming is None else naming.separator
            parent = f"{catalog}.{HierarchicalName(path).format(separator)}"
        return self._schemas.list(parent if isinstance(parent, str) else None)

    def create_namespaces(
        self, path: Path, properties: Mapping[str, str] | None = None, *, comment: str | None = None
    ) -> Identifier:
        """Make a namespace and what is missing above it: all of it, with one owner, or nothing."""
        return self._schemas.create(path, properties, comment)

    def alter_namespace(
        self, path: Path, properties: Mapping[str, str] | None = None, *, unset: Iterable[str] = ()
    ) -> dict[str, str]:
        """Set and take away properties of a namespace, or of a catalog of the lake, and return all it has then."""
        return self._schemas.alter(path, properties, unset)

    def drop_schema(self, path: Path) -> None:
        """Drop an empty namespace by its logical path."""
        self._schemas.drop(path)

    def clone_table(
        self,
        source: Path,
        target: Path,
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
    ) -> ln.DescribeTableResponse:
        """Have the server make a shallow clone of a table, which costs next to nothing."""
        request = CloneRequest(list(Identifier.of(source)), list(Identifier.of(target)), version, tag, branch)
        return self._schemas.clone(request)

    # -- what happened ---------------------------------------------------------------------------

    def list_events(
        self,
        *,
        after: str | None = None,
        types: Sequence[str] = (),
        under: Sequence[str] | None = None,
        limit: int | None = None,
        wait: float = 0.0,
    ) -> dict[str, Any]:
        """Return a page of a Lanceway server's `events`, the oldest first, and the `cursor` to go on `after`.

        `more` says whether there is more already. Without any event, the server waits for up to `wait` seconds.
        """
        page: dict[str, Any] = self._jobs.events(after, types, under, limit, wait)
        return page

    # -- background jobs -------------------------------------------------------------------------

    def list_jobs(
        self,
        *,
        state: str | None = None,
        table: Sequence[str] | None = None,
        limit: int | None = None,
        page_token: str | None = None,
        everybody: bool = False,
    ) -> tuple[list[Job], str | None]:
        """List the user's own jobs, the newest first, with the token of the next page; `everybody`'s for an admin."""
        return self._jobs.list(state=state, table=table, limit=limit, page_token=page_token, everybody=everybody)

    def describe_job(self, job_id: str) -> Job:
        return self._jobs.describe(job_id)

    def cancel_job(self, job_id: str) -> Job:
        return self._jobs.cancel(job_id)


def _add_options(response: Any, options: Mapping[str, str]) -> None:
    """Add what pylance needs to reach a table: this catalog's own options, over which the server's win."""
    if "storage_options" in getattr(type(response), "model_fields", ()):
        response.storage_options = {**options, **(response.storage_options or {})}
