"""The bridge between Spark's catalogs and the driver's process: its jar, who answers, and whose catalog is meant."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lanceway.errors import UnsupportedOperationError
from lanceway.spark.catalog import bridge, driver
from tests.servers.lanceway import Lanceway
from tests.spark.catalog.sql_helpers import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RESTARTED = Path(__file__).with_name("restart_program.py")


def test_the_same_sources_make_the_same_jar(tmp_path: Path) -> None:
    made = tmp_path / bridge.jar_name()
    bridge.build(made)
    assert made.read_bytes() == bridge.jar().read_bytes()
    assert "io/lanceway/spark/LancewayCatalog.class" in zipfile.ZipFile(made).namelist()
    assert [path.name for path in tmp_path.iterdir()] == [made.name]


def test_without_a_compiler_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedOperationError, match=r'no javac.* JDK.* format."lance". works without it'):
        bridge.jar()


def test_a_source_that_does_not_compile_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "jvm"
    broken.mkdir()
    (broken / "Broken.java").write_text("class Broken {")
    monkeypatch.setattr(bridge, "SOURCES", broken)
    with pytest.raises(UnsupportedOperationError, match=r"could not be built by .*Broken.java"):
        bridge.build(tmp_path / "jars" / "broken.jar")
    assert list((tmp_path / "jars").iterdir()) == []


def test_a_catalog_may_stand_in_the_configuration_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.by_hand", bridge.CATALOG_CLASS)
    spark.conf.set("spark.sql.catalog.by_hand.type", "dir")
    spark.conf.set("spark.sql.catalog.by_hand.path", str(tmp_path))
    sql = Sql(spark, "by_hand", "")
    sql.run("CREATE TABLE {c}.t (id INT)")
    assert sql.rows("SHOW TABLES IN {c}") == [("", "t", False)]
    assert "does not support" in sql.refusal("CREATE NAMESPACE {c}.below")


def test_a_name_that_nobody_knows_is_refused(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.catalog.unheard", bridge.CATALOG_CLASS)
    said = Sql(spark, "unheard", "").refusal("SHOW TABLES IN {c}")
    assert "[LANCEWAY_INVALID_INPUT] No namespace is called 'unheard'" in said
    spark.conf.set("spark.sql.catalog.wrong", bridge.CATALOG_CLASS)
    spark.conf.set("spark.sql.catalog.wrong.type", "hyve")
    assert "There is no catalog of type 'hyve'" in Sql(spark, "wrong", "").refusal("SHOW TABLES IN {c}")


def test_a_name_may_be_given_another_meaning(spark: SparkSession, tmp_path: Path) -> None:
    sql = Sql(spark, "changing", "")
    for folder in ("one", "other"):
        driver.register(spark, "changing", {"type": "dir", "path": str(tmp_path / folder)})
        assert sql.rows("SHOW TABLES IN {c}") == []
        sql.run("CREATE TABLE {c}.t (id INT)")
    assert (tmp_path / "one").is_dir()
    assert (tmp_path / "other").is_dir()


def test_where_nobody_answers_it_says_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    driver.register(spark, "silent", {"type": "dir", "path": str(tmp_path)})
    sql = Sql(spark, "silent", "")
    bridge.attach(spark).connect(None)
    try:
        said = sql.refusal("SHOW TABLES IN {c}")
        assert "[LANCEWAY_SERVICE_UNAVAILABLE] No Python process answers" in said
        assert "Call lanceway.spark.install(spark)" in said
    finally:
        driver.connect(spark)
    assert sql.rows("SHOW TABLES IN {c}") == []


def test_a_refused_token_is_told_as_such(spark: SparkSession, server: Lanceway) -> None:
    from pyspark.errors import AnalysisException

    driver.register(spark, "stranger", {"type": "rest", "uri": server.uri, "token": "nobody's"})
    with pytest.raises(AnalysisException) as refused:
        spark.sql("SHOW NAMESPACES IN stranger")
    assert refused.value.getCondition() == "LANCEWAY_UNAUTHENTICATED"
    assert refused.value.getSqlState() == "28000"


def test_sessions_of_one_application_have_catalogs_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    other = spark.newSession()
    for session, folder in ((spark, "one"), (other, "other")):
        driver.register(session, "same", {"type": "dir", "path": str(tmp_path / folder)})
        Sql(session, "same", "").run(f"CREATE TABLE {{c}}.{folder} (id INT)")
    assert Sql(spark, "same", "").rows("SHOW TABLES IN {c}") == [("", "one", False)]
    assert Sql(other, "same", "").rows("SHOW TABLES IN {c}") == [("", "other", False)]


def test_catalogs_work_after_spark_was_stopped_and_started_again(tmp_path: Path) -> None:
    """And where the folder for temporary files has a name that is too long for a socket in it."""
    place = tmp_path / ("long" * 30)
    place.mkdir()
    command = [sys.executable, str(_RESTARTED), str(tmp_path / "lake")]
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
    printed = ["1 ['t0', 't1']", "300000", "2 ['t0', 't1', 't2']", "300000"]
    assert done.stdout.splitlines() == printed, done.stderr[-2000:]
