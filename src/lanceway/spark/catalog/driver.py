"""Catalogs of this process as catalogs of Spark SQL: `spark.sql("SELECT * FROM lake.team.orders")`.

The JVM asks, in JSON, and a catalog answers, in the driver's process: executors never ask. What a statement is
carried out by stands in `statements.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lanceway.errors import LanceNamespaceError
from lanceway.spark.catalog import bridge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONF = "spark.sql.catalog"


def register(spark: SparkSession, name: str, settings: Mapping[str, str] | None = None) -> None:
    """Give a session a catalog: `type` and the settings of that type, or what `lanceway.toml` says of the name.

    The settings stay in the memory of driver and JVM; Spark's configuration holds none of them. Called again, it
    replaces what the name meant.
    """
    attached = connect(spark)
    handle = f"{name}@{spark._jsparkSession.sessionUUID()}"
    kept = spark._jvm.java.util.HashMap()  # type: ignore[union-attr]
    for key, value in (settings or {}).items():
        kept.put(key, value)
    attached.keep(handle, kept)
    spark.conf.set(f"{_CONF}.{name}", bridge.CATALOG_CLASS)
    spark.conf.set(f"{_CONF}.{name}.handle", handle)


def is_configured(spark: SparkSession) -> bool:
    """Whether Spark's own configuration names a catalog of ours."""
    return bridge.CATALOG_CLASS in spark.conf.getAll.values()


def connect(spark: SparkSession) -> Any:
    """Let this process answer for every catalog of ours in the session's JVM, from now on."""
    from pyspark.java_gateway import ensure_callback_server_started

    attached = bridge.attach(spark)
    ensure_callback_server_started(spark._sc._gateway)  # type: ignore[no-untyped-call]
    attached.connect(Driver())
    return attached


class Driver:
    """What the JVM asks. Every refusal of a catalog travels as its code and its sentence."""

    def ask(self, question: str, arguments: str) -> str:
        from lanceway.spark.catalog.statements import STATEMENTS

        asked = json.loads(arguments)
        try:
            return json.dumps({"answer": STATEMENTS[question](asked)})
        except LanceNamespaceError as error:
            return json.dumps({"error": str(error), "code": int(error.code), "condition": error.code.name})

    class Java:
        implements = ("io.lanceway.spark.Driver",)
