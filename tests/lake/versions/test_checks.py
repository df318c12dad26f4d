"""The checker: silent about what the lake makes, whatever it makes, and loud about what it never would."""

from __future__ import annotations

import pytest

from lanceway.identifiers import parse
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import catalogs, locations, lookups, nesting, tables
from lanceway.lake.versions import versions
from lanceway.lake.versions.checks import Finding, check
from lanceway.lake.versions.versions import VersionClaim
from tests.lake.conftest import Lake
from tests.lake.lake_helpers import SPACES, fill, vandalise

FIRST = "SELECT id FROM objects WHERE name = 'first'"
TEAM = "SELECT id FROM objects WHERE physical = 'team'"


def wrong(store: LakeStore) -> list[tuple[str, str]]:
    return [(finding.kind, finding.where) for finding in store.snapshot(check) if finding.wrong]


def notes(store: LakeStore) -> list[Finding]:
    return [finding for finding in store.snapshot(check) if not finding.wrong]


def test_an_empty_lake_and_a_filled_one_are_sound(store: LakeStore, lake: Lake, flat: Lake) -> None:
    assert store.snapshot(check) == []
    fill(lake)
    assert wrong(store) == []


def test_what_a_crash_leaves_is_noted(lake: Lake) -> None:
    fill(lake)
    found = {finding.kind: finding for finding in notes(lake.store)}
    assert set(found) == {"uncopied", "removal", "stray"}
    assert found["uncopied"].where == "table young.first of lake, branch 'try'"
    assert "version 4" in found["uncopied"].message
    assert found["removal"].where == "/warehouse/gone"
    assert found["stray"].where == "table young.first of lake"


def test_drops_and_renames_leave_nothing(lake: Lake) -> None:
    fill(lake)
    lake.do(nesting.rename, parse("team"), "party", by="me")
    lake.do(nesting.drop, parse("party"), by="me")
    gone = lake.store.read(locations.pending)
    assert len(gone) == SPACES + 3
    for removal in gone:
        lake.store.transact(lambda connection, location=removal.location: locations.done(connection, location))
    lake.do(tables.drop, parse("young.first"), by="me")
    assert [finding.kind for finding in lake.store.snapshot(check)] == ["removal"]


def test_deleted_versions_are_noted(lake: Lake) -> None:
    fill(lake)

    def remove(start: int, end: int) -> None:
        def work(connection):  # type: ignore[no-untyped-def]
            table = lookups.lock(connection, lake.catalog.id, parse("young.first"))
            return versions.remove(connection, table, [(start, end)])

        lake.store.transact(work)

    remove(1, 2)
    assert "version gap" not in {finding.kind for finding in notes(lake.store)}
    remove(3, 5)
    [gap] = [finding for finding in notes(lake.store) if finding.kind == "version gap"]
    assert gap.where == "table young.first of lake"
    assert gap.message.startswith("Of the versions 2 to 5 it has all but 2")


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        ("DELETE FROM metalakes", {"orphan"}),
        ("DELETE FROM catalogs", {"orphan"}),
        ("DELETE FROM objects WHERE physical = ''", {"orphan", "half chain"}),
        ("DELETE FROM objects WHERE physical = 'team'", {"orphan", "half chain"}),
        (f"UPDATE objects SET parent_id = 99999 WHERE id = ({FIRST})", {"orphan"}),
        (f"UPDATE objects SET catalog_id = 99999 WHERE id = ({FIRST})", {"orphan"}),
        (f"UPDATE objects SET parent_id = ({FIRST}) WHERE name = 'plain'", {"orphan"}),
        ("UPDATE objects SET name = 'other' WHERE physical = 'team.n1'", {"physical name"}),
        (f"UPDATE objects SET parent_id = ({TEAM}) WHERE physical = 'young'", {"physical name"}),
        ("UPDATE objects SET physical = 'te%am' WHERE physical = 'young'", {"physical name"}),
        ("UPDATE objects SET name = 'a:b', physical = 'a:b' WHERE physical = 'young'", {"separator"}),
        (f"DELETE FROM objects WHERE id = ({FIRST})", {"orphan"}),
        (f"UPDATE objects SET managed = false WHERE id = ({FIRST})", {"foreign versions"}),
        ("UPDATE objects SET location = '/warehouse/gone' WHERE name = 'plain'", {"overlap"}),
        ("UPDATE objects SET location = '/warehouse/gone/in' WHERE name = 'plain'", {"overlap"}),
        ("UPDATE objects SET location = '/warehouse' WHERE name = 'plain'", {"overlap"}),
        ("UPDATE objects SET location = '/elsewhere' WHERE name = 'first'", {"overlap"}),
        ("UPDATE catalogs SET location = '/elsewhere/plain/in'", {"overlap"}),
    ],
)
def test_what_is_broken_is_found(lake: Lake, uri: str, statement: str, kinds: set[str]) -> None:
    fill(lake)
    vandalise(uri, statement)
    assert {kind for kind, _ in wrong(lake.store)} == kinds


def test_neighbours_do_not_overlap(lake: Lake) -> None:
    for name in ("a", "a-", "a0", "a b"):
        lake.do(tables.create, parse(name), by="me", location=f"/elsewhere/{name}")
    lake.store.transact(catalogs.create, "m", "other", by="me", location="/warehouse/other")
    assert lake.store.snapshot(check) == []


def test_the_first_version_of_a_branch_may_be_any(lake: Lake) -> None:
    lake.do(tables.create, parse("t"), by="me")

    def claim(connection):  # type: ignore[no-untyped-def]
        table = lookups.hold(connection, lake.catalog.id, parse("t"))
        versions.mark_copied(
            connection, versions.claim(connection, table, VersionClaim(7, "s", "f", branch="b"), by="me")
        )

    lake.store.transact(claim)
    assert lake.store.snapshot(check) == []
