"""The base class of every catalog.

A catalog subclasses `Catalog`, names its settings, and implements the dozen hooks of `hooks.py`. It inherits every
operation of `lance_namespace.LanceNamespace`: lists, modes and existence from `metadata.py`, creation from `create.py`,
some forty operations on a table's data from `tables.py`, and those that a worker runs later from `background.py`.
"Supported" means "overridden": a hook that is left out makes the operations that need it raise
UnsupportedOperationError (code 0).
"""

from __future__ import annotations

from collections.abc import Mapping

from lanceway.catalogs.contract.background import BackgroundOperations
from lanceway.catalogs.contract.create import TableCreation
from lanceway.catalogs.contract.hooks import (
    BACKGROUND,
    MUST_OVERRIDE,
    OPERATIONS,
    REQUIRED_HOOKS,
    CatalogHooks,
    TableEntry,
)
from lanceway.catalogs.contract.metadata import MetadataOperations
from lanceway.catalogs.contract.tables import TableOperations
from lanceway.catalogs.handles.contents import CatalogContents

__all__ = ["OPERATIONS", "Catalog", "TableEntry"]


class Catalog(CatalogContents, MetadataOperations, TableCreation, TableOperations, BackgroundOperations):
    """One metadata service under the Lance Namespace contract."""

    @classmethod
    def support(cls) -> Mapping[str, frozenset[str]]:
        """Return the operations that this catalog supports, for each way in which it may be set up."""
        return {cls.TYPE: frozenset(name for name in OPERATIONS if cls._is_supported(name))}

    @classmethod
    def _is_supported(cls, operation: str) -> bool:
        if operation in MUST_OVERRIDE:
            return getattr(cls, operation) is not getattr(Catalog, operation)
        if operation in BACKGROUND:
            return cls._desk is not CatalogHooks._desk
        hooks = REQUIRED_HOOKS.get(operation, ("_find_table",))
        return all(getattr(cls, hook) is not getattr(CatalogHooks, hook) for hook in hooks)
