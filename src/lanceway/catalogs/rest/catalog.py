"""Any Lance REST server as a catalog: every operation of the contract is one request.

The routes are data (`wire.lance`); connections, retries and tokens belong to the one HTTP client (`wire.http`).

    rest_requests   a request as it is sent
    rest_answers    responses, and errors as the classes they were
    rest_arrow      rows, both ways
    rest_jobs       background jobs
    rest_storage    rows without the server, where it keeps names alone
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from lance_namespace import (
    ListTablesRequest,
    ListTablesResponse,
    NamespaceExistsRequest,
    QueryTableRequest,
    QueryTableResponse,
)
from pydantic import BaseModel

from lanceway.catalogs.contract.base import OPERATIONS, Catalog
from lanceway.catalogs.contract.operations import WITH_DATA, stream_twin
from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.rest import answers, arrow, requests
from lanceway.catalogs.rest.jobs import RestJobs, client_beside
from lanceway.catalogs.rest.storage import SERVER, STORAGE, RestStorage, is_on_storage
from lanceway.catalogs.wrappers.forward import Forwarder
from lanceway.config import Setting
from lanceway.errors import InvalidInputError
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


class RestCatalog(Forwarder, RestJobs, RestStorage):
    """A Lance REST server. Which operations it has is the server's to say."""

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
        given = self._settings
        uri = http.checked_uri(given["uri"])
        _check(given)
        complete = {
            "uri": uri,
            "token_file": given["token_file"] and os.path.abspath(given["token_file"]),
        }
        self._settings = MappingProxyType({**given, **complete})
        self._client = http.Client(uri, self._settings, self._credentials, answers.refuse)
        self._beside = client_beside(uri, self._settings, self._credentials)
        self._known = _has_credentials(given)

    @classmethod
    def support(cls) -> Mapping[str, frozenset[str]]:
        return {cls.TYPE: frozenset(OPERATIONS)}

    def close(self) -> None:
        self._client.close()
        if self._beside is not None:
            self._beside.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A relative path means the file it meant here.
        rebuild, (cls, given) = super().__reduce__()
        kept = {"token_file": self._settings["token_file"]} if self._settings["token_file"] else {}
        return rebuild, (cls, {**given, **kept})

    def _credentials(self) -> Credentials:
        given = self._settings
        if given["token_file"]:
            return WithHeaders(_fixed(given), TokenFile(given["token_file"]))
        if given["credential"]:
            client, _, secret = given["credential"].partition(":")
            return WithHeaders(_fixed(given), ClientCredentials(_token_uri(given), client, secret, given["scope"]))
        return Fixed(_fixed(given))

    # -- requests and answers --------------------------------------------------------------------

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """One operation of the contract, or a twin that streams: its request sent, its answer read."""
        if self._reaches_storage and is_on_storage(operation):
            return self._on_storage(operation, request, *data)
        if not data:
            return self._ask(operation, request)
        plain = operation.removesuffix(stream_twin(""))
        make = arrow.body if operation in WITH_DATA else arrow.ArrowUpload
        return self._ask(plain, request, make(plain, *data))

    def _write(self, operation: str, request: BaseModel, data: Any = None) -> http.Request:
        return requests.write(
            lance.BY_OPERATION[operation], request, data, delimiter=self._settings["delimiter"], known=self._known
        )

    def _ask(self, operation: str, request: BaseModel, data: Any = None) -> Any:
        written = self._write(operation, request, data)
        response = answers.read(lance.BY_OPERATION[operation], written, self._client.send(written))
        if own := self._settings["storage"]:
            _add_options(response, own)
        return response

    # Not a route of its own: declare_table under its old name.
    create_empty_table = Catalog.create_empty_table

    def query_table(self, request: QueryTableRequest) -> QueryTableResponse:
        if self._reaches_storage:
            return Catalog.query_table(self, request)
        written = self._write("query_table", accept(QueryTableRequest, request))
        answer = self._client.send(written)
        data = arrow.whole(written.what, answer.content)
        response: QueryTableResponse = answers.model(
            lance.BY_OPERATION["query_table"], written, {"data": data}, answer.headers
        )
        return response

    def query_table_stream(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        if self._reaches_storage:
            return Catalog.query_table_stream(self, request)
        written = self._write("query_table", accept(QueryTableRequest, request))
        return arrow.reader(self._client.stream(written))

    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        request = accept(ListTablesRequest, request)
        response: ListTablesResponse = self._ask("list_tables", request)
        response.tables = self._own_names(request.id or [], response.tables)
        return response

    def _own_names(self, parent: list[str], names: list[str]) -> list[str]:
        """Some servers list tables by their whole identifiers, where the contract has their own names."""
        prefix = "".join(f"{name}{self._settings['delimiter']}" for name in parent)
        if prefix and all(name.startswith(prefix) for name in names):
            return [name.removeprefix(prefix) for name in names]
        return names

    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """Every table, or every table below a namespace: the protocol lists them all, and the others are left out."""
        request = accept(ListTablesRequest, request)
        response: ListTablesResponse = self._ask("list_all_tables", request)
        if not request.id:
            return response
        self.namespace_exists(NamespaceExistsRequest(id=request.id, identity=request.identity, context=request.context))
        prefix = lance.write_id(request.id, self._settings["delimiter"]) + self._settings["delimiter"]
        response.tables = [name for name in response.tables if name.startswith(prefix)]
        while not response.tables and response.page_token:
            response = self._ask("list_all_tables", request.model_copy(update={"page_token": response.page_token}))
            response.tables = [name for name in response.tables if name.startswith(prefix)]
        return response


def _add_options(response: Any, own: Mapping[str, str]) -> None:
    """What pylance needs to reach a table: what this catalog was told, and over it what the server says."""
    if "storage_options" in getattr(type(response), "model_fields", ()):
        response.storage_options = {**own, **(response.storage_options or {})}


# -- settings ------------------------------------------------------------------------------------


def _check(given: Mapping[str, Any]) -> None:
    tokens = [name for name in ("token", "token_file", "credential") if given[name]]
    if AUTHORIZATION in _header_names(given):
        tokens.append("header.Authorization")
    if len(tokens) > 1:
        raise InvalidInputError(f"{' and '.join(tokens)} are set, but only one of them can say who asks.")
    if given["credential"] and not all(given["credential"].partition(":")):
        raise InvalidInputError("credential is not of the form id:secret.")
    for name in ("token_uri", "scope"):
        if given[name] and not given["credential"]:
            raise InvalidInputError(f"{name} is set without credential, the client that tokens are fetched for.")
    http.check_headers(_fixed(given))
    _token_uri(given)
    if given["delimiter"] in ("", "."):
        raise InvalidInputError(
            f"delimiter is {given['delimiter']!r}, with which the root has no name in a path. Use another, such as '$'."
        )


def _fixed(given: Mapping[str, Any]) -> dict[str, str]:
    key = {API_KEY: given["api_key"]} if given["api_key"] else {}
    return {**key, **(bearer(given["token"]) if given["token"] else {})}


def _token_uri(given: Mapping[str, Any]) -> str:
    return http.checked_uri(urljoin(f"{given['uri'].rstrip('/')}/", given["token_uri"] or _TOKEN_PATH))


def _header_names(given: Mapping[str, Any]) -> set[str]:
    return {name.lower() for name in (*given["header"], *given["headers"])}


def _has_credentials(given: Mapping[str, Any]) -> bool:
    own = any(given[name] for name in ("token", "api_key", "token_file", "credential"))
    return own or not _header_names(given).isdisjoint({AUTHORIZATION, API_KEY})
