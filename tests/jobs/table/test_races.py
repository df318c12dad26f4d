"""Jobs on one table beside others who append to it and delete from it: no row is lost, none comes back, none is left
without its value."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lanceway import jobs
from lanceway.errors import ConcurrentModificationError
from tests.jobs import upkeep_helpers as upkeep
from tests.jobs.upkeep_helpers import Kept


def compacted(table: Kept) -> None:
    jobs.compact(table.options, target_rows=100, threads=2)


def filled(table: Kept) -> None:
    jobs.backfill(table.options, "twice", lambda batch: pc.multiply(batch["id"], 2), data_type=pa.int64(), threads=2)


def deduplicated(table: Kept) -> None:
    jobs.dedupe(table.options, "id", threads=2)


def indexed(table: Kept) -> None:
    jobs.index(table.options, "id", "BTREE", threads=2)


@pytest.mark.parametrize("job", [compacted, filled, deduplicated, indexed])
def test_beside_writers(lakes: Path, rounds: int, job: Callable[[Kept], None]) -> None:
    for _ in range(min(rounds, 50) // 3 + 1):
        _race(upkeep.make(lakes, fragments=5, each=30), job)


def _race(table: Kept, job: Callable[[Kept], None]) -> None:
    wanted = set(range(150))

    def write() -> None:
        for turn in range(6):
            start = 1000 + 10 * turn
            try:
                table.append(start, 10)
                wanted.update(range(start, start + 10))
                table.delete(f"id = {turn * 20}")
                wanted.discard(turn * 20)
            except ConcurrentModificationError:
                continue  # the writer itself was too slow, and knows it

    writer = threading.Thread(target=write)
    writer.start()
    told = None
    try:
        job(table)
    except ConcurrentModificationError as error:
        told = error
    writer.join()
    if told is not None:  # it said so, and what it kept is used when it is run again
        job(table)
    found = table.open().to_table(columns=[name for name in table.open().schema.names if name in ("id", "twice")])
    assert set(found["id"].to_pylist()) == wanted
    assert found.num_rows == len(wanted)
    if "twice" in found.schema.names:
        known = found.filter(pc.is_valid(found["twice"]))
        assert pc.all(pc.equal(known["twice"], pc.multiply(known["id"], 2))).as_py() in (True, None)
        assert {i for i in found.filter(pc.is_null(found["twice"]))["id"].to_pylist() if i < 1000} == set()
    for id_ in (1, 149):
        assert table.open().to_table(filter=f"id = {id_}").num_rows == 1
    # What pylance writes down as deleted before it has to try again is the writer's own.
    assert {file for file in table.strays() if file.startswith("data/")} == set()
