"""The one HTTP client: a pool of connections, timeouts, retries, tokens, and bodies that stream both ways.

It knows no protocol. Its user says what a refusal means (`refuse`), and gets answers with a status
below 300. Nothing is kept between requests but connections and tokens: no cookies, and no redirect is followed,
since it could carry a token to another server.
"""

from __future__ import annotations

import json
import logging
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from lanceway.errors import ErrorInfo, InternalError, LanceNamespaceError
from lanceway.wire import errors
from lanceway.wire.authentication import API_KEY, AUTHORIZATION, Credentials
from lanceway.wire.errors import AttemptFailed, Repeat, TransportError, attempt_failed
from lanceway.wire.lance import REQUEST_ID
from lanceway.wire.settings import SETTINGS, check, check_headers, checked_uri, read_address
from lanceway.wire.transport import Response, Transport

__all__ = ["SETTINGS", "Client", "Download", "HttpAnswer", "OneShotBody", "Request", "check_headers", "checked_uri"]

Result = TypeVar("Result")

log = logging.getLogger(__name__)

# Of an answer that is no success, this much is looked at.
_LARGEST_ERROR = 64 * 1024
_SHORTEST_SECRET = 4
_WHO = frozenset({AUTHORIZATION, API_KEY})
# Iceberg catalogs answer 419 where a token has run out.
_UNAUTHENTICATED = frozenset({401, 419})


# -- messages ------------------------------------------------------------------------------------


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
        """Parse the content. Raises ValueError where it is not JSON, or nested too deep."""
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
        except TransportError as error:
            raise attempt_failed(self.what, self.uri, error, changes=False).error from error.__cause__
        finally:
            self.close()

    def close(self) -> None:
        self._response.close()


# -- the client ----------------------------------------------------------------------------------

Refuse = Callable[[Request, HttpAnswer], LanceNamespaceError]


class Client:
    """Requests to one server. It may be shared by threads, used after a fork, and closed; it opens again when used."""

    def __init__(
        self, uri: str, settings: Mapping[str, Any], credentials: Callable[[], Credentials], refuse: Refuse
    ) -> None:
        self.uri = checked_uri(uri)
        self._address = read_address(self.uri)
        self._settings = settings
        check(settings)
        headers = {**settings["header"], **settings["headers"]}
        check_headers(headers)
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._credentials = credentials
        self._refuse = refuse
        # By process: what was opened before a fork belongs to the parent.
        self._pools: dict[int, _Pool] = {}
        weakref.finalize(self, _close, self._pools)

    def send(self, request: Request) -> HttpAnswer:
        """Send a request and read its whole answer. Raises what `refuse` makes of a refusal, 17 or 18."""
        return self._run(request, lambda: self._whole(request))

    def stream(self, request: Request) -> Download:
        """Send a request and give its answer's body as it comes."""
        response = self._run(request, lambda: self._opened(request))
        return Download(request.what, self.uri, response)

    def close(self) -> None:
        """Give the connections of this process back."""
        _close(self._pools)

    # -- one attempt -----------------------------------------------------------------------------

    def _run(self, request: Request, attempt: Callable[[], Result]) -> Result:
        return errors.run(attempt, request.repeat, self._settings["retries"], self._settings["timeout"])

    def _whole(self, request: Request) -> HttpAnswer:
        response = self._opened(request)
        try:
            return HttpAnswer(response.status, response.headers, response.read())
        except TransportError as error:
            raise self._failure(request, error) from error.__cause__

    def _opened(self, request: Request) -> Response:
        """Return an answer that is a success, with its body still to be read."""
        pool = self._pool()
        # A request that says who asks is not sent with the catalog's own credentials.
        who = {} if _WHO & request.headers.keys() else pool.credentials.headers(pool.http)
        response = self._exchange(pool, request, who)
        if response.status in _UNAUTHENTICATED and who:
            response = self._renewed(pool, request, who, response)
        log.debug("%s %s: %s", request.method, request.path, response.status)
        if not response.is_success:
            raise self._refused(request, response)
        return response

    def _renewed(self, pool: _Pool, request: Request, who: Mapping[str, str], refused: Response) -> Response:
        """Return the answer to other credentials, if there are any: what was refused so was not carried out."""
        try:
            # Renewed for the next request too, where this one's rows are gone.
            is_new = pool.credentials.renew(pool.http, who)
        except LanceNamespaceError:
            refused.close()
            raise
        if not is_new or not request.can_be_sent:
            return refused
        refused.close()
        return self._exchange(pool, request, pool.credentials.headers(pool.http))

    def _exchange(self, pool: _Pool, request: Request, who: Mapping[str, str]) -> Response:
        headers = self._all_headers(request, who)
        try:
            return pool.http.open(request.method, self._address, self._target(request), headers, request.content)
        except TransportError as error:
            raise self._failure(request, error) from error.__cause__

    def _all_headers(self, request: Request, who: Mapping[str, str]) -> dict[str, str]:
        headers = self._headers if not _WHO & request.headers.keys() else _without(self._headers, _WHO)
        return {**headers, **who, **request.headers}

    def _target(self, request: Request) -> str:
        query = f"?{urlencode(request.query)}" if request.query else ""
        return f"{self._address.target}{request.path}{query}"

    def _failure(self, request: Request, error: TransportError) -> AttemptFailed:
        return attempt_failed(request.what, self.uri, error, changes=request.repeat is not Repeat.SAFE)

    def _refused(self, request: Request, response: Response) -> AttemptFailed:
        answer = HttpAnswer(response.status, response.headers, _hidden(_beginning(response), response.sent))
        after = errors.retry_after(answer.headers.get("retry-after"))
        error = self._redirected(request, answer) if response.is_redirect else self._refuse(request, answer)
        ErrorInfo(answer.status, ErrorInfo.of(error).request_id or answer.request_id, after).attach(error)
        return AttemptFailed(error, arrived=True, status=answer.status, after=after)

    def _redirected(self, request: Request, answer: HttpAnswer) -> LanceNamespaceError:
        where = answer.headers.get("location", "nowhere").partition("?")[0][:200]
        return InternalError(
            f"{request.what} failed: {self.uri} answers {answer.status} and points to {where!r}. A redirect is not "
            "followed, since credentials would go with it; if the new address is right, set it as uri."
        )

    # -- one process -----------------------------------------------------------------------------

    def _pool(self) -> _Pool:
        mine = os.getpid()
        pool = self._pools.get(mine)
        if pool is None:
            opened = _Pool(Transport(self._settings), self._credentials())
            # No lock, which a fork could copy while it is held: of two that come at once, one gives way.
            pool = self._pools.setdefault(mine, opened)
            if pool is not opened:
                opened.http.close()
        return pool


@dataclass(frozen=True, slots=True)
class _Pool:
    """What one process holds."""

    http: Transport
    credentials: Credentials


def _without(headers: Mapping[str, str], names: Set[str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in names}


def _close(pools: dict[int, _Pool]) -> None:
    pool = pools.pop(os.getpid(), None)
    if pool is not None:
        pool.http.close()


def _beginning(response: Response) -> bytes:
    """Return as much of an error's body as is looked at, or less if it was cut off."""
    content = bytearray()
    try:
        for chunk in response:
            content += chunk
            if len(content) >= _LARGEST_ERROR:
                break
    except TransportError:
        pass  # the status says enough
    finally:
        response.close()
    return bytes(content[:_LARGEST_ERROR])


def _hidden(content: bytes, sent: Mapping[str, str]) -> bytes:
    """Return a server's words without the credentials that it may repeat."""
    for name in _WHO:
        secret = sent.get(name, "").rpartition(" ")[2].encode()
        if len(secret) >= _SHORTEST_SECRET:
            content = content.replace(secret, b"***")
    return content
