"""One Spark for all tests here: a local session with two cores, an event log and a user interface."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lanceway.spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Place:
    """Where the shared session keeps what tests look at."""

    root: Path

    @property
    def warehouse(self) -> Path:
        """The folder of the namespace that `lanceway.toml` calls `warehouse`."""
        return self.root / "warehouse"

    @property
    def events(self) -> Path:
        return self.root / "events"


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    found = Place(tmp_path_factory.mktemp("spark"))
    for folder in (found.warehouse, found.events):
        folder.mkdir()
    return found


@pytest.fixture(scope="session")
def spark(place: Place) -> Iterator[SparkSession]:
    """A session as a user gets it, who has a `lanceway.toml` with the namespace `warehouse`."""
    file = place.root / "lanceway.toml"
    file.write_text(f'[namespaces.warehouse]\ntype = "dir"\npath = "{place.warehouse}"\nlayout = "manifest"\n')
    conf = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": place.events.as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Kolkata",  # so that no test holds by living in UTC
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (place.root / "own").as_uri(),
        "spark.ui.port": "0",
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCEWAY_CONFIG", str(file))  # Spark's workers read it too, and inherit it from its JVM
        session = lanceway.spark.session("local[2]", app_name="tests", conf=conf)
    session.sparkContext.setLogLevel("OFF")
    yield session
    stop(session)


def stop(session: SparkSession) -> None:
    """End a session and the JVM under it, so that another may begin."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)
    SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that is removed at once: tables are large, and pytest keeps its folders."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def lance(spark: SparkSession, path: Path | str, **options: object) -> DataFrame:
    """A table by its path. Options with a dot in their names are given as `**{"storage.x": …}`."""
    return spark.read.format("lance").options(**{key: str(value) for key, value in options.items()}).load(str(path))
