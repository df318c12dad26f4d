"""Credentials that end while a job runs are renewed where the job runs: in its tasks, and where it is committed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest
from lance_namespace import DescribeTableRequest

from tests.servers import seaweedfs
from tests.spark.expiring_catalog import LIFE, ExpiringCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.run import Run


def slowly(batches):  # Spark would read annotations as a kind of function that it has not
    for batch in batches:
        for id_ in batch.column(0).to_pylist():
            time.sleep(1)
            yield pa.record_batch({"id": [id_]})


def test_a_write_outlives_its_credentials(spark: SparkSession, whole_run: Run) -> None:
    s3 = seaweedfs.start_sts(whole_run)
    path, storage = s3.prefix(), {f"storage.{key}": value for key, value in s3.storage_options.items()}
    settings = {f"namespace.{key}": value for key, value in {"path": path, **storage}.items()}
    type_ = f"{ExpiringCatalog.__module__}.{ExpiringCatalog.__name__}"
    options = {"namespace.type": type_, **settings, "table": "t", "max_rows_per_file": "1"}
    spark.range(0, 1).write.format("lance").mode("append").options(**options).save()
    given = ExpiringCatalog(path=path, **storage).describe_table(DescribeTableRequest(id=["t"])).storage_options
    rows = spark.range(1, int(LIFE) + 4, numPartitions=1).mapInArrow(slowly, "id bigint")
    rows.write.format("lance").mode("append").options(**options).save()
    table = lance.dataset(f"{path}/t", storage_options=s3.storage_options)
    assert sorted(table.to_table()["id"].to_pylist()) == list(range(int(LIFE) + 4))
    # Those that were given before the job have ended by now: it could not have lived by them.
    assert given is not None
    with pytest.raises(ValueError, match="InvalidAccessKeyId"):
        lance.dataset(f"{path}/t", storage_options={key: given[key] for key in given if not key.endswith("millis")})
