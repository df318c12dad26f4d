"""One exchange after another on urllib3: write a request, read its answer, keep the connection for the next.

It knows bytes alone: no retries, no credentials, no meaning of a status. On top of urllib3 it tells apart what failed
before there was a connection, when nothing was sent, from what failed afterwards, when the request may have arrived;
and it takes no answer that was cut off for a short one.
"""

from __future__ import annotations

import base64
import io
import logging
import socket
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.errors import FirstHeaderLineIsContinuationDefect, InvalidHeaderDefect, MissingHeaderBodySeparatorDefect
from http.client import HTTPException, HTTPResponse, RemoteDisconnected
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote, urlsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager, Retry
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ClosedPoolError, EmptyPoolError, HTTPError

from lanceway import config
from lanceway.errors import InvalidInputError
from lanceway.wire.errors import Reason, TransportError, broken, unreached
from lanceway.wire.settings import Address, read_address, tls

_CONNECTIONS = 100  # to one server at a time
# Servers close an idle connection after five seconds or more: it must not be used in that very moment.
IDLE_SECONDS = 4.0
_PART = 64 * 1024  # bytes read at a time
_PIECE = 256 * 1024  # bytes sent at a time: the time-out is for each piece
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_BITS = 16 + zlib.MAX_WBITS
_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
_BROKEN_HEAD = (FirstHeaderLineIsContinuationDefect, InvalidHeaderDefect, MissingHeaderBodySeparatorDefect)
# urllib3 repeats nothing: `retries` decides that.
_ONCE = Retry(total=False, redirect=False)

# Among the settings of a client: what the setting is called for its user that `timeout` comes from.
TIMEOUT_SETTING = "timeout_setting"

Content = bytes | Iterable[bytes] | None


class Response:
    """An answer whose body is still to be read. It holds a connection until it is read to its end or closed."""

    def __init__(
        self, pool: HTTPConnectionPool, response: BaseHTTPResponse, sent: Mapping[str, str], setting: str
    ) -> None:
        """`sent`: the headers of the request; `setting`: which one says how long to wait."""
        self.sent, self._setting = sent, setting
        self.status = response.status
        # Names in lower case; several headers of one name are a list in HTTP.
        self.headers = {name.lower(): value for name, value in response.headers.itermerged()}
        self._pool, self._response = pool, response

    @property
    def is_success(self) -> bool:
        return self.status in _SUCCESS

    @property
    def is_redirect(self) -> bool:
        return self.status in _REDIRECTS

    def read(self) -> bytes:
        """Return the whole body. Raises TransportError."""
        try:
            if self._is_compressed:
                return b"".join(_decompressed(self._parts()))
            return self._response.read()
        except (HTTPError, OSError, HTTPException) as error:
            raise broken(error, self._setting) from error
        finally:
            self.close()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body as it comes. Raises TransportError."""
        try:
            yield from _decompressed(self._parts()) if self._is_compressed else self._parts()
        finally:
            self.close()

    def close(self) -> None:
        """Give the connection back: to be used again if the body was read to its end."""
        self._response.close()
        self._response.release_conn()
        _close_idle(self._pool)

    @property
    def _is_compressed(self) -> bool:
        return self.headers.get("content-encoding", "").lower() in _GZIP

    def _parts(self) -> Iterator[bytes]:
        try:
            while part := self._response.read1(_PART):
                yield part
        except (HTTPError, OSError, HTTPException) as error:
            raise broken(error, self._setting) from error


class Transport:
    """The connections of one process. Its threads share it; closed, it keeps none, but may be used all the same."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._setting = settings.get(TIMEOUT_SETTING, "timeout")
        self._headers = {"accept": "*/*", "accept-encoding": "gzip", "user-agent": f"lanceway/{version('lanceway')}"}
        self._pools: dict[tuple[str, str, int], HTTPConnectionPool] = {}

    def open(
        self, method: str, address: Address, target: str, headers: Mapping[str, str], content: Content = None
    ) -> Response:
        """Send a request to an address's server and return its answer.

        Raises TransportError, and what `content` raises.
        """
        pool = self._pool(address)
        is_forwarded = pool.proxy is not None and address.scheme == "http"
        sent = {**self._headers, **headers}
        body: bytes | Iterator[bytes] | None
        if content is None or (isinstance(content, bytes) and len(content) <= _PIECE):
            body = content
        else:
            body = _pieces(content)
            if isinstance(content, bytes):
                sent["content-length"] = str(len(content))
        try:
            response = pool.urlopen(
                method,
                f"http://{address.netloc}{target}" if is_forwarded else target or "/",
                body,
                sent,
                retries=_ONCE,
                redirect=False,
                assert_same_host=False,
                pool_timeout=self._settings["timeout"],
                preload_content=False,
                decode_content=False,
            )
        except _BodyFailed as failed:
            raise failed.error from failed.error.__cause__
        except EmptyPoolError as error:
            raise TransportError(Reason.BUSY) from error
        except ClosedPoolError:  # by another thread, just now
            return self.open(method, address, target, headers, content)
        except (HTTPError, OSError, HTTPException) as error:
            raise broken(error, self._setting) from error
        except ValueError:
            # Its text stays out: it may repeat a header, and with it a token.
            raise TransportError(Reason.UNWRITABLE) from None
        return Response(pool, response, headers, self._setting)

    def close(self) -> None:
        with suppress(KeyError):  # no more are left
            while True:
                self._pools.popitem()[1].close()

    def _pool(self, address: Address) -> HTTPConnectionPool:
        key = (address.scheme, address.host, address.port)
        pool = self._pools.get(key)
        if pool is None:
            # No lock, which a fork could copy while it is held: of two that come at once, one gives way.
            pool = self._pools.setdefault(key, _new_pool(address, self._settings))
        return pool


# -- pools and proxies ---------------------------------------------------------------------------


def _new_pool(address: Address, settings: Mapping[str, Any]) -> HTTPConnectionPool:
    """Return a pool for a server: straight, or by the proxy that the environment names.

    A proxy hands plain requests on, and is a tunnel for those with TLS. Raises InvalidInputError for one that cannot
    be used.
    """
    proxy = proxy_to(address)
    options: dict[str, Any] = {"timeout": settings["timeout"], "maxsize": _CONNECTIONS, "block": True}
    if "https" in (address.scheme, proxy.address.scheme if proxy else ""):
        options["ssl_context"] = tls(settings)
        options["assert_hostname"] = None if settings["tls.assert_hostname"] else False
    manager = (
        PoolManager(**options)
        if proxy is None
        else ProxyManager(f"{proxy.address.scheme}://{proxy.address.netloc}", proxy_headers=proxy.headers, **options)
    )
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    pool = manager.connection_from_host(address.host, address.port, address.scheme)
    pool.conn_kw["connect_timeout"] = settings["connect_timeout"]
    return pool


@dataclass(frozen=True, slots=True)
class Proxy:
    address: Address
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # a password, where it asks for one


def proxy_to(address: Address) -> Proxy | None:
    """Return the proxy that the environment names for an address, None for none."""
    named = config.proxy(address.scheme, f"{address.host}:{address.port}")
    if named is None:
        return None
    uri = named if "://" in named else f"http://{named}"
    try:
        proxy = read_address(uri)
    except ValueError:
        raise _unusable(address) from None
    if address.scheme == proxy.scheme == "https":
        raise _unusable(address)  # TLS inside TLS
    parts = urlsplit(uri)
    if parts.username is None:
        return Proxy(proxy)
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(proxy, {"proxy-authorization": f"Basic {base64.b64encode(login.encode()).decode()}"})


def _unusable(address: Address) -> InvalidInputError:
    # The proxy is not named: its address may hold a password.
    return InvalidInputError(
        f"The environment names a proxy for {address.scheme}:// that cannot be used. Give it as http://host:port, or "
        f"list {address.host} in NO_PROXY."
    )


def _close_idle(pool: HTTPConnectionPool) -> None:
    """Close the connections that have been idle for too long; urllib3 would keep them until they are needed."""
    queue = pool.pool
    if queue is None:  # closed
        return
    with queue.mutex:
        for connection in queue.queue:
            if isinstance(connection, _Connection) and connection.is_old:
                connection.close()


# -- connections ---------------------------------------------------------------------------------


class StrictResponse(HTTPResponse):
    """The standard library's reader, made strict. Raises HTTPException where a head, a length or a chunk is not whole.

    urllib3 reads by it, and would take half a head for a head.
    """

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None) -> None:
        super().__init__(sock, debuglevel, method)
        self.fp = _Lines(self.fp.detach())

    def begin(self) -> None:
        super().begin()
        if any(isinstance(defect, _BROKEN_HEAD) for defect in self.headers.defects):
            raise HTTPException("the head of the answer cannot be read")
        lengths = set(self.headers.get_all("content-length", ()))
        if not self.chunked and lengths and (len(lengths) > 1 or not _is_number(lengths.pop())):
            raise HTTPException("the answer does not say how long it is")


class _Lines(io.BufferedReader):
    """Its lines have an end. The standard library takes the end of all bytes for one, and half a head for a head."""

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n") and (size is None or size < 0 or len(line) < size):
            raise RemoteDisconnected("the server closed it in the middle of an answer")
        return line


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


class _Connection(HTTPConnection):
    """A connection that says whether it came about, and is not used again after a rest."""

    response_class = StrictResponse

    def __init__(self, *args: Any, connect_timeout: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connect_timeout = connect_timeout
        self._used = 0.0

    def connect(self) -> None:
        """Raise TransportError where there is no connection: nothing was sent then."""
        seconds, self.timeout = self.timeout, self._connect_timeout
        try:
            super().connect()
        except (HTTPError, OSError, HTTPException) as error:
            raise unreached(error) from error
        finally:
            self.timeout = seconds
        self.sock.settimeout(seconds)

    def getresponse(self) -> Any:
        response = super().getresponse()
        self._used = time.monotonic()
        return response

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self._used >= IDLE_SECONDS

    @property
    def is_connected(self) -> bool:
        """Return whether it may be used again. urllib3 asks before it does."""
        return not self.is_old and super().is_connected


class _TlsConnection(_Connection, HTTPSConnection):
    """Its twin for https."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


# -- bodies --------------------------------------------------------------------------------------


class _BodyFailed(Exception):  # noqa: N818 - never leaves this module
    """What went wrong in a request's body, which urllib3 must not blame on the server."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def _pieces(content: bytes | Iterable[bytes]) -> Iterator[bytes]:
    """Yield a body as it is sent."""
    try:
        for part in (content,) if isinstance(content, bytes) else content:
            view = memoryview(part)
            for start in range(0, len(view), _PIECE):
                yield view[start : start + _PIECE].tobytes()
    except Exception as error:
        raise _BodyFailed(error) from error


def _decompressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what gzip made smaller, in as many members as it likes. urllib3 would take half of it for the whole."""
    member = None
    for part in parts:
        while part:
            if member is None or member.eof:
                member = zlib.decompressobj(_GZIP_BITS)
            try:
                yield member.decompress(part)
            except zlib.error as error:
                raise TransportError(Reason.COMPRESSED) from error
            part = member.unused_data
    if member is not None and not member.eof:
        raise TransportError(Reason.COMPRESSED)


def _hide_query(record: logging.LogRecord) -> bool:
    """Cut off the queries that urllib3 logs: they may hold secrets."""
    if isinstance(record.args, tuple):
        record.args = tuple(arg.partition("?")[0] if isinstance(arg, str) else arg for arg in record.args)
    return True


logging.getLogger("urllib3.connectionpool").addFilter(_hide_query)
