"""The conformance suite: every behaviour of the Lance Namespace contract, for any catalog.

    from lanceway.testing import CatalogTests as CatalogTests

It needs pytest and nothing of this repository's own tests. Its plugin (`lanceway.testing.plugin`)
is loaded by pytest itself once the package is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.testing.capabilities import CAPABILITIES as CAPABILITIES
    from lanceway.testing.capabilities import NO_ENGINE as NO_ENGINE
    from lanceway.testing.capabilities import STORAGE_MANAGED as STORAGE_MANAGED
    from lanceway.testing.capabilities import needs as needs
    from lanceway.testing.catalog import CatalogTests as CatalogTests
    from lanceway.testing.space import Space as Space
    from lanceway.testing.space import temporary_namespace as temporary_namespace
    from lanceway.testing.storage import Raw as Raw


_WITH_ASSERTIONS = (
    "lanceway.testing.builders",
    "lanceway.testing.changes",
    "lanceway.testing.columns",
    "lanceway.testing.concurrency",
    "lanceway.testing.data",
    "lanceway.testing.indices",
    "lanceway.testing.input",
    "lanceway.testing.life",
    "lanceway.testing.lists",
    "lanceway.testing.managed",
    "lanceway.testing.namespaces",
    "lanceway.testing.queries",
    "lanceway.testing.references",
    "lanceway.testing.registration",
    "lanceway.testing.space",
    "lanceway.testing.storage",
    "lanceway.testing.tables",
    "lanceway.testing.versions",
)


def rewrite_assertions() -> None:
    """Have a failed assertion show its values, as in a test file of one's own. Holds for what is imported later."""
    pytest.register_assert_rewrite(*_WITH_ASSERTIONS)


rewrite_assertions()

# Every run of pytest loads the plugin, and with it this file, so what is heavy is loaded when it is asked for.
__all__, __getattr__ = front(
    __name__,
    {
        "CAPABILITIES": "lanceway.testing.capabilities",
        "CatalogTests": "lanceway.testing.catalog",
        "NO_ENGINE": "lanceway.testing.capabilities",
        "Raw": "lanceway.testing.storage",
        "STORAGE_MANAGED": "lanceway.testing.capabilities",
        "Space": "lanceway.testing.space",
        "needs": "lanceway.testing.capabilities",
        "temporary_namespace": "lanceway.testing.space",
    },
)
