"""One small request for every operation, so that one test can try each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceway.testing.sandbox import Id, rows, stream

_QUERY: Mapping[str, Any] = {"k": 1, "vector": {}}

# What each operation on a table that must be there takes beside the table's identifier.
ON_A_TABLE: Mapping[str, Mapping[str, Any]] = {
    "describe_table": {},
    "table_exists": {},
    "drop_table": {},
    "deregister_table": {},
    "rename_table": {"new_table_name": "other"},
    "count_table_rows": {},
    "insert_into_table": {},
    "merge_insert_into_table": {"on": ["id"], "when_not_matched_insert_all": True},
    "update_table": {"updates": [["id", "1"]]},
    "delete_from_table": {"predicate": "true"},
    "query_table": _QUERY,
    "explain_table_query_plan": {"query": _QUERY},
    "analyze_table_query_plan": _QUERY,
    "create_table_index": {"column": "name", "index_type": "FTS"},
    "create_table_scalar_index": {"column": "id", "index_type": "BTREE"},
    "list_table_indices": {},
    "describe_table_index_stats": {"index_name": "x"},
    "drop_table_index": {"index_name": "x"},
    "get_table_stats": {},
    "restore_table": {"version": 1},
    "list_table_versions": {},
    "create_table_version": {"version": 1, "manifest_path": "x"},
    "describe_table_version": {"version": 1},
    "batch_delete_table_versions": {"ranges": [{"start_version": 1, "end_version": 2}]},
    "update_table_schema_metadata": {"metadata": {"a": "b"}},
    "update_field_metadata": {"updates": [{"path": "id", "metadata": {"a": "b"}}]},
    "alter_table_add_columns": {"new_columns": [{"name": "x", "expression": "1"}]},
    "alter_table_alter_columns": {"alterations": [{"path": "id", "rename": "x"}]},
    "alter_table_drop_columns": {"columns": ["id"]},
    "list_table_tags": {},
    "get_table_tag_version": {"tag": "x"},
    "create_table_tag": {"tag": "x", "version": 1},
    "update_table_tag": {"tag": "x", "version": 1},
    "delete_table_tag": {"tag": "x"},
    "list_table_branches": {},
    "create_table_branch": {"name": "x"},
    "delete_table_branch": {"name": "x"},
}
# What the others take beside an identifier, as far as a catalog may leave them out.
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "create_namespace": {},
    "drop_namespace": {},
    "declare_table": {},
    "create_table": {},
    "create_empty_table": {},
    "list_all_tables": {},
    "register_table": {"location": "x"},
    "alter_table_backfill_columns": {"column": "x"},
    "create_materialized_view": {"kind": "query", "source_query": "x", "output_schema": "x"},
    "refresh_materialized_view": {},
    "batch_create_table_versions": {"entries": []},
    "batch_commit_tables": {"operations": []},
    "describe_transaction": {},
    "alter_transaction": {"actions": [{"setPropertyAction": {"key": "a", "value": "b"}}]},
}

_WITH_DATA = ("create_table", "insert_into_table", "merge_insert_into_table")


def ask(catalog: Any, operation: str, id_: Id | None, *, as_dict: bool = True) -> Any:
    """Call an operation with its small request, as a dictionary or as its model."""
    request: Any = ON_A_TABLE.get(operation) or OTHERS.get(operation) or {}
    if "id" in model(operation).model_fields:  # a batch names its tables entry by entry
        request = {"id": id_, **request}
    if not as_dict:
        request = model(operation).model_validate(request)
    data = (stream(rows(1)),) if operation in _WITH_DATA else ()
    return getattr(catalog, operation)(request, *data)


def model(operation: str) -> Any:
    from lanceway.catalogs.contract.hooks import REQUESTS

    return REQUESTS[operation]
