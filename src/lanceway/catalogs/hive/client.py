"""Calls to a Hive Metastore: Thrift over a pool of connections, with deadlines, opened again when they break."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from lanceway.catalogs.hive.errors import MetastoreFault, UnknownMethodError
from lanceway.catalogs.hive.settings import HiveServer, HiveSettings
from lanceway.errors import InternalError, InvalidInputError
from lanceway.wire.errors import (
    AttemptFailed,
    Reason,
    Repeat,
    TransportError,
    attempt_failed,
    broken,
    run,
    unreached,
)

# No answer has a text that is longer, in bytes: a server that speaks another protocol would have us wait for gigabytes.
_LONGEST_TEXT = 256 << 20
_SASL = "a metastore that asks for Kerberos (SASL) ends it like this, and is not supported"


class HiveClient:
    """A client of one metastore. It may be shared by threads, used after a fork, and closed; it opens again when used.

    Each process has a pool of its own.
    """

    def __init__(self, settings: HiveSettings) -> None:
        self._settings = settings
        self._pools: dict[int, _Pool] = {}

    def close(self) -> None:
        """Close the connections of this process. The next call opens new ones."""
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()

    def call(self, what: str, method: str, *arguments: object, changes: bool = False) -> Any:
        """Return what a method of the metastore answers. Raises MetastoreFault and UnknownMethodError.

        A read is tried again where that may help, one that `changes` something only if it was surely not sent.
        """
        settings = self._settings
        return run(
            lambda: self._attempt(what, method, arguments, changes),
            Repeat.UNSENT if changes else Repeat.SAFE,
            settings.max_retries,
            settings.connect_timeout + settings.read_timeout,
        )

    def _attempt(self, what: str, method: str, arguments: tuple[object, ...], changes: bool) -> Any:
        try:
            with self._connection() as connection:
                return connection.call(method, arguments, self._settings.read_timeout)
        except TransportError as error:
            raise self._failed(what, error, changes) from error
        except TApplicationException as error:
            if error.type == TApplicationException.UNKNOWN_METHOD:
                raise UnknownMethodError(method) from error
            raise InternalError(f"{what}: the Hive Metastore failed without a reason of its own: {error}.") from error
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"{what}: {error.object[:100]!r} is not valid Unicode text, which a name or a property must be."
            ) from error
        except TProtocolException as error:
            raise InternalError(
                f"{what}: what answers at {self._address} cannot be read as a Hive Metastore: {error}. Is the address "
                f"right? Note that {_SASL}, and that neither are TLS, framed transport and HTTP."
            ) from error

    @property
    def _address(self) -> str:
        return " or ".join(map(str, self._settings.servers))

    def _failed(self, what: str, error: TransportError, changes: bool) -> AttemptFailed:
        return attempt_failed(what, self._address, error, changes=changes)

    @contextmanager
    def _connection(self) -> Iterator[_Connection]:
        """Lend a connection. It is used again only after a whole answer."""
        pool = self._pool()
        connection = pool.take(self._settings.read_timeout)
        reusable = False
        try:
            if connection is None:
                connection = self._open()
            yield connection
            reusable = True
        except (MetastoreFault, TApplicationException):
            reusable = True  # a whole answer, too
            raise
        finally:
            pool.give_back(connection, reusable=reusable)

    def _pool(self) -> _Pool:
        process = os.getpid()
        # No lock, which a fork could copy while it is held: of two that come at once, one gives way.
        return self._pools.get(process) or self._pools.setdefault(process, _Pool(self._settings.pool_size))

    def _open(self) -> _Connection:
        """Return a new connection to the first server that takes it. Raises TransportError."""
        settings = self._settings
        failures: list[TransportError] = []
        for server in settings.servers:
            try:
                connection = _Connection(server, settings.connect_timeout)
            except OSError as error:
                failures.append(unreached(error))
                continue
            if settings.user is not None:
                connection.introduce(settings.user, settings.groups, settings.read_timeout)
            return connection
        raise failures[-1]


class _Pool:
    """The connections of one process. As many threads as it may have connections are served at once."""

    def __init__(self, size: int) -> None:
        self._turns = threading.BoundedSemaphore(size)
        self._idle: deque[_Connection] = deque()
        self._closed = False

    def take(self, seconds: float) -> _Connection | None:
        """Return a connection that rests, None where one may be opened. Raises TransportError where none comes free."""
        if not self._turns.acquire(timeout=seconds):
            raise TransportError(Reason.BUSY)
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if connection.is_open():
                return connection
            connection.close()
        return None

    def give_back(self, connection: _Connection | None, *, reusable: bool) -> None:
        if connection is not None:
            if reusable and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()
        self._turns.release()
        if self._closed:
            self.close()

    def close(self) -> None:
        self._closed = True
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                return


class _Socket(TSocket):  # type: ignore[misc]
    """A socket whose answers have a deadline, however slowly their bytes come."""

    def __init__(self, server: HiveServer) -> None:
        super().__init__(server.host, server.port)
        self.deadline = 0.0

    def __del__(self) -> None:
        self.close()  # of a catalog that nothing refers to any more

    def connect(self, seconds: float) -> None:
        self.handle = socket.create_connection((self.host, self.port), seconds)
        self.handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, sz: int) -> bytes:
        self._hurry()
        data: bytes = super().read(sz)
        return data

    def write(self, buff: bytes) -> None:
        self._hurry()
        super().write(buff)

    def _hurry(self) -> None:
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TTransportException(TTransportException.TIMED_OUT, "the deadline has passed")
        self.handle.settimeout(seconds)


class _Connection:
    """One connection, used by one thread at a time."""

    def __init__(self, server: HiveServer, seconds: float) -> None:
        self._socket = _Socket(server)
        self._socket.connect(seconds)
        protocol = TBinaryProtocolAccelerated(
            TBufferedTransport(self._socket), strictRead=True, string_length_limit=_LONGEST_TEXT
        )
        self._stub = ThriftHiveMetastore.Client(protocol)

    def introduce(self, user: str, groups: tuple[str, ...], seconds: float) -> None:
        """Tell the metastore who asks. A connection that cannot is closed."""
        try:
            self.call("set_ugi", (user, list(groups)), seconds)
        except (MetastoreFault, TException, TransportError):
            self.close()
            raise

    def call(self, method: str, arguments: tuple[object, ...], seconds: float) -> Any:
        """Return the answer of a method.

        Raises TransportError where the connection broke, TProtocolException for an answer that cannot be read, else
        MetastoreFault.
        """
        self._socket.deadline = time.monotonic() + seconds
        try:
            return getattr(self._stub, method)(*arguments)
        except TTransportException as error:
            if error.type == TTransportException.TIMED_OUT or isinstance(error.inner, TimeoutError):
                raise TransportError(Reason.SILENT, setting="read_timeout") from error
            raise TransportError(Reason.CUT, _SASL) from error
        except EOFError as error:
            raise TransportError(Reason.CUT, _SASL) from error
        except (TApplicationException, TProtocolException, UnicodeEncodeError):
            raise
        except TException as error:
            raise MetastoreFault(error) from None
        except (OverflowError, TypeError, ValueError, struct.error) as error:  # in bytes that are no answer
            raise TProtocolException(TProtocolException.INVALID_DATA, str(error)) from error
        except OSError as error:
            raise broken(error, "read_timeout") from error

    def is_open(self) -> bool:
        """Return whether the server has kept it open while it rested."""
        return bool(self._socket.isOpen())

    def close(self) -> None:
        self._socket.close()
