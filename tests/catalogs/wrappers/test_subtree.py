"""A namespace inside a catalog as the root: the conformance suite over it, and what stays out of reach."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from lance_namespace import CreateNamespaceRequest, LanceNamespace

from lanceway.catalogs import DirectoryCatalog
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.errors import InvalidInputError, NamespaceNotFoundError, TableNotFoundError
from lanceway.identifiers import ROOT, Identifier
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests

AT = Identifier(("team", "sales"))


def whole(path: Path) -> DirectoryCatalog:
    catalog = DirectoryCatalog(path=str(path), layout="manifest")
    for depth in (1, 2):
        catalog.create_namespace(CreateNamespaceRequest(id=list(AT[:depth]), mode="exist_ok"))
    return catalog


class TestSubtree(CatalogTests):
    without = {  # noqa: RUF012 - a flag is a class attribute
        **NO_ENGINE,
        **STORAGE_MANAGED,
        "chosen_location": "a table lies in the folder, under a name of its choice",
    }

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> LanceNamespace:
        return Subtree(whole(tmp_path), AT)


def test_what_lies_beside_it_is_out_of_reach(tmp_path: Path) -> None:
    catalog = whole(tmp_path)
    catalog.declare_table({"id": ["team", "secret"]})
    inside = Subtree(catalog, AT)
    with pytest.raises(TableNotFoundError):
        inside.describe_table({"id": ["secret"]})
    with pytest.raises(NamespaceNotFoundError):
        inside.describe_table({"id": ["team", "secret"]})


def test_answers_speak_in_its_own_identifiers(tmp_path: Path) -> None:
    inside = Subtree(whole(tmp_path), AT)
    inside.create_namespace({"id": ["eu"]})
    inside.declare_table({"id": ["eu", "orders"]})
    assert inside.list_all_tables({"id": []}).tables == ["eu$orders"]
    inside.rename_table({"id": ["eu", "orders"], "new_table_name": "orders", "new_namespace_id": []})
    assert inside.list_tables({"id": []}).tables == ["orders"]
    assert inside.drop_table({"id": ["orders"]}).id == ["orders"]


def test_its_root_can_neither_be_dropped_nor_taken_for_a_table(tmp_path: Path) -> None:
    catalog = whole(tmp_path)
    inside = Subtree(catalog, AT)
    for operation in ("drop_namespace", "drop_table", "describe_table"):
        with pytest.raises(InvalidInputError):
            getattr(inside, operation)({"id": []})
    assert catalog.namespace_exists({"id": list(AT)})


def test_a_missing_namespace_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NamespaceNotFoundError):
        Subtree(whole(tmp_path), AT.child("gone")).list_tables({"id": []})


def test_the_root_is_no_subtree(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="at is empty"):
        Subtree(whole(tmp_path), ROOT)


def test_two_places_in_one_catalog_differ_and_each_survives_pickling(tmp_path: Path) -> None:
    catalog = whole(tmp_path)
    inside, above = Subtree(catalog, AT), Subtree(catalog, AT.parent)
    assert inside.namespace_id() != above.namespace_id()
    assert pickle.loads(pickle.dumps(inside)).namespace_id() == inside.namespace_id()
