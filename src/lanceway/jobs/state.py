"""The local file in which jobs remember what they have done, and by which two runs of one exclude each other."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanceway import config
from lanceway.config.files import make_private
from lanceway.errors import ConcurrentModificationError, InternalError
from lanceway.identifiers import Identifier
from lanceway.tables.storage.store import translated

_SECONDS = 30.0


class StateFile:
    """A SQLite file: the one in the user's cache, unless another is named. Threads may share it."""

    def __init__(self, file: str | Path | None, schema: str) -> None:
        self.path = Path(file) if file is not None else config.user_cache_folder() / "jobs.sqlite"
        self._schema = schema

    @contextmanager
    def locked(self, key: str, what: str) -> Iterator[None]:
        """Hold the lock `key` while the context lasts. Raises ConcurrentModificationError while another process has it.

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
        """Open one transaction. `loss` says what happens where the file is deleted."""
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
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(self.path)


_CHECKPOINT_SCHEMA = """
create table if not exists parts (job text not null, part text not null, made text not null, primary key (job, part))
"""


class Checkpoint:
    """The finished parts of one job on one table with certain settings. Threads may share it."""

    def __init__(self, job: str, table: str, *settings: Any, file: str | Path | None = None) -> None:
        self._state, self._table = StateFile(file, _CHECKPOINT_SCHEMA), table
        self._job = hashlib.sha256(json.dumps([job, table, settings], default=str).encode()).hexdigest()[:24]

    def locked(self) -> AbstractContextManager[None]:
        """Hold the job's lock. Raises ConcurrentModificationError while another run does the same."""
        return self._state.locked(self._job, f"The same job is being done to {self._table}")

    def all(self) -> dict[str, Any]:
        """Return the note of each finished part."""
        with self._opened() as connection:
            rows = connection.execute("select part, made from parts where job = ?", (self._job,)).fetchall()
        return {part: json.loads(note) for part, note in rows}

    def keep(self, part: str, note: Any) -> None:
        """Write down what was made of a part."""
        with self._opened() as connection:
            connection.execute("insert or replace into parts values (?, ?, ?)", (self._job, part, json.dumps(note)))

    def forget(self) -> None:
        """Delete all notes: after the commit, or where none can be used."""
        with self._opened() as connection:
            connection.execute("delete from parts where job = ?", (self._job,))

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._state.opened("what was not committed is then done again")


_JOURNAL_SCHEMA = """
create table if not exists copies (
    pair text not null, source text not null, target text not null, location text, version integer,
    rows integer, checksum text, marked integer, primary key (pair, source)
)
"""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A table whose copy was begun; `version` is that of the source which was verified, None until then."""

    target: Identifier
    location: str | None = None
    version: int | None = None
    marked: bool = True  # whether the target keeps the mark among the table's properties


class Journal:
    """The copies between one pair of catalogs, in a file. Threads may share it."""

    def __init__(self, source: str, target: str, file: str | Path | None = None) -> None:
        self._state = StateFile(file, _JOURNAL_SCHEMA)
        self._pair = hashlib.sha256(json.dumps([source, target]).encode()).hexdigest()[:24]

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock of the pair. Raises ConcurrentModificationError while another run has it."""
        return self._state.locked(self._pair, "These two catalogs are being migrated")

    def get(self, table: Identifier) -> JournalEntry | None:
        query = "select target, location, version, marked from copies where pair = ? and source = ?"
        with self._opened() as connection:
            row = connection.execute(query, (self._pair, json.dumps(table))).fetchone()
        return row and JournalEntry(Identifier(json.loads(row[0])), row[1], row[2], bool(row[3]))

    def begin(self, table: Identifier, target: Identifier) -> None:
        """Record a copy before anything is made, so that what is found of it later is known as ours."""
        with self._opened() as connection:
            connection.execute(
                "insert or replace into copies (pair, source, target, marked) values (?, ?, ?, 1)",
                (self._pair, json.dumps(table), json.dumps(target)),
            )

    def verified(self, table: Identifier, entry: JournalEntry, rows: int, checksum: str) -> None:
        values = (json.dumps(entry.target), entry.location, entry.version, rows, checksum, entry.marked)
        with self._opened() as connection:
            connection.execute(
                "insert or replace into copies (pair, source, target, location, version, rows, checksum, marked) "
                "values (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._pair, json.dumps(table), *values),
            )

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._state.opened("tables that are there are then compared again")
