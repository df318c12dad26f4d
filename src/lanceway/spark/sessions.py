"""Spark sessions with all that Lanceway needs: `format("lance")` with filters that Lance evaluates, and SQL catalogs.

Before that, Java and packages are checked, here and where Spark's workers run.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway import config as configuration
from lanceway.errors import InvalidInputError, UnsupportedOperationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

_log = logging.getLogger("lanceway.spark")
# Spark shuffles into 200 parts by default, each of which costs a task: too many for one machine.
_SHUFFLE, _ROUNDS = "spark.sql.shuffle.partitions", 4
_PYTHON = "spark.pyspark.python"
OLDEST_JAVA = 17
OLDEST_SPARK = (4, 1)
# Spark's setting of the module that forks Python workers, and our own, which imports the contract first.
DAEMON, OWN_DAEMON = "spark.python.daemon.module", "lanceway.spark.daemon"
_INSTALL = "Install it with: pip install 'lanceway[spark]'."
_THERE = "Install it there with pip install 'lanceway[spark]', or set PYSPARK_PYTHON to a Python that has it."
_VERSION = re.compile(r'version "(\d+)')


def session(
    master: str | None = None,
    *,
    app_name: str = "lanceway",
    conf: Mapping[str, str] | None = None,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
    config: str | Path | None = None,
) -> SparkSession:
    """Return the running session, or a new one, with everything that Lanceway needs.

    A new one is local, with a task for each core, unless `master` says otherwise; `conf` has further
    settings of Spark. `catalogs` and `config` mean what they do for `install`.

    Raises InvalidInputError where Java or a package is missing, too old or too new, here or on the workers.
    """
    check_packages()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and master is None:
        for key, value in (conf or {}).items():
            running.conf.set(key, value)
        return install(running, catalogs=catalogs, config=config)
    spark = _start(master or "local[*]", app_name, conf or {})
    return install(spark, catalogs=catalogs, config=config)


def _start(master: str, app_name: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    check_java()
    local = master.startswith("local")
    if local:
        configuration.quiet_lance()  # in the workers, which inherit it
        if configuration.spark_workers_run(sys.executable) and _PYTHON not in conf:
            # Where workers run the driver's own Python, the package is there.
            conf = {DAEMON: OWN_DAEMON, **conf}
    builder = SparkSession.builder.master(master).appName(app_name)
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if not local:
        check_workers(spark)
    elif not spark.sparkContext.getConf().contains(_SHUFFLE):
        spark.conf.set(_SHUFFLE, str(_ROUNDS * spark.sparkContext.defaultParallelism))
    return spark


def beside(spark: SparkSession, *, catalogs: Mapping[str, Mapping[str, str]] | None = None) -> SparkSession:
    """Return a new session on the workers of one that runs; it knows nothing that was set or named there."""
    session = spark.newSession()
    session.conf.set(_SHUFFLE, str(spark.conf.get(_SHUFFLE)))
    return install(session, catalogs=catalogs)


def install(
    spark: SparkSession,
    *,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
    config: str | Path | None = None,
) -> SparkSession:
    """Set up a running session, and return it.

    Every root namespace of `lanceway.toml` becomes a catalog of Spark SQL under its name; `config` is another
    file of that kind. `catalogs` are further ones: by name, their type and settings, such as
    `{"lake": {"type": "dir", "path": "./warehouse"}}`. Where the jar that this needs is missing, a warning in the log
    says so, and `format("lance")` works all the same.
    """
    check_packages()
    # Every error of an analysis would be logged as one long line of JSON, besides being raised.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    _attach(spark)
    configured = {name: _settings(root) for name, root in configuration.namespaces(config).items()}
    _register(spark, {**configured, **(catalogs or {})}, required=bool(catalogs))
    return spark


def _attach(spark: SparkSession) -> None:
    """Attach the bridge, with which Lance evaluates the filters on `format("lance")`. Without it, Spark does."""
    from lanceway.spark.catalog import bridge

    try:
        bridge.attach(spark)
    except UnsupportedOperationError as error:
        _log.info('Spark evaluates the filters on format("lance"). %s', error)


def _settings(root: configuration.NamespaceSettings) -> Mapping[str, str]:
    return {**root.settings, "type": root.type, **({"at": root.at} if root.at else {})}


def _register(spark: SparkSession, catalogs: Mapping[str, Mapping[str, str]], *, required: bool) -> None:
    from lanceway.spark.catalog import driver

    try:
        if driver.is_configured(spark):
            driver.connect(spark)
        for name, settings in catalogs.items():
            driver.register(spark, name, settings)
    except UnsupportedOperationError as error:
        if required:
            raise
        _log.warning("%s", error)


def check_packages() -> None:
    """Check PySpark and pandas. Raises InvalidInputError, saying what is missing or does not fit, and what to do."""
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
    """Check the Java that Spark would start. Raises InvalidInputError where it is missing or too old."""
    java = configuration.java()
    advice = f"Install a JRE or JDK of version {OLDEST_JAVA} or later, and set JAVA_HOME or the path to it."
    if java is None:
        raise InvalidInputError(f"Spark needs Java, and none was found. {advice}")
    # Every Java prints its version on stderr.
    process = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    version = _VERSION.search(process.stderr)
    if version is None:
        raise InvalidInputError(f"{java} does not say its version: {process.stderr.strip()[:200]!r}. {advice}")
    if int(version[1]) < OLDEST_JAVA:
        raise InvalidInputError(f"{java} is Java {version[1]}, which is too old for Spark. {advice}")


def check_workers(spark: SparkSession) -> None:
    """Check that Python workers can import Lanceway. Raises InvalidInputError, naming the hosts where they cannot.

    It runs a small job with so many tasks that every executor is likely to get one.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    tasks = 2 * spark.sparkContext.defaultParallelism
    probes = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(_probe())
    try:
        missing = sorted({host for host, has in probes.collect() if not has})
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
    # A nested function is pickled by value, so that workers can run it which cannot import this module.
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
