"""A case as a script that asks its query of Lance and of Parquet, and prints both answers."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import lanceway.spark
from tests.servers import lanceway as lanceway_server
from tests.servers.run import Run
from tests.spark.differential.tables import Table
from tests.spark.differential.tree import QUERY, Node
from tests.spark.differential.worlds import Backend, Case, World

if TYPE_CHECKING:
    from tests.servers.lanceway import Lanceway

BACKENDS = ("dir", "lake", "rest")


def backend(type_: str, folder: Path, server: Lanceway | None = None) -> Backend:
    """Return a catalog of this type in a folder of its own, or on a server."""
    if type_ == "rest":
        assert server is not None
        return Backend("diff_rest", {"type": "rest", "uri": server.uri, "token": server.token, "at": "lake"})
    if type_ == "lake":
        settings = {"type": "lake", "uri": f"sqlite:///{folder}/lake.db", "root": f"{folder}/lake"}
        return Backend("diff_lake", settings)
    return Backend("diff_dir", {"type": "dir", "path": f"{folder}/dir", "layout": "manifest"})


def script(case: Case) -> str:
    """Return Python that shows a case, to be run in a checkout."""
    tables = "".join(f"    {name!r}: {table!r},\n" for name, table in case.tables.items())
    modes = f"codegen={case.codegen}, ansi={case.ansi}"
    return f"""\
# Save it at the root of a checkout, and run it there: PYTHONPATH=. .venv/bin/python case.py
import datetime
from decimal import Decimal

from tests.spark.differential.script import show
from tests.spark.differential.tables import *

nan, inf = float("nan"), float("inf")
tables = {{
{tables}}}
query = {case.sql!r}
show(tables, query, {case.backend.settings["type"]!r}, {case.way!r}, {case.zone!r}, {modes})
"""


def show(tables: Mapping[str, Table], query: str, type_: str, way: str, zone: str, codegen: bool, ansi: bool) -> None:
    """Print what Parquet and Lance answer."""
    run = Run.begin()
    try:
        folder = Path(tempfile.mkdtemp(dir=run.folder))
        place = backend(type_, folder, lanceway_server.shared(run) if type_ == "rest" else None)
        local = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
        spark = lanceway.spark.session("local[2]", conf=local)
        spark.sparkContext.setLogLevel("OFF")
        place.register(spark)
        case = Case(tables, Node(QUERY, query), place, way, zone, codegen, ansi)
        with World(spark, folder, place, tables) as world:
            for name, answer in zip(("Parquet", "Lance"), world.answers(case), strict=True):
                print(f"{name}:\n{answer.show()}\n")  # noqa: T201 - it is what the script is for
        spark.stop()
    finally:
        run.end()
