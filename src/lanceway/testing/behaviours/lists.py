"""Lists of a catalog: sorted, whole, and cut into pages by tokens that nobody looks into."""

from __future__ import annotations

from collections.abc import Sequence

from lance_namespace import ListNamespacesRequest, ListTablesRequest

from lanceway.errors import ErrorCode
from lanceway.testing.builders import code
from lanceway.testing.capabilities import needs
from lanceway.testing.sandbox import Space, pages
from lanceway.testing.suite import Suite


def every_table(space: Space, namespace: Sequence[str] | None, limit: int | None = None) -> list[str]:
    id_ = None if namespace is None else list(namespace)

    def page(token: str | None) -> object:
        return space.catalog.list_all_tables(ListTablesRequest(id=id_, page_token=token, limit=limit))

    return [name for answer in pages(page, limit) for name in answer.tables]


class ListTests(Suite):
    """list_namespaces, list_tables and list_all_tables."""

    @needs("namespaces")
    def test_namespaces_are_listed_in_order(self, space: Space) -> None:
        made = [space.namespace()[-1] for _ in range(5)]
        assert space.ours(space.namespaces()) == sorted(made)

    @needs("namespaces")
    def test_pages_of_namespaces_add_up_to_the_list(self, space: Space) -> None:
        made = [space.namespace()[-1] for _ in range(5)]
        assert space.ours(space.namespaces(limit=2)) == sorted(made)

    @needs("namespaces")
    def test_a_limit_above_the_number_gives_one_page(self, space: Space) -> None:
        outer = space.namespace()
        table = space.table(id=space.id(inside=outer))
        answer = space.catalog.list_tables(ListTablesRequest(id=outer, limit=10))
        assert answer.tables == [table[-1]]
        assert not answer.page_token

    def test_tables_are_listed_in_order(self, space: Space) -> None:
        made = [space.declare()[-1] for _ in range(5)]
        assert space.ours(space.tables()) == sorted(made)

    def test_pages_of_tables_add_up_to_the_list(self, space: Space) -> None:
        made = [space.declare()[-1] for _ in range(5)]
        for limit in (1, 2, 5, 6):
            assert space.ours(space.tables(limit=limit)) == sorted(made)

    def test_a_page_begins_where_the_one_before_ended_whatever_came_between(self, space: Space) -> None:
        for _ in range(4):
            space.declare()
        first = space.catalog.list_tables(ListTablesRequest(id=list(space.home), limit=2))
        space.declare(space.id(first.tables[-1] + "0"))
        rest = space.catalog.list_tables(ListTablesRequest(id=list(space.home), page_token=first.page_token))
        assert first.tables[-1] + "0" in rest.tables
        assert not set(first.tables) & set(rest.tables)

    @needs("mixed_namespaces")
    def test_tables_and_namespaces_are_listed_apart(self, space: Space) -> None:
        namespace, table = space.namespace()[-1], space.table()[-1]
        assert space.ours(space.tables()) == [table]
        assert space.ours(space.namespaces()) == [namespace]

    @needs("namespaces")
    def test_a_list_of_tables_holds_direct_children_alone(self, space: Space) -> None:
        outer = space.namespace()
        inside = space.table(id=space.id(inside=outer))
        assert space.tables(outer) == [inside[-1]]
        assert inside[-1] not in space.tables()

    def test_declared_tables_are_listed_unless_left_out(self, space: Space) -> None:
        declared, written = space.declare()[-1], space.table()[-1]
        assert space.ours(space.tables()) == sorted([declared, written])
        assert space.ours(space.tables(include_declared=True)) == sorted([declared, written])
        assert space.ours(space.tables(include_declared=False)) == [written]

    @needs("list_all_tables")
    def test_every_table_is_listed_by_its_whole_identifier(self, space: Space) -> None:
        made = space.table()
        assert self.delimiter.join(made) in every_table(space, None)

    @needs("list_all_tables", "namespaces")
    def test_every_table_at_any_depth_is_listed_once(self, space: Space) -> None:
        outer = space.namespace()
        made = [space.declare(space.id(inside=outer)) for _ in range(4)]
        expected = sorted(self.delimiter.join(id_) for id_ in made)
        for limit in (None, 1, 3):
            found = every_table(space, None, limit)
            assert len(found) == len(set(found))
            assert [name for name in found if outer[-1] in name] == expected

    @needs("namespaces")
    def test_a_token_of_another_list_is_refused(self, space: Space) -> None:
        outer = space.namespace()
        for _ in range(3):
            space.declare(space.id(inside=outer))
        token = space.catalog.list_tables(ListTablesRequest(id=outer, limit=1)).page_token
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.list_tables(ListTablesRequest(id=space.namespace(), page_token=token))
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.list_namespaces(ListNamespacesRequest(id=outer, page_token=token))
