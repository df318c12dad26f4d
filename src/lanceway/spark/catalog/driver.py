"""Lists of a catalog, page after page."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.operations import REQUESTS
from lanceway.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableTagNotFoundError,
    UnsupportedOperationError,
)
from lanceway.spark.catalog import bridge, ddl, predicates
from lanceway.spark.read import scan
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, check_names, spark_schema
from lanceway.spark.write import rewrite
from lanceway.tables.errors import translated
from lanceway.writes.table_ref import TableRef

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_PAGE = 1000
# What an answer calls the names that it lists.
_NAMES = {"list_namespaces": "namespaces", "list_tables": "tables"}


def names(catalog: LanceNamespace, operation: str, id_: list[str], **fields: object) -> Iterator[str]:
    """The names that `list_namespaces` or `list_tables` answers, one page in memory at a time."""
    token: str | None = None
    while True:
        given = {"id": id_, "limit": _PAGE, "page_token": token, **fields}
        answer: Any = getattr(catalog, operation)(REQUESTS[operation].model_validate(given))
        yield from getattr(answer, _NAMES[operation]) or ()
        token = answer.page_token
        if not token:
            return


# What the JVM says with every question: the catalog's name and settings, the identifier, and more.
Asked = Mapping[str, Any]
# Columns that a query may name and a star does not show: their types, and the options that bring them.
_HIDDEN = {
    ROW_ID: ("long", "with_row_id"),
    ROW_ADDRESS: ("long", "with_row_address"),
    "_distance": ("float", None),
    "_score": ("float", None),
}


def target_of(asked: Asked) -> TableRef:
    settings = tuple(sorted(asked["settings"].items()))
    return replace(_root(asked["catalog"], settings, Path.cwd()), id=tuple(asked["id"]))


@lru_cache(maxsize=64)
def _root(name: str, settings: tuple[tuple[str, str], ...], _here: Path) -> TableRef:
    """The root of a catalog: what its settings say, else what `lanceway.toml` says of its name.

    Relative paths are relative to where the process is when they are asked for.
    """
    given = dict(settings)
    options = {f"namespace.{key}": value for key, value in given.items() if key != "namespace"}
    if "type" not in given:
        options["namespace"] = given.get("namespace", name)
    return TableRef.of({**options, "table": json.dumps(["-"])})


def open_(target: TableRef, asked: Asked) -> lance.LanceDataset:
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


def describe(target: TableRef, opened: lance.LanceDataset) -> dict[str, Any]:
    schema = spark_schema(opened.schema)
    check_names(schema, target.name)
    version = int(opened.version)
    return {
        "schema": ddl.with_comments(schema, opened.schema),
        "hidden": _hidden(opened.schema.names),
        "properties": {
            **ddl.properties_of(opened.schema),
            "provider": "lance",
            "location": opened.uri,
            "is_managed_location": "true",
            ddl.VERSION: str(version),
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


def _ask(catalog: LanceNamespace, operation: str, id_: list[str], **fields: object) -> Any:
    return getattr(catalog, operation)(REQUESTS[operation].model_validate({"id": id_, **fields}))


# -- namespaces ------------------------------------------------------------------------------------


def _list_namespaces(asked: Asked) -> list[str]:
    return list(names(target_of(asked).catalog(), "list_namespaces", asked["id"]))


def _describe_namespace(asked: Asked) -> dict[str, str]:
    answer = _ask(target_of(asked).catalog(), "describe_namespace", asked["id"])
    return dict(answer.properties or {})


def _create_namespace(asked: Asked) -> None:
    # Spark adds the name of whoever runs it as owner: that is no user of the catalog's.
    properties = {key: value for key, value in asked["properties"].items() if key != "owner"}
    _ask(target_of(asked).catalog(), "create_namespace", asked["id"], properties=properties)


def _drop_namespace(asked: Asked) -> None:
    behavior = "cascade" if asked["cascade"] else "restrict"
    _ask(target_of(asked).catalog(), "drop_namespace", asked["id"], behavior=behavior)


# -- tables ----------------------------------------------------------------------------------------


def _list_tables(asked: Asked) -> list[str]:
    return list(names(target_of(asked).catalog(), "list_tables", asked["id"]))


def _table_exists(asked: Asked) -> bool:
    if not asked["id"]:
        return False
    try:
        _ask(target_of(asked).catalog(), "table_exists", asked["id"])
    except (NamespaceNotFoundError, TableNotFoundError):
        return False
    return True


def _load_table(asked: Asked) -> dict[str, Any]:
    target = target_of(asked)
    return describe(target, open_(target, asked))


def _drop_table(asked: Asked) -> None:
    _ask(target_of(asked).catalog(), "drop_table", asked["id"])


def _rename_table(asked: Asked) -> None:
    catalog = target_of(asked).catalog()
    *namespace, name = asked["to"]
    if namespace and namespace[0] == asked["catalog"] and not _is_namespace(catalog, namespace[:1]):
        namespace = namespace[1:]  # Spark hands the new name on as it was written, maybe with the catalog's
    _ask(catalog, "rename_table", asked["id"], new_table_name=name, new_namespace_id=namespace)


def _is_namespace(catalog: LanceNamespace, id_: list[str]) -> bool:
    try:
        _ask(catalog, "namespace_exists", id_)
    except NamespaceNotFoundError:
        return False
    return True


def _create_table(asked: Asked) -> dict[str, Any]:
    """A new table is made at once, empty. One to be replaced stays as it is until its new rows are there."""
    target, table = target_of(asked), ddl.NewTable.of(asked)
    mode = asked["mode"]
    if mode == "create" or (mode == "create_or_replace" and not target.exists()):
        ddl.create(target, table, "create")
        return describe(target, target.open())
    description = describe(target, target.open())
    return {
        **description,
        "schema": asked["schema"],
        "writing": {**description["writing"], "vector_columns": json.dumps(table.vectors)},
        "new": False,
    }


def _replace_table(asked: Asked) -> None:
    ddl.create(target_of(asked), ddl.NewTable.of(asked), "overwrite")


def _finish_table(asked: Asked) -> None:
    """A table that was replaced by a query's rows has the properties that the statement gives it."""
    properties = ddl.NewTable.of(asked).properties
    if properties:
        ddl.set_properties(target_of(asked), properties, ())


def _alter_table(asked: Asked) -> None:
    ddl.alter(target_of(asked), asked["changes"])


# -- rows ------------------------------------------------------------------------------------------


def _push_filters(asked: Asked) -> dict[str, Any]:
    taken, condition = predicates.conjunction(asked["filters"], arrow_of(asked))
    return {"taken": taken, "filter": condition or ""}


def _find_rows(asked: Asked) -> str | None:
    return scan.find(asked["options"], _columns(asked))


def _plan_scan(asked: Asked) -> str | None:
    from lanceway.spark.read.aggregates import Aggregation

    wanted = asked.get("aggregation")
    return scan.plan(asked["options"], _columns(asked), Aggregation.of(wanted) if wanted else None)


def _columns(asked: Asked) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(asked["schema"])


def _can_delete(asked: Asked) -> bool:
    taken, _ = predicates.conjunction(asked["filters"], arrow_of(asked))
    return all(taken)


def _delete(asked: Asked) -> None:
    taken, condition = predicates.conjunction(asked["filters"], arrow_of(asked))
    if not all(taken):
        raise UnsupportedOperationError("DELETE: Lance cannot evaluate this condition itself.")
    _ask(target_of(asked).catalog(), "delete_from_table", asked["id"], predicate=condition or "true")


def _choose_fragments(asked: Asked) -> dict[str, Any]:
    """What an UPDATE, a MERGE or a DELETE replaces. Conditions that Lance cannot evaluate choose nothing away."""
    _, condition = predicates.conjunction(asked["filters"], arrow_of(asked))
    target, version = target_of(asked), int(asked["version"])
    with translated(target.table(), f"Looking for the rows of {asked['command']}"):
        fragments = rewrite.choose(target.open(version=version), condition)
    return {"command": asked["command"], "version": version, "fragments": fragments}


STATEMENTS: Mapping[str, Callable[[Asked], Any]] = MappingProxyType(
    {
        "list_namespaces": _list_namespaces,
        "describe_namespace": _describe_namespace,
        "create_namespace": _create_namespace,
        "drop_namespace": _drop_namespace,
        "list_tables": _list_tables,
        "table_exists": _table_exists,
        "load_table": _load_table,
        "create_table": _create_table,
        "replace_table": _replace_table,
        "finish_table": _finish_table,
        "drop_table": _drop_table,
        "rename_table": _rename_table,
        "alter_table": _alter_table,
        "push_filters": _push_filters,
        "find_rows": _find_rows,
        "plan_scan": _plan_scan,
        "can_delete": _can_delete,
        "delete": _delete,
        "choose_fragments": _choose_fragments,
    }
)


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

        asked = json.loads(arguments)
        try:
            return json.dumps({"answer": STATEMENTS[question](asked)})
        except LanceNamespaceError as error:
            return json.dumps({"error": str(error), "code": int(error.code), "condition": error.code.name})

    class Java:
        implements = ("io.lanceway.spark.Driver",)
