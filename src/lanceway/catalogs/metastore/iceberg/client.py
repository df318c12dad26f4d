"""Requests to an Iceberg REST catalog: its warehouses, responses read, and refusals understood."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypedDict, Unpack
from urllib.parse import quote, urlsplit

from lanceway.catalogs.metastore.http import json_request, pages, read_failure, read_json, refusal
from lanceway.catalogs.metastore.iceberg.names import check, check_levels
from lanceway.catalogs.metastore.iceberg.settings import IcebergSettings
from lanceway.errors import (
    ErrorInfo,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.wire import iceberg
from lanceway.wire.authentication import Credentials
from lanceway.wire.errors import Repeat
from lanceway.wire.http import Client, HttpAnswer, Request
from lanceway.wire.iceberg import Config, IcebergRoute

log = logging.getLogger(__name__)

_BROKE_DOWN = 500
_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        15: "Ask for the privilege, or use another principal; some servers answer so for what does not exist, too.",
        16: "Check auth_token, token_file or credential.",
    }
)


@dataclass(frozen=True, slots=True)
class IcebergCall(Request):
    """A request of the protocol, with the row that says what its refusal means."""

    route: IcebergRoute = iceberg.ROUTES[0]


class Content(TypedDict, total=False):
    """What a request carries beside its path."""

    query: Sequence[tuple[str, str]]
    body: Mapping[str, Any]
    headers: Mapping[str, str] | None
    repeat: Repeat


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A warehouse: the address of its requests, and what its server can do."""

    name: str
    client: Client = field(repr=False)
    config: Config


class IcebergClient:
    """A client of one server. It may be shared by threads, used after a fork, and closed; it opens again when used."""

    def __init__(self, settings: IcebergSettings) -> None:
        self._settings = settings
        self._client = self._open(settings.endpoint)
        self._warehouses: dict[str, Warehouse] = {}

    def close(self) -> None:
        self._client.close()
        for warehouse in list(self._warehouses.values()):
            warehouse.client.close()

    def _open(self, uri: str) -> Client:
        return Client(uri, self._settings.client, self._credentials, refused)

    def beside(self, uri: str) -> Client:
        """Return a client for an API of the same server beside Iceberg REST, signed in alike. Close it."""
        return self._open(uri)

    def _credentials(self) -> Credentials:
        settings = self._settings
        return settings.sign_in.credentials(settings.endpoint + iceberg.BY_OPERATION["get_token"].path)

    # -- warehouses ------------------------------------------------------------------------------

    def resolve(self, namespace: Identifier) -> tuple[Warehouse, tuple[str, ...]]:
        """Return the warehouse of a namespace, and the names inside it. Raises NamespaceNotFoundError."""
        check(namespace)
        warehouse = self._warehouse(namespace[0])
        names = tuple(namespace[1:])
        check_levels(Identifier(names), warehouse.config.separator)
        return warehouse, names

    def _warehouse(self, name: str) -> Warehouse:
        """Return a warehouse; its server is asked for it once, unless that fails."""
        warehouse = self._warehouses.get(name)
        if warehouse is None:
            warehouse = self._warehouses.setdefault(name, self._load_warehouse(name))
        return warehouse

    def _load_warehouse(self, name: str) -> Warehouse:
        unknown = Warehouse(name, self._client, Config(None))
        known_as = self._settings.warehouse_id if name == self._settings.warehouse else None
        what = f"Asking for the warehouse {name!r}"
        response = self.ask(unknown, "get_config", what, query=[("warehouse", known_as or name)])
        config = iceberg.read_config(response, self._settings.prefix)
        warehouse = Warehouse(name, self._client_at(config.uri), config)
        if config.prefix or self._is_without_prefix(warehouse):
            return warehouse
        return replace(warehouse, config=replace(config, prefix=quote(known_as or name, safe="")))

    def _client_at(self, uri: str | None) -> Client:
        """Return the client for an address that the server names. No other server may get the token."""
        endpoint = self._settings.endpoint
        if uri is None or uri.rstrip("/") == endpoint:
            return self._client
        if _origin(uri) != _origin(endpoint):
            log.warning("%s names %s as its address, which is another server and not followed.", endpoint, uri)
            return self._client
        return self._open(uri)

    def _is_without_prefix(self, warehouse: Warehouse) -> bool:
        """Return whether a server that announces no prefix has none; the warehouse's name is the last resort."""
        try:
            self.ask(warehouse, "list_namespaces", "Looking for namespaces", query=[("pageSize", "1")])
        except (InvalidInputError, NamespaceNotFoundError, UnsupportedOperationError):
            return False  # a path without prefix is one that this server does not know: 400, 404 or 405
        except (PermissionDeniedError, UnauthenticatedError):
            return True  # the request itself will be refused
        return True

    # -- requests --------------------------------------------------------------------------------

    def ask(
        self,
        warehouse: Warehouse,
        operation: str,
        what: str,
        namespace: Sequence[str] = (),
        table: str = "",
        **content: Unpack[Content],
    ) -> Any:
        """Return the JSON of the response, None if it is empty. Raises what a refusal means."""
        route, question = iceberg.BY_OPERATION[operation], "Is the endpoint an Iceberg REST catalog?"
        return send(warehouse.client, route, warehouse.config, what, namespace, table, question, **content)

    def ask_twice(self, *args: Any, **options: Any) -> Any:
        """Send a request that may be repeated once more if the server breaks down.

        Servers do over a table that is dropped at that very moment. Asked again, they know whether it is there.
        """
        try:
            return self.ask(*args, **options)
        except InternalError as error:
            if ErrorInfo.of(error).status != _BROKE_DOWN:
                raise
            return self.ask(*args, **options)

    def pages(
        self,
        warehouse: Warehouse,
        operation: str,
        what: str,
        namespace: Sequence[str] = (),
        query: Sequence[tuple[str, str]] = (),
    ) -> Iterator[Any]:
        """Yield every page of a list. A server that has pages may give them although no size was asked for."""
        size = self._settings.page_size
        page_size = [] if size is None else [("pageSize", str(size))]

        def fetch(token: str | None) -> Any:
            start = [] if token is None else [("pageToken", token)]
            return self.ask(warehouse, operation, what, namespace, query=[*query, *start, *page_size])

        return pages(what, fetch, iceberg.next_page, None if size is None else "")


def send(
    client: Client,
    route: IcebergRoute,
    config: Config,
    what: str,
    namespace: Sequence[str],
    table: str,
    question: str,
    **content: Unpack[Content],
) -> Any:
    """Send a request along a route. Return the JSON of the response, None if it is empty; where that is not JSON, the
    question says what to check. Raises what a refusal means.
    """
    call = json_request(
        IcebergCall,
        what,
        route.method,
        iceberg.path(route, config.prefix, namespace, table, config.separator),
        query=content.get("query", ()),
        body=content.get("body"),
        headers=content.get("headers"),
        repeat=content.get("repeat"),
        route=route,
    )
    response = client.send(call)
    return read_json(call, response, question) if response.content.strip() else None


def refused(request: Request, response: HttpAnswer) -> LanceNamespaceError:
    """Return what a refusal means, by the route, its status and its type; its words are for people."""
    assert isinstance(request, IcebergCall)
    failure: iceberg.IcebergFailure | None = read_failure(response, iceberg.read_failure)
    if failure is None and response.status == 404 and request.route.operation == "get_config":
        return InvalidInputError(
            f"{request.what} failed: the endpoint has no {request.route.path}, so it is not an Iceberg REST catalog. "
            "Give its address up to and without /v1."
        )
    code = iceberg.code_of(request.route, response.status, failure)
    return refusal(request, response, code, failure.message if failure else None, _WHAT_TO_DO)


def _origin(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri.lower())
    return parts.scheme, parts.netloc
