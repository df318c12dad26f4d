"""What migrations have copied and verified, remembered on this machine between their runs.

It saves time and decides nothing: where it is lost, tables that are there are compared with their originals again.
It also keeps two runs between the same catalogs from meeting here.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from lanceway.identifiers import Identifier
from lanceway.jobs.state import StateFile

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
        self._state = StateFile(file, _SCHEMA)
        self._pair = hashlib.sha256(json.dumps([source, target]).encode()).hexdigest()[:24]

    def held(self) -> AbstractContextManager[None]:
        """For as long as one run lasts. Raises ConcurrentModificationError while another has it."""
        return self._state.held(self._pair, "These two catalogs are being migrated")

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

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._state.opened("tables that are there are then compared again")
