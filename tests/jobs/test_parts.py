"""Parts side by side: each told once, and after a failure or a stop none is begun and none is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lanceway.errors import InternalError, InvalidInputError
from lanceway.jobs import executor
from lanceway.jobs.executor import JobContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_so_many_are_under_way_at_a_time_and_no_more() -> None:
    meeting = threading.Barrier(3)
    under_way = threading.Semaphore(3)

    def work(part: int) -> int:
        assert under_way.acquire(blocking=False)
        meeting.wait(timeout=30)  # none goes on before three are here
        under_way.release()
        return part * part

    results = dict(executor.run_parts(work, range(9), JobContext(threads=3)))
    assert results == {number: number * number for number in range(9)}


def test_after_a_failure_no_part_is_begun_and_those_under_way_are_told() -> None:
    failed, begun = threading.Event(), []

    def work(part: int) -> int:
        begun.append(part)
        if part == 1:
            failed.set()
            raise InvalidInputError("the second")
        failed.wait(timeout=30)
        return part

    results: list[int] = []
    with pytest.raises(InvalidInputError, match="the second"):
        results.extend(done for _, done in executor.run_parts(work, range(100), JobContext(threads=2)))
    assert 0 in results or 0 in begun
    assert set(results) == set(begun) - {1}
    assert len(begun) < 100


def test_parts_are_taken_as_they_are_needed_and_not_after_a_stop() -> None:
    begun: list[int] = []

    def parts() -> Iterator[int]:
        for number in range(100):
            begun.append(number)
            yield number

    context = JobContext(threads=1, should_stop=lambda: len(begun) >= 3)
    done = [part for part, _ in executor.run_parts(str, parts(), context)]
    assert done == begun == [0, 1, 2]


def test_spark_carries_parts_out_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def work(part: int) -> bool:
        """Wait for the other one, who does the same."""
        import time
        from pathlib import Path

        Path(folder, str(part)).touch()
        for _ in range(600):
            if Path(folder, str(1 - part)).exists():
                return True
            time.sleep(0.05)
        return False

    assert dict(executor.run_parts(work, range(2), JobContext(threads=2, spark=spark))) == {0: True, 1: True}


def test_short_parts_share_a_job_of_spark_and_after_a_failure_all_that_were_made_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = str(tmp_path)

    def work(part: int) -> int:
        from pathlib import Path

        from lanceway.errors import InvalidInputError

        Path(folder, str(part)).touch()
        if part == 50:
            raise InvalidInputError("the fiftieth")
        return part

    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    results: list[int] = []
    with pytest.raises(InvalidInputError, match="the fiftieth"):
        results.extend(done for _, done in executor.run_parts(work, range(60), JobContext(threads=2, spark=spark)))
    begun = {int(file.name) for file in tmp_path.iterdir()}
    assert sorted(results) == sorted(begun - {50})
    assert len(set(tracker.getJobIdsForGroup()) - before) < 40


@pytest.mark.parametrize(
    ("together", "left", "expected"),
    [(1, 100, 1), (20, 100, 20), (500, 1000, 64), (20, 40, 10), (20, 3, 5), (3, 2, 1), (0, 100, 1), (20, None, 20)],
)
def test_how_many_parts_are_given_together(together: int, left: int | None, expected: int) -> None:
    assert executor.share(together, left, threads=2) == expected


def test_what_a_worker_raises_arrives_as_it_was(spark: SparkSession) -> None:
    def refuse(part: int) -> int:
        raise InvalidInputError(f"part {part} is refused")

    with pytest.raises(InvalidInputError, match=r"^part 7 is refused$"):
        list(executor.run_parts(refuse, [7], JobContext(spark=spark)))

    def crash(part: int) -> int:
        raise ZeroDivisionError

    with pytest.raises(InternalError, match=r"Spark could not carry out a part of the job: .* Run it again\."):
        list(executor.run_parts(crash, [7], JobContext(spark=spark)))
