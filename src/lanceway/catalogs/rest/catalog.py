"""Any Lance REST server as a catalog: every operation of the contract is one request.

The routes are data (`wire.lance`); connections, retries and tokens belong to the one HTTP client (`wire.http`). Each
operation goes through `RestCatalog._forward`; those that need more than that are written out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.catalogs.contract.base import OPERATIONS, Catalog, TableEntry
from lanceway.catalogs.contract.clones import CloneRequest
from lanceway.catalogs.contract.create import create_empty_table
from lanceway.catalogs.contract.hooks import WITH_DATA, stream_twin
from lanceway.catalogs.contract.jobs import Job
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.contract.schemas import Path, PathNaming
from lanceway.catalogs.rest import arrow, clones, messages
from lanceway.catalogs.rest.jobs import RestJobs
from lanceway.catalogs.rest.renewals import Renewals, is_renewal
from lanceway.catalogs.rest.schemas import RestSchemas
from lanceway.catalogs.rest.storage import SERVER, STORAGE, StorageCatalog, is_on_storage
from lanceway.catalogs.wrappers.forward import Forwarder
from lanceway.config import Setting
from lanceway.errors import InvalidInputError
from lanceway.identifiers import DEFAULT_SEPARATOR, HierarchicalName, Identifier
from lanceway.wire import http, lance
from lanceway.wire.authentication import (
    API_KEY,
    AUTHORIZATION,
    ClientCredentials,
    Credentials,
    Fixed,
    TokenFile,
    WithHeaders,
    bearer,
)

if TYPE_CHECKING:
    import pyarrow as pa

_TOKEN_PATH = "/oauth/token"  # the specification's


class RestCatalog(Forwarder, Catalog):
    """A Lance REST server. Which operations it supports only the server knows."""

    TYPE = "rest"
    SETTINGS = (
        Setting("uri", "The server's address: http://host:port/lance.", required=True),
        Setting("token", "A bearer token.", secret=True),
        Setting("api_key", "An API key, sent as x-api-key.", secret=True),
        Setting("token_file", "A file with a bearer token, read again when it changes."),
        Setting("credential", "An OAuth2 client as id:secret, for which tokens are fetched and renewed.", secret=True),
        Setting("token_uri", f"Where tokens are fetched: {_TOKEN_PATH} of the server unless it is set."),
        Setting("scope", "The scope of the tokens that are fetched."),
        Setting("delimiter", "What joins the names of an identifier on the wire.", default=lance.DELIMITER),
        *http.SETTINGS,
        Setting(
            "data",
            "Who works on the data of tables: the server, or this process on their storage, for a server that keeps "
            "names alone.",
            choices=(SERVER, STORAGE),
            default=SERVER,
        ),
        Setting("storage.*", "Options of the storage, beside those that the server gives: storage.region, …"),
    )

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        settings = self._settings
        uri = http.checked_uri(settings["uri"])
        _check(settings)
        # A relative path means the same file wherever the catalog is pickled to.
        token_file = settings["token_file"] and os.path.abspath(settings["token_file"])
        self._settings = MappingProxyType({**settings, "uri": uri, "token_file": token_file})
        self._client = http.Client(uri, self._settings, self._credentials, messages.refuse)
        self._jobs = RestJobs(uri, self._settings, self._credentials)
        self._schemas = RestSchemas(self._jobs)
        self._authenticated = _has_credentials(settings)
        self._renewals = Renewals()

    @classmethod
    def support(cls) -> Mapping[str, frozenset[str]]:
        return {cls.TYPE: frozenset(OPERATIONS)}

    def close(self) -> None:
        super().close()
        self._client.close()
        self._jobs.close()

    def _credentials(self) -> Credentials:
        settings, headers = self._settings, _fixed_headers(self._settings)
        if settings["token_file"]:
            return WithHeaders(headers, TokenFile(settings["token_file"]))
        if settings["credential"]:
            client, _, secret = settings["credential"].partition(":")
            return WithHeaders(headers, ClientCredentials(_token_uri(settings), client, secret, settings["scope"]))
        return Fixed(headers)

    # -- requests and responses ------------------------------------------------------------------

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """Send the request of one operation, or of a twin that streams, and read the response."""
        if self._works_on_storage and is_on_storage(operation):
            return self._storage.run(operation, request, *data)
        if not data:
            return self._ask(operation, request)
        plain = operation.removesuffix(stream_twin(""))
        make = arrow.body if operation in WITH_DATA else arrow.ArrowUpload
        return self._ask(plain, request, make(plain, *data))

    def _write(self, operation: str, request: BaseModel, data: Any = None) -> http.Request:
        route, delimiter = lance.BY_OPERATION[operation], self._settings["delimiter"]
        return messages.write(route, request, data, delimiter=delimiter, authenticated=self._authenticated)

    def _ask(self, operation: str, request: BaseModel, data: Any = None) -> Any:
        """Ask the server."""
        written = self._write(operation, request, data)
        response = messages.read(lance.BY_OPERATION[operation], written, self._client.send(written))
        if options := self._settings["storage"]:
            _add_options(response, options)
        return response

    @property
    def _works_on_storage(self) -> bool:
        return bool(self._settings["data"] == STORAGE)

    @property
    def _storage(self) -> StorageCatalog:
        return StorageCatalog(self._ask, self)

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._storage._find_table(table)

    # -- operations that differ from one request -------------------------------------------------

    def create_empty_table(self, request: ln.CreateTableRequest) -> ln.CreateTableResponse:
        return create_empty_table(self, request)

    def describe_table(self, request: ln.DescribeTableRequest) -> ln.DescribeTableResponse:
        if is_renewal(request):
            return self._renewals.renew(cast("Mapping[str, Any]", request), super().describe_table)
        return super().describe_table(request)

    def query_table(self, request: ln.QueryTableRequest) -> ln.QueryTableResponse:
        if self._works_on_storage:
            return super().query_table(request)
        written = self._write("query_table", accept(ln.QueryTableRequest, request))
        http_response = self._client.send(written)
        data = arrow.whole(written.what, http_response.content)
        response: ln.QueryTableResponse = messages.model(
            lance.BY_OPERATION["query_table"], written, {"data": data}, http_response.headers
        )
        return response

    def query_table_stream(self, request: ln.QueryTableRequest) -> pa.RecordBatchReader:
        """Run a query and return its rows as a reader, one batch at a time: `query_table` for results of any size."""
        if self._works_on_storage:
            return super().query_table_stream(request)
        written = self._write("query_table", accept(ln.QueryTableRequest, request))
        return arrow.reader(self._client.stream(written))

    def list_tables(self, request: ln.ListTablesRequest) -> ln.ListTablesResponse:
        request = accept(ln.ListTablesRequest, request)
        response: ln.ListTablesResponse = self._ask("list_tables", request)
        response.tables = self._own_names(request.id or [], response.tables)
        return response

    def _own_names(self, parent: list[str], names: list[str]) -> list[str]:
        """Return the names of tables without their parent's: some servers list whole identifiers."""
        prefix = "".join(f"{name}{self._settings['delimiter']}" for name in parent)
        if prefix and all(name.startswith(prefix) for name in names):
            return [name.removeprefix(prefix) for name in names]
        return names

    def list_all_tables(self, request: ln.ListTablesRequest) -> ln.ListTablesResponse:
        """List every table, or every one below a namespace: the protocol lists them all, and others are left out."""
        request = accept(ln.ListTablesRequest, request)
        response: ln.ListTablesResponse = self._ask("list_all_tables", request)
        if not request.id:
            return response
        self.namespace_exists(
            ln.NamespaceExistsRequest(id=request.id, identity=request.identity, context=request.context)
        )
        prefix = lance.write_id(request.id, self._settings["delimiter"]) + self._settings["delimiter"]
        response.tables = [name for name in response.tables if name.startswith(prefix)]
        while not response.tables and response.page_token:
            response = self._ask("list_all_tables", request.model_copy(update={"page_token": response.page_token}))
            response.tables = [name for name in response.tables if name.startswith(prefix)]
        return response

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
        return clones.clone(self._jobs, request)

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


# -- settings ------------------------------------------------------------------------------------


def _check(settings: Mapping[str, Any]) -> None:
    tokens = [name for name in ("token", "token_file", "credential") if settings[name]]
    if AUTHORIZATION in _header_names(settings):
        tokens.append("header.Authorization")
    if len(tokens) > 1:
        raise InvalidInputError(f"{' and '.join(tokens)} are set, but only one of them can say who asks.")
    if settings["credential"] and not all(settings["credential"].partition(":")):
        raise InvalidInputError("credential is not of the form id:secret.")
    for name in ("token_uri", "scope"):
        if settings[name] and not settings["credential"]:
            raise InvalidInputError(f"{name} is set without credential, the client that tokens are fetched for.")
    http.check_headers(_fixed_headers(settings))
    _token_uri(settings)
    if settings["delimiter"] in ("", "."):
        raise InvalidInputError(
            f"delimiter is {settings['delimiter']!r}, with which the root has no name in a path. Use another, such as "
            "'$'."
        )


def _fixed_headers(settings: Mapping[str, Any]) -> dict[str, str]:
    key = {API_KEY: settings["api_key"]} if settings["api_key"] else {}
    return {**key, **(bearer(settings["token"]) if settings["token"] else {})}


def _token_uri(settings: Mapping[str, Any]) -> str:
    return http.checked_uri(urljoin(f"{settings['uri'].rstrip('/')}/", settings["token_uri"] or _TOKEN_PATH))


def _header_names(settings: Mapping[str, Any]) -> set[str]:
    return {name.lower() for name in (*settings["header"], *settings["headers"])}


def _has_credentials(settings: Mapping[str, Any]) -> bool:
    has_own = any(settings[name] for name in ("token", "api_key", "token_file", "credential"))
    return has_own or not _header_names(settings).isdisjoint({AUTHORIZATION, API_KEY})
