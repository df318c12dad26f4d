"""The worker's loop: what is cancelled, given back, taken again after a death, or tried again after what may pass."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

import lanceway
from lanceway.errors import InvalidInputError, ServiceUnavailableError, UnsupportedOperationError
from lanceway.jobs.worker import loop
from lanceway.jobs.worker.loop import Worker
from lanceway.lake.runs import jobs
from lanceway.lake.store.schema import jobs as rows
from tests.jobs.worker.conftest import FUNCTIONS, Bench, people
from tests.jobs.worker.functions import BEGUN, GATE, STUCK
from tests.jobs.worker.test_backfills import add, virtual
from tests.paths import REPOSITORY

ROOT = REPOSITORY


@pytest.fixture
def table(bench: Bench) -> Bench:
    bench.create("people", people(1, 2))
    bench.append("people", people(3, 4))
    bench.worker.lifetime = 1.0
    return bench


@pytest.fixture
def waiting(table: Bench) -> Iterator[str]:
    """A job that has begun, and goes on when the gate is opened."""
    BEGUN.clear()
    GATE.clear()
    add(table, name="x", virtual_column=virtual("waiting", ("x", "x", "int64"), input_columns=["id"]))
    job = table.lake.alter_table_backfill_columns({"id": ["people"], "column": "x", "concurrency": 1}).job_id
    running = threading.Thread(target=table.worker.run, kwargs={"once": True})
    running.start()
    assert BEGUN.wait(60)
    yield job
    GATE.set()
    running.join(60)
    assert not running.is_alive()


def ended(bench: Bench, job: str) -> Any:
    return bench.lake.wait_for_job(job, 60)


def row(bench: Bench, job: str) -> Any:
    return bench.lake._lake.read(lambda connection: connection.execute(select(rows).where(rows.c.key == job)).one())


def test_a_job_that_runs_is_cancelled(table: Bench, waiting: str) -> None:
    assert table.lake.describe_job(waiting).worker == table.worker.name
    asked = table.lake.cancel_job(waiting)
    assert (asked.state, asked.cancelled_by) == ("running", "alice")
    until = row(table, waiting).held_until
    while row(table, waiting).held_until == until:  # the lease is renewed, and the worker hears of it
        time.sleep(0.02)
    GATE.set()
    found = ended(table, waiting)
    assert (found.state, table.version("people")) == ("cancelled", 3)


def test_a_worker_that_is_stopped_gives_its_job_back(table: Bench, waiting: str) -> None:
    table.worker.stop()
    GATE.set()
    other = Worker(table.worker.places, table.worker.functions, state=table.worker.state)
    while row(table, waiting).holder is not None:
        time.sleep(0.02)
    assert (table.lake.describe_job(waiting).state, row(table, waiting).attempts) == ("queued", 0)
    other.run(once=True)
    found = table.lake.describe_job(waiting)
    assert (found.state, found.result["computed"]) == ("done", 1)  # the other fragment was computed before
    assert table.rows("people", "id", "x") == [(1, 1), (2, 2), (3, 3), (4, 4)]


@pytest.mark.slow
def test_a_worker_is_killed_and_another_goes_on_where_it_was(table: Bench, tmp_path: Path) -> None:
    add(table, name="x", virtual_column=virtual("stuck", ("x", "x", "int64"), input_columns=["id"]))
    job = table.lake.alter_table_backfill_columns({"id": ["people"], "column": "x", "concurrency": 1}).job_id
    command = [sys.executable, "-m", "lanceway", "jobs", "worker", "--uri", f"sqlite:///{tmp_path}/lake.db"]
    command += ["--functions", FUNCTIONS, "--state", str(table.worker.state)]
    environment = {**os.environ, STUCK: str(tmp_path / "stuck"), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment) as process:
        while not (tmp_path / "stuck").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    assert table.lake.describe_job(job).state == "running"
    assert table.done(job).state == "running"  # its lease has not ended yet
    with table.lake._lake.transaction() as connection:
        connection.execute(update(rows).values(held_until=0))
    found = table.done(job)
    assert (found.state, found.attempts, found.result["computed"]) == ("done", 2, 1)
    assert table.rows("people", "id", "x") == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_job_whose_worker_died_is_done_by_another(table: Bench) -> None:
    add(table, name="x", computed="id * 2")
    job = table.lake.alter_table_backfill_columns({"id": ["people"], "column": "x"}).job_id
    assert table.worker._claim() is not None  # and it is killed now
    with table.lake._lake.transaction() as connection:
        connection.execute(update(rows).values(held_until=0))
    found = table.done(job)
    assert (found.state, found.attempts) == ("done", 2)


@pytest.mark.parametrize(
    ("error", "state", "attempts"),
    [
        (ServiceUnavailableError("Away."), "queued", 1),
        (InvalidInputError("Wrong."), "failed", 1),
        (RuntimeError("a secret"), "failed", 1),
    ],
    ids=["passing", "wrong", "unexpected"],
)
def test_what_fails(table: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception, state: str, attempts: int) -> None:
    add(table, name="x", computed="id * 2")
    job = table.lake.alter_table_backfill_columns({"id": ["people"], "column": "x"}).job_id

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(loop, "backfill", fail)
    found = table.done(job)
    assert (found.state, found.attempts) == (state, attempts)
    assert str(found.error) in ("Away.", "Wrong.", "RuntimeError in the worker; its log says more.")


def test_what_may_pass_is_tried_no_more_than_three_times(table: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    add(table, name="x", computed="id * 2")
    job = table.lake.alter_table_backfill_columns({"id": ["people"], "column": "x"}).job_id

    def fail(*_: Any, **__: Any) -> None:
        raise ServiceUnavailableError("Away.")

    monkeypatch.setattr(loop, "backfill", fail)
    for _ in range(jobs.MOST_ATTEMPTS):
        with table.lake._lake.transaction() as connection:
            connection.execute(update(rows).values(due_at=0))
        found = table.done(job)
    assert (found.state, found.attempts, found.error) == ("failed", jobs.MOST_ATTEMPTS, "Away.")


def test_a_kind_that_this_worker_does_not_know(table: Bench) -> None:
    with table.lake._lake.transaction() as connection:
        job = jobs.record(connection, "later", "lanceway", "lake", ["people"], {}, by="alice")
    found = table.done(job.key)
    assert found.state == "failed"
    assert "Start a newer one" in str(found.error)


def test_two_workers_share_the_work(table: Bench) -> None:
    names = [f"x{number}" for number in range(4)]
    for name in names:
        table.create(name, people(1))
        table.lake.alter_table_add_columns({"id": [name], "new_columns": [{"name": "y", "computed": "id"}]})
        table.lake.alter_table_backfill_columns({"id": [name], "column": "y"})
    workers = [replace(table.worker) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda worker: worker.run(once=True), workers))
    assert sum(counts) == len(names)
    assert {job.state for job in table.lake.list_jobs()[0]} == {"done"}


def test_a_worker_ends_when_it_is_idle(table: Bench) -> None:
    assert table.worker.run(idle=0) == 0


def test_a_catalog_without_a_database_refuses_and_says_what_to_do(tmp_path: Path) -> None:
    folder: Any = lanceway.connect("dir", path=str(tmp_path))
    for call in (
        lambda: folder.alter_table_backfill_columns({"id": ["t"], "column": "x"}),
        lambda: folder.refresh_materialized_view({"id": ["t"]}),
        lambda: folder.describe_job("job-x"),
    ):
        with pytest.raises(UnsupportedOperationError, match="lanceway up"):
            call()
    foreign: Any = lanceway.connect("rest", uri="http://127.0.0.1:1/other")
    with pytest.raises(UnsupportedOperationError, match="only a Lanceway server"):
        foreign.describe_job("job-x")


def test_unknown_jobs(table: Bench) -> None:
    for method in ("describe_job", "cancel_job"):
        with pytest.raises(InvalidInputError, match="no job 'job-none'"):
            getattr(table.lake, method)("job-none")
    with pytest.raises(InvalidInputError, match="never 'gone'"):
        table.lake.list_jobs(state="gone")
