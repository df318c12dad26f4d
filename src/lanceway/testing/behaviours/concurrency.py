"""Concurrent requests: one winner, clear errors for the others, and nothing half-done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from lance_namespace import CreateNamespaceRequest, DropTableRequest

from lanceway.errors import ErrorCode, LanceNamespaceError
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.sandbox import Sandbox, rows

RACERS = 12


def race(work: Callable[[int], object], racers: int = RACERS) -> list[ErrorCode | None]:
    """Call `work` in many threads at once; return for each None if it succeeded, else the error code of its refusal."""
    start = Barrier(racers)

    def run(number: int) -> ErrorCode | None:
        start.wait()
        try:
            work(number)
        except LanceNamespaceError as error:
            return error.code
        return None

    with ThreadPoolExecutor(racers) as pool:
        return list(pool.map(run, range(racers)))


class ConcurrencyTests(Suite):
    """Races for one name, and for one table."""

    @needs("races")
    def test_one_of_many_creates_a_table(self, space: Sandbox) -> None:
        table = space.id()
        results = race(lambda number: space.table(rows(number), id=table))
        assert results.count(None) == 1
        assert set(results) == {None, ErrorCode.TABLE_ALREADY_EXISTS}
        assert space.ids(table) == [results.index(None)]

    @needs("races")
    def test_one_of_many_declares_a_table(self, space: Sandbox) -> None:
        table = space.id()
        results = race(lambda _: space.declare(table))
        assert sorted(results, key=str) == [ErrorCode.TABLE_ALREADY_EXISTS] * (RACERS - 1) + [None]
        assert space.has_table(table)

    @needs("races")
    def test_one_of_many_fills_a_declared_table(self, space: Sandbox) -> None:
        table = space.declare()
        results = race(lambda number: space.table(rows(number), id=table))
        assert results.count(None) == 1
        assert set(results) == {None, ErrorCode.TABLE_ALREADY_EXISTS}
        assert space.ids(table) == [results.index(None)]

    @needs("races")
    def test_all_of_many_are_content_where_existing_is_fine(self, space: Sandbox) -> None:
        table = space.id()
        results = race(lambda number: space.table(rows(number), id=table, mode="exist_ok"))
        assert set(results) == {None}
        assert space.count(table) == 1

    @needs("races", "namespaces")
    def test_one_of_many_creates_a_namespace(self, space: Sandbox) -> None:
        namespace = space.id()
        results = race(lambda _: space.catalog.create_namespace(CreateNamespaceRequest(id=namespace)))
        assert results.count(None) == 1
        assert set(results) <= {None, ErrorCode.NAMESPACE_ALREADY_EXISTS, ErrorCode.CONCURRENT_MODIFICATION}
        assert space.namespaces().count(namespace[-1]) == 1

    @needs("races", "mixed_namespaces", "unique_names")
    def test_a_namespace_and_a_table_never_share_a_name(self, space: Sandbox) -> None:
        namespace = space.id()

        def work(number: int) -> None:
            if number % 2:
                space.declare(namespace)
            else:
                space.catalog.create_namespace(CreateNamespaceRequest(id=namespace))

        assert race(work, 6).count(None) == 1
        assert space.has_table(namespace) != space.has_namespace(namespace)

    def test_what_was_said_to_be_inserted_is_there(self, space: Sandbox) -> None:
        table = space.table(rows(99))
        results = race(lambda number: space.insert(table, rows(number)))
        assert set(results) <= {None, ErrorCode.CONCURRENT_MODIFICATION}
        assert space.ids(table) == [*(n for n, result in enumerate(results) if result is None), 99]

    @needs("races")
    def test_creating_and_dropping_leave_a_table_or_none(self, space: Sandbox) -> None:
        table = space.id()

        def work(number: int) -> None:
            if number % 2:
                space.catalog.drop_table(DropTableRequest(id=table))
            else:
                space.table(rows(number), id=table)

        for _ in range(5):
            refused = set(race(work, 8)) - {None}
            assert refused <= {
                ErrorCode.TABLE_ALREADY_EXISTS,
                ErrorCode.TABLE_NOT_FOUND,
                ErrorCode.CONCURRENT_MODIFICATION,
            }
            listed = table[-1] in space.tables()
            assert listed == space.has_table(table)
            if listed:
                assert space.count(table) == 1
                space.catalog.drop_table(DropTableRequest(id=table))
            assert space.ids(space.table(rows(7), id=table)) == [7]
            space.catalog.drop_table(DropTableRequest(id=table))
