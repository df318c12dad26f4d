"""Requests to a server's `/lanceway/v1`, by the HTTP client of the REST catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

from lanceway import config
from lanceway.catalogs.rest.interface import LancewayInterface
from lanceway.catalogs.rest.settings import SETTINGS, RestSettings
from lanceway.cli.server.desks.desk import Page, Record
from lanceway.config.connections import is_loopback
from lanceway.errors import InvalidInputError, UnauthenticatedError, UnsupportedOperationError
from lanceway.wire.errors import Repeat
from lanceway.wire.http import Request
from lanceway.wire.lance import JSON

_BASE = "/v1"
_LANCE = "/lance"
# Before the words of an error; the command line takes it away, where the user knows which verb was typed.
_WHAT = "ask_server"


class ServerRequests:
    """One server. Answers are its records; errors have its words."""

    def __init__(self, interface: LancewayInterface, address: str) -> None:
        self._interface, self._address = interface, address

    @property
    def is_on_this_machine(self) -> bool:
        return is_loopback(urlsplit(self._address).hostname or "")

    def get(self, path: str, **query: object) -> Record:
        given = [(name, _text(value)) for name, value in query.items() if value is not None]
        return self._send("GET", path, query=given, repeat=Repeat.SAFE)

    def page(self, path: str, key: str, limit: int | None, page_token: str | None, **query: object) -> Page:
        """Return a page of a list, and the token of the next."""
        answer = self.get(path, **query, limit=limit, page_token=page_token)
        return answer[key], answer.get("page_token")

    def post(self, path: str, body: Mapping[str, object] | None = None) -> Record:
        return self._send("POST", path, **_content(body))

    def put(self, path: str, body: Mapping[str, object]) -> Record:
        return self._send("PUT", path, **_content(body))

    def delete(self, path: str) -> Record:
        return self._send("DELETE", path)

    def _send(self, method: str, path: str, **options: Any) -> Record:
        try:
            answer: Record = self._interface.send(Request(_WHAT, method, f"{_BASE}{path}", **options))
        except UnauthenticatedError as error:
            raise UnauthenticatedError(f"{error} Log in again: lanceway login {self._address}") from error
        return answer


@contextmanager
def connected(settings: Mapping[str, str]) -> Iterator[ServerRequests]:
    """Connect to the server of these settings of a catalog of type rest."""
    rest = RestSettings.read(config.read_settings("The server", SETTINGS, settings))
    with closing(LancewayInterface(rest)) as interface:
        yield ServerRequests(interface, _address(rest.uri))


def _address(uri: str) -> str:
    """Return what `lanceway login` takes for a server: where its Lance REST is, in short if that is the usual path."""
    short = uri.removesuffix(_LANCE)
    return uri if urlsplit(short).path else short


def path_of(noun: str, name: str, verb: str | None = None) -> str:
    """Return the path of something by its name. Raises InvalidInputError for a name that a path cannot end with."""
    if not name or name.endswith("/"):
        raise InvalidInputError(f"{name!r} is not a name. Give it whole: lanceway {noun.removeprefix('/')} list")
    path = f"{noun}/{quote(name, safe='')}"
    return path if verb is None else f"{path}/{verb}"


def only_there(verb: str) -> UnsupportedOperationError:
    """Return the refusal of a verb that a server does not offer over HTTP."""
    return UnsupportedOperationError(
        f"lanceway {verb} works on the server's database only. Run it on the server's machine with --home DIR."
    )


def _content(body: Mapping[str, object] | None) -> dict[str, Any]:
    return {} if body is None else {"headers": {"content-type": JSON}, "content": json.dumps(body).encode()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
