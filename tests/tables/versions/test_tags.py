from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import (
    CreateTableBranchRequest,
    CreateTableTagRequest,
    DeleteTableTagRequest,
    GetTableTagVersionRequest,
    UpdateTableTagRequest,
)

from lanceway.errors import (
    InvalidInputError,
    TableBranchNotFoundError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches, tags
from tests.tables import table_helpers as samples


def create(table: StoredTable, tag: str, version: int, **asked: Any) -> None:
    tags.create(table, CreateTableTagRequest(tag=tag, version=version, **asked))


def update(table: StoredTable, tag: str, version: int, **asked: Any) -> None:
    tags.update(table, UpdateTableTagRequest(tag=tag, version=version, **asked))


def test_tags_are_created_listed_moved_and_deleted(table: StoredTable) -> None:
    open_at(table).insert(samples.rows(10))
    for name in ("b", "c", "a"):
        create(table, name, 1)
    listed = tags.list_(table, None)
    assert list(listed) == ["a", "b", "c"]
    assert (listed["a"].version, listed["a"].branch) == (1, None)
    assert listed["a"].manifest_size > 0
    assert list(tags.list_(table, "a")) == ["b", "c"]
    update(table, "a", 2)
    assert tags.version(table, GetTableTagVersionRequest(tag="a")).version == 2
    tags.delete(table, DeleteTableTagRequest(tag="a"))
    assert list(tags.list_(table, None)) == ["b", "c"]


def test_a_tag_may_lie_on_a_branch(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    open_at(table, branch="side").insert(samples.rows(10))
    create(table, "there", 2, branch="side")
    told = tags.version(table, GetTableTagVersionRequest(tag="there"))
    assert (told.version, told.branch) == (2, "side")
    assert open_at(table, tag="there").count_rows() == 20
    update(table, "there", 1, branch="main")
    assert tags.version(table, GetTableTagVersionRequest(tag="there")).branch is None
    with pytest.raises(TableVersionNotFoundError):
        create(table, "other", 2)
    with pytest.raises(TableBranchNotFoundError):
        create(table, "other", 1, branch="none")


def test_a_tag_that_cannot_be(table: StoredTable) -> None:
    create(table, "taken", 1)
    with pytest.raises(TableTagAlreadyExistsError, match="'taken'"):
        create(table, "taken", 1)
    with pytest.raises(TableVersionNotFoundError, match="no version 9"):
        create(table, "new", 9)
    with pytest.raises(TableVersionNotFoundError, match="no version 9"):
        update(table, "taken", 9)
    with pytest.raises(InvalidInputError, match="Ref"):
        create(table, "no spaces!", 1)
    assert list(tags.list_(table, None)) == ["taken"]


def test_a_tag_that_is_not_there(table: StoredTable) -> None:
    with pytest.raises(TableTagNotFoundError, match=r"no tag 'none'. It has none"):
        tags.version(table, GetTableTagVersionRequest(tag="none"))
    with pytest.raises(TableTagNotFoundError):
        update(table, "none", 1)
    with pytest.raises(TableTagNotFoundError):
        tags.delete(table, DeleteTableTagRequest(tag="none"))
