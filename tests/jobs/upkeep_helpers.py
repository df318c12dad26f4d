"""What the tests of jobs on one table share: a managed table of several fragments, and questions about it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from lanceway.catalogs import LakeCatalog
from lanceway.jobs import JobProgress
from lanceway.tables import dataset
from tests.jobs import move_helpers as moves

SIZE = 8


def rows(start: int, count: int) -> pa.Table:
    """Rows with an id, a text, the group that they are in, and a vector that begins with the id."""
    vectors = np.zeros((count, SIZE), "f4")
    vectors[:, 0] = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(range(start, start + count), pa.int64()),
            "text": [f"word{i % 7} of row {i}" for i in range(start, start + count)],
            "group": pa.array([i % 10 for i in range(start, start + count)], pa.int64()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), SIZE),
        }
    )


@dataclass(frozen=True)
class Kept:
    """A table of a lake, and all that a test asks of it."""

    catalog: LakeCatalog
    name: str = "table"

    @property
    def options(self) -> dict[str, str]:
        """How a job is told of it."""
        settings = {f"namespace.{key}": self.catalog._settings[key] for key in ("uri", "root", "catalog")}
        return {"table": self.name, "namespace.type": "lake", **settings}

    def named(self, name: str) -> Kept:
        return Kept(self.catalog, name)

    def append(self, start: int, count: int) -> None:
        self.catalog.insert_into_table_stream({"id": [self.name]}, rows(start, count).to_reader())  # type: ignore[arg-type]

    def delete(self, predicate: str) -> None:
        self.catalog.delete_from_table({"id": [self.name], "predicate": predicate})  # type: ignore[arg-type]

    def open(self) -> lance.LanceDataset:
        return dataset.open_at(self.handle)

    @property
    def handle(self) -> dataset.StoredTable:
        described = moves.describe(self.catalog, self.name)
        assert described.managed_versioning
        return dataset.StoredTable(self.name, described.location, None, self.catalog, (self.name,))

    def ids(self) -> list[int]:
        values: list[int] = self.open().to_table(columns=["id"])["id"].to_pylist()
        return sorted(values)

    @property
    def version(self) -> int:
        return moves.versions(self.catalog, self.name)[-1]

    def fragments(self) -> int:
        return len(self.open().get_fragments())

    def strays(self) -> set[str]:
        """Data files, and files of deleted rows, that no version of the table has."""
        handle = self.handle
        used: set[str] = set()
        for version in moves.versions(self.catalog, self.name):
            for fragment in dataset.open_at(handle, version=version).get_fragments():
                used |= {f"data/{file.path}" for file in fragment.metadata.files}
                if fragment.metadata.deletion_file is not None:
                    used.add(fragment.metadata.deletion_file.path(fragment.fragment_id))
        return {*handle.store().keys("data"), *handle.store().keys("_deletions")} - used


def lake(folder: Path) -> LakeCatalog:
    """A catalog of one's own, in a database that others use, too: a new database takes longer than most tests."""
    return moves.lake(folder, catalog=f"c{uuid.uuid4().hex}")


def make(folder: Path, fragments: int = 6, each: int = 50) -> Kept:
    """A new table whose ids count from 0."""
    table = Kept(lake(folder))
    moves.make(table.catalog, table.name, rows(0, each))
    for number in range(1, fragments):
        table.append(number * each, each)
    return table


class Watched(list[JobProgress]):
    """A watcher that keeps what it was told, and does something at one step."""

    def __init__(self, at: int | None = None, act: Any = None) -> None:
        self._at, self._act = at, act

    def __call__(self, step: JobProgress) -> None:
        self.append(step)
        if self._act is not None and self._at in (None, len(self) - 1):
            self._act()


def stopping(after: int) -> Any:
    """Asked to stop after so many questions."""
    replies = iter([False] * after)
    return lambda: next(replies, True)
