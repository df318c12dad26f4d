"""A lake's database: opened, upgraded, and changed in transactions that are retried where that is safe."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import RootTransaction
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from lanceway.errors import ServiceUnavailableError
from lanceway.lake import failures, upgrades
from lanceway.lake.engines import Engines, read_uri, refuse_missing, shown
from lanceway.lake.retries import RetryError

Answer = TypeVar("Answer")

_PATIENCE = 30.0  # seconds
_ATTEMPTS = 20
_LONGEST_PAUSE = 0.5  # seconds


class LakeStore:
    """A database that any number of threads and processes share.

    It may be pickled and used after a fork: each process opens connections of its own. A closed store
    opens them again when it is used.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._url = read_uri(uri)
        # By process. A child leaves those of its parent alone: to close them would cut the parent's connections.
        self._engines: dict[int, Engines] = {}

    def run(self, work: Callable[[Connection], Answer]) -> Answer:
        """What `work` answers, done in one transaction: all of it or nothing.

        It is begun anew where others were in the way, so it must touch nothing but the connection.
        """
        return self._patiently(lambda: self._in_transaction(work))

    def read(self, work: Callable[[Connection], Answer]) -> Answer:
        """What `work`, which only reads, answers. Each of its statements sees the newest state."""
        return self._patiently(lambda: self._alone(work))

    def single(self, work: Callable[[Connection], Answer]) -> Answer:
        """What `work` answers, which is one statement, and a transaction by itself: it costs one round trip."""
        return self._patiently(lambda: self._alone(work))

    def look(self, work: Callable[[Connection], Answer]) -> Answer:
        """What `work`, which only reads, answers. All of its statements see one state, and nobody waits for it."""
        return self._patiently(lambda: self._in_snapshot(work))

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection whose changes are kept when the block ends and dropped if it raises. Nothing is retried."""
        with self._translated(), self._opened().write.begin() as connection:
            yield connection

    def refuse_missing(self) -> None:
        """Raises InvalidInputError if the database is a file that is not there; to open it would make it."""
        refuse_missing(self._url)

    def close(self) -> None:
        """Give this process's connections back."""
        engines = self._engines.pop(os.getpid(), None)
        if engines is not None:
            engines.write.dispose()

    def _opened(self) -> Engines:
        engines = self._engines.get(os.getpid())
        # Two threads may both open one; an engine without connections costs nothing, and one of them is kept.
        return engines or self._engines.setdefault(os.getpid(), Engines.open(self._url))

    def _patiently(self, attempt: Callable[[], Answer]) -> Answer:
        deadline = time.monotonic() + _PATIENCE
        with self._translated():
            for number in range(_ATTEMPTS - 1):
                try:
                    return attempt()
                except (DBAPIError, RetryError) as error:
                    if time.monotonic() > deadline or not _is_worth_another(error):
                        raise
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.002 * 2**number)))
            return attempt()

    def _in_transaction(self, work: Callable[[Connection], Answer]) -> Answer:
        with self._opened().write.connect() as connection, connection.begin() as transaction:
            answer = work(connection)
            self._commit(transaction)
        return answer

    def _commit(self, transaction: RootTransaction) -> None:
        try:
            transaction.commit()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise ServiceUnavailableError(
                    f"The connection to the lake {shown(self._url)} broke while it committed: the change is made as a "
                    "whole or not at all, but which is not known. Look before you ask again."
                ) from error
            raise

    def _alone(self, work: Callable[[Connection], Answer]) -> Answer:
        with self._opened().read.connect() as connection:
            return work(connection)

    def _in_snapshot(self, work: Callable[[Connection], Answer]) -> Answer:
        with self._opened().look.connect() as connection, connection.begin():
            return work(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise failures.translate(error, shown(self._url)) from error
        except PoolTimeoutError as error:
            raise ServiceUnavailableError(
                f"All connections of this process to the lake {shown(self._url)} are in use. Try again later."
            ) from error

    def __repr__(self) -> str:
        return f"LakeStore({shown(self._url)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return LakeStore, (self._uri,)


def open_store(uri: str, *, separator: str | None = None, policy: str | None = None, upgrade: bool = True) -> LakeStore:
    """Open the lake at `uri`, and make or upgrade its tables.

    Separator and policy are kept in the database: they are set for a new one, and given for another one they
    must be the same. Without `upgrade`, a database that is new or older than the code is refused.
    """
    store = LakeStore(uri)
    try:
        if not upgrade:
            store.refuse_missing()
        upgrades.prepare(store, separator, policy, upgrade=upgrade)
    except BaseException:
        store.close()
        raise
    return store


def _is_worth_another(error: DBAPIError | RetryError) -> bool:
    return isinstance(error, RetryError) or failures.is_transient(error)
