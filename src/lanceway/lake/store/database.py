"""A lake's database: opened, upgraded, and changed in transactions that are retried where that is safe."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.lake.store import errors, upgrades
from lanceway.lake.store.commit_group import CommitGroup
from lanceway.lake.store.engines import TO_LOOK, TO_WRITE, is_missing, open_engine, read_uri, refuse_missing, shown
from lanceway.lake.store.errors import BrokenCommitError, RetryError
from lanceway.lake.store.fast_reads import FastReads
from lanceway.lake.store.schema import VERSION
from lanceway.lake.tree import settings
from lanceway.lake.versions import versions
from lanceway.lake.versions.published import PublishedFlags
from lanceway.lake.versions.versions import Version

P = ParamSpec("P")
Answer = TypeVar("Answer")
# What is run on a connection, with the arguments that it is handed on.
Work = Callable[Concatenate[Connection, P], Answer]

PATIENCE = 30.0  # seconds
_ATTEMPTS = 20
_FIRST_PAUSE = 0.002  # seconds
_PAUSES = 60  # of the longest kind, that would fill one's patience


class LakeStore:
    """A database that any number of threads and processes share.

    It may be pickled and used after a fork: each process opens connections of its own. A closed store
    opens them again when it is used. It never waits for others longer than its `patience`, in seconds.
    """

    def __init__(self, uri: str, *, patience: float = PATIENCE) -> None:
        self._uri, self._patience = uri, patience
        self._url = read_uri(uri)
        # By process. A child leaves those of its parent alone: to close them would cut the parent's connections.
        self._engines: dict[int, Engine] = {}
        self._write_locks: dict[int, threading.Lock] = {}
        self._groups: dict[int, CommitGroup] = {}
        self._flags: dict[int, PublishedFlags] = {}
        self._identity: str | None = None
        self._page_key: bytes | None = None
        # Tables of which storage says that this lake manages them, by their ids.
        self.managing: set[int] = set()
        self.fast_reads = FastReads.of(self._url)

    @property
    def uri(self) -> str:
        """Return the database's complete URI, valid in any folder. It may hold a password."""
        return self._url.render_as_string(hide_password=False)

    def transact(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        """Return what `work(connection, …)` returns, run in one transaction: all of its changes are made, or none.

        It starts again from the beginning after a conflict with others, so it must change nothing but the database.
        """
        return self._with_retries(self._in_transaction, work, *args, **named)

    def transact_together(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        """Return what `transact` would, for short work that many threads do at the same time.

        In SQLite, what the threads of a process wait to do is committed at once, so that they wait for the disk once.
        `work` may run on any of these threads.
        """
        attempt = self._in_transaction if self.is_shared else self._in_group
        return self._with_retries(attempt, work, *args, **named)

    def read(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        """Return what `work(connection, …)`, which only reads, returns. Each statement sees the newest state."""
        return self._with_retries(self._on_connection, work, *args, **named)

    def execute_one(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        """Return what `work(connection, …)` returns, which is a single statement and so a transaction by itself.

        It costs one round trip, where `transact` costs three.
        """
        return self._with_retries(self._on_connection, work, *args, **named)

    def snapshot(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        """Return what `work(connection, …)`, which only reads, returns. All of its statements see one state.

        It blocks no other reader or writer.
        """
        return self._with_retries(self._in_snapshot, work, *args, **named)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield a connection that commits when the block ends, and rolls back if it raises. Nothing is retried."""
        with self._translated(), self._writing() as connection:
            yield connection
            connection.commit()

    @property
    def identity(self) -> str:
        """Return the id of the lake: the same for every process, and for the lake that a backup of it becomes.

        Read it outside of a transaction first: it may have to be made.
        """
        if self._identity is None:
            self._identity = self.transact(settings.identity)
        return self._identity

    @property
    def page_key(self) -> bytes:
        """Return the secret that seals page tokens, the same for every process. Read it outside a transaction."""
        if self._page_key is None:
            self._page_key = self.transact(settings.page_key)
        return self._page_key

    @property
    def is_shared(self) -> bool:
        """Return whether servers on several machines may use the database: it is no file."""
        return self._url.get_backend_name() != "sqlite"

    @property
    def is_missing(self) -> bool:
        """Return whether the database is a file that does not exist yet."""
        return is_missing(self._url)

    def refuse_missing(self) -> None:
        """Raise InvalidInputError if the database is a file that does not exist; to open it would create it."""
        refuse_missing(self._url)

    @property
    def published(self) -> PublishedFlags:
        """Return the versions whose manifests this process knows to be published; rows are flagged a little later."""
        flags = self._flags.get(os.getpid())
        return flags or self._flags.setdefault(os.getpid(), PublishedFlags(self._flag_published))

    def _flag_published(self, copied: Sequence[Version]) -> None:
        write = self.execute_one if len(copied) == 1 else self.transact
        write(versions.mark_copied, *copied)

    def close(self, wait: float | None = None) -> None:
        """Give this process's connections back. Flags not yet written are written first, for at most `wait` seconds."""
        flags = self._flags.pop(os.getpid(), None)
        if flags is not None:
            flags.close(wait)
        engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()
        if self.fast_reads is not None:
            self.fast_reads.close()

    def _opened(self) -> Engine:
        engine = self._engines.get(os.getpid())
        # Two threads may both open one; an engine without connections costs nothing, and one of them is kept.
        return engine or self._engines.setdefault(os.getpid(), open_engine(self._url, self._patience))

    def _with_retries(
        self,
        attempt: Callable[Concatenate[Work[P, Answer], P], Answer],
        work: Work[P, Answer],
        /,
        *args: P.args,
        **named: P.kwargs,
    ) -> Answer:
        deadline = time.monotonic() + self._patience
        with self._translated():
            for number in range(_ATTEMPTS - 1):
                try:
                    return attempt(work, *args, **named)
                except (DBAPIError, RetryError) as error:
                    if time.monotonic() > deadline or not _is_worth_another(error):
                        raise
                # Random and growing, so that writers that conflicted once do not meet again at the same moment.
                time.sleep(random.uniform(0, min(self._patience / _PAUSES, _FIRST_PAUSE * 2**number)))
            return attempt(work, *args, **named)

    @contextmanager
    def _begun(self, statements: Mapping[str, str]) -> Iterator[Connection]:
        """Yield a connection in a transaction, which is rolled back at the end unless it was committed."""
        with self._opened().connect() as connection:
            connection.exec_driver_sql(statements[connection.dialect.name])
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that writes.

        SQLite has one writer at a time, and makes the others sleep and poll. So the threads of a process queue for a
        lock here, which wakes the next one at once.
        """
        with ExitStack() as leaving:
            if self._url.get_backend_name() == "sqlite":
                lock = self._write_locks.setdefault(os.getpid(), threading.Lock())
                if not lock.acquire(timeout=self._patience):
                    raise ServiceUnavailableError(
                        f"Others have been writing to the lake {shown(self._url)} all the time. Try again later."
                    )
                leaving.callback(lock.release)
            yield leaving.enter_context(self._begun(TO_WRITE))

    def _in_transaction(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        with self._writing() as connection:
            result = work(connection, *args, **named)
            self._commit(connection)
        return result

    def _in_group(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        group = self._groups.get(os.getpid())
        group = group or self._groups.setdefault(os.getpid(), CommitGroup(self._writing, self._commit, self._patience))
        return group.run(lambda connection: work(connection, *args, **named))

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise BrokenCommitError(
                    f"The connection to the lake {shown(self._url)} broke while it committed: the change is made as a "
                    "whole or not at all, but which is not known. Look before you ask again."
                ) from error
            raise

    def _on_connection(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        with self._opened().connect() as connection:
            return work(connection, *args, **named)

    def _in_snapshot(self, work: Work[P, Answer], /, *args: P.args, **named: P.kwargs) -> Answer:
        with self._begun(TO_LOOK) as connection:
            return work(connection, *args, **named)

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
        elif store.is_missing:
            upgrades.new_separator(separator, policy)  # refused before there is a file
        prepare(store, separator, policy, upgrade=upgrade)
        undo.pop_all()  # it is the caller's to close from here on
    return store


def prepare(store: LakeStore, separator: str | None, policy: str | None, *, upgrade: bool) -> None:
    """Upgrade a database if it is older than the code, and refuse one that does not fit the code or the settings."""
    version = store.read(upgrades.state).version
    if version < VERSION:
        if not upgrade:
            raise InvalidInputError(
                f"{store!r} has version {version} and this code needs {VERSION}. Upgrade it: lanceway lake upgrade"
            )
        store.transact(upgrades.migrate, separator, policy)
    upgrades.check(store.read(upgrades.state))
    upgrades.compare(store.read(settings.separator), separator, policy)


def _is_worth_another(error: DBAPIError | RetryError) -> bool:
    return isinstance(error, RetryError) or errors.is_transient(error)
