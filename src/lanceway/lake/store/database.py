"""A lake's database: opened, upgraded, and changed in transactions that are retried where that is safe."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from lanceway.errors import ServiceUnavailableError
from lanceway.lake.store import errors, upgrades
from lanceway.lake.store.engines import TO_LOOK, TO_WRITE, open_engine, read_uri, refuse_missing, shown
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.fast_reads import Glances
from lanceway.lake.tree import settings
from lanceway.lake.versions import versions
from lanceway.lake.versions.published import PublishedFlags
from lanceway.lake.versions.versions import Version

Answer = TypeVar("Answer")

PATIENCE = 30.0  # seconds
_ATTEMPTS = 20
_FIRST_PAUSE = 0.002  # seconds
_PAUSES = 60  # of the longest kind, that would fill one's patience


class LakeStore:
    """A database that any number of threads and processes share.

    It may be pickled and used after a fork: each process opens connections of its own. A closed store
    opens them again when it is used. For nothing that others hold does it wait longer than its `patience`, in
    seconds.
    """

    def __init__(self, uri: str, *, patience: float = PATIENCE) -> None:
        self._uri, self._patience = uri, patience
        self._url = read_uri(uri)
        # By process. A child leaves those of its parent alone: to close them would cut the parent's connections.
        self._engines: dict[int, Engine] = {}
        self._turns: dict[int, threading.Lock] = {}
        self._marks: dict[int, PublishedFlags] = {}
        self._identity: str | None = None
        # Tables of which storage says that this lake manages them, by their ids.
        self.managing: set[int] = set()
        self.glances = Glances.of(self._url)

    @property
    def uri(self) -> str:
        """The database that it is, wherever a process runs. It may hold a password."""
        return self._url.render_as_string(hide_password=False)

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
        with self._translated(), self._writing() as connection:
            yield connection
            connection.commit()

    @property
    def identity(self) -> str:
        """The id of the lake: the same for every process, and for the lake that a backup of it becomes.

        To be asked for outside of a transaction first: it may have to be made.
        """
        if self._identity is None:
            self._identity = self.run(settings.identity)
        return self._identity

    def refuse_missing(self) -> None:
        """Raises InvalidInputError if the database is a file that is not there; to open it would make it."""
        refuse_missing(self._url)

    @property
    def marks(self) -> PublishedFlags:
        """What this process knows of versions' manifests, and tells the database when there is time."""
        marks = self._marks.get(os.getpid())
        return marks or self._marks.setdefault(os.getpid(), PublishedFlags(self._mark))

    def _mark(self, copied: Sequence[Version]) -> None:
        write = self.single if len(copied) == 1 else self.run
        write(lambda connection: versions.mark_copied(connection, *copied))

    def close(self, wait: float | None = None) -> None:
        """Give this process's connections back. To tell what there is to be told it takes `wait` seconds at most."""
        marks = self._marks.pop(os.getpid(), None)
        if marks is not None:
            marks.close(wait)
        engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()
        if self.glances is not None:
            self.glances.close()

    def _opened(self) -> Engine:
        engine = self._engines.get(os.getpid())
        # Two threads may both open one; an engine without connections costs nothing, and one of them is kept.
        return engine or self._engines.setdefault(os.getpid(), open_engine(self._url, self._patience))

    def _patiently(self, attempt: Callable[[], Answer]) -> Answer:
        deadline = time.monotonic() + self._patience
        with self._translated():
            for number in range(_ATTEMPTS - 1):
                try:
                    return attempt()
                except (DBAPIError, RetryError) as error:
                    if time.monotonic() > deadline or not _is_worth_another(error):
                        raise
                time.sleep(random.uniform(0, min(self._patience / _PAUSES, _FIRST_PAUSE * 2**number)))
            return attempt()

    @contextmanager
    def _begun(self, words: Mapping[str, str]) -> Iterator[Connection]:
        """A connection in a transaction, which is rolled back at the end unless it was committed."""
        with self._opened().connect() as connection:
            connection.exec_driver_sql(words[connection.dialect.name])
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """The same to write. SQLite has one writer at a time, and whoever finds it taken sleeps and looks again; so the
        threads of a process stand in line here, where the next one is woken at once."""
        with ExitStack() as leaving:
            if self._url.get_backend_name() == "sqlite":
                turn = self._turns.setdefault(os.getpid(), threading.Lock())
                if not turn.acquire(timeout=self._patience):
                    raise ServiceUnavailableError(
                        f"Others have been writing to the lake {shown(self._url)} all the time. Try again later."
                    )
                leaving.callback(turn.release)
            yield leaving.enter_context(self._begun(TO_WRITE))

    def _in_transaction(self, work: Callable[[Connection], Answer]) -> Answer:
        with self._writing() as connection:
            answer = work(connection)
            self._commit(connection)
        return answer

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise ServiceUnavailableError(
                    f"The connection to the lake {shown(self._url)} broke while it committed: the change is made as a "
                    "whole or not at all, but which is not known. Look before you ask again."
                ) from error
            raise

    def _alone(self, work: Callable[[Connection], Answer]) -> Answer:
        with self._opened().connect() as connection:
            return work(connection)

    def _in_snapshot(self, work: Callable[[Connection], Answer]) -> Answer:
        with self._begun(TO_LOOK) as connection:
            return work(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise errors.translate(error, shown(self._url)) from error
        except PoolTimeoutError as error:
            raise ServiceUnavailableError(
                f"All connections of this process to the lake {shown(self._url)} are in use. Try again later."
            ) from error

    def __repr__(self) -> str:
        return f"LakeStore({shown(self._url)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(LakeStore, patience=self._patience), (self._uri,)


def open_store(uri: str, *, separator: str | None = None, policy: str | None = None, upgrade: bool = True) -> LakeStore:
    """Open the lake at `uri`, and make or upgrade its tables.

    Separator and policy are kept in the database: they are set for a new one, and given for another one they
    must be the same. Without `upgrade`, a database that is new or older than the code is refused.
    """
    store = LakeStore(uri)
    with ExitStack() as undo:
        undo.callback(store.close)
        if not upgrade:
            store.refuse_missing()
        upgrades.prepare(store, separator, policy, upgrade=upgrade)
        undo.pop_all()  # it is the caller's to close from here on
    return store


def _is_worth_another(error: DBAPIError | RetryError) -> bool:
    return isinstance(error, RetryError) or errors.is_transient(error)
