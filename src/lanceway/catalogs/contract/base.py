"""The contract: what a catalog answers, and all that it inherits for it.

A catalog subclasses `Catalog`, names its settings, and answers the dozen questions of
`questions.py`. Everything else of `lance_namespace.LanceNamespace` it inherits: lists, modes and
existence from `metadata.py`, some forty operations on a table's data from `operations.py`, and those that a worker
carries out later from `background.py`.
"Supported" means "overridden": a question left unanswered makes the operations that need it
raise UnsupportedOperationError (code 0).
"""

from __future__ import annotations

from collections.abc import Mapping

from lanceway.catalogs.contract.background import BackgroundOperations
from lanceway.catalogs.contract.hooks import CatalogHooks, TableEntry
from lanceway.catalogs.contract.operations import OPERATIONS

__all__ = ["OPERATIONS", "Catalog", "TableEntry"]

_NEEDS: Mapping[str, tuple[str, ...]] = {
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
ON_THEIR_OWN = frozenset(
    {
        "batch_commit_tables",
        "batch_create_table_versions",
    }
)
# Those that a worker carries out: a catalog needs a place to record them.
BACKGROUND = frozenset({"alter_table_backfill_columns", "create_materialized_view", "refresh_materialized_view"})


class Catalog(BackgroundOperations):
    """One metadata service under the Lance Namespace contract."""

    @classmethod
    def support(cls) -> Mapping[str, frozenset[str]]:
        """The operations this catalog supports, for each way in which it may be set up."""
        return {cls.TYPE: frozenset(name for name in OPERATIONS if cls._is_supported(name))}

    @classmethod
    def _is_supported(cls, operation: str) -> bool:
        if operation in ON_THEIR_OWN:
            return getattr(cls, operation) is not getattr(Catalog, operation)
        if operation in BACKGROUND:
            return cls._desk is not CatalogHooks._desk
        needed = _NEEDS.get(operation, ("_find_table",))
        return all(getattr(cls, question) is not getattr(CatalogHooks, question) for question in needed)
