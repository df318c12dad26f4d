"""A Spark session with everything set: `format("lance")` with filters that Lance evaluates, and catalogs for SQL."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway import config as configuration
from lanceway.errors import UnsupportedOperationError
from lanceway.spark import environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("lanceway.spark")
# Spark shuffles into 200 parts unless told, each of which costs a task: too many for one machine.
_SHUFFLE, _ROUNDS = "spark.sql.shuffle.partitions", 4
_PYTHON = "spark.pyspark.python"


def session(
    master: str | None = None,
    *,
    app_name: str = "lanceway",
    conf: Mapping[str, str] | None = None,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
    config: str | Path | None = None,
) -> SparkSession:
    """The running session, or a new one, with everything that Lanceway needs.

    A new one is local, with a task for each core, unless `master` says otherwise; `conf` has further
    settings of Spark. `catalogs` and `config` mean what they do for `install`.

    Raises InvalidInputError where Java or a package is missing, too old or too new, here or on the workers.
    """
    environment.check_packages()
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

    environment.check_java()
    local = master.startswith("local")
    if local:
        configuration.quiet_lance()  # in the workers, which inherit it
        if configuration.spark_workers_run(sys.executable) and _PYTHON not in conf:
            # Where workers run the driver's own Python, the package is there.
            conf = {environment.DAEMON: environment.OWN_DAEMON, **conf}
    builder = SparkSession.builder.master(master).appName(app_name)
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if not local:
        environment.check_workers(spark)
    elif not spark.sparkContext.getConf().contains(_SHUFFLE):
        spark.conf.set(_SHUFFLE, str(_ROUNDS * spark.sparkContext.defaultParallelism))
    return spark


def beside(spark: SparkSession, *, catalogs: Mapping[str, Mapping[str, str]] | None = None) -> SparkSession:
    """A session of its own beside one that runs, on the same workers: nothing that was set or named there is known."""
    made = spark.newSession()
    made.conf.set(_SHUFFLE, str(spark.conf.get(_SHUFFLE)))
    return install(made, catalogs=catalogs)


def install(
    spark: SparkSession,
    *,
    catalogs: Mapping[str, Mapping[str, str]] | None = None,
    config: str | Path | None = None,
) -> SparkSession:
    """Set up a session that is there, and give it back.

    Every root namespace of `lanceway.toml` becomes a catalog of Spark SQL under its name; `config` is another
    file of that kind. `catalogs` are further ones: by name, their type and settings, such as
    `{"lake": {"type": "dir", "path": "./warehouse"}}`. Where the jar that this needs cannot be had, a warning
    in the log says so, and `format("lance")` works all the same.
    """
    environment.check_packages()
    # Every error of an analysis would be logged as one long line of JSON, besides being raised.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    _attach(spark)
    found = {name: _settings(root) for name, root in configuration.namespaces(config).items()}
    _register(spark, {**found, **(catalogs or {})}, required=bool(catalogs))
    return spark


def _attach(spark: SparkSession) -> None:
    """Bring the bridge, by which Lance evaluates the filters on `format("lance")`. Spark does so without it."""
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
