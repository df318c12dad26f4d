"""Runs of pipelines as rows: what was read and written, by whom, and which files were seen when."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection

from lanceway.errors import ConcurrentModificationError
from lanceway.lake.runs import leases, listing, runs, source_files
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.runs import DONE, FAILED, Read, Run, StepRow
from lanceway.lake.runs.source_files import File
from lanceway.lake.store.database import LakeStore


@pytest.fixture
def pipeline(store: LakeStore) -> PipelineRow:
    return store.transact(leases.ensure, name="nightly")


def begin(store: LakeStore, pipeline: PipelineRow, key: str = "k1", **options: Any) -> Run:
    given = {"by": "ada", "full": False, "graph": {"nodes": []}, **options}
    return store.transact(runs.create, pipeline.id, key, **given)


def test_a_pipeline_is_made_once_and_held_by_one(store: LakeStore, pipeline: PipelineRow) -> None:
    assert store.transact(leases.ensure, name="nightly") == pipeline
    take = partial(leases.take, pipeline=pipeline.id, lifetime=60_000)
    assert store.transact(take, key="a", by="ada")
    assert store.transact(take, key="a", by="ada")  # whose answer was lost
    assert not store.transact(take, key="b", by="bob")
    held = store.read(leases.find, name="nightly")
    assert held is not None
    assert (held.holder, held.held_by) == ("a", "ada")
    assert held.held_since is not None
    store.transact(leases.require, "nightly", "a")
    assert not store.transact(leases.renew, pipeline=pipeline.id, key="b", lifetime=1)
    assert store.transact(take, key="b", by="bob", ended="a")
    with pytest.raises(ConcurrentModificationError, match="taken over"):
        store.transact(leases.require, "nightly", "a")
    store.transact(leases.release, pipeline.id, "a")  # no longer its own to give back
    assert not store.transact(take, key="c", by="cleo")
    assert store.transact(leases.renew, pipeline=pipeline.id, key="b", lifetime=-1)
    assert store.read(leases.find, name="nightly") == pipeline  # the lease is over
    assert store.transact(take, key="c", by="cleo")


def test_runs_are_numbered_and_newest_come_first(store: LakeStore, pipeline: PipelineRow) -> None:
    other = store.transact(leases.ensure, name="other")
    first, _, second = begin(store, pipeline, "a"), begin(store, other, "b"), begin(store, pipeline, "c", full=True)
    assert (first.number, second.number, second.pipeline, second.full) == (1, 2, "nightly", True)
    store.transact(runs.end, first.id, FAILED, "no space left")
    found = store.read(runs.page, pipeline.id)
    assert [(run.number, run.state, run.error) for run in found] == [(2, "running", None), (1, FAILED, "no space left")]
    assert begin(store, pipeline, "a").number == 1  # asked again, it is the same
    for _ in range(2):
        again = store.transact(runs.resume, first.id, 2, {"nodes": [1]})
    assert (again.attempts, again.state, again.error, again.ended_at, again.graph) == (
        2,
        "running",
        None,
        None,
        {"nodes": [1]},
    )


def test_a_resumed_run_took_as_long_as_its_steps(store: LakeStore, pipeline: PipelineRow) -> None:
    run = begin(store, pipeline)
    names = ["first", "second", "third"]
    store.transact(runs.plan, run.id, [StepRow(name, "output", position=i) for i, name in enumerate(names)])
    # The second ran beside the first; before the third the run was stopped for a quarter of an hour.
    for name, began, ended in (("first", 0, 2000), ("second", 1000, 3000), ("third", 900_000, 900_500)):
        times = {"began_at": run.began_at + began, "ended_at": run.began_at + ended}
        store.transact(runs._change_step, run.id, name, state=DONE, rows=200, table_name=f"lake.{name}", **times)
    store.transact(runs.change, run.id, state=DONE, ended_at=run.began_at + 901_000)
    for attempts, seconds in ((1, 901.0), (2, 3.5)):
        store.transact(runs.change, run.id, attempts=attempts)
        ended = store.read(runs.load, run.id)
        assert store.read(runs.of, ended).seconds == seconds
        assert store.read(listing.summaries, [ended])[0]["seconds"] == seconds


def test_a_steps_end_and_what_it_read_are_recorded_together(store: LakeStore, pipeline: PipelineRow) -> None:
    run = begin(store, pipeline)
    steps = [StepRow("out", "output", position=1), StepRow("aside", "quarantine", position=0)]
    store.transact(runs.plan, run.id, steps)
    store.transact(runs.begin_step, run.id, "out", base=4)
    store.transact(runs.plan, run.id, steps)  # a run that goes on plans anew, and forgets nothing
    found = store.read(runs.steps, run.id)
    assert [(step.name, step.state, step.base) for step in found] == [("aside", "waiting", None), ("out", "running", 4)]
    read = Read("out", "orders", "table", 3, 7, "lake.orders", "/warehouse/orders")

    def broken(connection: Connection) -> None:
        runs.end_step(connection, run.id, "out", DONE, [read], version=5)
        raise LookupError

    with pytest.raises(LookupError):
        store.transact(broken)
    assert store.read(runs.had, pipeline.id) == {}
    values = {"version": 5, "rows": 10, "location": "/warehouse/out", "table_name": "lake.out"}
    store.transact(runs.end_step, run.id, "out", DONE, [read], details={"a": [1]}, **values)
    assert store.read(runs.had, pipeline.id) == {("out", "orders", "/warehouse/orders"): 7}
    assert store.read(runs.reads, run.id) == [read]
    store.transact(runs.begin_step, run.id, "out", base=9)  # it was long on its way, and comes too late
    step = store.read(runs.step, run.id, "out")
    assert step is not None
    assert (step.state, step.base, step.version, step.rows, step.details) == (DONE, 4, 5, 10, {"a": [1]})


def test_files_are_known_by_the_run_that_saw_them_first(store: LakeStore, pipeline: PipelineRow) -> None:
    a, b, changed = File("a", 1, 10), File("b", 2, 20), File("a", 3, 10)

    def note(number: int, *files: File) -> None:
        store.transact(source_files.note, pipeline.id, "raw", files, number=number)

    def between(after: int, until: int) -> list[File]:
        return list(store.read(source_files.between, pipeline.id, "raw", after=after, until=until))

    def has_changed(after: int, until: int) -> bool:
        return store.read(source_files.has_changed, pipeline.id, "raw", after=after, until=until)

    note(1, a)
    note(2, a)
    assert (between(0, 2), between(1, 2), has_changed(1, 2)) == ([a], [], False)
    note(3, a, b)
    assert (between(2, 3), between(0, 3), has_changed(2, 3)) == ([b], [a, b], True)
    note(4, changed, b)
    assert (between(3, 4), between(0, 4), between(0, 3)) == ([changed], [changed, b], [a, b])
    note(5, b)
    assert (between(4, 5), between(0, 5), has_changed(4, 5)) == ([], [b], True)
    assert store.read(source_files.between, pipeline.id, "other", after=0, until=9) == []
