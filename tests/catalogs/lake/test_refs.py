"""Tags and branches of managed tables: rows of the lake, whatever is made or deleted in storage without it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import Engine

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.lake.catalog import Difference
from lanceway.catalogs.lake.repair import check
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    ServiceUnavailableError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.jobs import clean
from lanceway.lake.versions import refs
from lanceway.tables.storage.store import FolderStore
from lanceway.tables.versions import ref_files
from tests.catalogs.lake.lake_helpers import Id, connect, create, ids, insert, location, numbers, opened, rows, storage


@pytest.fixture
def lake(uri: str, tmp_path: Path) -> Any:
    with connect(uri, tmp_path, user="ada") as catalog:
        yield catalog


@pytest.fixture
def table(lake: Any) -> Id:
    """A table with the versions 1 and 2."""
    id_ = create(lake, "t")
    insert(lake, id_, 2)
    return id_


def tags(lake: Any, table: Id) -> dict[str, tuple[str | None, int]]:
    return {name: (tag.branch, tag.version) for name, tag in lake.list_table_tags({"id": table}).tags.items()}


def in_storage(lake: Any, table: Id) -> dict[str, int]:
    """The tags as a client has them that reads the format alone."""
    return {name: tag["version"] for name, tag in lance.dataset(location(lake, table)).tags.list().items()}


def branches(lake: Any, table: Id) -> list[str]:
    return list(lake.list_table_branches({"id": table}).branches)


def told(differences: list[Difference]) -> list[tuple[str, str, bool]]:
    return [(each.kind, each.name, each.fixed) for each in differences]


def test_a_tag_made_behind_the_lake_is_not_shown(lake: Any, table: Id) -> None:
    opened(lake, table).tags.create("rogue", 1)
    assert tags(lake, table) == {}
    with pytest.raises(TableTagNotFoundError):
        lake.get_table_tag_version({"id": table, "tag": "rogue"})
    with pytest.raises(TableTagNotFoundError):
        lake.describe_table({"id": table, "tag": "rogue", "load_detailed_metadata": True})
    with pytest.raises(TableTagNotFoundError):
        lake.update_table_tag({"id": table, "tag": "rogue", "version": 1})
    with pytest.raises(TableTagNotFoundError):
        lake.delete_table_tag({"id": table, "tag": "rogue"})
    lake.create_table_tag({"id": table, "tag": "rogue", "version": 2})
    assert tags(lake, table) == {"rogue": (None, 2)}
    assert in_storage(lake, table) == {"rogue": 2}


def test_a_tag_deleted_or_moved_behind_the_lake_stays(lake: Any, table: Id) -> None:
    for name in ("gone", "moved"):
        lake.create_table_tag({"id": table, "tag": name, "version": 1})
    opened(lake, table).tags.delete("gone")
    opened(lake, table).tags.update("moved", 2)
    assert tags(lake, table) == {"gone": (None, 1), "moved": (None, 1)}
    for name in ("gone", "moved"):
        assert lake.describe_table({"id": table, "tag": name, "load_detailed_metadata": True}).version == 1
    assert told(lake.reconcile(table)) == [("unwritten tag", "gone", True), ("unwritten tag", "moved", True)]
    assert in_storage(lake, table) == {"gone": 1, "moved": 1}
    assert lake.reconcile(table) == []


@pytest.mark.parametrize("name", ["first", "v1.0-rc_2"])
def test_stock_pylance_reads_what_the_lake_writes(lake: Any, table: Id, name: str) -> None:
    lake.create_table_tag({"id": table, "tag": name, "version": 1})
    stock = lance.dataset(location(lake, table))
    assert stock.tags.list()[name]["manifest_size"] > 0
    assert stock.checkout_version(name).to_table()["id"].to_pylist() == [1]
    lake.update_table_tag({"id": table, "tag": name, "version": 2})
    assert in_storage(lake, table) == {name: 2}
    stock.tags.update(name, 1)  # as one with the dataset open might do
    lake.delete_table_tag({"id": table, "tag": name})
    assert in_storage(lake, table) == {}


@pytest.mark.parametrize("name", ["", ".", "..", "a..b", "x/y", "a b", ".a", "a.", "a.lock", "../../x", "jalapeño"])
def test_what_pylance_takes_for_no_tag_is_refused(lake: Any, table: Id, name: str) -> None:
    with pytest.raises(InvalidInputError, match="not a name of a tag"):
        lake.create_table_tag({"id": table, "tag": name, "version": 1})
    assert tags(lake, table) == {}


def test_a_tag_is_of_a_user(lake: Any, table: Id) -> None:
    lake.acting_as("bob").create_table_tag({"id": table, "tag": "x", "version": 1})
    row = lake._tables.row(Identifier(table))
    (tag,) = lake._lake.read(refs.tags_of, row.id)
    assert (tag.owner, tag.created_by, tag.created_at > 0) == ("bob", "bob", True)


def test_listing_tags_is_one_statement(lake: Any, table: Id) -> None:
    for number in range(5):
        lake.create_table_tag({"id": table, "tag": f"t{number}", "version": 1})
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        if threading.current_thread() is threading.main_thread():  # the lake marks published versions on another one
            statements.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert len(tags(lake, table)) == 5
        lake.get_table_tag_version({"id": table, "tag": "t3"})
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len(statements) == 2


class Killed(BaseException):
    """As a process that is killed there."""


@pytest.mark.parametrize("operation", ["create_table_tag", "update_table_tag", "delete_table_tag"])
@pytest.mark.parametrize("method", ["put", "delete"])
def test_what_a_crash_leaves_is_finished_by_the_next_process(
    lake: Any, table: Id, operation: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = {} if operation == "delete_table_tag" else {"version": 2}
    if operation != "create_table_tag":
        lake.create_table_tag({"id": table, "tag": "x", "version": 1})
    with monkeypatch.context() as patch:

        def die(*_: object) -> None:
            raise Killed

        patch.setattr(FolderStore, method, die)
        with suppress(Killed):
            getattr(lake, operation)({"id": table, "tag": "x", **version})
    expected = {} if operation == "delete_table_tag" else {"x": (None, 2)}
    assert tags(lake, table) == expected
    assert in_storage(lake, table) == {name: version for name, (_, version) in expected.items()}
    row = lake._tables.row(Identifier(table))
    assert [tag.state for tag in lake._lake.read(refs.tags_of, row.id)] == ["written"] * len(expected)


def test_a_storage_that_fails_does_not_undo_a_tag(lake: Any, table: Id, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ServiceUnavailableError("The storage is away.")

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "put", fail)
        lake.create_table_tag({"id": table, "tag": "x", "version": 1})
        assert tags(lake, table) == {"x": (None, 1)}
    assert in_storage(lake, table) == {}
    lake.list_table_tags({"id": table})
    assert in_storage(lake, table) == {"x": 1}


def test_a_late_writer_notices_that_it_was_overtaken(lake: Any, table: Id, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create_table_tag({"id": table, "tag": "x", "version": 1})
    put, late = FolderStore.put, [True]

    def overtaken(store: FolderStore, key: str, data: bytes) -> None:
        if late and key.startswith(ref_files.TAGS):
            late.clear()
            lake.delete_table_tag({"id": table, "tag": "x"})
        put(store, key, data)

    monkeypatch.setattr(FolderStore, "put", overtaken)
    lake.update_table_tag({"id": table, "tag": "x", "version": 2})
    assert (tags(lake, table), in_storage(lake, table)) == ({}, {})


def test_tags_made_at_once_have_one_winner(lake: Any, table: Id) -> None:
    outcomes: list[object] = []

    def attempt(version: int) -> None:
        try:
            lake.create_table_tag({"id": table, "tag": "x", "version": version})
            outcomes.append(version)
        except Exception as error:  # noqa: BLE001 - what it is is compared below
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=attempt, args=(1 + number % 2,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = (outcome for outcome in outcomes if isinstance(outcome, int))
    assert outcomes.count("TableTagAlreadyExistsError") == 7
    assert (tags(lake, table), in_storage(lake, table)) == ({"x": (None, winner)}, {"x": winner})


def test_tags_go_with_their_table_and_stay_through_a_rename(lake: Any, table: Id) -> None:
    lake.create_table_tag({"id": table, "tag": "x", "version": 1})
    lake.rename_table({"id": table, "new_table_name": "u"})
    assert tags(lake, ["u"]) == {"x": (None, 1)}
    lake.drop_table({"id": ["u"]})
    again = create(lake, "u")
    assert tags(lake, again) == {}


def test_a_tag_that_only_storage_lacks_still_keeps_its_version(lake: Any, table: Id, tmp_path: Path) -> None:
    lake.create_table_tag({"id": table, "tag": "x", "version": 1})
    insert(lake, table, 3)
    opened(lake, table).tags.delete("x")
    settings = {f"namespace.{key}": str(value) for key, value in lake.portable_settings().items()}
    target = {"table": "t", "namespace.type": "lake", **settings}
    removed = clean(target, older_than=timedelta(0)).facts["versions"]
    assert removed == [2]
    assert ids(lake, table, version=1) == [1]
    assert numbers(lake, table) == [1, 3]


def test_a_version_that_was_cleaned_up_is_not_tagged(lake: Any, table: Id) -> None:
    opened(lake, table).cleanup_old_versions(timedelta(0))
    with pytest.raises(TableVersionNotFoundError, match="clean-up"):
        lake.create_table_tag({"id": table, "tag": "x", "version": 1})


# -- branches ------------------------------------------------------------------------------------


def test_a_branch_of_the_lake(lake: Any, table: Id) -> None:
    lake.create_table_branch({"id": table, "name": "a/b"})
    insert(lake, table, 9, branch="a/b")
    lake.create_table_branch({"id": table, "name": "c", "from_branch": "a/b", "from_version": 2})
    found = lake.list_table_branches({"id": table}).branches
    assert {name: (line.parent_branch, line.parent_version) for name, line in found.items()} == {
        "a/b": (None, 2),
        "c": ("a/b", 2),
    }
    assert sorted(lance.dataset(location(lake, table)).branches.list()) == ["a/b", "c"]
    with pytest.raises(InvalidTableStateError, match="needed by the branch 'c'"):
        lake.delete_table_branch({"id": table, "name": "a/b"})
    for name in ("c", "a/b"):
        lake.delete_table_branch({"id": table, "name": name})
    assert branches(lake, table) == []
    assert lance.dataset(location(lake, table)).branches.list() == {}
    with pytest.raises(TableBranchNotFoundError, match="It has: main"):
        lake.delete_table_branch({"id": table, "name": "c"})


def test_a_branch_with_a_tag_stays(lake: Any, table: Id) -> None:
    lake.create_table_branch({"id": table, "name": "side"})
    insert(lake, table, 9, branch="side")
    lake.create_table_tag({"id": table, "tag": "x", "version": 3, "branch": "side"})
    with pytest.raises(InvalidTableStateError, match="needed by the tag 'x'"):
        lake.delete_table_branch({"id": table, "name": "side"})
    described = lake.describe_table({"id": table, "tag": "x", "load_detailed_metadata": True})
    assert described.version == 3
    assert ids(lake, table, branch="side") == [1, 2, 9]


def test_a_branch_that_a_client_makes_through_the_lake_is_one(lake: Any, table: Id) -> None:
    lake.create_table_branch({"id": table, "name": "a"})
    opened(lake, table).checkout_version(("a", None)).create_branch("b", ("a", 2))
    found = lake.list_table_branches({"id": table}).branches
    assert (found["b"].parent_branch, found["b"].parent_version) == ("a", 2)
    with pytest.raises(TableBranchAlreadyExistsError):
        lake.create_table_branch({"id": table, "name": "b"})


def test_a_branch_whose_client_was_killed_gets_its_file(lake: Any, table: Id) -> None:
    opened(lake, table).create_branch("side")
    storage(lake, table).delete(ref_files.branch_key("side"))
    assert branches(lake, table) == ["side"]  # its first version is claimed
    assert not storage(lake, table).exists(ref_files.branch_key("side"))  # which the client may still write
    lake._lake.transact(lambda connection: connection.execute(text("UPDATE branches SET created_at = 1000")))
    assert branches(lake, table) == ["side"]
    assert list(lance.dataset(location(lake, table)).branches.list()) == ["side"]
    insert(lake, table, 5, branch="side")
    assert ids(lake, table, branch="side") == [1, 2, 5]
    lake.delete_table_branch({"id": table, "name": "side"})
    assert branches(lake, table) == []


def test_a_branch_that_cannot_be_made_leaves_nothing(lake: Any, table: Id, monkeypatch: pytest.MonkeyPatch) -> None:
    os.makedirs(f"{location(lake, table)}/_refs")
    Path(location(lake, table), "_refs", "branches").write_text("in the way of a folder")
    with pytest.raises(Exception, match=r".+"):
        lake.create_table_branch({"id": table, "name": "side"})
    Path(location(lake, table), "_refs", "branches").unlink()
    assert branches(lake, table) == []
    lake.create_table_branch({"id": table, "name": "side"})
    assert branches(lake, table) == ["side"]


def test_the_deletion_of_a_branch_is_finished_by_the_next_process(
    lake: Any, table: Id, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanceway.catalogs.lake.refs.settling import RefSettling

    lake.create_table_branch({"id": table, "name": "side"})

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(RefSettling, "delete_files", die)
        with pytest.raises(Killed):
            lake.delete_table_branch({"id": table, "name": "side"})
    assert list(lance.dataset(location(lake, table)).branches.list()) == ["side"]
    assert branches(lake, table) == []
    assert lance.dataset(location(lake, table)).branches.list() == {}


# -- reconciling ---------------------------------------------------------------------------------


def test_strays_are_adopted(lake: Any, table: Id) -> None:
    opened(lake, table).tags.create("rogue", 1)
    lance.dataset(location(lake, table)).create_branch("line")
    assert told(lake.reconcile(table))[-2:] == [("stray branch", "line", False), ("stray tag", "rogue", False)]
    assert tags(lake, table) == {}
    found = told(lake.reconcile(table, adopt=True))
    assert found == [("stray", "", True), ("stray tag", "rogue", True)]  # the first version of the branch, and the tag
    assert (tags(lake, table), branches(lake, table)) == ({"rogue": (None, 1)}, ["line"])
    assert lake.reconcile(table) == []


def test_strays_are_removed(lake: Any, table: Id) -> None:
    opened(lake, table).tags.create("rogue", 1)
    lance.dataset(location(lake, table)).create_branch("line")
    found = told(lake.reconcile(table, remove=True))
    assert [each for each in found if each[1]] == [("stray branch", "line", True), ("stray tag", "rogue", True)]
    stock = lance.dataset(location(lake, table))
    assert (stock.tags.list(), stock.branches.list()) == ({}, {})
    lake.create_table_branch({"id": table, "name": "line"})
    assert branches(lake, table) == ["line"]


def test_a_check_notes_what_disagrees(lake: Any, table: Id) -> None:
    lake.create_table_tag({"id": table, "tag": "mine", "version": 1})
    warehouse = str(Path(location(lake, table)).parent)
    assert list(check(lake._lake, {}, warehouse)) == []
    opened(lake, table).tags.delete("mine")
    opened(lake, table).tags.create("rogue", 1)
    found = [(each.kind, each.wrong) for each in check(lake._lake, {}, warehouse)]
    assert sorted(found) == [("stray tag", False), ("unwritten tag", False)]


def test_tags_and_branches_move_to_storage_and_back(lake: Any, table: Id) -> None:
    lake.create_table_tag({"id": table, "tag": "x", "version": 1})
    lake.create_table_branch({"id": table, "name": "side"})
    lake.set_versioning(table, managed=False)
    lance.dataset(location(lake, table)).tags.create("y", 2)
    assert sorted(tags(lake, table)) == ["x", "y"]
    lake.set_versioning(table, managed=True)
    lance.dataset(location(lake, table)).tags.create("z", 2)
    assert (sorted(tags(lake, table)), branches(lake, table)) == (["x", "y"], ["side"])


def test_a_registered_table_brings_its_tags(lake: LakeCatalog, tmp_path: Path) -> None:
    place = str(tmp_path / "elsewhere")
    lance.write_dataset(rows(1), place).tags.create("x", 1)
    lake.register_table({"id": ["r"], "location": place})  # type: ignore[arg-type]
    lance.dataset(place).tags.create("later", 1)
    assert tags(lake, ["r"]) == {"x": (None, 1)}
    lake.deregister_table({"id": ["r"]})  # type: ignore[arg-type]
    assert sorted(lance.dataset(place).tags.list()) == ["later", "x"]
