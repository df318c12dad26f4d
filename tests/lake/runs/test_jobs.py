"""Background jobs as rows: taken once, given back, taken again after a death, cancelled, and never two on one table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from sqlalchemy import select, update

from lanceway.errors import ThrottlingError
from lanceway.lake.runs import jobs
from lanceway.lake.runs.job_states import CANCELLED, DONE, FAILED, QUEUED, RUNNING
from lanceway.lake.runs.jobs import JobRow
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import jobs as rows

Answer = TypeVar("Answer")
LIFETIME = 60_000


class Book:
    """The jobs of a store, each call in a transaction of its own."""

    def __init__(self, store: LakeStore) -> None:
        self.store = store

    def do(self, function: Callable[..., Answer], *arguments: Any, **options: Any) -> Answer:
        return self.store.transact(function, *arguments, **options)

    def record(self, *path: str, kind: str = "backfill", **request: Any) -> JobRow:
        return self.do(jobs.record, kind, "m", "lake", path, request, by="alice")

    def claim(self, holder: str = "w1", lifetime: int = LIFETIME) -> JobRow | None:
        return self.do(jobs.claim, "m", holder, by="worker", lifetime=lifetime)

    def find(self, job: JobRow) -> JobRow:
        found = self.do(jobs.find, job.key)
        assert found is not None
        return found

    def let_lease_end(self, job: JobRow) -> None:
        self.do(lambda connection: connection.execute(update(rows).where(rows.c.key == job.key).values(held_until=0)))


@pytest.fixture
def book(store: LakeStore) -> Book:
    return Book(store)


def test_a_job_is_recorded_taken_and_ended(book: Book) -> None:
    made = book.record("team", "orders", column="x")
    assert (made.state, made.path, made.request) == (QUEUED, ("team", "orders"), {"column": "x"})
    assert book.do(jobs.is_due, "m")
    assert not book.do(jobs.is_due, "other metalake")
    taken = book.claim()
    assert taken is not None
    assert (taken.key, taken.state, taken.attempts, taken.held_by) == (made.key, RUNNING, 1, "worker")
    assert not book.do(jobs.is_due, "m")
    assert book.claim("w2") is None
    renewed = book.do(jobs.renew, taken, lifetime=LIFETIME, progress={"done": 1})
    assert renewed is not None
    assert (renewed.progress, renewed.cancelled_by) == ({"done": 1}, None)
    book.do(jobs.end, taken, DONE, result={"rows": 3})
    ended = book.find(made)
    assert (ended.state, ended.result, ended.error, ended.held_by) == (DONE, {"rows": 3}, None, None)
    assert ended.created_at <= (ended.began_at or 0) <= (ended.ended_at or 0)


def test_the_same_is_waited_for_once_and_may_be_asked_for_again_while_it_runs(book: Book) -> None:
    first = book.record("t", column="x")
    assert book.record("t", column="x").key == first.key
    assert book.record("t", column="y").key != first.key
    assert book.record("u", column="x").key != first.key
    taken = book.claim()
    assert taken is not None
    assert taken.key == first.key
    again = book.record("t", column="x")
    assert again.key != first.key
    book.do(jobs.release, taken)  # there are two that wait now
    assert (book.find(first).state, book.find(again).state) == (QUEUED, QUEUED)
    listed = book.do(jobs.page, "m", state=QUEUED)
    assert {first.key, again.key} <= {job.key for job in listed}


def test_one_job_of_a_table_runs_at_a_time(book: Book) -> None:
    for column in "xy":
        book.record("t", column=column)
    book.record("u", column="x")
    first, other, none = book.claim("w1"), book.claim("w2"), book.claim("w3")
    assert first is not None
    assert other is not None
    assert ([first.path, other.path], none) == ([("t",), ("u",)], None)
    book.do(jobs.end, first, DONE)
    second = book.claim("w3")
    assert second is not None
    assert second.request == {"column": "y"}


def test_a_job_whose_worker_died_is_taken_again_until_that_is_enough(book: Book) -> None:
    made = book.record("t")
    for attempt in range(1, jobs.MOST_ATTEMPTS + 1):
        taken = book.claim(f"w{attempt}")
        assert taken is not None
        assert taken.attempts == attempt
        book.let_lease_end(made)
        if attempt > 1:
            assert book.do(jobs.renew, JobRow(**{**_plain(taken), "holder": "w1"}), lifetime=1) is None
    assert book.claim("last") is None
    found = book.find(made)
    assert found.state == FAILED
    assert "died 3 times" in str(found.error)


def _plain(job: JobRow) -> dict[str, Any]:
    return {name: getattr(job, name) for name in JobRow.__slots__}


def test_who_lost_a_job_cannot_end_it(book: Book) -> None:
    made = book.record("t")
    late = book.claim("w1")
    assert late is not None
    book.let_lease_end(made)
    assert book.claim("w2") is not None
    book.do(jobs.end, late, FAILED, error="late")
    assert (book.find(made).state, book.find(made).error) == (RUNNING, None)


def test_a_job_that_is_given_back_waits(book: Book) -> None:
    made = book.record("t")
    taken = book.claim()
    assert taken is not None
    book.do(jobs.release, taken)
    assert (book.find(made).state, book.find(made).attempts) == (QUEUED, 0)
    taken = book.claim()
    assert taken is not None
    book.do(jobs.release, taken, pause=LIFETIME, error="busy", counts=True)
    assert (book.find(made).attempts, book.find(made).error) == (1, "busy")
    assert book.claim() is None


def test_jobs_that_come_back_at_once_do_not_starve_a_later_one(book: Book) -> None:
    views = [book.record(f"view{number}", kind="refresh") for number in range(4)]
    later = book.record("orders")
    time.sleep(0.002)  # due times are milliseconds
    claimed = []
    for _ in range(2 * len(views)):
        job = book.claim()
        assert job is not None
        claimed.append(job.key)
        if job.key == later.key:
            break
        book.do(jobs.release, job)  # a view that is kept fresh, whose pause is over at once
    assert claimed == [*(view.key for view in views), later.key]


def test_one_user_does_not_fill_the_queue(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_OF_ONE_USER", 2)
    first, _ = book.record("a"), book.record("b")
    with pytest.raises(ThrottlingError, match="alice has 2 jobs that have not ended"):
        book.record("c")
    assert book.record("a").key == first.key  # what waits already is no new job
    book.do(jobs.record, "backfill", "m", "lake", ("c",), {}, by="bob")
    book.do(jobs.cancel, first.key, by="alice")
    book.record("c")


def test_a_job_is_cancelled_while_it_waits_and_while_it_runs(book: Book) -> None:
    waiting, running = book.record("t"), book.record("u")
    cancelled = book.do(jobs.cancel, waiting.key, by="bob")
    assert cancelled is not None
    assert (cancelled.state, cancelled.cancelled_by) == (CANCELLED, "bob")
    taken = book.claim()
    assert taken is not None
    asked = book.do(jobs.cancel, running.key, by="bob")
    assert asked is not None
    assert asked.state == RUNNING
    renewed = book.do(jobs.renew, taken, lifetime=LIFETIME)
    assert renewed is not None
    assert renewed.cancelled_by == "bob"
    book.let_lease_end(running)  # its worker dies instead
    assert book.claim() is None
    assert book.find(running).state == CANCELLED
    assert book.do(jobs.cancel, "job-none", by="bob") is None
    ended = book.do(jobs.cancel, waiting.key, by="carol")
    assert ended is not None
    assert ended.cancelled_by == "bob"


def test_pages_have_the_newest_first(book: Book) -> None:
    made = [book.record("t", column=str(number)) for number in range(5)]
    book.do(jobs.record, "refresh", "m", "lake", ["u"], {}, by="bob")
    page = book.do(jobs.page, "m", path=["t"], limit=2)
    assert [job.key for job in page] == [made[4].key, made[3].key]
    page = book.do(jobs.page, "m", path=["t"], before=page[-1].id, limit=2)
    assert [job.key for job in page] == [made[2].key, made[1].key]
    assert [job.path for job in book.do(jobs.page, "m", user="bob")] == [("u",)]
    assert book.do(jobs.page, "m", state=RUNNING) == []
    assert book.do(jobs.page, "m", catalog="other") == []
    assert book.do(jobs.page, "n") == []


def test_ended_jobs_are_forgotten(book: Book) -> None:
    made, waiting = book.record("t"), book.record("u")
    taken = book.claim()
    assert taken is not None
    book.do(jobs.end, taken, DONE)
    book.do(jobs.forget, older=LIFETIME)
    assert book.find(made).state == DONE
    book.do(jobs.forget, older=-1_000)
    assert book.do(jobs.find, made.key) is None
    assert book.find(waiting).state == QUEUED


def test_workers_race_for_jobs(uri: str, rounds: int) -> None:
    """Each job is taken once, and no two of one table are held together."""
    with_ = open_store(uri)
    book = Book(with_)
    count = 4 * max(4, min(rounds, 20))
    for number in range(count):
        book.record(f"t{number % 3}", number=number)
    seen: list[int] = []
    running: dict[tuple[str, ...], int] = {}
    clashes: list[tuple[str, ...]] = []
    lock = threading.Lock()

    def work(worker: int) -> None:
        idle = 0
        while idle < 20:
            taken = book.claim(f"w{worker}")
            if taken is None:
                idle += 1
                continue
            idle = 0
            with lock:
                seen.append(taken.id)
                if running.get(taken.path):
                    clashes.append(taken.path)
                running[taken.path] = taken.id
            with lock:
                running[taken.path] = 0
            book.do(jobs.end, taken, DONE)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    left = with_.read(lambda connection: connection.execute(select(rows.c.id).where(rows.c.state != DONE)).all())
    with_.close()
    assert sorted(seen) == sorted(set(seen))
    assert (clashes, left, len(seen)) == ([], [], count)
