"""Connecting to an Iceberg REST catalog: its settings, its warehouses, and one request after another."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.iceberg.requests import IcebergCall, read, refused
from lanceway.config import Setting
from lanceway.errors import (
    ErrorInfo,
    InternalError,
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from lanceway.wire import http, iceberg
from lanceway.wire.authentication import ClientCredentials, Credentials, Fixed, TokenFile, bearer
from lanceway.wire.http import Client
from lanceway.wire.iceberg import Config
from lanceway.wire.retries import Repeat

log = logging.getLogger(__name__)

JSON = "application/json"
_MILLISECONDS = 1000
_BROKE_DOWN = 500
_SHARED = ("header.*", "headers.*", "tls.ssl_ca_cert", "tls.cert_file", "tls.key_file", "tls.assert_hostname")


@dataclass(frozen=True, slots=True)
class Warehouse:
    """What is known of a warehouse: where its requests go, and what its server can do."""

    name: str
    client: Client = field(repr=False)
    config: Config


class IcebergConnection(Catalog):
    """An Iceberg REST catalog by its address; the first name of every identifier is a warehouse."""

    TYPE = "iceberg"
    SETTINGS = (
        Setting("endpoint", "The catalog's address, up to and without /v1: http://localhost:8181.", required=True),
        Setting("warehouse", "The warehouse that the root lists. Others are reached by their names all the same."),
        Setting("auth_token", "The bearer token that says who asks.", secret=True),
        Setting("credential", "client_id:client_secret, for which a token is fetched and renewed.", secret=True),
        Setting(
            "oauth2_server_uri",
            "Where that token is fetched: the identity provider's token endpoint, else the catalog's own.",
            aliases=("oauth2-server-uri",),
        ),
        Setting("scope", "The scope that is asked for with credential.", default=iceberg.DEFAULT_SCOPE),
        Setting("token_file", "A file that holds the bearer token and that somebody renews."),
        Setting("connect_timeout", "How many milliseconds to wait for a connection.", int, default=10_000),
        Setting("read_timeout", "How many milliseconds to wait for the server's next word.", int, default=30_000),
        Setting("max_retries", "How often a request is sent again where that is safe.", int, default=3),
        Setting(
            "root",
            "Below this folder or URI tables lie that are declared without a location; s3:// alone takes the warehouse "
            "for a bucket. The working folder if it is not set.",
        ),
        Setting("prefix", "What follows /v1 in paths, for a server that does not say so itself."),
        Setting("page_size", "How many names to ask a server for at once; as many as it likes if it is not set.", int),
        Setting("concurrency", "How many tables are looked at the same time while they are listed.", int, default=8),
        Setting(
            "vended_credentials", "Whether to ask the server for credentials to a table's storage.", bool, default=False
        ),
        *(row for row in http.SETTINGS if row.name in _SHARED),
        Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
    )

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        given = self._settings
        self._settings = MappingProxyType(
            {**given, "endpoint": _checked_endpoint(given["endpoint"]), "root": _absolute(given["root"])}
        )
        for name in ("connect_timeout", "read_timeout", "concurrency", "page_size"):
            if given[name] is not None and given[name] < 1:
                raise InvalidInputError(f"{self._owner()}: {name} is {given[name]}, but must be 1 or more.")
        _check_credentials(self._owner(), given)
        self._client = self._opened(self._settings["endpoint"])
        self._warehouses: dict[str, Warehouse] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # A relative path means the folder it meant here, wherever the other process runs.
        rebuild, (cls, given) = super().__reduce__()
        return rebuild, (cls, {**given, "root": self._settings["root"]})

    def close(self) -> None:
        super().close()
        self._client.close()
        for known in list(self._warehouses.values()):
            known.client.close()

    # -- warehouses ------------------------------------------------------------------------------

    def _warehouse(self, name: str) -> Warehouse:
        """What is known of a warehouse; asked for once, unless that fails. Raises NamespaceNotFoundError."""
        found = self._warehouses.get(name)
        if found is None:
            found = self._warehouses.setdefault(name, self._resolved(name))
        return found

    def _resolved(self, name: str) -> Warehouse:
        unknown, what = Warehouse(name, self._client, Config(None)), f"Asking for the warehouse {name!r}"
        answer = self._ask(unknown, "get_config", what, query=[("warehouse", name)])
        config = iceberg.read_config(answer, self._settings["prefix"])
        found = Warehouse(name, self._client_at(config.uri), config)
        return found if config.prefix or self._is_without_prefix(found) else _with_prefix(found, name)

    def _client_at(self, uri: str | None) -> Client:
        """Where a server wants its requests: at another path, but never at another server, who would get the token."""
        endpoint = self._settings["endpoint"]
        if uri is None or uri.rstrip("/") == endpoint:
            return self._client
        if _origin(uri) != _origin(endpoint):
            log.warning("%s names %s as its address, which is another server and not followed.", endpoint, uri)
            return self._client
        return self._opened(uri)

    def _is_without_prefix(self, warehouse: Warehouse) -> bool:
        """Whether a server that announces no prefix has none; the warehouse's name is the last resort."""
        try:
            self._ask(warehouse, "list_namespaces", "Looking for namespaces", query=[("pageSize", "1")])
        except NamespaceNotFoundError:
            return False
        except (PermissionDeniedError, UnauthenticatedError):
            return True  # what is asked for will be refused by itself
        return True

    # -- requests --------------------------------------------------------------------------------

    def _ask(
        self,
        warehouse: Warehouse,
        operation: str,
        what: str,
        namespace: Sequence[str] = (),
        table: str = "",
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        repeat: Repeat | None = None,
    ) -> Any:
        """What the server answers, None for nothing. Raises what its refusal means."""
        route, config = iceberg.BY_OPERATION[operation], warehouse.config
        reads = route.method in ("GET", "HEAD")
        call = IcebergCall(
            what=what,
            method=route.method,
            path=iceberg.path(route, config.prefix, namespace, table, config.separator),
            query=query,
            headers={"accept": JSON, **({} if body is None else {"content-type": JSON}), **(headers or {})},
            content=None if body is None else json.dumps(body).encode(),
            repeat=repeat or (Repeat.SAFE if reads else Repeat.UNSENT),
            route=route,
        )
        return read(call, warehouse.client.send(call))

    def _ask_twice(self, *args: Any, **options: Any) -> Any:
        """As `_ask`, for what may be asked again: servers trip over a table that is dropped at that very moment.

        Asked again, they know whether it is there.
        """
        try:
            return self._ask(*args, **options)
        except InternalError as error:
            if ErrorInfo.of(error).status != _BROKE_DOWN:
                raise
            return self._ask(*args, **options)

    def _pages(
        self,
        warehouse: Warehouse,
        operation: str,
        what: str,
        namespace: Sequence[str] = (),
        query: Sequence[tuple[str, str]] = (),
    ) -> Iterator[Any]:
        """Every page of a list. Without a size asked for, a server that has pages may give them all the same."""
        size = self._settings["page_size"]
        asked = [] if size is None else [("pageSize", str(size))]
        token, seen = None if size is None else "", set()
        while True:
            start = [] if token is None else [("pageToken", token)]
            answer = self._ask(warehouse, operation, what, namespace, query=[*query, *start, *asked])
            yield answer
            token = iceberg.next_page(answer)
            if token is None:
                return
            if token in seen:
                raise InternalError(f"{what} does not end: the server gave the same page token twice.")
            seen.add(token)

    def _opened(self, uri: str) -> Client:
        given = self._settings
        settings = {
            **given,
            "timeout": given["read_timeout"] / _MILLISECONDS,
            "connect_timeout": given["connect_timeout"] / _MILLISECONDS,
            "retries": given["max_retries"],
        }
        return Client(uri, settings, self._credentials, refused)

    def _credentials(self) -> Credentials:
        given = self._settings
        if given["credential"]:
            client, _, secret = given["credential"].partition(":")
            token_uri = given["oauth2_server_uri"] or given["endpoint"] + iceberg.BY_OPERATION["get_token"].path
            return ClientCredentials(token_uri, client, secret, given["scope"], in_form=True)
        if given["token_file"]:
            return TokenFile(given["token_file"])
        return Fixed(bearer(given["auth_token"]) if given["auth_token"] else {})


def _with_prefix(warehouse: Warehouse, prefix: str) -> Warehouse:
    return replace(warehouse, config=replace(warehouse.config, prefix=quote(prefix, safe="")))


def _origin(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri.lower())
    return parts.scheme, parts.netloc


def _checked_endpoint(endpoint: str) -> str:
    if not endpoint.lower().startswith(("http://", "https://")):
        raise InvalidInputError(
            f"endpoint is {endpoint!r}, but must start with http:// or https://, such as http://localhost:8181."
        )
    return http.checked_uri(endpoint)


def _check_credentials(owner: str, given: Mapping[str, Any]) -> None:
    ways = [name for name in ("auth_token", "credential", "token_file") if given[name]]
    if len(ways) > 1:
        raise InvalidInputError(f"{owner}: {' and '.join(ways)} are set, but one of them says who asks. Leave one.")
    client, colon, secret = (given["credential"] or "x:x").partition(":")
    if not (client and colon and secret):
        raise InvalidInputError(f"{owner}: credential must be client_id:client_secret.")
    if given["oauth2_server_uri"]:
        http.checked_uri(given["oauth2_server_uri"])


def _absolute(root: str | None) -> str:
    if root is not None and ("://" in root or root.startswith("file:")):
        return root
    return os.path.abspath(root or os.curdir)
