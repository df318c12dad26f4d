"""Tables as Spark SQL sees them: which one is meant, at which version, and all that Spark plans with."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import TableTagNotFoundError
from lanceway.spark.catalog import creating
from lanceway.spark.read import scan
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, check_names, spark_schema
from lanceway.writes.table_ref import Target

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

# What the JVM says with every question: the catalog's name and settings, the identifier, and more.
Asked = Mapping[str, Any]
# Columns that a query may name and a star does not show: their types, and the options that bring them.
_HIDDEN = {
    ROW_ID: ("long", "with_row_id"),
    ROW_ADDRESS: ("long", "with_row_address"),
    "_distance": ("float", None),
    "_score": ("float", None),
}


def target_of(asked: Asked) -> Target:
    settings = tuple(sorted(asked["settings"].items()))
    return replace(_root(asked["catalog"], settings, Path.cwd()), id=tuple(asked["id"]))


@lru_cache(maxsize=64)
def _root(name: str, settings: tuple[tuple[str, str], ...], _here: Path) -> Target:
    """The root of a catalog: what its settings say, else what `lanceway.toml` says of its name.

    Relative paths are relative to where the process is when they are asked for.
    """
    given = dict(settings)
    options = {f"namespace.{key}": value for key, value in given.items() if key != "namespace"}
    if "type" not in given:
        options["namespace"] = given.get("namespace", name)
    return Target.of({**options, "table": json.dumps(["-"])})


def open_(target: Target, asked: Asked) -> lance.LanceDataset:
    """The version that is asked for: by its number, its tag, its time, or the latest."""
    if "micros" in asked:
        return target.open(asof=datetime.fromtimestamp(asked["micros"] / 1_000_000, UTC))
    version = asked.get("version")
    if version is None:
        return target.open()
    if version.isdecimal():
        return target.open(version=int(version))
    try:
        return target.open(tag=version)
    except TableTagNotFoundError as error:
        raise TableTagNotFoundError(f"{error} VERSION AS OF takes the number of a version or a tag.") from error


def describe(target: Target, opened: lance.LanceDataset) -> dict[str, Any]:
    schema = spark_schema(opened.schema)
    check_names(schema, target.name)
    version = int(opened.version)
    return {
        "schema": creating.with_comments(schema, opened.schema),
        "hidden": _hidden(opened.schema.names),
        "properties": {
            **creating.properties_of(opened.schema),
            "provider": "lance",
            "location": opened.uri,
            "is_managed_location": "true",
            creating.VERSION: str(version),
        },
        # A query sees one version, whatever is written while it runs.
        "reading": {**target.to_options(), "version": str(version)},
        "writing": target.to_options(),
        "rows": opened.count_rows(),
        "indexed": bool(opened.describe_indices()),
        "planned": scan.planner() is not None,
        # Comes back with the conditions of a query, so that the table is not opened for each.
        "arrow": base64.b64encode(opened.schema.serialize().to_pybytes()).decode(),
        "new": True,
    }


def _hidden(taken: list[str]) -> dict[str, Any]:
    fields = [
        {"name": name, "type": type_, "nullable": True, "metadata": {"option": option} if option else {}}
        for name, (type_, option) in _HIDDEN.items()
        if name not in taken
    ]
    return {"type": "struct", "fields": fields}


def arrow_of(asked: Asked) -> pa.Schema:
    """The schema that a description held, which comes back with the conditions of a query."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(asked["arrow"])))
