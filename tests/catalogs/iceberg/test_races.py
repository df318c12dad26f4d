"""Many at once in one Iceberg REST catalog: one of them wins, round after round."""

from __future__ import annotations

from pathlib import Path

import httpx

from lanceway.errors import ErrorCode
from lanceway.testing.behaviours.concurrency import race
from tests.catalogs.iceberg.iceberg_helpers import connect, namespace
from tests.servers.iceberg import Iceberg

RACERS = 6


def test_one_of_many_makes_a_namespace(iceberg: Iceberg, rounds: int) -> None:
    catalog = connect(iceberg.endpoint)
    outer = namespace(catalog)
    for number in range(rounds):
        made = {"id": [*outer, f"n{number}"]}
        results = race(lambda _, made=made: catalog.create_namespace(made), RACERS)  # type: ignore[misc]
        assert results.count(None) == 1
        assert set(results) <= {None, ErrorCode.NAMESPACE_ALREADY_EXISTS, ErrorCode.CONCURRENT_MODIFICATION}


def test_one_of_many_declares_a_table(older_iceberg: Iceberg, tmp_path: Path, rounds: int) -> None:
    catalog = connect(older_iceberg.endpoint, tmp_path)
    space = namespace(catalog)
    for number in range(rounds):
        made = {"id": [*space, f"t{number}"]}
        results = race(lambda _, made=made: catalog.declare_table(made), RACERS)  # type: ignore[misc]
        assert sorted(results, key=str) == [ErrorCode.TABLE_ALREADY_EXISTS] * (RACERS - 1) + [None]
        catalog.deregister_table(made)


def test_a_table_that_takes_the_name_of_one_being_dropped_is_whole(
    iceberg: Iceberg, tmp_path: Path, rounds: int
) -> None:
    catalog = connect(iceberg.endpoint, tmp_path)
    space = namespace(catalog)
    table = {"id": [*space, "t"]}
    for _ in range(rounds):
        catalog.declare_table(table)
        race(lambda number: (catalog.drop_table if number % 2 else catalog.declare_table)(table), RACERS)
        # What the server itself says is there, be it whole or not.
        listed = httpx.get(f"{iceberg.endpoint}/v1/namespaces/{space[1]}/tables").json()["identifiers"]
        if listed:
            assert catalog.drop_table(table).location
