"""A migration carried out by Spark's workers: the same outcomes as in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lanceway import jobs
from lanceway.catalogs import DirectoryCatalog
from lanceway.tables.storage.store import open_store
from tests.jobs import move_helpers as moves
from tests.jobs.move_helpers import Heard, states

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_copy_verify_and_tell(spark: SparkSession, source: DirectoryCatalog, tmp_path: Path) -> None:
    moves.make(source, "team.motley", moves.motley())
    moves.make(source, "broken")
    store = open_store(moves.describe(source, "broken").location)
    store.delete(*store.keys("data"))
    target, heard = moves.lake(tmp_path), Heard()
    report = jobs.migrate(source, target, spark=spark, threads=2, listen=heard)
    assert states(report) == {"new": 3, "failed": 1}
    assert [problem.table for problem in report.problems] == ["broken"]
    assert heard["team.motley"].rows == 50
    assert moves.versions(target, "team.motley") == [1]
    assert moves.names(target) == {"events", "team.motley", "team.sales.orders"}
    # Known by what the driver has noted, without a look at the rows: here, in a process without Spark.
    assert states(jobs.migrate(source, target, only=["team.*", "events"])) == {"known": 3}
