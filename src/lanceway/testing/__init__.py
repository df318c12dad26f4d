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
    from lanceway.testing.inspection import Raw as Raw
    from lanceway.testing.sandbox import Sandbox as Sandbox
    from lanceway.testing.sandbox import temporary_namespace as temporary_namespace


_WITH_ASSERTIONS = (
    "lanceway.testing.behaviours.bad_input",
    "lanceway.testing.behaviours.columns",
    "lanceway.testing.behaviours.concurrency",
    "lanceway.testing.behaviours.indices",
    "lanceway.testing.behaviours.lifecycle",
    "lanceway.testing.behaviours.managed",
    "lanceway.testing.behaviours.namespaces",
    "lanceway.testing.behaviours.queries",
    "lanceway.testing.behaviours.references",
    "lanceway.testing.behaviours.registration",
    "lanceway.testing.behaviours.rows",
    "lanceway.testing.behaviours.tables",
    "lanceway.testing.behaviours.versions",
    "lanceway.testing.sandbox",
    "lanceway.testing.sandbox",
    "lanceway.testing.inspection",
)


def rewrite_assertions() -> None:
    """Let failed assertions of modules that are imported later show their values, as in a project's own test files."""
    pytest.register_assert_rewrite(*_WITH_ASSERTIONS)


rewrite_assertions()

# Every run of pytest loads the plugin, and with it this file, so what is heavy is loaded when it is asked for.
__all__, __getattr__ = front(
    __name__,
    {
        "CAPABILITIES": "lanceway.testing.capabilities",
        "CatalogTests": "lanceway.testing.catalog",
        "NO_ENGINE": "lanceway.testing.capabilities",
        "Raw": "lanceway.testing.inspection",
        "STORAGE_MANAGED": "lanceway.testing.capabilities",
        "Sandbox": "lanceway.testing.sandbox",
        "needs": "lanceway.testing.capabilities",
        "temporary_namespace": "lanceway.testing.sandbox",
    },
)
