"""Connecting to Unity Catalog: its settings, and one request after another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.unity.names import absolute
from lanceway.catalogs.unity.requests import UnityCall, read, refused
from lanceway.config import Setting
from lanceway.errors import InternalError, InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.wire import http, unity
from lanceway.wire.authentication import Credentials, Fixed, bearer
from lanceway.wire.http import Client
from lanceway.wire.retries import Repeat

JSON = "application/json"
_SHARED = ("header.*", "headers.*", "tls.ssl_ca_cert", "tls.cert_file", "tls.key_file", "tls.assert_hostname")


class UnityConnection(Catalog):
    """One catalog of a Unity Catalog server."""

    TYPE = "unity"
    SETTINGS = (
        Setting("endpoint", "The server's address, without the path of its API: http://localhost:8080.", required=True),
        Setting("catalog", "The catalog in Unity: the first name of every identifier.", required=True),
        Setting("api_path", "The path of the API below the address.", default=unity.API_PATH),
        Setting("auth_token", "The bearer token that says who asks.", secret=True),
        Setting("connect_timeout", "How many seconds to wait for a connection.", float, default=10.0),
        Setting("read_timeout", "How many seconds to wait for the server's next word.", float, default=60.0),
        Setting("max_retries", "How often a request is sent again where that is safe.", int, default=3),
        Setting(
            "root",
            "Below this folder or URI tables lie that are declared without a location. The working folder if it is "
            "not set.",
        ),
        Setting(
            "vended_credentials", "Whether to ask the server for credentials to a table's storage.", bool, default=False
        ),
        *(row for row in http.SETTINGS if row.name in _SHARED),
        Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
    )

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        given = self._settings
        self._settings = MappingProxyType({**given, "root": absolute(given["root"])})
        if not given["catalog"] or "." in given["catalog"]:
            raise InvalidInputError(f"{self._owner()}: catalog is {given['catalog']!r}, which is no name in Unity.")
        for name in ("connect_timeout", "read_timeout"):
            if not 0 < given[name] < float("inf"):
                raise InvalidInputError(f"{self._owner()}: {name} is {given[name]}, but must be seconds above 0.")
        if given["max_retries"] < 0:
            raise InvalidInputError(f"{self._owner()}: max_retries is {given['max_retries']}, but must be 0 or more.")
        self._client = self._opened()

    def __reduce__(self) -> tuple[Any, ...]:
        # A relative path means the folder it meant here, wherever the other process runs.
        rebuild, (cls, given) = super().__reduce__()
        return rebuild, (cls, {**given, "root": self._settings["root"]})

    def close(self) -> None:
        self._client.close()

    @property
    def _catalog(self) -> str:
        name: str = self._settings["catalog"]
        return name

    # -- requests --------------------------------------------------------------------------------

    def _ask(
        self,
        operation: str,
        what: str,
        about: Identifier | None = None,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        repeat: Repeat | None = None,
    ) -> Any:
        """What the server answers, None to a deletion. Raises what its refusal means."""
        route = unity.BY_OPERATION[operation]
        call = UnityCall(
            what=what,
            method=route.method,
            path=unity.path(route, about or ()),
            query=query,
            headers={"accept": JSON, **({} if body is None else {"content-type": JSON})},
            content=None if body is None else json.dumps(body).encode(),
            repeat=repeat or (Repeat.SAFE if route.method == "GET" else Repeat.UNSENT),
            route=route,
        )
        return read(call, self._client.send(call))

    def _pages(self, operation: str, what: str, query: Sequence[tuple[str, str]]) -> Iterator[Any]:
        """Every page of a list, to the end: an empty one may have others behind it."""
        token, seen = "", set[str]()
        while True:
            start = (("page_token", token),) if token else ()
            answer = self._ask(operation, what, query=[*query, *unity.PAGE, *start])
            yield answer
            token = unity.next_page(answer)
            if not token:
                return
            if token in seen:
                raise InternalError(f"{what} does not end: the server gave the same page token twice.")
            seen.add(token)

    def _opened(self) -> Client:
        given = self._settings
        endpoint, below = given["endpoint"].rstrip("/"), given["api_path"].strip("/")
        if not endpoint.lower().startswith(("http://", "https://")):
            raise InvalidInputError(
                f"{self._owner()}: endpoint must start with http:// or https://, such as http://localhost:8080."
            )
        settings = {**given, "timeout": given["read_timeout"], "retries": given["max_retries"]}
        return Client(f"{endpoint}/{below}" if below else endpoint, settings, self._credentials, refused)

    def _credentials(self) -> Credentials:
        token = self._settings["auth_token"]
        return Fixed(bearer(token) if token else {})
