"""What migrations have copied and verified, remembered on this machine between their runs.

It saves time and decides nothing: where it is lost, tables that are there are compared with their originals again.
It also keeps two runs between the same catalogs from meeting here.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lanceway import config
from lanceway.errors import ConcurrentModificationError, InternalError
from lanceway.identifiers import Identifier

_SECONDS = 30.0
_SCHEMA = """
create table if not exists copies (
    pair text not null, source text not null, target text not null, location text, version integer,
    rows integer, checksum text, marked integer, primary key (pair, source)
)
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table whose copy was begun; `version` is that of the source which was verified, None until then."""

    target: Identifier
    location: str | None = None
    version: int | None = None
    marked: bool = True  # whether the target keeps the mark among the table's properties


class Journal:
    """The entries of one pair of catalogs, in a file. Threads may share it."""

    def __init__(self, source: str, target: str, file: str | Path | None = None) -> None:
        self._file = Path(file) if file is not None else config.user_cache_folder() / "jobs.sqlite"
        self._pair = hashlib.sha256(json.dumps([source, target]).encode()).hexdigest()[:24]

    @contextmanager
    def held(self) -> Iterator[None]:
        """For as long as one run lasts. Raises ConcurrentModificationError while another has it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lock, holder = (self._file.with_name(f"{self._file.name}.{self._pair}.{kind}") for kind in ("lock", "holder"))
        # The operating system lets go of it whichever way the process ends.
        with closing(sqlite3.connect(lock, isolation_level=None, timeout=0)) as connection:
            try:
                connection.execute("begin exclusive")
            except sqlite3.OperationalError:
                who = holder.read_text() if holder.exists() else "another process"
                raise ConcurrentModificationError(
                    f"These two catalogs are being migrated by {who} already. Wait until it ends."
                ) from None
            holder.write_text(f"process {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())}")
            yield

    def get(self, table: Identifier) -> Entry | None:
        question = "select target, location, version, marked from copies where pair = ? and source = ?"
        with self._opened() as connection:
            row = connection.execute(question, (self._pair, json.dumps(table))).fetchone()
        return row and Entry(Identifier(json.loads(row[0])), row[1], row[2], bool(row[3]))

    def begin(self, table: Identifier, target: Identifier) -> None:
        """Before anything is made: what is found of it later is ours."""
        with self._opened() as connection:
            connection.execute(
                "insert or replace into copies (pair, source, target, marked) values (?, ?, ?, 1)",
                (self._pair, json.dumps(table), json.dumps(target)),
            )

    def verified(self, table: Identifier, entry: Entry, rows: int, checksum: str) -> None:
        values = (json.dumps(entry.target), entry.location, entry.version, rows, checksum, entry.marked)
        with self._opened() as connection:
            connection.execute(
                "insert or replace into copies (pair, source, target, location, version, rows, checksum, marked) "
                "values (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._pair, json.dumps(table), *values),
            )

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file, timeout=_SECONDS)) as connection, connection:
                connection.execute(_SCHEMA)
                yield connection
        except sqlite3.Error as error:
            raise InternalError(
                f"The journal {self._file} cannot be used: {error}. Name another with --state, or delete it: tables "
                "that are there are then compared again."
            ) from error
