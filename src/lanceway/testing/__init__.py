"""The conformance suite: every behaviour of the Lance Namespace contract, for any catalog.

    from lanceway.testing import CatalogTests

It needs pytest and nothing of this repository's own tests. Its plugin (`lanceway.testing.plugin`)
is loaded by pytest itself once the package is installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lanceway.testing.capabilities import CAPABILITIES, NO_ENGINE, STORAGE_MANAGED, needs
    from lanceway.testing.catalog import CatalogTests
    from lanceway.testing.space import Space, temporary_namespace
    from lanceway.testing.storage import Raw

__all__ = [
    "CAPABILITIES",
    "NO_ENGINE",
    "STORAGE_MANAGED",
    "CatalogTests",
    "Raw",
    "Space",
    "needs",
    "temporary_namespace",
]

# Every run of pytest loads the plugin, and with it this file, so what is heavy is loaded when it is asked for.
_WHERE = {
    "CAPABILITIES": "capabilities",
    "NO_ENGINE": "capabilities",
    "STORAGE_MANAGED": "capabilities",
    "CatalogTests": "catalog",
    "Raw": "storage",
    "Space": "space",
    "needs": "capabilities",
    "temporary_namespace": "space",
}
_WITH_ASSERTIONS = (
    "builders",
    "changes",
    "columns",
    "concurrency",
    "data",
    "indices",
    "input",
    "life",
    "lists",
    "managed",
    "namespaces",
    "queries",
    "references",
    "registration",
    "space",
    "storage",
    "tables",
    "versions",
)


def rewrite_assertions() -> None:
    """Have a failed assertion show its values, as in a test file of one's own. Holds for what is imported later."""
    pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _WITH_ASSERTIONS))


rewrite_assertions()


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
