"""Calls to Unity Catalog, and the settings that they need."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from lanceway.catalogs.metastore.http import (
    HTTP_SETTINGS,
    client_settings,
    json_request,
    pages,
    read_failure,
    read_json,
    refusal,
)
from lanceway.catalogs.unity.names import absolute
from lanceway.config import Setting
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.wire import unity
from lanceway.wire.authentication import Credentials, Fixed, bearer
from lanceway.wire.errors import Repeat
from lanceway.wire.http import Client, HttpAnswer, Request
from lanceway.wire.unity import UnityRoute

SETTINGS = (
    Setting("endpoint", "The server's address, without the path of its API: http://localhost:8080.", required=True),
    Setting("catalog", "The catalog in Unity: the first name of every identifier.", required=True),
    Setting("api_path", "The path of the API below the address.", default=unity.API_PATH),
    Setting("auth_token", "The bearer token to send.", secret=True),
    Setting("connect_timeout", "How many seconds to wait for a connection.", float, default=10.0),
    Setting("read_timeout", "Read timeout in seconds.", float, default=60.0),
    Setting("max_retries", "How often a request is sent again where that is safe.", int, default=3),
    Setting(
        "root",
        "The folder or URI below which tables declared without a location are put. The working folder if it is "
        "not set.",
    ),
    Setting(
        "vended_credentials", "Whether to ask the server for credentials to a table's storage.", bool, default=False
    ),
    *HTTP_SETTINGS,
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)


@dataclass(frozen=True, slots=True)
class UnitySettings:
    """The settings of one Unity catalog, as `SETTINGS` describes them."""

    uri: str  # of the API
    catalog: str
    auth_token: str | None = field(repr=False)
    root: str  # a URI
    vended_credentials: bool
    storage: Mapping[str, str] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)  # for the HTTP client; headers may hold secrets

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError for one that cannot be used."""
        if not settings["catalog"] or "." in settings["catalog"]:
            raise InvalidInputError(f"{owner}: catalog is {settings['catalog']!r}, which is not a name in Unity.")
        for name in ("connect_timeout", "read_timeout"):
            if not 0 < settings[name] < float("inf"):
                raise InvalidInputError(f"{owner}: {name} is {settings[name]}, but must be seconds above 0.")
        if settings["max_retries"] < 0:
            raise InvalidInputError(f"{owner}: max_retries is {settings['max_retries']}, but must be 0 or more.")
        endpoint = settings["endpoint"].rstrip("/")
        if not endpoint.lower().startswith(("http://", "https://")):
            raise InvalidInputError(
                f"{owner}: endpoint must start with http:// or https://, such as http://localhost:8080."
            )
        return cls(
            uri="/".join(filter(None, (endpoint, settings["api_path"].strip("/")))),
            catalog=settings["catalog"],
            auth_token=settings["auth_token"],
            root=absolute(settings["root"]),
            vended_credentials=settings["vended_credentials"],
            storage=settings["storage"],
            client=client_settings(
                settings,
                timeout=settings["read_timeout"],
                connect_timeout=settings["connect_timeout"],
                retries=settings["max_retries"],
            ),
        )


_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        15: "Ask for the grant, or use another token.",
        16: "Check auth_token.",
    }
)


_DOUBLED = (
    "Two clients have created this table, or one in this schema, at the same moment, which Unity does not prevent: it "
    "has two rows of it now, and neither reads nor deletes them by name. Delete one of them in Unity's own database."
)
# By process, so that a fork never waits for a thread that it does not have. Names of one hash share a lock, and wait.
_TURNS: dict[int, tuple[threading.Lock, ...]] = {}
_TURNS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class UnityCall(Request):
    """A request of the protocol, with the row that says what its refusal means."""

    route: UnityRoute = unity.ROUTES[0]


class UnityClient:
    """A client of one server. It may be shared by threads, used after a fork, and closed; it opens again when used."""

    def __init__(self, settings: UnitySettings) -> None:
        self._settings = settings
        self._client = Client(settings.uri, settings.client, self._credentials, _refused)

    def close(self) -> None:
        self._client.close()

    def _credentials(self) -> Credentials:
        token = self._settings.auth_token
        return Fixed(bearer(token) if token else {})

    def ask(
        self,
        operation: str,
        what: str,
        about: Identifier | None = None,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        repeat: Repeat | None = None,
    ) -> Any:
        """Return the JSON of the response, None for a deletion. Raises what a refusal means."""
        route = unity.BY_OPERATION[operation]
        path = unity.path(route, about or ())
        call = json_request(UnityCall, what, route.method, path, query=query, body=body, repeat=repeat, route=route)
        response = self._client.send(call)
        if call.method == "DELETE":  # answered with words that are not JSON
            return None
        return read_json(call, response, "Are endpoint and api_path a Unity Catalog's?")

    def turn(self, about: Identifier) -> AbstractContextManager[object]:
        """Return a lock for the creation of a name: one at a time in this process, whichever catalog asks.

        The open-source server looks for the name and then stores it, and two that do so at once are both stored.
        """
        turns = _TURNS.get(os.getpid())
        if turns is None:
            turns = _TURNS.setdefault(os.getpid(), tuple(threading.Lock() for _ in range(_TURNS_AT_ONCE)))
        return turns[hash((self._settings.uri, *about)) % _TURNS_AT_ONCE]

    def pages(self, operation: str, what: str, query: Sequence[tuple[str, str]]) -> Iterator[Any]:
        """Yield every page of a list."""

        def fetch(token: str | None) -> Any:
            start = (("page_token", token),) if token else ()
            return self.ask(operation, what, query=[*query, *unity.PAGE, *start])

        return pages(what, fetch, unity.next_page)


def _refused(request: Request, response: HttpAnswer) -> LanceNamespaceError:
    """Return what a refusal means, by its code, its status and the route; its words are for people."""
    assert isinstance(request, UnityCall)
    failure: unity.UnityFailure | None = read_failure(response, unity.read_failure)
    if response.status == 404 and (failure is None or failure.error_code == "ENDPOINT_NOT_FOUND"):
        return InvalidInputError(
            f"{request.what} failed: the server has no {request.path}, so it is not a Unity Catalog, or one at another "
            f"path. Check endpoint, and api_path, which is {unity.API_PATH} by default."
        )
    code = unity.code_of(request.route, response.status, failure)
    advice = {code: _DOUBLED} if unity.is_doubled(failure) else _WHAT_TO_DO
    return refusal(request, response, code, failure.message if failure else None, advice)
