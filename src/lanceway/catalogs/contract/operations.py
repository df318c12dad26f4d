"""The contract as data: its operations, the request that each takes, and the hooks that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_type_hints

import lance_namespace
from lance_namespace import LanceNamespace
from pydantic import BaseModel


def _requests() -> dict[str, type[BaseModel]]:
    methods = {name: method for name, method in vars(LanceNamespace).items() if not name.startswith("_")}
    hints = {name: get_type_hints(method, vars(lance_namespace)) for name, method in methods.items()}
    return {name: types["request"] for name, types in hints.items() if "request" in types}


# Every public operation with its request's model, in the contract's own order.
REQUESTS: Mapping[str, type[BaseModel]] = MappingProxyType(_requests())
OPERATIONS: tuple[str, ...] = tuple(REQUESTS)

# The operations that take Arrow data beside their request. Each has a twin that takes a reader,
# and `query_table` has one that gives a reader.
WITH_DATA = ("create_table", "insert_into_table", "merge_insert_into_table")


# The hooks that a catalog overrides to support an operation; `_find_table` for all others.
REQUIRED_HOOKS: Mapping[str, tuple[str, ...]] = {
    "list_namespaces": (),
    "describe_namespace": (),
    "namespace_exists": (),
    "create_namespace": ("_create_namespace",),
    "drop_namespace": ("_drop_namespace",),
    "list_tables": ("_child_tables",),
    "list_all_tables": ("_child_tables",),
    "register_table": ("_register_table",),
    "deregister_table": ("_deregister_table",),
    "drop_table": ("_drop_table",),
    "rename_table": ("_rename_table",),
    "declare_table": ("_declare_table",),
    "create_table": ("_declare_table", "_find_table"),
    "create_empty_table": ("_declare_table",),
}
# Refused by every catalog that does not override the operation itself.
MUST_OVERRIDE = frozenset({"batch_commit_tables", "batch_create_table_versions"})
# Run by a worker: a catalog needs a queue to record them in.
BACKGROUND = frozenset({"alter_table_backfill_columns", "create_materialized_view", "refresh_materialized_view"})


def stream_twin(operation: str) -> str:
    """Return the name of an operation's twin that takes or returns a reader."""
    return f"{operation}_stream"
