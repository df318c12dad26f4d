"""Requests to Unity Catalog: responses read, and refusals understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lanceway.catalogs.contract.http_errors import refusal
from lanceway.catalogs.metastore.http import json_request, pages, read_failure, read_json
from lanceway.catalogs.unity.settings import UnitySettings
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.wire import unity
from lanceway.wire.authentication import Credentials, Fixed, bearer
from lanceway.wire.http import Client, HttpAnswer, Request
from lanceway.wire.retries import Repeat
from lanceway.wire.unity import UnityRoute

_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        15: "Ask for the grant, or use another token.",
        16: "Check auth_token.",
    }
)


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
            f"{request.what} failed: the server has no {request.path}, so it is no Unity Catalog, or one at another "
            f"path. Check endpoint, and api_path, which is {unity.API_PATH} by default."
        )
    code = unity.code_of(request.route, response.status, failure)
    return refusal(request, response, code, failure.message if failure else None, _WHAT_TO_DO)
