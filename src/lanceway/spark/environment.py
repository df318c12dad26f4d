"""What Spark needs around it: Java, packages here, and packages where its workers run."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from typing import TYPE_CHECKING

from lanceway import config
from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
OLDEST_SPARK = (4, 1)
# Spark's setting of what forks Python workers, and what does so with the contract imported.
DAEMON, OWN_DAEMON = "spark.python.daemon.module", "lanceway.spark.daemon"
_INSTALL = "Install it with: pip install 'lanceway[spark]'."
_THERE = "Install it there with pip install 'lanceway[spark]', or set PYSPARK_PYTHON to a Python that has it."
_VERSION = re.compile(r'version "(\d+)')


def check_packages() -> None:
    """Raises InvalidInputError, saying what is missing or does not fit, and what to do."""
    spark = _version("pyspark")
    if spark is None:
        raise InvalidInputError(f"Spark is not installed here. {_INSTALL}")
    if spark < OLDEST_SPARK:
        raise InvalidInputError(
            f"PySpark {metadata.version('pyspark')} is too old: {'.'.join(map(str, OLDEST_SPARK))} is the first "
            f"that takes Arrow batches from a data source and hands it filters. {_INSTALL}"
        )
    pandas = _version("pandas")
    if pandas is None:
        raise InvalidInputError(f"pandas is not installed here, and PySpark needs it. {_INSTALL}")
    if pandas >= (3,):
        raise InvalidInputError(
            f"pandas {metadata.version('pandas')} does not work with PySpark. Install an older one with: "
            "pip install 'pandas<3'."
        )


def check_java() -> None:
    """Raises InvalidInputError where the Java that Spark would start is missing or too old."""
    java = config.java()
    advice = f"Install a JRE or JDK of version {OLDEST_JAVA} or later, and set JAVA_HOME or the path to it."
    if java is None:
        raise InvalidInputError(f"Spark needs Java, and none was found. {advice}")
    # It prints this on stderr, and so since ever.
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    found = _VERSION.search(said.stderr)
    if found is None:
        raise InvalidInputError(f"{java} does not say its version: {said.stderr.strip()[:200]!r}. {advice}")
    if int(found[1]) < OLDEST_JAVA:
        raise InvalidInputError(f"{java} is Java {found[1]}, which is too old for Spark. {advice}")


def check_workers(spark: SparkSession) -> None:
    """Raises InvalidInputError, naming the hosts, where Python workers cannot import Lanceway.

    It runs a small job, so that every executor is likely to be asked.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    tasks = 2 * spark.sparkContext.defaultParallelism
    asked = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(_probe())
    try:
        missing = sorted({host for host, has in asked.collect() if not has})
    except Py4JJavaError as error:
        if spark.sparkContext.getConf().get(DAEMON) != OWN_DAEMON:
            raise
        raise InvalidInputError(
            f"Spark's Python workers do not start by {OWN_DAEMON}, to which {DAEMON} is set. Where the package "
            f"lanceway is not installed, leave that setting out. {_THERE}"
        ) from error
    if missing:
        raise InvalidInputError(
            f"The package lanceway is not installed where Spark's Python workers run: {', '.join(missing)}. {_THERE}"
        )


def _probe() -> Callable[[object], Iterator[tuple[str, bool]]]:
    # Defined inside, it travels as a whole, and so to workers that cannot import this module.
    def probe(_: object) -> Iterator[tuple[str, bool]]:
        import importlib.util
        import socket

        yield socket.gethostname(), importlib.util.find_spec("lanceway") is not None

    return probe


def _version(package: str) -> tuple[int, ...] | None:
    try:
        text = metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
