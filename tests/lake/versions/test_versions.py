"""Versions: one claimant each, one after the other, and the same claim again is no other claim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.identifiers import parse
from lanceway.lake.tree import lookups, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import checks, versions
from lanceway.lake.versions.versions import Version, VersionClaim
from tests.lake.conftest import Lake

T = parse("t")


def claim(number: int, who: str = "w", branch: str = "") -> VersionClaim:
    return VersionClaim(
        number, f"_versions/{number}.manifest-{who}", f"_versions/{number}.manifest", branch=branch, size=10
    )


@pytest.fixture
def table(lake: Lake) -> TableRow:
    return lake.do(tables.create, T, by="me")


def ask(lake: Lake, *claims: VersionClaim, by: str = "me") -> list[Version]:
    def work(connection: object, catalog: int) -> list[Version]:
        return [versions.claim(connection, lookups.hold(connection, catalog, T), each, by=by) for each in claims]

    return lake.do(work)


def numbers(lake: Lake, table: TableRow, **options: object) -> list[int]:
    found = lake.store.read(versions.page, table, **options)
    return [version.version for version in found]


def test_a_claim_is_kept_with_all_that_was_given(lake: Lake, table: TableRow) -> None:
    asked = VersionClaim(1, "staging", "final", size=7, e_tag="tag", naming_scheme="V1", metadata={"k": "v"})
    (made,) = ask(lake, asked, by="ann")
    assert (made.table, made.version, made.staging_path, made.final_path) == (table.id, 1, "staging", "final")
    assert (made.size, made.e_tag, made.naming_scheme, made.metadata) == (7, "tag", "V1", {"k": "v"})
    assert (made.copied, made.created_by, made.branch) == (False, "ann", "")
    assert lake.store.read(versions.describe, table, 1) == made


def test_versions_are_claimed_one_after_the_other(lake: Lake, table: TableRow) -> None:
    for number in (2, 5):
        with pytest.raises(ConcurrentModificationError, match="the latest is 0, and 1 comes next"):
            ask(lake, claim(number))
    ask(lake, claim(1))
    ask(lake, claim(2))
    with pytest.raises(ConcurrentModificationError, match="the latest is 2, and 3 comes next"):
        ask(lake, claim(4))
    assert numbers(lake, table) == [1, 2]


def test_the_same_claim_again_succeeds_however_late(lake: Lake, table: TableRow) -> None:
    first = ask(lake, claim(1))
    assert ask(lake, claim(1)) == first
    ask(lake, claim(2))
    assert ask(lake, claim(1)) == first
    assert numbers(lake, table) == [1, 2]


def test_somebody_elses_claim_is_a_conflict(lake: Lake, table: TableRow) -> None:
    ask(lake, claim(1, "ann"))
    with pytest.raises(ConcurrentModificationError, match="claimed by another writer"):
        ask(lake, claim(1, "bob"))
    assert lake.store.read(versions.describe, table, 1).staging_path.endswith("ann")


@pytest.mark.parametrize("number", [0, -1, 2**63, 2**64])
def test_a_number_that_is_no_version_is_refused(lake: Lake, table: TableRow, number: int) -> None:
    with pytest.raises(InvalidInputError, match="counted from 1"):
        ask(lake, claim(number))
    with pytest.raises(TableVersionNotFoundError):
        lake.store.read(versions.describe, table, number)


def test_a_table_that_is_not_managed_has_no_claims(lake: Lake, table: TableRow) -> None:
    lake.do(tables.alter, T, by="me", managed=False)
    with pytest.raises(InvalidTableStateError, match="in storage alone"):
        ask(lake, claim(1))


def test_a_branch_begins_where_it_left_its_parent(lake: Lake, table: TableRow) -> None:
    ask(lake, *(claim(number) for number in range(1, 4)))
    ask(lake, claim(3, branch="dev"))
    ask(lake, claim(4, branch="dev"))
    with pytest.raises(ConcurrentModificationError, match="branch 'dev'"):
        ask(lake, claim(6, branch="dev"))
    assert numbers(lake, table, branch="dev") == [3, 4]
    assert numbers(lake, table) == [1, 2, 3]
    assert lake.store.read(versions.branches, table.id) == ["", "dev"]


def test_a_branch_without_versions_is_missing(lake: Lake, table: TableRow) -> None:
    with pytest.raises(TableBranchNotFoundError, match="'dev'"):
        numbers(lake, table, branch="dev")
    for version in (None, 1):
        with pytest.raises(TableBranchNotFoundError, match="'dev'"):
            lake.store.read(lambda c, v=version: versions.describe(c, table, v, branch="dev"))
    assert numbers(lake, table) == []


def test_versions_are_listed_in_pages_up_and_down(lake: Lake, table: TableRow) -> None:
    ask(lake, *(claim(number) for number in range(1, 8)))
    assert numbers(lake, table, limit=3) == [1, 2, 3]
    assert numbers(lake, table, after=3, limit=3) == [4, 5, 6]
    assert numbers(lake, table, descending=True, limit=1) == [7]
    assert numbers(lake, table, descending=True, after=3) == [2, 1]
    assert numbers(lake, table, after=2**70) == []
    assert lake.store.read(versions.latest, table.id) == 7
    assert lake.store.read(versions.describe, table).version == 7


def test_a_missing_version_is_told(lake: Lake, table: TableRow) -> None:
    with pytest.raises(TableVersionNotFoundError, match="no version yet"):
        lake.store.read(versions.describe, table)
    with pytest.raises(TableVersionNotFoundError, match=r"no version yet\."):
        lake.store.read(versions.describe, table, 9)
    ask(lake, claim(1))
    with pytest.raises(TableVersionNotFoundError, match=r"no version 9\. The latest is 1\."):
        lake.store.read(versions.describe, table, 9)


def remove(lake: Lake, *ranges: tuple[int, int | None], branch: str = "") -> list[int]:
    def work(connection: object, catalog: int) -> list[int]:
        gone = versions.remove(connection, lookups.lock(connection, catalog, T), ranges, branch=branch)
        return [version.version for version in gone]

    return lake.do(work)


def test_versions_are_removed_in_ranges(lake: Lake, table: TableRow) -> None:
    ask(lake, *(claim(number) for number in range(1, 10)))
    ask(lake, claim(2, branch="dev"))
    assert remove(lake, (1, 3), (5, 6), (5, 7)) == [1, 2, 5, 6]
    assert numbers(lake, table) == [3, 4, 7, 8, 9]
    assert remove(lake, (20, 10), (2**70, 2**71)) == []
    assert remove(lake, (8, None)) == [8, 9]
    assert numbers(lake, table, branch="dev") == [2]
    ask(lake, claim(8, "new"))  # the writer finds 7 in storage, and 8 comes next
    assert remove(lake, (0, None)) == [3, 4, 7, 8]
    ask(lake, claim(1, "anew"))


def test_a_removed_version_is_not_claimed_again_below_the_latest(lake: Lake, table: TableRow) -> None:
    ask(lake, *(claim(number) for number in range(1, 4)))
    remove(lake, (1, 2))
    with pytest.raises(ConcurrentModificationError):
        ask(lake, claim(1))


def test_uncopied_versions_are_known_until_they_are_copied(lake: Lake, table: TableRow) -> None:
    made = ask(lake, *(claim(number) for number in range(1, 4)))
    assert lake.store.read(versions.uncopied, table.id) == made
    assert lake.store.read(versions.uncopied, limit=2) == made[:2]
    for _ in range(2):
        lake.store.transact(versions.mark_copied, made[1])
    assert [version.version for version in lake.store.read(versions.uncopied)] == [1, 3]
    assert lake.store.read(versions.describe, table, 2).copied
    assert lake.store.read(versions.uncopied, table.id + 1) == []


def test_marks_are_of_one_row_alone(lake: Lake, table: TableRow) -> None:
    made = ask(lake, *(claim(number) for number in (1, 2)), claim(1, branch="side"))
    others = [replace(made[0], staging_path="other"), replace(made[1], created_at=1), replace(made[2], branch="b")]
    lake.store.transact(versions.mark_copied, *others)
    assert lake.store.read(versions.uncopied) == made
    lake.store.transact(versions.mark_copied, *others, made[2], made[0])
    assert lake.store.read(versions.uncopied) == [made[1]]
    lake.store.transact(versions.mark_copied)
    assert lake.store.read(versions.uncopied) == [made[1]]


def test_only_the_latest_of_a_branch_is_doubtful(lake: Lake, table: TableRow) -> None:
    made = ask(lake, *(claim(number) for number in (1, 2)), *(claim(number, branch="side") for number in (1, 2)))
    assert lake.store.read(versions.doubtful, table.id) == [made[1], made[3]]
    lake.store.transact(versions.mark_copied, made[1])
    assert lake.store.read(versions.doubtful, table.id) == [made[3]]
    assert lake.store.read(versions.doubtful, table.id + 1) == []


def test_a_table_that_becomes_managed_brings_its_versions(lake: Lake, table: TableRow) -> None:
    for _ in range(2):
        lake.store.transact(versions.adopt, table.id, [claim(4), claim(7)], by="me")
    assert lake.store.read(versions.uncopied) == []
    assert numbers(lake, table) == [4, 7]
    ask(lake, claim(8))
    with pytest.raises(InvalidInputError):
        lake.store.transact(versions.adopt, table.id, [claim(0)], by="me")


def test_a_list_of_tables_says_which_have_versions(lake: Lake, table: TableRow) -> None:
    lake.do(tables.create, parse("u"), by="me")
    ask(lake, claim(1))
    assert [(e.name, e.has_versions) for e in lake.see(lookups.entries, parse(""))] == [("t", True), ("u", False)]


def test_versions_and_strays_go_with_their_table_and_stay_through_a_rename(lake: Lake, table: TableRow) -> None:
    ask(lake, claim(1))
    for _ in range(2):
        lake.store.transact(checks.record, table.id, "", 2, path="_versions/2", kept_path="_strays/2")
    (stray,) = lake.store.read(checks.of_table, table.id)
    assert (stray.version, stray.branch, stray.path, stray.kept_path) == (2, "", "_versions/2", "_strays/2")
    lake.do(tables.rename, T, parse("u"), by="me")
    assert numbers(lake, table) == [1]
    lake.do(tables.drop, parse("u"), by="me")
    assert numbers(lake, table) == []
    assert lake.store.read(checks.of_table, table.id) == []


def test_an_adopted_stray_is_forgotten(lake: Lake, table: TableRow) -> None:
    for number in (2, 3):
        lake.store.transact(lambda c, n=number: checks.record(c, table.id, "", n, path=f"p{n}", kept_path=f"k{n}"))
    first, second = lake.store.read(checks.of_table, table.id)
    lake.store.transact(checks.forget, first)
    assert lake.store.read(checks.of_table, table.id) == [second]


def batch(lake: Lake, *asked: tuple[str, VersionClaim]) -> list[tuple[int, int]]:
    def work(connection: object, catalog: int) -> list[tuple[int, int]]:
        held = [(lookups.hold(connection, catalog, parse(path)), each) for path, each in asked]
        return [(version.table, version.version) for version in versions.claim_all(connection, held, by="me")]

    return lake.do(work)


def test_a_batch_claims_all_or_nothing(lake: Lake, table: TableRow) -> None:
    other = lake.do(tables.create, parse("u"), by="me")
    made = batch(lake, ("u", claim(1)), ("t", claim(2)), ("t", claim(1)))
    assert made == [(other.id, 1), (table.id, 2), (table.id, 1)]
    with pytest.raises(ConcurrentModificationError):
        batch(lake, ("t", claim(3)), ("u", claim(9)))
    with pytest.raises(ConcurrentModificationError):
        batch(lake, ("t", claim(3)), ("u", claim(1, "bob")))
    assert (numbers(lake, table), numbers(lake, other)) == ([1, 2], [1])
    assert batch(lake, ("u", claim(1)), ("t", claim(2))) == [(other.id, 1), (table.id, 2)]
