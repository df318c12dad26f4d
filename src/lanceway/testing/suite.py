"""The base of every group of tests: the fixtures that a catalog's test class supplies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
from lance_namespace import LanceNamespace

from lanceway.testing import plugin
from lanceway.testing.capabilities import left_out
from lanceway.testing.sandbox import Sandbox
from lanceway.testing.storage import Raw


class Suite:
    """What a subclass declares of its catalog, and the fixtures that its tests use."""

    # What the catalog's specification leaves out, each with the reason (see capabilities.py).
    without: ClassVar[Mapping[str, str]] = MappingProxyType({})
    # Tests that a foreign catalog is known to fail, each with the reason.
    deviations: ClassVar[Mapping[str, str]] = MappingProxyType({})
    # Texts that must never be read from the catalog's repr or namespace_id.
    secrets: ClassVar[Sequence[str]] = ()
    # What joins the names in list_all_tables.
    delimiter: ClassVar[str] = "$"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        left_out(cls.without, cls.__name__)
        for name in cls.deviations:
            if not hasattr(cls, name.partition("[")[0]):
                raise TypeError(f"{cls.__name__}.deviations names {name}, which is no test of it.")

    @pytest.fixture
    def catalog(self) -> LanceNamespace:
        """Return the catalog under test. A subclass must supply it."""
        raise NotImplementedError(f"{type(self).__name__} must supply a fixture named catalog.")

    @pytest.fixture
    def scratch(self) -> Sequence[str]:
        """Return the namespace in which the tests work; the root unless a subclass says otherwise."""
        return ()

    @pytest.fixture
    def space(self, catalog: LanceNamespace, scratch: Sequence[str], request: pytest.FixtureRequest) -> Sandbox:
        if plugin.LEFT_OUT not in request.config.stash:
            pytest.fail("CatalogTests needs its plugin: run pytest -p lanceway.testing.plugin.")
        return Sandbox(catalog, tuple(scratch))

    @pytest.fixture
    def raw(self, space: Sandbox) -> Raw:
        """Return the storage below the catalog. A subclass may supply its own credentials."""
        return Raw(space)
