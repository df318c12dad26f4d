"""What a worker does with Spark: views by free SQL, and the fragments of a backfill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import lanceway
from lanceway.catalogs import LakeCatalog
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.loop import Worker
from tests.jobs.worker.conftest import Bench, people

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("name", pa.string()), ("rows", pa.int64())])


def test_free_sql_and_a_backfill_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    lake = lanceway.connect("lake", uri=f"sqlite:///{tmp_path}/lake.db", root=str(tmp_path / "data"), user="alice")
    assert isinstance(lake, LakeCatalog)
    with lake:
        bench = Bench(lake, Worker(Places(lake._lake), sql=True, state=str(tmp_path / "jobs.sqlite")))
        bench.create("people", people(1, 2))
        bench.append("people", people(2, 3))
        sql = "SELECT name, count(*) AS rows FROM people GROUP BY name"
        job = bench.view("counts", SCHEMA, {"sql": sql})
        assert job is not None
        assert (job.state, job.error) == ("done", None)
        assert bench.rows("counts", "name", "rows") == [("n1", 1), ("n2", 2), ("n3", 1)]
        bad = bench.view("wrong", SCHEMA, {"sql": "SELECT 1 AS one"})
        assert bad is not None
        assert (bad.state, "gives one" in str(bad.error)) == ("failed", True)
        bench.worker._spark = lambda: spark  # type: ignore[method-assign] # the session of all tests
        lake.alter_table_add_columns({"id": ["people"], "new_columns": [{"name": "x", "computed": "id * 2"}]})  # type: ignore[arg-type]
        assert bench.backfill("people", "x").error is None
        assert bench.rows("people", "id", "x") == [(1, 2), (2, 4), (2, 4), (3, 6)]
        plain = bench.view("copy", people(1).schema, {"source": ["people"], "columns": ["id", "name"]})
        assert plain is not None
        assert plain.error is None
        assert bench.rows("copy", "id", "name") == [(1, "n1"), (2, "n2"), (2, "n2"), (3, "n3")]
