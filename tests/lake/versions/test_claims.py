"""A claim at one stroke: it is the next version beyond doubt, of the table that was meant, or it is nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from sqlalchemy import Connection

from lanceway.errors import InvalidInputError
from lanceway.identifiers import parse
from lanceway.lake.tree import lookups, namespaces, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import checks, versions
from lanceway.lake.versions.versions import Version, VersionClaim
from tests.lake.conftest import Lake

T = parse("space.t")


def asked(number: int, who: str = "w", branch: str = "") -> VersionClaim:
    paths = (f"_versions/{number}.manifest-{who}", f"_versions/{number}.manifest")
    return VersionClaim(number, *paths, branch=branch, size=10, e_tag="tag", metadata={"k": "v"})


def take(lake: Lake, table: TableRow, claim: VersionClaim, base: Version | None = None) -> Version | None:
    return lake.store.execute_one(versions.claim_in_one_statement, lake.catalog.id, table, claim, by="me", base=base)


def claim(lake: Lake, claim: VersionClaim, *, copied: bool = True) -> Version:
    """With care, in a transaction."""

    def work(connection: Connection) -> Version:
        made = versions.claim(connection, lookups.hold(connection, lake.catalog.id, T), claim, by="me")
        if copied:
            versions.mark_copied(connection, made)
        return made

    return lake.store.transact(work)


def numbers(lake: Lake, table: TableRow, branch: str = "") -> list[int]:
    found = lake.store.read(versions.page, table, branch=branch)
    return [version.version for version in found]


@pytest.fixture
def table(lake: Lake) -> TableRow:
    """A table with version 1."""
    lake.do(namespaces.create, T.parent, by="me")
    made = lake.do(tables.create, T, by="me")
    claim(lake, asked(1))
    return made


def test_it_is_what_describing_it_says(lake: Lake, table: TableRow) -> None:
    made = take(lake, table, asked(2))
    assert made == lake.store.read(versions.describe, table, 2)


def test_the_next_one_waits_for_the_copy(lake: Lake, table: TableRow) -> None:
    made = take(lake, table, asked(2))
    assert made is not None
    assert take(lake, table, asked(3)) is None
    lake.store.execute_one(versions.mark_copied, made)
    assert take(lake, table, asked(3)) is not None
    assert numbers(lake, table) == [1, 2, 3]


def test_who_knows_that_the_copy_is_there_needs_no_mark(lake: Lake, table: TableRow) -> None:
    made = take(lake, table, asked(2))
    assert made is not None
    others = [{"staging_path": "other"}, {"created_at": made.created_at - 1}, {"version": 1}]
    assert [take(lake, table, asked(3), replace(made, **other)) for other in others] == [None] * 3
    assert take(lake, table, asked(3, branch="side"), made) is None
    assert take(lake, table, asked(3), made) is not None
    assert numbers(lake, table) == [1, 2, 3]


@pytest.mark.parametrize("number", [1, 3, 2**62])
def test_only_the_next_version(lake: Lake, table: TableRow, number: int) -> None:
    assert take(lake, table, asked(number)) is None
    assert numbers(lake, table) == [1]


@pytest.mark.parametrize("number", [-1, 0, 2**63, 2**70])
def test_what_is_no_version(lake: Lake, table: TableRow, number: int) -> None:
    with pytest.raises(InvalidInputError, match="not a version"):
        take(lake, table, asked(number))


def test_a_first_version_is_left_to_a_transaction(lake: Lake, table: TableRow) -> None:
    other = lake.do(tables.create, parse("u"), by="me")
    assert take(lake, other, asked(1)) is None
    assert take(lake, table, asked(2, branch="side")) is None
    claim(lake, asked(1, branch="side"))
    assert take(lake, table, asked(2, branch="side")) is not None
    assert numbers(lake, table) == [1]


def test_the_same_claim_again_claims_nothing(lake: Lake, table: TableRow) -> None:
    assert take(lake, table, asked(2)) is not None
    assert take(lake, table, asked(2)) is None
    assert numbers(lake, table) == [1, 2]


def test_a_stray_of_the_number_before_leaves_doubt(lake: Lake, table: TableRow) -> None:
    def record(branch: str, number: int) -> None:
        lake.store.transact(checks.record, table.id, branch, number, path="p", kept_path=f"k{branch}{number}")

    record("side", 1)
    record("", 2)
    assert take(lake, table, asked(2)) is not None
    lake.store.transact(lambda c: versions.mark_copied(c, versions.describe(c, table, 2)))
    assert take(lake, table, asked(3)) is None


def rename_space(lake: Lake, table: TableRow) -> TableRow:
    lake.do(namespaces.create, parse("other"), by="me")
    lake.do(tables.rename, T, parse("other.t"), by="me")
    return table


def replace_by_another(lake: Lake, table: TableRow) -> TableRow:
    lake.do(tables.drop, T, by="me")
    lake.do(tables.create, T, by="me")
    claim(lake, asked(1))
    return table


def drop(lake: Lake, table: TableRow) -> TableRow:
    lake.do(tables.drop, T, by="me")
    return table


def leave_to_storage(lake: Lake, table: TableRow) -> TableRow:
    lake.do(tables.alter, T, by="me", managed=False)
    return table


def lie_elsewhere(lake: Lake, table: TableRow) -> TableRow:
    return replace(table, location="/elsewhere")


@pytest.mark.parametrize("change", [rename_space, replace_by_another, drop, leave_to_storage, lie_elsewhere])
def test_a_table_that_is_not_the_one_meant(
    lake: Lake, table: TableRow, change: Callable[[Lake, TableRow], TableRow]
) -> None:
    meant = change(lake, table)
    assert take(lake, meant, asked(2)) is None
    assert lake.store.read(versions.latest, table.id) in (1, None)


def test_whoever_has_the_table_alone_is_waited_for_and_believed(lake: Lake, table: TableRow) -> None:
    """The statement begins while another holds the table, and sees what that one has made of it."""
    ready = Barrier(2)

    def leave(connection: Connection) -> None:
        lookups.lock(connection, lake.catalog.id, T)
        ready.wait()
        time.sleep(0.2)  # so that the other's statement has begun; nothing fails if it has not
        tables.alter(connection, lake.catalog.id, T, by="me", managed=False)

    with ThreadPoolExecutor(1) as pool:
        leaving = pool.submit(lake.store.transact, leave)
        ready.wait()
        assert take(lake, table, asked(2)) is None
        leaving.result()
    assert numbers(lake, table) == [1]


def test_one_of_many(lake: Lake, table: TableRow, rounds: int) -> None:
    for number in range(2, rounds + 2):
        start = Barrier(10)

        def work(who: int, number: int = number, start: Barrier = start) -> Version | None:
            start.wait()
            return take(lake, table, asked(number, f"w{who}"))

        with ThreadPoolExecutor(10) as pool:
            (won,) = (made for made in pool.map(work, range(10)) if made is not None)
        lake.store.transact(lambda connection, won=won: versions.mark_copied(connection, won))  # type: ignore[misc]
        assert lake.store.read(lambda c, number=number: versions.describe(c, table, number)).staging_path == (  # type: ignore[misc]
            won.staging_path
        )
