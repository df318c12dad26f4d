"""Requests to a Gravitino server: its metalake, its separator, answers read, and refusals understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lanceway.catalogs.gravitino import messages, names
from lanceway.catalogs.gravitino.settings import GravitinoSettings
from lanceway.catalogs.metastore.http import json_request, read_failure, read_json, refusal
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import DEFAULT_SEPARATOR, Identifier
from lanceway.wire import gravitino
from lanceway.wire.errors import Repeat
from lanceway.wire.gravitino import GravitinoRoute
from lanceway.wire.http import Client, HttpAnswer, Request

_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        15: "Ask for the privilege, or use another user; Gravitino answers so for a metalake that is missing, too.",
        16: "Check auth_token, token_file, credential or user.",
    }
)
_QUESTION = "Is the endpoint a Gravitino server?"
_CONFIGS = GravitinoRoute("get_configs", "GET", "/configs", "metalake")


@dataclass(frozen=True, slots=True)
class GravitinoRequest(Request):
    """A request of the protocol, with the row that says what its refusal means."""

    route: GravitinoRoute = _CONFIGS


class GravitinoClient:
    """A client of one server. It may be shared by threads, used after a fork, and closed; it opens again when used."""

    def __init__(self, settings: GravitinoSettings) -> None:
        self._settings = settings
        self._client = Client(settings.endpoint, settings.client, settings.credentials, _refused)
        self._separator: str | None = None

    def close(self) -> None:
        self._client.close()

    @property
    def separator(self) -> str:
        """What joins the names of nested schemas. The server is asked for it once, unless that fails."""
        if self._separator is None:
            call = json_request(GravitinoRequest, "Asking for the separator", "GET", _CONFIGS.path, query=(), body=None)
            configs = read_json(call, self._client.send(call), _QUESTION)
            said = configs.get(gravitino.SEPARATOR_KEY) if isinstance(configs, dict) else None
            self._separator = str(said or DEFAULT_SEPARATOR)
        return self._separator

    def ask(
        self,
        operation: str,
        what: str,
        about: Identifier | None = None,
        *,
        parts: Mapping[str, str] | None = None,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        repeat: Repeat | None = None,
    ) -> Any:
        """Return the JSON of the answer. Raises what a refusal means. The path names `about`, or has these `parts`."""
        row = messages.route(operation)
        named = self._parts(row, about or Identifier()) if parts is None else parts
        path = messages.path(row, {"metalake": self._settings.metalake, **named})
        call = json_request(GravitinoRequest, what, row.method, path, query=query, body=body, repeat=repeat, route=row)
        return read_json(call, self._client.send(call), _QUESTION)

    def _parts(self, row: GravitinoRoute, about: Identifier) -> dict[str, str]:
        """Return the parts of a path: a catalog, a schema by its logical name, and a table."""
        parts = {"catalog": about[0]} if about else {}
        namespace = about
        if "{table}" in row.path:
            namespace, parts["table"] = about.parent, about.name
        if "{schema}" in row.path:
            parts["schema"] = self.logical(namespace)
        return parts

    def logical(self, namespace: Identifier) -> str:
        """Return the logical name of a schema. The separator is not asked for where it makes no difference."""
        if namespace.depth == names.CATALOG_LEVEL + 1 and namespace.name.isalnum():
            return namespace.name
        return names.logical(namespace, self.separator)


def _refused(request: Request, answer: HttpAnswer) -> LanceNamespaceError:
    """Return what a refusal means, by its type, its code and the route; its words are for people."""
    assert isinstance(request, GravitinoRequest)
    failure: messages.GravitinoFailure | None = read_failure(answer, messages.read_failure)
    if failure is None and answer.status == 404:
        return InvalidInputError(
            f"{request.what} failed: the server has no {request.path}, so it is not a Gravitino server. Give its "
            "address without /api."
        )
    code = messages.code_of(request.route, answer.status, failure)
    return refusal(request, answer, code, failure.message if failure else None, _WHAT_TO_DO)
