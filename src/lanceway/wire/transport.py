"""One exchange after another: a request is written, its answer read, and the connection kept for the next.

It knows of bytes alone: neither of retries, nor of credentials, nor of what a status means. The standard library's
client is used step by step, since each step fails in its own way: before there is a connection nothing was sent,
and afterwards nobody knows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, InvalidURL
from importlib.metadata import version
from typing import Any

from lanceway.wire.connections import Address, tls
from lanceway.wire.failures import Lost, Reason, broken
from lanceway.wire.pool import Pool
from lanceway.wire.proxies import ProxyRoute, way_to

_PART = 64 * 1024
_PIECE = 256 * 1024
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_BITS = 16 + zlib.MAX_WBITS
# Methods for which no body is said, too.
_WITH_BODY = frozenset({"PATCH", "POST", "PUT"})
_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)

Content = bytes | Iterable[bytes] | None


class Response:
    """An answer whose body is still to be read. It holds a connection until it is read to its end or closed."""

    def __init__(
        self, pool: Pool, connection: HTTPConnection, answer: HTTPResponse, sent: Mapping[str, str], *, is_taken: bool
    ) -> None:
        """`sent`: the headers of the request; `is_taken`: the server took it whole."""
        self.sent = sent
        self.status = answer.status
        self.headers = _joined(answer.headers.items())
        self._answer, self._is_taken, self._is_read = answer, is_taken, False
        self._held: tuple[Pool, HTTPConnection] | None = (pool, connection)

    @property
    def is_success(self) -> bool:
        return self.status in _SUCCESS

    @property
    def is_redirect(self) -> bool:
        return self.status in _REDIRECTS

    def read(self) -> bytes:
        """The whole body. Raises Lost."""
        try:
            if self._is_compressed:
                return b"".join(_decompressed(self._parts()))
            try:
                content = self._answer.read()
            except (OSError, HTTPException) as error:
                raise broken(error) from error
            self._is_read = True
            return content
        finally:
            self.close()

    def __iter__(self) -> Iterator[bytes]:
        """The body as it comes. Raises Lost."""
        try:
            yield from _decompressed(self._parts()) if self._is_compressed else self._parts()
        finally:
            self.close()

    def close(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._answer.close()
            held[0].give_back(held[1], is_clean=self._is_taken and self._is_read)

    @property
    def _is_compressed(self) -> bool:
        return self.headers.get("content-encoding", "").lower() in _GZIP

    def _parts(self) -> Iterator[bytes]:
        try:
            while part := self._answer.read1(_PART):
                yield part
            if self._answer.length:  # else it has none, or came whole
                raise IncompleteRead(b"", self._answer.length)
        except (OSError, HTTPException) as error:
            raise broken(error) from error
        self._is_read = True


class Transport:
    """The connections of one process. Its threads share it; closed, it keeps none, but may be used all the same."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._headers = {"accept": "*/*", "accept-encoding": "gzip", "user-agent": f"lanceway/{version('lanceway')}"}
        self._servers: dict[tuple[str, str, int], tuple[ProxyRoute, Pool]] = {}

    def open(
        self, method: str, address: Address, target: str, headers: Mapping[str, str], content: Content = None
    ) -> Response:
        """Send a request to an address's server, and give the answer. Raises Lost, and what `content` raises."""
        way, pool = self._server(address)
        connection = pool.take()
        response = None
        try:
            _write_head(connection, method, way.prefix + target, {**self._headers, **way.headers, **headers}, content)
            is_taken = _is_written(connection, content)
            try:
                answer = connection.getresponse()
            except (OSError, HTTPException) as error:
                raise broken(error) from error
            response = Response(pool, connection, answer, headers, is_taken=is_taken)
        finally:
            if response is None:
                pool.give_back(connection, is_clean=False)
        return response

    def close(self) -> None:
        for _, pool in list(self._servers.values()):
            pool.close()

    def _server(self, address: Address) -> tuple[ProxyRoute, Pool]:
        key = (address.scheme, address.host, address.port)
        found = self._servers.get(key)
        if found is None:
            way, given = way_to(address), self._settings
            context = tls(given) if way.has_tls else None
            pool = Pool(lambda: way.connection(given["connect_timeout"], context), given["timeout"])
            # No lock, which a fork could copy while it is held: of two that come at once, one gives way.
            found = self._servers.setdefault(key, (way, pool))
        return found


def _write_head(
    connection: HTTPConnection, method: str, target: str, headers: Mapping[str, str], content: Content
) -> None:
    try:
        connection.putrequest(method, target, skip_host="host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if isinstance(content, bytes):
            connection.putheader("content-length", str(len(content)))
        elif content is not None:
            connection.putheader("transfer-encoding", "chunked")
        elif method in _WITH_BODY:
            connection.putheader("content-length", "0")
    except (ValueError, InvalidURL):
        # Its text stays out: it may repeat a header, and with it a token.
        raise Lost(Reason.UNWRITABLE) from None


def _is_written(connection: HTTPConnection, content: Content) -> bool:
    """Whether the server took it whole. One that did not may have said why."""
    if not _is_sent(connection.endheaders):
        return False
    return all(_is_sent(partial(connection.send, piece)) for piece in _pieces(content))


def _pieces(content: Content) -> Iterator[bytes | memoryview]:
    """A body as it is sent. The time that a server has is for each piece."""
    if isinstance(content, bytes):
        yield from _slices(content)
    elif content is not None:
        for part in filter(None, content):  # an empty one would be the end
            if len(part) <= _PIECE:
                yield b"%x\r\n%b\r\n" % (len(part), part)
                continue
            yield b"%x\r\n" % len(part)
            yield from _slices(part)
            yield b"\r\n"
        yield b"0\r\n\r\n"


def _slices(data: bytes) -> Iterator[memoryview]:
    view = memoryview(data)
    return (view[start : start + _PIECE] for start in range(0, len(view), _PIECE))


def _is_sent(write: Callable[[], None]) -> bool:
    try:
        write()
    except (BrokenPipeError, ConnectionResetError):
        return False
    except (OSError, HTTPException) as error:
        raise broken(error) from error
    return True


def _joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by their names in lower case. Several of one name are a list in HTTP."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def _decompressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """What gzip made smaller, in as many members as it likes."""
    member = None
    for part in parts:
        while part:
            if member is None or member.eof:
                member = zlib.decompressobj(_GZIP_BITS)
            try:
                yield member.decompress(part)
            except zlib.error as error:
                raise Lost(Reason.COMPRESSED) from error
            part = member.unused_data
    if member is not None and not member.eof:
        raise Lost(Reason.COMPRESSED)
