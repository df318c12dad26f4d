"""Sessions: built, or adopted with everything set."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lanceway.spark
from lanceway.errors import InvalidInputError
from lanceway.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def test_a_running_session_is_adopted(spark: SparkSession) -> None:
    adopted = lanceway.spark.session(conf={"spark.sql.shuffle.partitions": "3"})
    try:
        assert adopted is spark or adopted.sparkContext is spark.sparkContext
        assert adopted.conf.get(PUSHDOWN) == "false"  # which is a danger to other sources in Python
        assert adopted.conf.get("spark.sql.shuffle.partitions") == "3"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert logging.getLogger("SQLQueryContextLogger").disabled


def test_the_namespaces_of_the_configuration_are_catalogs(spark: SparkSession) -> None:
    spark.sql("SHOW NAMESPACES IN warehouse").collect()  # which Spark refuses for a name that is no catalog


def test_workers_are_forked_by_a_daemon_that_has_imported_the_contract(spark: SparkSession) -> None:
    def parent(_: int) -> tuple[str, int]:
        of = Path("/proc") / str(os.getppid())
        return (of / "cmdline").read_text(), len(list((of / "task").iterdir()))

    (command, threads), *_ = spark.sparkContext.range(1).map(parent).collect()
    assert "lanceway.spark.daemon" in command
    assert threads == 1  # or a fork would not be safe


def test_importing_the_package_loads_neither_spark_nor_lance() -> None:
    heavy = "{'pyspark', 'lance', 'lance_namespace', 'pyarrow', 'pandas'}"
    code = f"import sys, lanceway.spark; assert not {heavy} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_is_not_offered_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sesion'"):
        _ = lanceway.spark.sesion


def test_this_environment_is_fit() -> None:
    sessions.check_packages()
    sessions.check_java()


def old_java(home: Path, version: str) -> None:
    """A fake: no machine has every old Java. It says its version as the real ones do."""
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2021-01-19' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(("version", "named"), [("1.8.0_402", "1"), ("11.0.10", "11")])
def test_java_that_is_too_old(version: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InvalidInputError, match=f"is Java {named}, which is too old for Spark. Install a JRE or JDK"):
        sessions.check_java()


def test_java_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InvalidInputError, match="Spark needs Java, and none was found"):
        sessions.check_java()


@pytest.mark.parametrize(
    ("package", "version", "sentence"),
    [
        ("pandas", "3.0.1", "pandas 3.0.1 does not work with PySpark. Install an older one"),
        ("pyspark", "4.0.1", "PySpark 4.0.1 is too old: 4.1 is the first"),
    ],
)
def test_packages_that_do_not_fit(
    package: str, version: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / f"{package}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(tmp_path))  # as if it were the one that is installed
    with pytest.raises(InvalidInputError, match=sentence):
        sessions.check_packages()


def test_workers_without_the_package(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions.check_workers(spark)
    bare = getattr(sys, "_base_executable", sys.executable)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", bare)
    with pytest.raises(InvalidInputError, match=r"spark.python.daemon.module is set.* leave that setting out"):
        sessions.check_workers(spark)
    running = spark.sparkContext._jsc.sc().conf()
    running.set(sessions.DAEMON, "pyspark.daemon")  # as it is on a cluster
    try:
        with pytest.raises(InvalidInputError, match="lanceway is not installed where Spark's Python workers run: "):
            sessions.check_workers(spark)
    finally:
        running.set(sessions.DAEMON, sessions.OWN_DAEMON)
