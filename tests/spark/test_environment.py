"""What is said where Java or a package is missing, too old or too new."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lanceway.errors import InvalidInputError
from lanceway.spark import environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_this_environment_is_fit() -> None:
    environment.check_packages()
    environment.check_java()


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
        environment.check_java()


def test_java_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InvalidInputError, match="Spark needs Java, and none was found"):
        environment.check_java()


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
        environment.check_packages()


def test_workers_without_the_package(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.check_workers(spark)
    bare = getattr(sys, "_base_executable", sys.executable)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", bare)
    with pytest.raises(InvalidInputError, match=r"spark.python.daemon.module is set.* leave that setting out"):
        environment.check_workers(spark)
    running = spark.sparkContext._jsc.sc().conf()
    running.set(environment.DAEMON, "pyspark.daemon")  # as it is on a cluster
    try:
        with pytest.raises(InvalidInputError, match="lanceway is not installed where Spark's Python workers run: "):
            environment.check_workers(spark)
    finally:
        running.set(environment.DAEMON, environment.OWN_DAEMON)
