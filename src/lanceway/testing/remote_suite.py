"""The conformance suite over one connected catalog, as `inspection` hands it to pytest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from lance_namespace import LanceNamespace

from lanceway.testing.behaviours.concurrency import ConcurrencyTests
from lanceway.testing.catalog import DataTests, InputTests, NamespaceTests, StructureTests, TableTests
from lanceway.testing.inspection import SUBJECT, Raw, Subject
from lanceway.testing.sandbox import Sandbox


class TestServer(NamespaceTests, TableTests, DataTests, StructureTests, InputTests, ConcurrencyTests):
    """All behaviours of a server; those of its client as a Python object are left out."""

    @pytest.fixture(scope="class")
    def subject(self, request: pytest.FixtureRequest) -> Subject:
        subject: Any = request.config.stash[SUBJECT]
        return subject  # type: ignore[no-any-return]

    @pytest.fixture
    def catalog(self, subject: Subject) -> LanceNamespace:
        return subject.catalog

    @pytest.fixture
    def scratch(self, subject: Subject) -> Sequence[str]:
        return subject.scratch

    @pytest.fixture
    def raw(self, space: Sandbox, subject: Subject) -> Raw:
        return Raw(space, subject.storage_options)
