"""What `inspection` has pytest collect: the conformance suite over one catalog that is already connected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from lance_namespace import LanceNamespace

from lanceway.testing.behaviours.concurrency import ConcurrencyTests
from lanceway.testing.catalog import DataTests, InputTests, NamespaceTests, StructureTests, TableTests
from lanceway.testing.inspection.inspection import SUBJECT, Subject
from lanceway.testing.sandbox import Sandbox
from lanceway.testing.storage import Raw


class TestServer(NamespaceTests, TableTests, DataTests, StructureTests, InputTests, ConcurrencyTests):
    """All that a server does. How its client behaves as a Python object is not the server's affair."""

    @pytest.fixture(scope="class")
    def subject(self, request: pytest.FixtureRequest) -> Subject:
        found: Any = request.config.stash[SUBJECT]
        return found  # type: ignore[no-any-return]

    @pytest.fixture
    def catalog(self, subject: Subject) -> LanceNamespace:
        return subject.catalog

    @pytest.fixture
    def scratch(self, subject: Subject) -> Sequence[str]:
        return subject.scratch

    @pytest.fixture
    def raw(self, space: Sandbox, subject: Subject) -> Raw:
        return Raw(space, subject.storage_options)
