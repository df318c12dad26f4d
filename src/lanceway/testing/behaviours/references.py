"""Tags and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lance_namespace as ln
import pytest

from lanceway.errors import ErrorCode
from lanceway.testing.behaviours.indices import indices
from lanceway.testing.behaviours.versions import versions
from lanceway.testing.capabilities import Suite
from lanceway.testing.sandbox import Id, Sandbox, code, pages, rows


def tag(space: Sandbox, id_: Id, name: str, version: int = 1, **options: Any) -> None:
    space.catalog.create_table_tag(ln.CreateTableTagRequest(id=id_, tag=name, version=version, **options))


def tags(space: Sandbox, id_: Id, limit: int | None = None) -> dict[str, int]:
    def page(token: str | None) -> object:
        return space.catalog.list_table_tags(ln.ListTableTagsRequest(id=id_, page_token=token, limit=limit))

    return {name: tag.version for response in pages(page, limit) for name, tag in response.tags.items()}


def branch(space: Sandbox, id_: Id, name: str, **options: Any) -> None:
    space.catalog.create_table_branch(ln.CreateTableBranchRequest(id=id_, name=name, **options))


def branches(space: Sandbox, id_: Id, limit: int | None = None) -> dict[str, Any]:
    def page(token: str | None) -> object:
        return space.catalog.list_table_branches(ln.ListTableBranchesRequest(id=id_, page_token=token, limit=limit))

    return {name: contents for response in pages(page, limit) for name, contents in response.branches.items()}


class TagTests(Suite):
    """A tag is a name for a version."""

    def test_a_tag_names_a_version(self, space: Sandbox) -> None:
        table = space.table()
        tag(space, table, "first")
        version = space.catalog.get_table_tag_version(ln.GetTableTagVersionRequest(id=table, tag="first"))
        assert (version.version, version.branch) == (1, None)

    def test_tags_are_listed_in_order_and_in_pages(self, space: Sandbox) -> None:
        table = space.table()
        for name in ("c", "a", "b"):
            tag(space, table, name)
        assert list(tags(space, table)) == ["a", "b", "c"]
        assert tags(space, table, limit=2) == {"a": 1, "b": 1, "c": 1}

    def test_a_tag_is_moved(self, space: Sandbox) -> None:
        table = space.table()
        tag(space, table, "here")
        space.insert(table, rows(4))
        space.catalog.update_table_tag(ln.UpdateTableTagRequest(id=table, tag="here", version=2))
        assert tags(space, table) == {"here": 2}

    def test_a_deleted_tag_is_gone(self, space: Sandbox) -> None:
        table = space.table()
        tag(space, table, "first")
        space.catalog.delete_table_tag(ln.DeleteTableTagRequest(id=table, tag="first"))
        assert tags(space, table) == {}

    def test_a_tag_is_created_once(self, space: Sandbox) -> None:
        table = space.table()
        tag(space, table, "first")
        space.insert(table, rows(4))
        with code(ErrorCode.TABLE_TAG_ALREADY_EXISTS):
            tag(space, table, "first", version=2)
        assert tags(space, table) == {"first": 1}

    def test_a_missing_tag_is_not_found(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_TAG_NOT_FOUND):
            space.catalog.get_table_tag_version(ln.GetTableTagVersionRequest(id=table, tag="nothing"))
        with code(ErrorCode.TABLE_TAG_NOT_FOUND):
            space.catalog.update_table_tag(ln.UpdateTableTagRequest(id=table, tag="nothing", version=1))
        with code(ErrorCode.TABLE_TAG_NOT_FOUND):
            space.catalog.delete_table_tag(ln.DeleteTableTagRequest(id=table, tag="nothing"))
        assert tags(space, table) == {}

    def test_a_tag_needs_a_version_that_is_there(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            tag(space, table, "far", version=99)
        tag(space, table, "first")
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.catalog.update_table_tag(ln.UpdateTableTagRequest(id=table, tag="first", version=99))
        assert tags(space, table) == {"first": 1}

    @pytest.mark.parametrize("name", ["", "a b", "../up"])
    def test_a_name_that_no_tag_can_have_is_refused(self, space: Sandbox, name: str) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            tag(space, table, name)
        assert tags(space, table) == {}

    def test_a_tag_may_name_a_version_of_a_branch(self, space: Sandbox) -> None:
        table = space.table()
        branch(space, table, "side")
        space.insert(table, rows(4), branch="side")
        tag(space, table, "beside", version=2, branch="side")
        version = space.catalog.get_table_tag_version(ln.GetTableTagVersionRequest(id=table, tag="beside"))
        assert (version.version, version.branch) == (2, "side")


class BranchTests(Suite):
    """A branch is a line of versions of its own, begun at a version of the table."""

    def test_a_branch_begins_at_the_latest_version(self, space: Sandbox) -> None:
        table = space.table()
        space.insert(table, rows(4))
        branch(space, table, "side")
        assert space.ids(table, branch="side") == [1, 2, 3, 4]
        assert branches(space, table)["side"].parent_version == 2

    def test_a_branch_may_begin_at_an_older_version(self, space: Sandbox) -> None:
        table = space.table()
        space.insert(table, rows(4))
        branch(space, table, "side", from_version=1)
        assert space.ids(table, branch="side") == [1, 2, 3]

    def test_a_branch_may_begin_at_another_branch(self, space: Sandbox) -> None:
        table = space.table()
        branch(space, table, "side")
        space.insert(table, rows(4), branch="side")
        branch(space, table, "further", from_branch="side")
        assert space.ids(table, branch="further") == [1, 2, 3, 4]
        assert branches(space, table)["further"].parent_branch == "side"

    def test_what_happens_on_a_branch_stays_there(self, space: Sandbox) -> None:
        table = space.table()
        branch(space, table, "side")
        space.insert(table, rows(4), branch="side")
        space.catalog.update_table(
            ln.UpdateTableRequest(id=table, branch="side", updates=[["name", "'x'"]], predicate="id = 1")
        )
        space.catalog.delete_from_table(ln.DeleteFromTableRequest(id=table, branch="side", predicate="id = 2"))
        assert (space.ids(table), space.ids(table, branch="side")) == ([1, 2, 3], [1, 3, 4])
        assert space.count(table, branch="side", predicate="name = 'x'") == 1
        assert space.count(table, predicate="name = 'x'") == 0

    def test_what_happens_on_main_does_not_reach_a_branch(self, space: Sandbox) -> None:
        table = space.table()
        branch(space, table, "side")
        space.insert(table, rows(4))
        assert space.ids(table, branch="side") == [1, 2, 3]

    def test_a_branch_has_columns_indices_and_versions_of_its_own(self, space: Sandbox) -> None:
        table = space.table()
        branch(space, table, "side")
        space.add_column(table, "twice", "id * 2", branch="side")
        space.index(table, "id", "BTREE", name="by_id", branch="side")
        assert (indices(space, table), indices(space, table, branch="side")) == ([], ["by_id"])
        assert space.columns(table, branch="side") == [*space.columns(table), "twice"]
        assert (max(versions(space, table)), max(versions(space, table, branch="side"))) == (1, 3)

    def test_branches_are_listed_in_order_and_in_pages(self, space: Sandbox) -> None:
        table = space.table()
        for name in ("c", "a", "b"):
            branch(space, table, name)
        assert list(branches(space, table)) == ["a", "b", "c"]
        assert list(branches(space, table, limit=2)) == ["a", "b", "c"]

    def test_a_deleted_branch_is_gone(self, space: Sandbox) -> None:
        table = space.table()
        branch(space, table, "side")
        space.catalog.delete_table_branch(ln.DeleteTableBranchRequest(id=table, name="side"))
        assert branches(space, table) == {}
        assert space.ids(table) == [1, 2, 3]

    def test_a_branch_is_created_once(self, space: Sandbox) -> None:
        table = space.table()
        branch(space, table, "side")
        with code(ErrorCode.TABLE_BRANCH_ALREADY_EXISTS):
            branch(space, table, "side")
        assert list(branches(space, table)) == ["side"]

    def test_a_branch_needs_a_beginning_that_is_there(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            branch(space, table, "side", from_version=99)
        with code(ErrorCode.TABLE_BRANCH_NOT_FOUND):
            branch(space, table, "side", from_branch="nothing")
        assert branches(space, table) == {}

    @pytest.mark.parametrize("name", ["", "a b", "../up", "main"])
    def test_a_name_that_no_branch_can_have_is_refused(self, space: Sandbox, name: str) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT, ErrorCode.TABLE_BRANCH_ALREADY_EXISTS):
            branch(space, table, name)
        assert branches(space, table) == {}

    @pytest.mark.parametrize(
        "asking",
        [
            pytest.param(lambda s, t: s.describe(t, branch="nothing"), id="describe"),
            pytest.param(lambda s, t: s.count(t, branch="nothing"), id="count"),
            pytest.param(lambda s, t: s.query(t, branch="nothing"), id="query"),
            pytest.param(lambda s, t: s.insert(t, rows(4), branch="nothing"), id="insert"),
            pytest.param(lambda s, t: s.add_column(t, "x", "id", branch="nothing"), id="add column"),
            pytest.param(lambda s, t: s.index(t, "id", "BTREE", branch="nothing"), id="index"),
            pytest.param(lambda s, t: versions(s, t, branch="nothing"), id="versions"),
            pytest.param(lambda s, t: tag(s, t, "x", branch="nothing"), id="tag"),
            pytest.param(
                lambda s, t: s.catalog.delete_table_branch(ln.DeleteTableBranchRequest(id=t, name="nothing")),
                id="delete",
            ),
        ],
    )
    def test_a_missing_branch_is_not_found(self, space: Sandbox, asking: Callable[[Sandbox, Id], object]) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_BRANCH_NOT_FOUND):
            asking(space, table)
        assert (space.version(table), branches(space, table)) == (1, {})
