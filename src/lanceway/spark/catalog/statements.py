"""What a statement of Spark SQL does to a catalog: one function for each question that the JVM asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.operations import REQUESTS
from lanceway.errors import (
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.spark.catalog import altering, creating, loading, paging, predicates
from lanceway.spark.catalog.loading import Asked
from lanceway.spark.read import scan
from lanceway.spark.write import replace
from lanceway.tables.errors import translated

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def _ask(catalog: LanceNamespace, operation: str, id_: list[str], **fields: object) -> Any:
    return getattr(catalog, operation)(REQUESTS[operation].model_validate({"id": id_, **fields}))


# -- namespaces ------------------------------------------------------------------------------------


def _list_namespaces(asked: Asked) -> list[str]:
    return list(paging.names(loading.target_of(asked).catalog(), "list_namespaces", asked["id"]))


def _describe_namespace(asked: Asked) -> dict[str, str]:
    answer = _ask(loading.target_of(asked).catalog(), "describe_namespace", asked["id"])
    return dict(answer.properties or {})


def _create_namespace(asked: Asked) -> None:
    # Spark adds the name of whoever runs it as owner: that is no user of the catalog's.
    properties = {key: value for key, value in asked["properties"].items() if key != "owner"}
    _ask(loading.target_of(asked).catalog(), "create_namespace", asked["id"], properties=properties)


def _drop_namespace(asked: Asked) -> None:
    behavior = "cascade" if asked["cascade"] else "restrict"
    _ask(loading.target_of(asked).catalog(), "drop_namespace", asked["id"], behavior=behavior)


# -- tables ----------------------------------------------------------------------------------------


def _list_tables(asked: Asked) -> list[str]:
    return list(paging.names(loading.target_of(asked).catalog(), "list_tables", asked["id"]))


def _table_exists(asked: Asked) -> bool:
    if not asked["id"]:
        return False
    try:
        _ask(loading.target_of(asked).catalog(), "table_exists", asked["id"])
    except (NamespaceNotFoundError, TableNotFoundError):
        return False
    return True


def _load_table(asked: Asked) -> dict[str, Any]:
    target = loading.target_of(asked)
    return loading.describe(target, loading.open_(target, asked))


def _drop_table(asked: Asked) -> None:
    _ask(loading.target_of(asked).catalog(), "drop_table", asked["id"])


def _rename_table(asked: Asked) -> None:
    catalog = loading.target_of(asked).catalog()
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
    target, table = loading.target_of(asked), creating.NewTable.of(asked)
    mode = asked["mode"]
    if mode == "create" or (mode == "create_or_replace" and not target.exists()):
        creating.create(target, table, "create")
        return loading.describe(target, target.open())
    description = loading.describe(target, target.open())
    return {
        **description,
        "schema": asked["schema"],
        "writing": {**description["writing"], "vector_columns": json.dumps(table.vectors)},
        "new": False,
    }


def _replace_table(asked: Asked) -> None:
    creating.create(loading.target_of(asked), creating.NewTable.of(asked), "overwrite")


def _finish_table(asked: Asked) -> None:
    """A table that was replaced by a query's rows has the properties that the statement gives it."""
    properties = creating.NewTable.of(asked).properties
    if properties:
        altering.set_properties(loading.target_of(asked), properties, ())


def _alter_table(asked: Asked) -> None:
    altering.alter(loading.target_of(asked), asked["changes"])


# -- rows ------------------------------------------------------------------------------------------


def _push_filters(asked: Asked) -> dict[str, Any]:
    taken, condition = predicates.conjunction(asked["filters"], loading.arrow_of(asked))
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
    taken, _ = predicates.conjunction(asked["filters"], loading.arrow_of(asked))
    return all(taken)


def _delete(asked: Asked) -> None:
    taken, condition = predicates.conjunction(asked["filters"], loading.arrow_of(asked))
    if not all(taken):
        raise UnsupportedOperationError("DELETE: Lance cannot evaluate this condition itself.")
    _ask(loading.target_of(asked).catalog(), "delete_from_table", asked["id"], predicate=condition or "true")


def _choose_fragments(asked: Asked) -> dict[str, Any]:
    """What an UPDATE, a MERGE or a DELETE replaces. Conditions that Lance cannot evaluate choose nothing away."""
    _, condition = predicates.conjunction(asked["filters"], loading.arrow_of(asked))
    target, version = loading.target_of(asked), int(asked["version"])
    with translated(target.table(), f"Looking for the rows of {asked['command']}"):
        fragments = replace.choose(target.open(version=version), condition)
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
