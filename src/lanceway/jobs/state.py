"""A file on this machine in which jobs remember what they have done, and which keeps two runs of one from meeting."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lanceway import config
from lanceway.errors import ConcurrentModificationError, InternalError
from lanceway.tables.storage.store import translated

_SECONDS = 30.0


class StateFile:
    """That of the user's cache, unless another is named. Threads may share it."""

    def __init__(self, file: str | Path | None, schema: str) -> None:
        self.path = Path(file) if file is not None else config.user_cache_folder() / "jobs.sqlite"
        self._schema = schema

    @contextmanager
    def held(self, key: str, what: str) -> Iterator[None]:
        """For as long as one run lasts. Raises ConcurrentModificationError while another has it.

        `what` begins the sentence that says so, such as "This table is being filled".
        """
        self._make_room()
        lock, holder = (self.path.with_name(f"{self.path.name}.{key}.{kind}") for kind in ("lock", "holder"))
        # The operating system lets go of it whichever way the process ends.
        with closing(sqlite3.connect(lock, isolation_level=None, timeout=0)) as connection:
            try:
                connection.execute("begin exclusive")
            except sqlite3.OperationalError:
                who = holder.read_text() if holder.exists() else "another process"
                raise ConcurrentModificationError(f"{what} by {who} already. Wait until it ends.") from None
            holder.write_text(f"process {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())}")
            yield

    @contextmanager
    def opened(self, loss: str) -> Iterator[sqlite3.Connection]:
        """One transaction. `loss` says what happens where the file is deleted."""
        self._make_room()
        try:
            with closing(sqlite3.connect(self.path, timeout=_SECONDS)) as connection, connection:
                connection.execute(self._schema)
                yield connection
        except sqlite3.Error as error:
            raise InternalError(
                f"The journal {self.path} cannot be used: {error}. Name another with --state, or delete it: {loss}."
            ) from error

    def _make_room(self) -> None:
        with translated("write", str(self.path.parent)):
            self.path.parent.mkdir(parents=True, exist_ok=True)
