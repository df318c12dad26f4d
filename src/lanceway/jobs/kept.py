"""What a long job on one table has made and not yet committed, remembered so that a killed run repeats none of it.

The files themselves lie beside the table's own. A note whose files are gone is worth nothing, and is not believed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lanceway.jobs.state import StateFile

_SCHEMA = """
create table if not exists parts (job text not null, part text not null, made text not null, primary key (job, part))
"""


class Kept:
    """The notes of one job: what it is called, on which table, with which settings. Threads may share it."""

    def __init__(self, job: str, table: str, *settings: Any, file: str | Path | None = None) -> None:
        self._state, self._table = StateFile(file, _SCHEMA), table
        self._job = hashlib.sha256(json.dumps([job, table, settings], default=str).encode()).hexdigest()[:24]

    def held(self) -> AbstractContextManager[None]:
        """For as long as one run lasts. Raises ConcurrentModificationError while another does the same."""
        return self._state.held(self._job, f"The same job is being done to {self._table}")

    def all(self) -> dict[str, Any]:
        with self._opened() as connection:
            rows = connection.execute("select part, made from parts where job = ?", (self._job,)).fetchall()
        return {part: json.loads(made) for part, made in rows}

    def keep(self, part: str, made: Any) -> None:
        with self._opened() as connection:
            connection.execute("insert or replace into parts values (?, ?, ?)", (self._job, part, json.dumps(made)))

    def forget(self) -> None:
        """After the commit, or where nothing of it can be used."""
        with self._opened() as connection:
            connection.execute("delete from parts where job = ?", (self._job,))

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._state.opened("what was not committed is then done again")
