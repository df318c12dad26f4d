"""Namespaces: created, dropped, nested; and lists, which are sorted, complete and paged by opaque tokens."""

from __future__ import annotations

from collections.abc import Sequence

import lance_namespace as ln
import pytest

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.inspection import Raw
from lanceway.testing.sandbox import Sandbox, code, pages


def every_table(space: Sandbox, namespace: Sequence[str] | None, limit: int | None = None) -> list[str]:
    id_ = None if namespace is None else list(namespace)

    def page(token: str | None) -> object:
        return space.catalog.list_all_tables(ln.ListTablesRequest(id=id_, page_token=token, limit=limit))

    return [name for response in pages(page, limit) for name in response.tables]


class ListTests(Suite):
    """list_namespaces, list_tables and list_all_tables."""

    @needs("namespaces")
    def test_namespaces_are_listed_in_order(self, space: Sandbox) -> None:
        names = [space.namespace()[-1] for _ in range(5)]
        assert space.ours(space.namespaces()) == sorted(names)

    @needs("namespaces")
    def test_pages_of_namespaces_add_up_to_the_list(self, space: Sandbox) -> None:
        names = [space.namespace()[-1] for _ in range(5)]
        assert space.ours(space.namespaces(limit=2)) == sorted(names)

    @needs("namespaces")
    def test_a_limit_above_the_number_gives_one_page(self, space: Sandbox) -> None:
        outer = space.namespace()
        table = space.table(id=space.id(inside=outer))
        response = space.catalog.list_tables(ln.ListTablesRequest(id=outer, limit=10))
        assert response.tables == [table[-1]]
        assert not response.page_token

    def test_tables_are_listed_in_order(self, space: Sandbox) -> None:
        names = [space.declare()[-1] for _ in range(5)]
        assert space.ours(space.tables()) == sorted(names)

    def test_pages_of_tables_add_up_to_the_list(self, space: Sandbox) -> None:
        names = [space.declare()[-1] for _ in range(5)]
        for limit in (1, 2, 5, 6):
            assert space.ours(space.tables(limit=limit)) == sorted(names)

    def test_a_page_begins_where_the_one_before_ended_whatever_came_between(self, space: Sandbox) -> None:
        for _ in range(4):
            space.declare()
        first = space.catalog.list_tables(ln.ListTablesRequest(id=list(space.home), limit=2))
        space.declare(space.id(first.tables[-1] + "0"))
        second = space.catalog.list_tables(ln.ListTablesRequest(id=list(space.home), page_token=first.page_token))
        assert first.tables[-1] + "0" in second.tables
        assert not set(first.tables) & set(second.tables)

    @needs("mixed_namespaces")
    def test_tables_and_namespaces_are_listed_apart(self, space: Sandbox) -> None:
        namespace, table = space.namespace()[-1], space.table()[-1]
        assert space.ours(space.tables()) == [table]
        assert space.ours(space.namespaces()) == [namespace]

    @needs("namespaces")
    def test_a_list_of_tables_holds_direct_children_alone(self, space: Sandbox) -> None:
        outer = space.namespace()
        inside = space.table(id=space.id(inside=outer))
        assert space.tables(outer) == [inside[-1]]
        assert inside[-1] not in space.tables()

    def test_declared_tables_are_listed_unless_left_out(self, space: Sandbox) -> None:
        declared, written = space.declare()[-1], space.table()[-1]
        assert space.ours(space.tables()) == sorted([declared, written])
        assert space.ours(space.tables(include_declared=True)) == sorted([declared, written])
        assert space.ours(space.tables(include_declared=False)) == [written]

    @needs("list_all_tables")
    def test_every_table_is_listed_by_its_whole_identifier(self, space: Sandbox) -> None:
        table = space.table()
        assert self.delimiter.join(table) in every_table(space, None)

    @needs("list_all_tables", "namespaces")
    def test_every_table_at_any_depth_is_listed_once(self, space: Sandbox) -> None:
        outer = space.namespace()
        tables = [space.declare(space.id(inside=outer)) for _ in range(4)]
        expected = sorted(self.delimiter.join(id_) for id_ in tables)
        for limit in (None, 1, 3):
            names = every_table(space, None, limit)
            assert len(names) == len(set(names))
            assert [name for name in names if outer[-1] in name] == expected

    @needs("namespaces")
    def test_a_token_of_another_list_is_refused(self, space: Sandbox) -> None:
        outer = space.namespace()
        for _ in range(3):
            space.declare(space.id(inside=outer))
        token = space.catalog.list_tables(ln.ListTablesRequest(id=outer, limit=1)).page_token
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.list_tables(ln.ListTablesRequest(id=space.namespace(), page_token=token))
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.list_namespaces(ln.ListNamespacesRequest(id=outer, page_token=token))


CREATE = pytest.mark.parametrize("mode", [None, "Create", "create", "CREATE"])
EXIST_OK = pytest.mark.parametrize("mode", ["ExistOk", "exist_ok", "EXIST_OK", "existOk"])
OVERWRITE = pytest.mark.parametrize("mode", ["Overwrite", "overwrite", "OVERWRITE"])
SKIP = pytest.mark.parametrize("mode", ["Skip", "skip", "SKIP"])
CASCADE = pytest.mark.parametrize("behavior", ["Cascade", "cascade", "CASCADE"])
RESTRICT = pytest.mark.parametrize("behavior", [None, "Restrict", "restrict"])


class RootTests(Suite):
    """The root has no name, always exists, and cannot be created or dropped."""

    def test_the_root_exists(self, space: Sandbox) -> None:
        space.catalog.namespace_exists(ln.NamespaceExistsRequest(id=[]))
        space.catalog.describe_namespace(ln.DescribeNamespaceRequest(id=[]))

    def test_the_root_may_be_empty_or_null(self, space: Sandbox) -> None:
        listed = space.catalog.list_namespaces(ln.ListNamespacesRequest(id=[])).namespaces
        assert space.catalog.list_namespaces(ln.ListNamespacesRequest(id=None)).namespaces == listed
        assert space.catalog.list_namespaces(ln.ListNamespacesRequest()).namespaces == listed

    def test_the_root_cannot_be_dropped(self, space: Sandbox) -> None:
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.drop_namespace(ln.DropNamespaceRequest(id=[], behavior="cascade"))
        space.catalog.namespace_exists(ln.NamespaceExistsRequest(id=[]))

    def test_the_root_cannot_be_created_again(self, space: Sandbox) -> None:
        with code(ErrorCode.NAMESPACE_ALREADY_EXISTS):
            space.catalog.create_namespace(ln.CreateNamespaceRequest(id=[]))

    def test_the_root_is_kept_where_existing_is_fine(self, space: Sandbox) -> None:
        space.catalog.create_namespace(ln.CreateNamespaceRequest(id=[], mode="exist_ok"))


class MissingNamespaceTests(Suite):
    """Every operation on a missing namespace answers "namespace not found"."""

    def test_a_missing_namespace_does_not_exist(self, space: Sandbox) -> None:
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.namespace_exists(ln.NamespaceExistsRequest(id=space.id()))

    def test_describing_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.describe_namespace(ln.DescribeNamespaceRequest(id=space.id()))

    def test_listing_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.list_namespaces(ln.ListNamespacesRequest(id=space.id()))

    def test_listing_the_tables_of_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.list_tables(ln.ListTablesRequest(id=space.id()))

    @needs("namespaces")
    def test_dropping_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.drop_namespace(ln.DropNamespaceRequest(id=space.id(), mode="fail"))

    @needs("namespaces")
    @SKIP
    def test_dropping_a_missing_namespace_may_be_skipped(self, space: Sandbox, mode: str) -> None:
        space.catalog.drop_namespace(ln.DropNamespaceRequest(id=space.id(), mode=mode))


class NewNamespaceTests(Suite):
    """create_namespace and describe_namespace."""

    @needs("namespaces")
    def test_a_new_namespace_exists_and_is_listed(self, space: Sandbox) -> None:
        namespace = space.namespace()
        assert space.has_namespace(namespace)
        assert namespace[-1] in space.namespaces()

    @needs("namespaces")
    def test_a_new_namespace_is_empty(self, space: Sandbox) -> None:
        namespace = space.namespace()
        assert space.namespaces(namespace) == []
        assert space.tables(namespace) == []

    @needs("namespace_properties")
    def test_a_namespace_keeps_its_properties(self, space: Sandbox) -> None:
        namespace = space.namespace(properties={"owner": "ralph", "empty": ""})
        properties = space.catalog.describe_namespace(ln.DescribeNamespaceRequest(id=namespace)).properties or {}
        assert properties.items() >= {"owner": "ralph", "empty": ""}.items()

    @needs("namespace_properties")
    def test_creating_a_namespace_answers_its_properties(self, space: Sandbox) -> None:
        request = ln.CreateNamespaceRequest(id=space.id(), properties={"owner": "ralph"})
        assert (space.catalog.create_namespace(request).properties or {}).get("owner") == "ralph"

    @needs("namespaces")
    @CREATE
    def test_creating_a_namespace_twice_is_a_conflict(self, space: Sandbox, mode: str | None) -> None:
        namespace = space.namespace()
        with code(ErrorCode.NAMESPACE_ALREADY_EXISTS):
            space.catalog.create_namespace(ln.CreateNamespaceRequest(id=namespace, mode=mode))

    @needs("namespaces")
    @EXIST_OK
    def test_an_existing_namespace_is_kept_with_what_it_holds(self, space: Sandbox, mode: str) -> None:
        namespace = space.namespace()
        table = space.table(id=space.id(inside=namespace))
        space.catalog.create_namespace(ln.CreateNamespaceRequest(id=namespace, mode=mode))
        assert space.ids(table) == [1, 2, 3]

    @needs("namespaces", "cascade")
    @OVERWRITE
    def test_an_overwritten_namespace_is_empty(self, space: Sandbox, mode: str) -> None:
        namespace = space.namespace()
        table = space.table(id=space.id(inside=namespace))
        space.catalog.create_namespace(ln.CreateNamespaceRequest(id=namespace, mode=mode))
        assert space.tables(namespace) == []
        assert not space.has_table(table)

    @needs("namespaces")
    @pytest.mark.parametrize("mode", ["exist_ok", "overwrite"])
    def test_every_mode_creates_a_namespace_that_is_missing(self, space: Sandbox, mode: str) -> None:
        assert space.has_namespace(space.namespace(mode=mode))

    @needs("nested_namespaces")
    def test_a_namespace_needs_its_parent(self, space: Sandbox) -> None:
        missing = space.id()
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.namespace(inside=missing)
        assert not space.has_namespace(missing)

    @needs("nested_namespaces", "mixed_namespaces")
    def test_a_table_is_no_parent(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.namespace(inside=table)
        assert space.ids(table) == [1, 2, 3]


class NestedNamespaceTests(Suite):
    """Namespaces within namespaces."""

    @needs("nested_namespaces")
    def test_a_list_holds_direct_children_alone(self, space: Sandbox) -> None:
        outer = space.namespace()
        inner = space.namespace(inside=outer)
        space.namespace(inside=inner)
        assert space.namespaces(outer) == [inner[-1]]
        assert space.ours(space.namespaces()) == [outer[-1]]

    @needs("nested_namespaces")
    def test_the_same_name_may_be_used_in_another_namespace(self, space: Sandbox) -> None:
        outer = space.namespace()
        inner = [*outer, outer[-1]]
        space.catalog.create_namespace(ln.CreateNamespaceRequest(id=inner))
        first = space.table(id=[*outer, "same"])
        second = space.table(id=[*inner, "same"])
        space.insert(second, space.query(first))
        assert (space.count(first), space.count(second)) == (3, 6)


class DroppedNamespaceTests(Suite):
    """drop_namespace."""

    @needs("namespaces")
    def test_a_dropped_namespace_is_gone(self, space: Sandbox) -> None:
        namespace = space.namespace()
        space.catalog.drop_namespace(ln.DropNamespaceRequest(id=namespace))
        assert not space.has_namespace(namespace)
        assert namespace[-1] not in space.namespaces()

    @needs("namespaces")
    @RESTRICT
    def test_a_namespace_with_a_table_is_not_dropped(self, space: Sandbox, behavior: str | None) -> None:
        namespace = space.namespace()
        table = space.table(id=space.id(inside=namespace))
        with code(ErrorCode.NAMESPACE_NOT_EMPTY):
            space.catalog.drop_namespace(ln.DropNamespaceRequest(id=namespace, behavior=behavior))
        assert space.ids(table) == [1, 2, 3]

    @needs("namespaces")
    def test_a_namespace_with_a_declared_table_is_not_dropped(self, space: Sandbox) -> None:
        namespace = space.namespace()
        table = space.declare(space.id(inside=namespace))
        with code(ErrorCode.NAMESPACE_NOT_EMPTY):
            space.catalog.drop_namespace(ln.DropNamespaceRequest(id=namespace))
        assert space.has_table(table)

    @needs("nested_namespaces")
    def test_a_namespace_with_a_namespace_is_not_dropped(self, space: Sandbox) -> None:
        namespace = space.namespace()
        inner = space.namespace(inside=namespace)
        with code(ErrorCode.NAMESPACE_NOT_EMPTY):
            space.catalog.drop_namespace(ln.DropNamespaceRequest(id=namespace))
        assert space.has_namespace(inner)

    @needs("namespaces", "cascade")
    @CASCADE
    def test_a_cascade_drops_the_tables(self, space: Sandbox, behavior: str) -> None:
        namespace = space.namespace()
        table = space.table(id=space.id(inside=namespace))
        space.catalog.drop_namespace(ln.DropNamespaceRequest(id=namespace, behavior=behavior))
        assert not space.has_namespace(namespace)
        assert not space.has_table(table)

    @needs("nested_namespaces", "storage_access", "cascade")
    def test_a_cascade_reaches_all_that_is_below_and_deletes_its_data(self, space: Sandbox, raw: Raw) -> None:
        namespace = space.namespace()
        inner = space.namespace(inside=space.namespace(inside=namespace))
        place = raw.place(space.table(id=space.id(inside=inner)))
        space.catalog.drop_namespace(ln.DropNamespaceRequest(id=namespace, behavior="cascade"))
        assert not space.has_namespace(inner)
        assert place.is_empty()

    @needs("namespaces", "cascade")
    def test_a_cascade_on_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.drop_namespace(ln.DropNamespaceRequest(id=space.id(), mode="fail", behavior="cascade"))

    @needs("namespaces")
    def test_a_dropped_namespace_may_be_created_again(self, space: Sandbox) -> None:
        namespace = space.namespace()
        space.catalog.drop_namespace(ln.DropNamespaceRequest(id=namespace))
        space.catalog.create_namespace(ln.CreateNamespaceRequest(id=namespace))
        assert space.tables(namespace) == []


class UniqueNameTests(Suite):
    """A name belongs to a namespace or to a table, never to both."""

    @needs("mixed_namespaces", "unique_names")
    @pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
    def test_a_namespace_cannot_take_the_name_of_a_table(self, space: Sandbox, mode: str) -> None:
        table = space.table()
        with code(ErrorCode.NAMESPACE_ALREADY_EXISTS):
            space.catalog.create_namespace(ln.CreateNamespaceRequest(id=table, mode=mode))
        assert space.ids(table) == [1, 2, 3]
        assert table[-1] not in space.namespaces()

    @needs("mixed_namespaces", "unique_names")
    @pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
    def test_a_table_cannot_take_the_name_of_a_namespace(self, space: Sandbox, mode: str) -> None:
        namespace = space.namespace()
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.table(id=namespace, mode=mode)
        assert space.has_namespace(namespace)
        assert namespace[-1] not in space.tables()

    @needs("mixed_namespaces", "unique_names")
    def test_a_declared_table_cannot_take_the_name_of_a_namespace(self, space: Sandbox) -> None:
        namespace = space.namespace()
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.declare(namespace)
        assert namespace[-1] not in space.tables()
