"""The conformance suite over the tree's branches: a catalog of its lake, and a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lance_namespace import LanceNamespace

from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.identifiers import Identifier
from lanceway.testing import STORAGE_MANAGED, CatalogTests
from tests.catalogs.federated.tree_helpers import LAKE, SECRET, folder_of, tree


class TestLakeBranch(CatalogTests):
    secrets = (SECRET,)

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> Iterator[LanceNamespace]:
        with Subtree(tree(tmp_path), Identifier((LAKE,))) as branch:
            yield branch


class TestFolderBranch(CatalogTests):
    # tests/catalogs/federated/test_federated.py asks with a batch that names a table.
    deviations = {  # noqa: RUF012 - as the flags are
        "test_what_is_left_out_is_refused_as_unsupported": "an empty batch names no catalog that could refuse it",
    }
    without = {  # noqa: RUF012 - a flag is a class attribute
        **STORAGE_MANAGED,
        "chosen_location": "a table lies in the folder, under a name of its choice",
    }
    secrets = (SECRET,)

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> Iterator[LanceNamespace]:
        with Subtree(tree(tmp_path, {"folder": folder_of(tmp_path / "folder")}), Identifier(("folder",))) as branch:
            yield branch
