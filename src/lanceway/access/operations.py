"""What each operation needs, as data: of the Lance Namespace contract, of Iceberg tables and views, of jobs and runs.

An operation asks a rule of each object that it touches. All of them must hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lanceway.access.rules import BY_NAME, Rule

# Which object a rule is asked of, seen from the request.
METALAKE = "metalake"
CATALOG = "catalog"
TARGET = "target"  # what the request's identifier names
PARENT = "parent"  # the namespace around it
NEW_PARENT = "new parent"  # the namespace that a renamed table or view moves to
EACH = "each"  # every table that a batch names
SOURCES = "sources"  # every table that a view reads, or a clone is made from


@dataclass(frozen=True, slots=True)
class Demand:
    """A rule, and the object that it is asked of."""

    of: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with all that it demands. What a list shows is filtered besides, as `filtered` says."""

    name: str
    demands: tuple[Demand, ...]
    filtered: bool = False


def _operation(name: str, *demands: tuple[str, str], filtered: bool = False) -> Operation:
    return Operation(name, tuple(Demand(of, BY_NAME[rule]) for of, rule in demands), filtered)


def _each(names: str, *demands: tuple[str, str]) -> Iterable[Operation]:
    return (_operation(name, *demands) for name in names.split())


_OPERATIONS: tuple[Operation, ...] = (
    # Namespaces. The parent of a list is not asked for: what is hidden in it and what is missing look alike.
    _operation("list_namespaces", (CATALOG, "use catalog"), filtered=True),
    *_each("describe_namespace namespace_exists", (TARGET, "load schema")),
    _operation("create_namespace", (PARENT, "create schema")),
    _operation("drop_namespace", (TARGET, "own schema")),
    # Tables
    _operation("list_tables", (TARGET, "load schema"), filtered=True),
    _operation("list_all_tables", filtered=True),
    *_each("describe_table table_exists", (TARGET, "load table")),
    *_each("create_table declare_table create_empty_table register_table", (PARENT, "create table")),
    *_each("drop_table deregister_table", (TARGET, "own table")),
    _operation("rename_table", (TARGET, "own table"), (NEW_PARENT, "create table")),
    # Reading
    *_each(
        "query_table count_table_rows explain_table_query_plan analyze_table_query_plan get_table_stats"
        " list_table_indices describe_table_index_stats list_table_versions describe_table_version list_table_tags"
        " get_table_tag_version list_table_branches describe_transaction",
        (TARGET, "read table"),
    ),
    # Writing
    *_each(
        "insert_into_table merge_insert_into_table update_table delete_from_table restore_table create_table_version"
        " batch_delete_table_versions create_table_index create_table_scalar_index drop_table_index"
        " update_table_schema_metadata update_field_metadata alter_table_add_columns alter_table_alter_columns"
        " alter_table_drop_columns alter_table_backfill_columns create_table_tag delete_table_tag update_table_tag"
        " create_table_branch delete_table_branch alter_transaction",
        (TARGET, "modify table"),
    ),
    *_each("batch_create_table_versions batch_commit_tables", (EACH, "modify table")),
    # Views
    _operation("create_materialized_view", (PARENT, "create view"), (SOURCES, "read table")),
    _operation("refresh_materialized_view", (TARGET, "modify table"), (SOURCES, "read table")),
)
# What the contract does not have.
_OWN: tuple[Operation, ...] = (_operation("clone_table", (PARENT, "create table"), (SOURCES, "read table")),)
# Iceberg tables and views. A Lance table is one of the tables here, as its companion.
_ICEBERG: tuple[Operation, ...] = (
    *(
        _operation(name, (TARGET, "load schema"), filtered=True)
        for name in ("list_iceberg_tables", "list_iceberg_views")
    ),
    *_each("load_iceberg_table iceberg_table_exists", (TARGET, "load table")),
    *_each("create_iceberg_table register_iceberg_table", (PARENT, "create table")),
    _operation("overwrite_iceberg_table", (TARGET, "own table")),  # to register one in the place of another
    # Each table of a commit; a table that was staged is made by it, and needs what making one needs.
    _operation("commit_iceberg_table", (TARGET, "modify table")),
    _operation("drop_iceberg_table", (TARGET, "own table")),
    _operation("rename_iceberg_table", (TARGET, "own table"), (NEW_PARENT, "create table")),
    *_each("load_iceberg_view iceberg_view_exists", (TARGET, "read view")),
    *_each("create_iceberg_view register_iceberg_view", (PARENT, "create view")),
    *_each("replace_iceberg_view drop_iceberg_view", (TARGET, "own view")),
    _operation("rename_iceberg_view", (TARGET, "own view"), (NEW_PARENT, "create view")),
)
# Jobs do what an operation does, and need what it needs, also at the time when they run.
_JOBS: tuple[Operation, ...] = (
    *_each("backfill compact index refresh_index dedupe clean import", (TARGET, "modify table")),
    *_each("refresh auto_refresh", (TARGET, "modify table"), (SOURCES, "read table")),
    _operation("export", (TARGET, "read table")),
    *_each("crawl sync", (PARENT, "create table")),
    _operation("migrate", (PARENT, "create table"), (SOURCES, "read table")),
    # Of jobs that are there. No right on the table opens them to others than who asked and administrators.
    _operation("list_jobs", (METALAKE, "own job"), filtered=True),
    *_each("describe_job cancel_job", (METALAKE, "own job")),
)
_RUNS: tuple[Operation, ...] = (
    *_each("take_lease get_pipeline", (METALAKE, "run job"), (METALAKE, "own run")),
    # The key of a lease says whose run it is.
    *_each("renew_lease record_run", (METALAKE, "run job")),
    # Giving one back stays open: who lost the right to run pipelines should not have to keep one held.
    _operation("release_lease", (METALAKE, "own run")),
    *(
        _operation(name, (METALAKE, "own run"), filtered=True)
        for name in ("list_pipelines", "list_runs", "get_lineage")
    ),
    *_each("get_run get_had get_last_steps get_files get_changed cancel_run", (METALAKE, "own run")),
)
# What SQL reads is known when it runs: the owner of the catalog may read it all.
SQL_SOURCES = Demand(CATALOG, BY_NAME["own catalog"])

OPERATIONS: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in _OPERATIONS})
ICEBERG: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in _ICEBERG})
OWN: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in (*_OWN, *_ICEBERG)})
JOBS: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in _JOBS})
RUNS: Mapping[str, Operation] = MappingProxyType({operation.name: operation for operation in _RUNS})
