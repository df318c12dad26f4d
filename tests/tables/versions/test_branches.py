from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import CreateTableBranchRequest, CreateTableTagRequest, DeleteTableBranchRequest

from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches, tags
from tests.tables import table_helpers as samples


def create(table: StoredTable, name: str, **asked: Any) -> None:
    branches.create(table, CreateTableBranchRequest(name=name, **asked))


def delete(table: StoredTable, name: str) -> None:
    branches.delete(table, DeleteTableBranchRequest(name=name))


def test_branches_are_created_listed_and_deleted(table: StoredTable) -> None:
    for name in ("b", "c/d", "a"):
        create(table, name)
    listed = branches.list_(table, None)
    assert list(listed) == ["a", "b", "c/d"]
    assert (listed["a"].parent_branch, listed["a"].parent_version) == (None, 1)
    assert listed["a"].create_at > 1_600_000_000
    assert list(branches.list_(table, "a")) == ["b", "c/d"]
    delete(table, "a")
    assert list(branches.list_(table, None)) == ["b", "c/d"]


def test_a_branch_begins_where_it_is_told_to(table: StoredTable) -> None:
    open_at(table).insert(samples.rows(10))
    create(table, "old", from_version=1)
    create(table, "new")
    open_at(table, branch="old").insert(samples.rows(100, 1))
    create(table, "twig", from_branch="old")
    create(table, "bud", from_branch="old", from_version=1)
    counts = {name: open_at(table, branch=name).count_rows() for name in ("old", "new", "twig", "bud")}
    assert counts == {"old": 11, "new": 20, "twig": 11, "bud": 10}
    assert branches.list_(table, None)["twig"].parent_branch == "old"


def test_a_branch_that_cannot_be(table: StoredTable) -> None:
    create(table, "taken")
    with pytest.raises(TableBranchAlreadyExistsError, match="'taken'"):
        create(table, "taken")
    with pytest.raises(TableBranchNotFoundError, match="'none'"):
        create(table, "new", from_branch="none")
    with pytest.raises(TableVersionNotFoundError, match="no version 9"):
        create(table, "new", from_version=9)
    with pytest.raises(InvalidInputError, match="every table has"):
        create(table, "main")
    with pytest.raises(InvalidInputError, match="is not a name of a branch"):
        create(table, "../out")
    assert list(branches.list_(table, None)) == ["taken"]


def test_a_branch_that_cannot_go(table: StoredTable) -> None:
    create(table, "tree")
    create(table, "twig", from_branch="tree")
    tags.create(table, CreateTableTagRequest(tag="leaf", version=1, branch="twig"))
    with pytest.raises(TableBranchNotFoundError, match="It has: main, tree, twig"):
        delete(table, "none")
    with pytest.raises(InvalidInputError, match="every table has"):
        delete(table, "main")
    with pytest.raises(InvalidTableStateError, match="referenced by"):
        delete(table, "tree")
    with pytest.raises(InvalidTableStateError, match="referenced by tags"):
        delete(table, "twig")
