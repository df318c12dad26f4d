"""Commits whose marks come late: they cost one statement each, and nobody else is misled by what is not marked yet."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from sqlalchemy import event

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.lake import repair
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.errors import ConcurrentModificationError
from lanceway.identifiers import Identifier
from lanceway.lake.versions import checks, published, versions
from lanceway.tables.versions import manifests
from tests.catalogs.lake.lake_helpers import Id, create, files, ids, insert, numbers, storage
from tests.lake.store import crash_program as drill

COUNT = 8
T = ["t"]


@pytest.fixture(autouse=True)
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """All marks but the first come when a lake is closed, or never."""
    monkeypatch.setattr(published, "DELAY", 3600.0)


def commit(lake: LakeCatalog, *numbers: int, table: Id = T) -> None:
    for claim in [drill.stage(lake, table, number, f"manifest {number}") for number in numbers]:
        lake.create_table_version({"id": table, **claim})


@pytest.fixture
def other(lake: LakeCatalog) -> Iterator[LakeCatalog]:
    """Another process, which has committed some versions; all but the first are not marked."""
    lake.declare_table({"id": T})
    with pickle.loads(pickle.dumps(lake)) as other:
        commit(other, *range(1, COUNT + 1))
        assert unmarked(lake) == [*range(2, COUNT + 1)]
        yield other


def unmarked(lake: LakeCatalog) -> list[int]:
    row = lake._tables.row(Identifier(T))
    return [version.version for version in lake._lake.read(versions.uncopied, row.id)]


def found(lake: LakeCatalog) -> dict[str, bool]:
    """What a check finds about the table, and whether it is wrong."""
    both = [*lake._lake.snapshot(checks.check), *repair.check(lake._lake, {}, None)]
    return {finding.kind: finding.wrong for finding in both if f"table t of {lake._catalog.name}" in finding.where}


def test_commits_that_follow_each_other_take_one_statement_each(lake: LakeCatalog) -> None:
    lake.declare_table({"id": T})
    commit(lake, 1, 2)
    claims = [drill.stage(lake, T, number, "manifest") for number in range(3, 11)]
    made, engine = list[str](), lake._lake._opened()

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        made.append(statement.split()[0])

    event.listen(engine, "before_cursor_execute", note)
    for claim in claims:
        lake.create_table_version({"id": T, **claim})
    # In PostgreSQL the statement begins with the claim, and the event that goes with it.
    assert made == [{"sqlite": "INSERT", "postgresql": "WITH"}[engine.dialect.name]] * len(claims)
    assert numbers(lake, T) == [*range(1, 11)]


def test_an_insert_looks_its_table_up_once(lake: LakeCatalog) -> None:
    table = create(lake, "t")
    insert(lake, table, 2)
    statements = list[str]()
    event.listen(lake._lake._opened(), "before_cursor_execute", lambda _c, _cursor, text, *_: statements.append(text))
    insert(lake, table, 3)
    assert sum(text.startswith("SELECT objects.") for text in statements) == 1
    assert ids(lake, table) == [1, 2, 3]


def test_what_is_not_marked_is_shown_and_nothing_is_wrong_with_it(lake: LakeCatalog, other: LakeCatalog) -> None:
    assert found(lake) == {"uncopied": False}
    assert numbers(lake, T, descending=True, limit=1) == [COUNT]
    assert lake.describe_table_version({"id": T, "version": 5}).version.version == 5
    assert numbers(lake, T) == [*range(1, COUNT + 1)]
    assert files(lake, T) == {manifests.key(number) for number in range(1, COUNT + 1)}
    lake.close()
    assert unmarked(lake) == []
    assert found(lake) == {}


def test_what_is_not_marked_is_built_upon(lake: LakeCatalog, other: LakeCatalog) -> None:
    commit(lake, COUNT + 1)
    commit(other, COUNT + 2)
    claim = {"id": T, **drill.stage(lake, T, COUNT + 3, "manifest")}
    lake.batch_commit_tables({"operations": [{"create_table_version": claim}]})
    commit(other, COUNT + 4)
    assert numbers(lake, T) == [*range(1, COUNT + 5)]


def test_what_is_not_marked_need_not_be_reconciled(lake: LakeCatalog, other: LakeCatalog) -> None:
    assert lake.reconcile(T) == []
    assert unmarked(lake) == []


@pytest.mark.parametrize("way", ["deregister", "leave", "batch"])
def test_a_table_is_let_go_while_others_write_to_it(
    lake: LakeCatalog, other: LakeCatalog, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others commit between each look and the next one: their marks are never there, but their copies are."""
    place, look = storage(lake, T), LakeTables.reconcile_storage

    def look_and_be_too_late(tables: LakeTables, table: Identifier) -> Collection[str]:
        settled = look(tables, table)
        commit(other, numbers(other, T)[-1] + 1)
        return settled

    monkeypatch.setattr(LakeTables, "reconcile_storage", look_and_be_too_late)
    if way == "deregister":
        lake.deregister_table({"id": T})
    elif way == "leave":
        lake.set_versioning(T, managed=False)
    else:
        lake.batch_commit_tables({"operations": [{"deregister_table": {"id": T}}]})
    assert {*place.keys("_versions")} == {manifests.key(number) for number in range(1, COUNT + 2)}


def test_a_clean_up_may_take_what_is_not_marked(lake: LakeCatalog, other: LakeCatalog) -> None:
    storage(lake, T).delete(manifests.key(3))
    assert found(lake) == {"uncopied": False, "vanished": False}
    left = [number for number in range(1, COUNT + 1) if number != 3]
    assert numbers(lake, T) == left
    assert [(each.kind, each.version, each.fixed) for each in lake.reconcile(T)] == [("vanished", 3, False)]
    assert found(lake) == {"vanished": False}
    lake.reconcile(T, adopt=True)
    commit(lake, COUNT + 1)
    assert numbers(lake, T) == [*left, COUNT + 1]


def test_a_copy_that_is_not_there_is_waited_for(lake: LakeCatalog, other: LakeCatalog) -> None:
    """Neither staged nor in its place, and the latest: nobody can tell what a writer would build on."""
    storage(lake, T).delete(manifests.key(COUNT))
    with pytest.raises(ConcurrentModificationError, match="still being written"):
        commit(lake, COUNT + 1)
    with pytest.raises(ConcurrentModificationError, match="being written to all the time"):
        lake.deregister_table({"id": T})
    assert found(lake)["lost manifest"]
