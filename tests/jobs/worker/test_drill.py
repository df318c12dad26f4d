"""Whatever becomes of a source, its views show it after a refresh: random changes, and rows compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from tests.jobs.worker.conftest import Bench, people

SCHEMA = pa.schema([("id", pa.int64()), ("label", pa.string())])
QUERY: dict[str, Any] = {"source": ["people"], "columns": {"id": "id", "label": "name"}, "where": "id % 3 > 0"}


class Changes:
    """Random changes of the table `people`, whose ids are unique."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench, self.random, self.next = bench, random.Random(seed), 10

    def any(self) -> None:
        kinds: list[Callable[[], Any]] = [self.append, self.append, self.update, self.delete, self.move, self.compact]
        self.random.choice(kinds)()

    def append(self) -> None:
        count = self.random.randint(1, 5)
        self.bench.append("people", people(*range(self.next, self.next + count)))
        self.next += count

    def update(self) -> None:
        value = f"'x{self.random.random()}'"
        self._change("update_table", f"id % 4 = {self.random.randint(0, 3)}", updates=[["name", value]])

    def move(self) -> None:
        """Rows that get another key."""
        self._change("update_table", f"id = {self.random.randint(1, self.next)}", updates=[["id", str(self.next)]])
        self.next += 1

    def delete(self) -> None:
        self._change("delete_from_table", f"id % 5 = {self.random.randint(0, 4)}")

    def compact(self) -> None:
        name = Identifier(("people",))
        table = self.bench.lake._handle(name, self.bench.lake._find_table(name))
        dataset.open_at(table).optimize.compact_files()

    def _change(self, operation: str, predicate: str, **fields: Any) -> None:
        getattr(self.bench.lake, operation)({"id": ["people"], "predicate": predicate, **fields})


def test_a_view_shows_its_source_whatever_becomes_of_it(bench: Bench, rounds: int) -> None:
    bench.create("people", people(1, 2, 3))
    bench.view("plain", SCHEMA, QUERY)
    bench.view("keyed", SCHEMA, {**QUERY, "key": ["id"]})
    ways: set[str] = set()
    for seed in range(max(10, min(rounds, 200))):
        changes = Changes(bench, seed)
        changes.next = 1000 * (seed + 1)
        for _ in range(changes.random.randint(1, 3)):
            changes.any()
        wanted = bench.rows("people", "id", "name", filter="id % 3 > 0")
        for name in ("plain", "keyed"):
            job = bench.refresh(name)
            assert job.result is not None, job.error
            ways.add(f"{name} {job.result['refreshed']}")
            assert bench.rows(name, "id", "label") == wanted, (seed, name, job.result)
    assert {"plain added", "plain replaced", "keyed added", "keyed merged"} <= ways
