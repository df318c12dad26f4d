"""What is secret in options is shown nowhere: not in a plan, not in the event log, not in the user interface."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import lance
import pyarrow as pa

from lanceway.writes.table_ref import TableRef
from tests.spark_fixtures import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANTED = "PLANTED-IN-AN-OPTION"
# Keys that Spark would hide by their names, and one that it would not.
SECRETS = ("storage.secret_access_key", "namespace.storage.session_token", "namespace.storage.account_key")


def test_a_planted_secret_is_found_nowhere(spark: SparkSession, place: Place, folder: Path) -> None:
    lance.write_dataset(pa.table({"x": [1, 2, 3]}), folder / "t.lance")
    options = {"table": "t", "namespace.type": "dir", "namespace.path": str(folder), **dict.fromkeys(SECRETS, PLANTED)}
    shown = []
    for given in (options, TableRef.of(options).to_options()):
        frame = spark.read.format("lance").options(**given).load().where("x > 1")
        assert frame.count() == 2
        shown.append(frame._jdf.queryExecution().explainString(modes(spark, "extended")))
        shown.append(frame._jdf.queryExecution().explainString(modes(spark, "formatted")))
    (log,) = place.events.iterdir()
    until(lambda: "lance" in log.read_text() and "SparkListenerSQLExecutionEnd" in log.read_text())
    shown.append(log.read_text())
    shown.extend(pages(spark))
    assert len(shown) > 8
    assert [page[:200] for page in shown if PLANTED in page] == []


def modes(spark: SparkSession, name: str) -> object:
    assert spark._jvm is not None
    return spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString(name)


def pages(spark: SparkSession) -> list[str]:
    """The user interface's pages about queries, and what its REST interface says of them."""
    root, application = spark.sparkContext.uiWebUrl, spark.sparkContext.applicationId
    queries = f"{root}/api/v1/applications/{application}/sql?details=true&planDescription=true&length=1000"
    with httpx.Client(trust_env=False, timeout=60, follow_redirects=True) as client:
        found = client.get(queries).raise_for_status()
        last = max(query["id"] for query in found.json())
        addresses = [f"{root}/SQL/", f"{root}/SQL/execution/?id={last}", f"{root}/jobs/", f"{root}/environment/"]
        assert "lance" in found.text
        return [found.text, *(client.get(address).raise_for_status().text for address in addresses)]


def until(holds: Callable[[], bool]) -> None:
    for _ in range(100):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("Spark has not written its event log")
