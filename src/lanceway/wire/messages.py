"""What goes over HTTP: requests, answers, and bodies on their way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lanceway.wire.failures import Lost, lost
from lanceway.wire.lance import REQUEST_ID
from lanceway.wire.retries import Repeat
from lanceway.wire.transport import Response


class OneShotBody(Protocol):
    """A body that can be sent once. `started` says whether its first bytes were asked for."""

    started: bool

    def __iter__(self) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class Request:
    what: str  # for messages: "describe_table of team.orders"
    method: str
    path: str  # below the server's address, percent-encoded
    query: Sequence[tuple[str, str]] = field(default=(), repr=False)  # may hold secrets, as may the rest
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # names in lower case
    content: bytes | OneShotBody | None = field(default=None, repr=False)
    repeat: Repeat = Repeat.UNSENT

    @property
    def can_be_sent(self) -> bool:
        return self.content is None or isinstance(self.content, bytes) or not self.content.started


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str] = field(repr=False)  # names in lower case
    content: bytes = field(repr=False)

    @property
    def request_id(self) -> str | None:
        return self.headers.get(REQUEST_ID)

    def json(self) -> Any:
        """What it holds, read. Raises ValueError where that is no JSON, or nested too deep to be read."""
        try:
            return json.loads(self.content)
        except RecursionError as error:
            raise ValueError("The JSON is nested too deep.") from error


class Download:
    """The body of an answer on its way. It holds a connection until it is read to its end or closed."""

    def __init__(self, what: str, uri: str, response: Response) -> None:
        self.what, self.uri = what, uri
        self.headers = response.headers
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._response
        except Lost as error:
            raise lost(self.what, self.uri, error, changes=False).error from error.__cause__
        finally:
            self.close()

    def close(self) -> None:
        self._response.close()
