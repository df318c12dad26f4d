"""What a worker does with Spark: views by free SQL, and the fragments of a backfill."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest
from lance import Blob
from lance.blob import blob_array, blob_field

import lanceway
from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.federated.locations import AllowedBasePaths
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.loop import Worker
from lanceway.tables import bases
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


@pytest.fixture(scope="module")
def free_sql(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A worker that allows free SQL, and a lake with a table of people."""
    tmp_path = tmp_path_factory.mktemp("free")
    lake = lanceway.connect("lake", uri=f"sqlite:///{tmp_path}/lake.db", root=str(tmp_path / "data"), user="alice")
    assert isinstance(lake, LakeCatalog)
    with lake:
        bench = Bench(lake, Worker(Places(lake._lake), sql=True, state=str(tmp_path / "jobs.sqlite")))
        bench.create("people", people(1, 2, 3))
        yield bench


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT TRANSFORM('x') USING 'touch {touched}' AS (name STRING, rows BIGINT)",
        "WITH t AS (SELECT TRANSFORM('x') USING 'touch {touched}' AS (name STRING, rows BIGINT)) SELECT * FROM t",
        "SELECT * FROM people WHERE id IN (SELECT TRANSFORM('x') USING 'touch {touched}' AS (v STRING))",
        "SELECT java_method('java.io.File', 'createTempFile', 'a', 'b') AS name, 1L AS rows",
        "SELECT 'x' AS name, (SELECT max(try_reflect('java.lang.System', 'exit', 1)) FROM people) AS rows",
        "VALUES (reflect('java.lang.System', 'getProperty', 'user.home'), 1L)",
        "DROP TABLE people",
        "EXECUTE IMMEDIATE 'DROP TABLE people'",
        "BEGIN DROP TABLE people; END",
        "INSERT OVERWRITE DIRECTORY '{touched}' USING text SELECT 'x'",
        "INSERT INTO people SELECT 9L, 'x'",
        "WITH t AS (SELECT 1) INSERT INTO people SELECT 9L, 'x'",
        "FROM people INSERT INTO people SELECT * INSERT INTO people SELECT *",
        "CREATE TABLE made AS SELECT 1 AS x",
        "SET spark.sql.runSQLOnFiles = true",
        "SELECT * FROM text.`/etc/hostname`",
        "SELECT * FROM spark_catalog.text.`/etc/hostname`",
        "SELECT count(*) AS rows, 'x' AS name FROM lance.`{data}`",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "CALL anything()",
    ],
)
def test_free_sql_is_a_plain_query(free_sql: Bench, tmp_path: Path, sql: str) -> None:
    touched = tmp_path / "touched"
    view = f"view_{uuid.uuid4().hex[:8]}"
    job = free_sql.view(view, SCHEMA, {"sql": sql.format(touched=touched, data=tmp_path)})
    assert job is not None
    assert job.state == "failed"
    assert "The view's SQL is refused" in str(job.error)
    assert not touched.exists()
    assert free_sql.rows("people", "id") == [(1,), (2,), (3,)]
    assert free_sql.rows(view, "name", "rows") == []


@pytest.mark.parametrize(
    "sql",
    [
        "WITH t AS (SELECT name FROM people WHERE id IN (SELECT max(id) FROM people)) SELECT name, 1L AS rows FROM t",
        "SELECT name, row_number() OVER (ORDER BY id) AS rows FROM people VERSION AS OF 1 ORDER BY id LIMIT 3",
        "SELECT upper(name) AS name, id AS rows FROM people UNION ALL (VALUES ('x', 1L)) EXCEPT SELECT 'y', 2L",
        "SELECT t.name, count(*) AS rows FROM people t JOIN people u USING (id) GROUP BY t.name HAVING count(*) > 0",
        "SELECT e AS name, id AS rows FROM people LATERAL VIEW explode(array(name, 'z')) x AS e",
        "FROM people |> WHERE id > 1 |> SELECT name, id AS rows",
        "SELECT DISTINCT name, (SELECT count(*) FROM lake.people) AS rows FROM range(2) CROSS JOIN people",
        "SELECT name, sum(id) AS rows FROM people GROUP BY name WITH ROLLUP",
    ],
)
def test_plain_queries_of_every_kind(free_sql: Bench, sql: str) -> None:
    view = f"view_{uuid.uuid4().hex[:8]}"
    job = free_sql.view(view, SCHEMA, {"sql": sql})
    assert job is not None
    assert (job.state, job.error) == ("done", None)
    assert free_sql.rows(view, "name", "rows")


@pytest.fixture
def confined(free_sql: Bench) -> Iterator[None]:
    """Base paths are confined, as they are in the worker of a server."""
    release = bases.confine(AllowedBasePaths(store=free_sql.worker.places.store))
    yield
    release()


def _pictures(bench: Bench, place: Path, *blobs: Blob | bytes) -> str:
    """A table that a client has written by itself, with these blobs, and that was registered."""
    name = f"pictures_{uuid.uuid4().hex[:8]}"
    rows = pa.table([pa.array(range(len(blobs))), blob_array(blobs)], schema=pa.schema([("id", pa.int64()), PICTURE]))
    lance.write_dataset(
        rows, str(place), data_storage_version="2.2", allow_external_blob_outside_bases=True, max_rows_per_file=1
    )
    properties = {"lanceway.versioning": "storage"}
    bench.lake.register_table({"id": [name], "location": str(place), "properties": properties})
    return name


PICTURE = blob_field("picture")
SHOWN = pa.schema([("id", pa.int64()), ("text", pa.string())])


def test_free_sql_reads_no_blob_elsewhere(free_sql: Bench, confined: None, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    foreign = _pictures(free_sql, tmp_path / "foreign", b"own", Blob.from_uri(secret.as_uri()))
    own = _pictures(free_sql, tmp_path / "own", b"own", b"other")
    texts = "SELECT id, string(picture) AS text FROM {}"
    refused = free_sql.view(f"of_{foreign}", SHOWN, {"sql": texts.format(foreign)})
    assert refused is not None
    assert refused.state == "failed"
    assert "blobs outside of its location" in str(refused.error)
    assert free_sql.rows(f"of_{foreign}", "id", "text") == []
    ids = free_sql.view(f"ids_of_{foreign}", SHOWN, {"sql": f"SELECT id, 'x' AS text FROM {foreign}"})
    assert ids is not None
    assert ids.error is None
    read = free_sql.view(f"of_{own}", SHOWN, {"sql": texts.format(own)})
    assert read is not None
    assert read.error is None
    assert free_sql.rows(f"of_{own}", "id", "text") == [(0, "own"), (1, "other")]
