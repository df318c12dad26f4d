"""The same tables as Lance in a catalog and as Parquet beside it, and one query asked of both."""

from __future__ import annotations

import datetime as dt
import itertools
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lanceway
from lanceway.spark.catalog import driver
from tests.spark.differential.answers import Answer, ask
from tests.spark.differential.tables import LanceTable, Table, write_parquet
from tests.spark.differential.tree import Node

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace
    from pyspark.sql import SparkSession

_NUMBERS = itertools.count()
_TABLE = re.compile(r"\$(\w+)(?:@(\d+)(!)?)?")
# How a Lance table is read: by its name in SQL, or by format("lance").
CATALOG, SOURCE = "catalog", "source"
WAYS = (CATALOG, SOURCE)


@dataclass(frozen=True)
class Backend:
    """A catalog in the session: its name there, its type and settings."""

    name: str
    settings: Mapping[str, str] = field(repr=False)  # the token of a server is among them

    def register(self, spark: SparkSession) -> None:
        driver.register(spark, self.name, self.settings)

    def connect(self) -> LanceNamespace:
        settings: dict[str, Any] = dict(self.settings)
        return lanceway.connect(settings.pop("type"), **settings)


@dataclass(frozen=True)
class Case:
    """One query over tables, on one backend, asked one way, in one time zone and one mode of ANSI."""

    tables: Mapping[str, Table]
    query: Node
    backend: Backend
    way: str
    zone: str
    codegen: bool  # whether Spark compiles the query, or interprets it
    ansi: bool  # whether a number that is too large for its type is an error, or something else

    @property
    def sql(self) -> str:
        return self.query.sql()

    def simpler(self) -> Iterator[Case]:
        """Yield cases with less in the tables, then such with a simpler query."""
        named = {name: table for name, table in self.tables.items() if f"${name}" in self.sql}
        if len(named) < len(self.tables):
            yield replace(self, tables=named)
        for name, table in self.tables.items():
            for small in table.simpler():
                yield replace(self, tables={**self.tables, name: small})
        for query in self.query.simpler():
            yield replace(self, query=query)


@contextmanager
def _settings(spark: SparkSession, case: Case) -> Iterator[None]:
    conf = {
        "spark.sql.session.timeZone": case.zone,
        "spark.sql.codegen.wholeStage": str(case.codegen).lower(),
        "spark.sql.codegen.factoryMode": "FALLBACK" if case.codegen else "NO_CODEGEN",
        "spark.sql.ansi.enabled": str(case.ansi).lower(),
        "spark.sql.timeType.enabled": "true",
        # Spark itself evaluates every filter of Parquet's rows. By statistics and dictionaries whole files are left out
        # that have NaN, which no statistics count, or a zero of the other sign (PARQUET-1222, PARQUET-2249).
        "spark.sql.parquet.filterPushdown": "false",
    }
    before = {key: spark.conf.get(key) for key in conf}
    for key, value in conf.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, str(value))


@dataclass
class World:
    """Tables that are there, in both forms. Those of a step before the last are read when they are first named."""

    spark: SparkSession
    folder: Path
    backend: Backend
    tables: Mapping[str, Table]
    namespace: str = field(default_factory=lambda: f"world{next(_NUMBERS)}")
    lance: dict[str, LanceTable] = field(default_factory=dict)
    views: set[str] = field(default_factory=set)

    def __enter__(self) -> World:
        catalog = self.backend.connect()
        catalog.create_namespace({"id": [self.namespace]})  # type: ignore[arg-type]
        for name, table in self.tables.items():
            self.lance[name] = LanceTable(catalog, [self.namespace, name])
            self.lance[name].make(table)
        return self

    def __exit__(self, *_: object) -> None:
        for view in self.views:
            self.spark.catalog.dropTempView(view)
        self.spark.sql(f"DROP NAMESPACE {self.backend.name}.{self.namespace} CASCADE")
        shutil.rmtree(self.folder / self.namespace, ignore_errors=True)

    def answers(self, case: Case) -> tuple[Answer, Answer]:
        """Ask the query of a case of Parquet and of Lance."""
        lance = self._in_catalog if case.way == CATALOG else self._in_source
        with _settings(self.spark, case):
            parquet = ask(self.spark, _TABLE.sub(self._in_parquet, case.sql))
            return parquet, ask(self.spark, _TABLE.sub(lance, case.sql))

    def _in_parquet(self, match: re.Match[str]) -> str:
        name, step, _ = match.groups()
        content = self.tables[name].history()[-1 if step is None else int(step)]
        view = f"{self.namespace}_parquet_{name}_{step}"
        if view not in self.views:
            folder = self.folder / self.namespace / view
            write_parquet(content, folder)
            self._keep(view, self.spark.read.schema(content.ddl).parquet(str(folder)))
        return view

    def _in_catalog(self, match: re.Match[str]) -> str:
        name, step, by_time = match.groups()
        table = f"{self.backend.name}.{self.namespace}.{name}"
        if step is None:
            return table
        if by_time:
            return f"{table} TIMESTAMP AS OF '{self._time(name, int(step))}'"
        return f"{table} VERSION AS OF {self.lance[name].versions[int(step)]}"

    def _in_source(self, match: re.Match[str]) -> str:
        name, step, by_time = match.groups()
        view = f"{self.namespace}_lance_{name}_{step}_{'time' if by_time else 'version'}"
        if view not in self.views:
            options = {f"namespace.{key}": value for key, value in self.backend.settings.items()}
            options["table"] = f"{self.namespace}.{name}"
            if by_time:
                options["asof"] = self._time(name, int(step))
            elif step is not None:
                options["version"] = str(self.lance[name].versions[int(step)])
            self._keep(view, self.spark.read.format("lance").options(**options).load())
        return view

    def _keep(self, view: str, frame: Any) -> None:
        frame.createOrReplaceTempView(view)
        self.views.add(view)

    def _time(self, name: str, step: int) -> str:
        return dt.datetime.fromtimestamp(self.lance[name].times[step], dt.UTC).isoformat()
