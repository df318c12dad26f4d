"""The driver's side of Spark SQL's catalogs: register catalogs in a session, and answer the questions of the JVM.

The catalog of the bridge (`LancewayCatalog.java`) asks this process for everything: each question is a name of
`STATEMENTS` with its arguments as JSON.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.hooks import REQUESTS
from lanceway.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableTagNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.spark.catalog import bridge, ddl
from lanceway.spark.read import filters, scan
from lanceway.spark.read.reader import named
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, check_names, spark_schema
from lanceway.spark.write import rewrite
from lanceway.tables.errors import translated
from lanceway.writes import table_ref
from lanceway.writes.table_ref import TableName, TableRef

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_CONF = "spark.sql.catalog"
_PAGE = 1000
# The field of a response that has the names which it lists.
_NAMES = {"list_namespaces": "namespaces", "list_tables": "tables"}
# Columns that a query may name and a star does not show: their types, and the options that bring them.
_HIDDEN = {
    ROW_ID: ("long", "with_row_id"),
    ROW_ADDRESS: ("long", "with_row_address"),
    "_distance": ("float", None),
    "_score": ("float", None),
}

# The settings of registered catalogs, by their handles. They may hold secrets.
_REGISTERED: dict[str, Mapping[str, str]] = {}

# What the JVM sends with every question: the catalog's name and settings, the identifier, and more.
Arguments = Mapping[str, Any]


# -- catalogs in a session -------------------------------------------------------------------------


def register(spark: SparkSession, name: str, settings: Mapping[str, str] | None = None) -> None:
    """Register a catalog in a session: `type` and its settings, or what `lanceway.toml` says of the name.

    The settings stay in the memory of driver and JVM; Spark's configuration holds none of them. Called again, it
    replaces what the name meant.
    """
    attached = connect(spark)
    handle = f"{name}@{spark._jsparkSession.sessionUUID()}"
    java_settings = spark._jvm.java.util.HashMap()  # type: ignore[union-attr]
    for key, value in (settings or {}).items():
        java_settings.put(key, value)
    attached.keep(handle, java_settings)
    _REGISTERED[handle] = dict(settings or {})
    spark.conf.set(f"{_CONF}.{name}", bridge.CATALOG_CLASS)
    spark.conf.set(f"{_CONF}.{name}.handle", handle)


def is_configured(spark: SparkSession) -> bool:
    """Return whether Spark's own configuration names a catalog of ours."""
    return bridge.CATALOG_CLASS in spark.conf.getAll.values()


def connect(spark: SparkSession) -> Any:
    """Let this process answer for every catalog of ours in the session's JVM from now on; return the bridge."""
    from pyspark.java_gateway import ensure_callback_server_started

    attached = bridge.attach(spark)
    ensure_callback_server_started(spark._sc._gateway)  # type: ignore[no-untyped-call]
    attached.connect(Driver())
    return attached


class Driver:
    """Answers the JVM. Every error of a catalog travels as its code and its sentence."""

    def ask(self, question: str, arguments: str) -> str:
        try:
            return json.dumps({"answer": STATEMENTS[question](json.loads(arguments))})
        except LanceNamespaceError as error:
            return json.dumps({"error": str(error), "code": int(error.code), "condition": error.code.name})

    class Java:
        implements = ("io.lanceway.spark.Driver",)


# -- the table and the catalog that are meant -------------------------------------------------------


def resolve(spark: SparkSession, name: TableName) -> TableRef:
    """Return the table that a caller names, in a catalog of the session or as `table_ref.resolve` reads it."""
    if isinstance(name, str) and "/" not in name and os.sep not in name:
        names = Identifier.parse(name)
        handle = spark.conf.get(f"{_CONF}.{names[0]}.handle", None) if names.depth > 1 else None
        settings = _REGISTERED.get(handle or "")
        if settings:
            return replace(_root(names[0], tuple(sorted(settings.items())), Path.cwd()), id=names[1:])
    return table_ref.resolve(name)


def _ref_of(arguments: Arguments) -> TableRef:
    settings = tuple(sorted(arguments["settings"].items()))
    return replace(_root(arguments["catalog"], settings, Path.cwd()), id=tuple(arguments["id"]))


@lru_cache(maxsize=64)
def _root(name: str, settings: tuple[tuple[str, str], ...], _here: Path) -> TableRef:
    """Return a reference into a catalog: by its settings, else by what `lanceway.toml` says of its name.

    Relative paths are relative to the folder of the process, which is why that is an argument.
    """
    own_settings = dict(settings)
    options = {f"namespace.{key}": value for key, value in own_settings.items() if key != "namespace"}
    if "type" not in own_settings:
        options["namespace"] = own_settings.get("namespace", name)
    return TableRef.of({**options, "table": json.dumps(["-"])})


def _ask(catalog: LanceNamespace, operation: str, id_: list[str], **fields: object) -> Any:
    return getattr(catalog, operation)(REQUESTS[operation].model_validate({"id": id_, **fields}))


def names(catalog: LanceNamespace, operation: str, id_: list[str], **fields: object) -> Iterator[str]:
    """Yield the names that `list_namespaces` or `list_tables` returns, one page in memory at a time."""
    token: str | None = None
    while True:
        response = _ask(catalog, operation, id_, limit=_PAGE, page_token=token, **fields)
        yield from getattr(response, _NAMES[operation]) or ()
        token = response.page_token
        if not token:
            return


# -- namespaces ------------------------------------------------------------------------------------


def _list_namespaces(arguments: Arguments) -> list[str]:
    return list(names(_ref_of(arguments).catalog(), "list_namespaces", arguments["id"]))


def _describe_namespace(arguments: Arguments) -> dict[str, str]:
    response = _ask(_ref_of(arguments).catalog(), "describe_namespace", arguments["id"])
    return dict(response.properties or {})


def _create_namespace(arguments: Arguments) -> None:
    # Spark adds the user of the operating system as owner, which is no user of the catalog's.
    properties = {key: value for key, value in arguments["properties"].items() if key != "owner"}
    _ask(_ref_of(arguments).catalog(), "create_namespace", arguments["id"], properties=properties)


def _drop_namespace(arguments: Arguments) -> None:
    behavior = "cascade" if arguments["cascade"] else "restrict"
    _ask(_ref_of(arguments).catalog(), "drop_namespace", arguments["id"], behavior=behavior)


# -- tables ----------------------------------------------------------------------------------------


def _list_tables(arguments: Arguments) -> list[str]:
    return list(names(_ref_of(arguments).catalog(), "list_tables", arguments["id"]))


def _table_exists(arguments: Arguments) -> bool:
    if not arguments["id"]:
        return False
    try:
        _ask(_ref_of(arguments).catalog(), "table_exists", arguments["id"])
    except (NamespaceNotFoundError, TableNotFoundError):
        return False
    return True


def _load_table(arguments: Arguments) -> dict[str, Any]:
    ref = _ref_of(arguments)
    version = arguments.get("version")
    if version is None or version.isdecimal():
        return _describe(ref, _open(ref, arguments))
    return _describe(ref, _open_tag(ref, version), ref.tag_branch(version))


def _open(ref: TableRef, arguments: Arguments) -> lance.LanceDataset:
    """Open the version that is asked for: by its number, its time, or the latest."""
    version = arguments.get("version")
    if "micros" in arguments:
        opened = ref.open(asof=_moment(arguments["micros"]))
    else:
        opened = ref.open(version=None if version is None else int(version))
    scan.SNAPSHOTS.keep(ref, opened)  # for the questions that follow, which name the version by its number
    return opened


def _moment(micros: int) -> datetime:
    """Return a time of Spark's. Of one that Python does not have, return the first or the last that it has."""
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.max if micros > 0 else datetime.min).replace(tzinfo=UTC)


def _open_tag(ref: TableRef, tag: str) -> lance.LanceDataset:
    # It is not kept for the questions that follow: a tag may be on a branch, which the version's number does not say.
    try:
        return ref.open(tag=tag)
    except TableTagNotFoundError as error:
        raise TableTagNotFoundError(f"{error} VERSION AS OF takes the number of a version or a tag.") from error


def _describe(ref: TableRef, opened: lance.LanceDataset, branch: str | None = None) -> dict[str, Any]:
    """Return all that the JVM knows of a table: the version that is open, and its branch, None for the main one."""
    schema = spark_schema(opened.schema)
    check_names(schema, ref.name)
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
        "reading": {**ref.to_options(), "version": str(version), **({} if branch is None else {"branch": branch})},
        "writing": ref.to_options(),
        "rows": opened.count_rows(),
        "indexed": bool(opened.describe_indices()),
        "planned": scan.planner() is not None,
        # Comes back with the conditions of a query, so that the table is not opened for each.
        "arrow": base64.b64encode(opened.schema.serialize().to_pybytes()).decode(),
        "new": True,
    }


def _hidden(columns: list[str]) -> dict[str, Any]:
    fields = [
        {"name": name, "type": type_, "nullable": True, "metadata": {"option": option} if option else {}}
        for name, (type_, option) in _HIDDEN.items()
        if name not in columns
    ]
    return {"type": "struct", "fields": fields}


def _drop_table(arguments: Arguments) -> None:
    _ask(_ref_of(arguments).catalog(), "drop_table", arguments["id"])


def _rename_table(arguments: Arguments) -> None:
    catalog = _ref_of(arguments).catalog()
    *namespace, name = arguments["to"]
    if namespace and namespace[0] == arguments["catalog"] and not _is_namespace(catalog, namespace[:1]):
        namespace = namespace[1:]  # Spark hands the new name on as it was written, maybe with the catalog's
    _ask(catalog, "rename_table", arguments["id"], new_table_name=name, new_namespace_id=namespace)


def _is_namespace(catalog: LanceNamespace, id_: list[str]) -> bool:
    try:
        _ask(catalog, "namespace_exists", id_)
    except NamespaceNotFoundError:
        return False
    return True


def _create_table(arguments: Arguments) -> dict[str, Any]:
    """Make a new table at once, empty. One to be replaced stays as it is until its new rows are there."""
    ref = _ref_of(arguments)
    table = ddl.TableDefinition.of(arguments)
    mode = arguments["mode"]
    if mode == "create" or (mode == "create_or_replace" and not ref.exists()):
        ddl.create(ref, table, "create")
        return _describe(ref, ref.open())
    description = _describe(ref, ref.open())
    return {
        **description,
        "schema": arguments["schema"],
        "writing": {**description["writing"], "vector_columns": json.dumps(table.vectors)},
        "new": False,
    }


def _replace_table(arguments: Arguments) -> None:
    ddl.create(_ref_of(arguments), ddl.TableDefinition.of(arguments), "overwrite")


def _finish_table(arguments: Arguments) -> None:
    """Give a table that was replaced by a query's rows the properties of the statement."""
    properties = ddl.TableDefinition.of(arguments).properties
    if properties:
        ddl.set_properties(_ref_of(arguments), properties, ())


def _alter_table(arguments: Arguments) -> None:
    ddl.alter(_ref_of(arguments), arguments["changes"])


# -- rows ------------------------------------------------------------------------------------------


def _schema_of(arguments: Arguments) -> pa.Schema:
    """Return the schema that a description held, which comes back with the conditions of a query."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(arguments["arrow"])))


def _push_filters(arguments: Arguments) -> dict[str, Any]:
    pushed, condition = filters.conjunction(arguments["filters"], _schema_of(arguments))
    return {"taken": pushed, "filter": condition or ""}


def _find_rows(arguments: Arguments) -> str | None:
    return scan.find(arguments["options"], _columns(arguments))


def _plan_scan(arguments: Arguments) -> str | None:
    from lanceway.spark.read.aggregates import Aggregation

    described = arguments.get("aggregation")
    aggregation = Aggregation.of(described) if described else None
    return scan.plan(arguments["options"], _columns(arguments), aggregation)


def _columns(arguments: Arguments) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(arguments["schema"])


def _can_delete(arguments: Arguments) -> bool:
    pushed, _ = filters.conjunction(arguments["filters"], _schema_of(arguments))
    return all(pushed)


def _delete(arguments: Arguments) -> None:
    pushed, condition = filters.conjunction(arguments["filters"], _schema_of(arguments))
    if not all(pushed):
        raise UnsupportedOperationError("DELETE: Lance cannot evaluate this condition itself.")
    _ask(_ref_of(arguments).catalog(), "delete_from_table", arguments["id"], predicate=condition or "true")


def _choose_fragments(arguments: Arguments) -> dict[str, Any]:
    """Return the fragments that an UPDATE, MERGE or DELETE replaces, by the conditions that Lance can evaluate."""
    _, condition = filters.conjunction(arguments["filters"], _schema_of(arguments))
    ref = _ref_of(arguments)
    version = int(arguments["version"])
    opened = scan.SNAPSHOTS.find(ref, version)
    if opened is None:
        opened = ref.open(version=version)
    with translated(named(ref), f"Looking for the rows of {arguments['command']}"):
        fragments = rewrite.choose(opened, condition)
    return {"command": arguments["command"], "version": version, "fragments": fragments}


STATEMENTS: Mapping[str, Callable[[Arguments], Any]] = MappingProxyType(
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
