"""Managed tables: versions are rows, and storage follows, whoever crashes, cleans up or writes behind the lake."""

from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path

import lance
import pytest
from lance_namespace import (
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
)

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.lake.catalog import Difference
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    ServiceUnavailableError,
    TableBranchNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.versions import checks, versions
from lanceway.lake.versions.versions import Version
from lanceway.tables.versions import manifests
from lanceway.testing.behaviours.concurrency import race
from tests.catalogs.lake.lake_helpers import (
    Id,
    claim_and_die,
    create,
    files,
    ids,
    insert,
    location,
    numbers,
    opened,
    rows,
    stage,
    storage,
    write_behind,
)


@pytest.fixture
def table(lake: LakeCatalog) -> Id:
    """Versions 1 and 2, with the rows 1 and 2."""
    made = create(lake, "t")
    insert(lake, made, 2)
    return made


def claim(lake: LakeCatalog, table: Id, version: int, path: str, **options: str) -> str:
    request = {"id": table, "version": version, "manifest_path": path, **options}
    answer = lake.create_table_version(request).version  # type: ignore[arg-type]
    assert answer is not None
    return answer.manifest_path


# -- claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{root}/{key}", "/{root}/{key}", "{key}"])
def test_a_manifest_is_claimed_by_any_form_of_its_path(lake: LakeCatalog, table: Id, form: str) -> None:
    key, root = stage(lake, table, 3), location(lake, table).lstrip("/")
    assert claim(lake, table, 3, form.format(root=root, key=key)) == f"{root}/{manifests.key(3)}"
    assert ids(lake, table) == [1, 2, 3]


def test_the_older_naming_scheme_is_kept(lake: LakeCatalog, tmp_path: Path) -> None:
    place, old = tmp_path / "old", ["old"]
    lance.write_dataset(rows(1), place, enable_v2_manifest_paths=False)
    lake.register_table({"id": old, "location": str(place)})  # type: ignore[arg-type]
    insert(lake, old, 2)
    write_behind(lake, old, 3)  # a table that had versions before it was the lake's: this one counts, too
    insert(lake, old, 4)
    assert ids(lake, old) == [1, 2, 3, 4]
    assert files(lake, old) == {f"_versions/{number}.manifest" for number in (1, 2, 3, 4)}


def test_an_unknown_naming_scheme_is_refused(lake: LakeCatalog, table: Id) -> None:
    with pytest.raises(InvalidInputError, match="naming scheme"):
        claim(lake, table, 3, stage(lake, table, 3), naming_scheme="V3")
    assert numbers(lake, table) == [1, 2]


def test_a_claim_leaves_only_its_manifest(lake: LakeCatalog, table: Id) -> None:
    insert(lake, table, 3)
    assert files(lake, table) == {manifests.key(number) for number in (1, 2, 3)}


def test_those_who_lose_the_first_version_leave_nothing(lake: LakeCatalog) -> None:
    lake.declare_table({"id": ["t"]})  # type: ignore[arg-type]
    results = race(lambda number: create(lake, "t", ids=(number,)), 6)
    assert results.count(None) == 1
    assert files(lake, ["t"]) == {manifests.key(1)}
    assert len([*storage(lake, ["t"]).keys("data")]) == 1


def test_a_first_version_whose_answer_was_lost_is_there(uri: str, tmp_path: Path) -> None:
    class Lossy(LakeCatalog):
        """Does what it is asked, and its answer is lost on the way; so is the answer of who asks about it."""

        def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
            super().create_table_version(request)
            raise ServiceUnavailableError("The connection is gone.")

        def describe_table_version(self, request: DescribeTableVersionRequest) -> DescribeTableVersionResponse:
            raise ServiceUnavailableError("The connection is gone.")

    with Lossy(uri=uri, root=str(tmp_path), catalog=tmp_path.name) as lake:
        table = create(lake, "t")
        assert (ids(lake, table), numbers(lake, table)) == ([1], [1])


def test_a_claim_stands_even_if_it_cannot_be_copied_yet(lake: LakeCatalog, table: Id) -> None:
    blocked = Path(location(lake, table)) / manifests.key(3)
    key = stage(lake, table, 3)
    blocked.mkdir()
    claim(lake, table, 3, key)
    assert key in files(lake, table)
    with pytest.raises(InternalError):
        ids(lake, table)
    blocked.rmdir()
    assert ids(lake, table) == [1, 2, 3]
    assert key not in files(lake, table)


def test_a_claim_for_another_table_is_refused(lake: LakeCatalog, table: Id) -> None:
    other, key = create(lake, "other"), stage(lake, table, 3)
    with pytest.raises(InvalidInputError, match="not a staged manifest of other"):
        claim(lake, other, 2, f"{location(lake, table)}/{key}")


def test_a_version_of_a_table_that_was_replaced_is_refused(lake: LakeCatalog, table: Id) -> None:
    dataset = opened(lake, table)
    lake.drop_table({"id": table})  # type: ignore[arg-type]
    create(lake, *table, ids=(7,))
    with pytest.raises(OSError, match="unknown"):
        dataset.insert(rows(3))
    assert (ids(lake, table), numbers(lake, table)) == ([7], [1])


def change_by_another(lake: LakeCatalog, change: str, table: Id) -> None:
    """Another process changes a table, of which this catalog is not told."""
    with pickle.loads(pickle.dumps(lake)) as other:
        if change == "rename":
            other.rename_table({"id": table, "new_table_name": "other"})
        elif change == "leave":
            other.set_versioning(table, managed=False)
        else:
            other.drop_table({"id": table})
            create(other, *table, ids=(7,))
            insert(other, table, 8)


def test_a_table_that_was_renamed_by_another_is_not_committed_to(lake: LakeCatalog, table: Id) -> None:
    key = stage(lake, table, 3)
    claim(lake, table, 3, key)
    following = f"{location(lake, table)}/{stage(lake, table, 4)}"
    change_by_another(lake, "rename", table)
    with pytest.raises(TableNotFoundError):
        claim(lake, table, 4, following)
    claim(lake, ["other"], 4, following)
    assert ids(lake, ["other"]) == [1, 2, 3, 4]


def test_a_table_that_was_replaced_by_another_is_committed_to_where_it_lies(lake: LakeCatalog, table: Id) -> None:
    claim(lake, table, 3, stage(lake, table, 3))
    change_by_another(lake, "replace", table)
    claim(lake, table, 3, stage(lake, table, 9))
    assert (ids(lake, table), numbers(lake, table)) == ([7, 8, 9], [1, 2, 3])


def test_a_table_that_another_left_to_storage_is_committed_to_there(lake: LakeCatalog, table: Id) -> None:
    claim(lake, table, 3, stage(lake, table, 3))
    change_by_another(lake, "leave", table)
    claim(lake, table, 4, stage(lake, table, 4))
    assert sorted(lance.dataset(location(lake, table)).to_table()["id"].to_pylist()) == [1, 2, 3, 4]
    row = lake._tables.row(Identifier(table))
    assert lake._lake.read(versions.latest, row.id) is None


# -- crashes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("meeting", ["list", "describe", "open", "commit", "deregister"])
def test_whoever_meets_an_uncopied_version_copies_it(lake: LakeCatalog, table: Id, meeting: str) -> None:
    died = claim_and_die(lake, table, 3, 3)
    assert died.final_path not in files(lake, table)
    if meeting == "list":
        assert numbers(lake, table) == [1, 2, 3]
    elif meeting == "describe":
        assert lake.describe_table_version({"id": table}).version.version == 3  # type: ignore[arg-type]
    elif meeting == "open":
        assert sorted(opened(lake, table).to_table()["id"].to_pylist()) == [1, 2, 3]
    elif meeting == "commit":
        lance.write_dataset(rows(4), namespace_client=lake, table_id=table, mode="append")
        assert ids(lake, table) == [1, 2, 3, 4]
    else:
        left = lake.deregister_table({"id": table}).location  # type: ignore[arg-type]
        assert sorted(lance.dataset(left).to_table()["id"].to_pylist()) == [1, 2, 3]
        return
    found = files(lake, table)
    assert died.final_path in found
    assert died.staging_path not in found


def test_a_writer_that_did_not_know_of_a_crashed_claim_comes_after_it(lake: LakeCatalog, table: Id) -> None:
    dataset = opened(lake, table)
    claim_and_die(lake, table, 3, 3)
    dataset.insert(rows(4))
    assert ids(lake, table) == [1, 2, 3, 4]
    assert numbers(lake, table) == [1, 2, 3, 4]


def copy_and_forget(lake: LakeCatalog, table: Id, version: int, *ids: int) -> Version:
    """Claim and copy a version, and lose the row's mark: as a database restored from a backup made in between."""
    made, store = claim_and_die(lake, table, version, *ids), storage(lake, table)
    store.copy_if_absent(made.staging_path, made.final_path)
    store.delete(made.staging_path)
    return made


@pytest.mark.parametrize("meeting", ["list", "open", "commit"])
def test_whoever_meets_a_copied_version_without_its_mark_goes_on(lake: LakeCatalog, table: Id, meeting: str) -> None:
    copy_and_forget(lake, table, 3, 3)
    if meeting == "list":
        assert numbers(lake, table) == [1, 2, 3]
    elif meeting == "open":
        assert sorted(opened(lake, table).to_table()["id"].to_pylist()) == [1, 2, 3]
    insert(lake, table, 4)
    lance.write_dataset(rows(5), namespace_client=lake, table_id=table, mode="append")
    assert ids(lake, table) == [1, 2, 3, 4, 5]
    assert numbers(lake, table) == [1, 2, 3, 4, 5]
    assert kept(lake, table) == []


def test_what_lies_in_the_place_of_a_lost_manifest_is_not_taken_for_it(lake: LakeCatalog, table: Id) -> None:
    made, following = copy_and_forget(lake, table, 3, 3), stage(lake, table, 4)
    storage(lake, table).put(made.final_path, b"another one")
    with pytest.raises(ConcurrentModificationError, match="still being written"):
        claim(lake, table, 4, following)


def test_a_claim_that_crashed_over_a_stray_wins(lake: LakeCatalog, table: Id) -> None:
    died = claim_and_die(lake, table, 3, 3)
    write_behind(lake, table, 99)
    assert died.final_path in files(lake, table)
    assert ids(lake, table) == [1, 2, 3]
    assert kept(lake, table) == [3]


# -- strays ----------------------------------------------------------------------------------------


def kept(lake: LakeCatalog, table: Id) -> list[int]:
    """The versions of the strays that are recorded; each lies where the record says."""
    row = lake._tables.row(Identifier(table))
    found = lake._lake.read(checks.of_table, row.id)
    assert all(storage(lake, table).exists(stray.kept_path) for stray in found)
    return [stray.version for stray in found]


def test_a_new_writer_never_meets_a_stray(lake: LakeCatalog, table: Id) -> None:
    """The case of a bare append after two versions: no error, and the row is never there."""
    write_behind(lake, table, 99)
    lance.write_dataset(rows(3), namespace_client=lake, table_id=table, mode="append")
    assert sorted(opened(lake, table).to_table()["id"].to_pylist()) == [1, 2, 3]
    assert numbers(lake, table) == [1, 2, 3]
    assert kept(lake, table) == [3]
    assert sorted(lance.dataset(location(lake, table)).to_table()["id"].to_pylist()) == [1, 2, 3]


def test_a_writer_that_followed_a_stray_succeeds_when_it_tries_again(lake: LakeCatalog, table: Id) -> None:
    dataset = opened(lake, table)
    write_behind(lake, table, 98)
    write_behind(lake, table, 99)
    with pytest.raises(OSError, match="unknown"):
        dataset.insert(rows(3))
    dataset.insert(rows(3))
    assert ids(lake, table) == [1, 2, 3]
    assert kept(lake, table) == [3, 4]


def test_a_version_built_on_a_stray_is_never_claimed(lake: LakeCatalog, table: Id) -> None:
    """Its number is the next one by the time it is claimed: only what it was built on is wrong."""
    write_behind(lake, table, 99)
    built_on_a_stray = stage(lake, table, 98)
    insert(lake, table, 3)
    with pytest.raises(ConcurrentModificationError, match="built on what was written behind the lake"):
        claim(lake, table, 4, built_on_a_stray)
    assert ids(lake, table) == [1, 2, 3]
    with pytest.raises(ConcurrentModificationError):
        claim(lake, table, 5, built_on_a_stray)
    insert(lake, table, 4)
    assert ids(lake, table) == [1, 2, 3, 4]


def test_a_writer_in_doubt_goes_on_without_an_error(lake: LakeCatalog, table: Id) -> None:
    write_behind(lake, table, 99)
    insert(lake, table, 3)
    dataset = opened(lake, table)
    dataset.insert(rows(4))
    assert ids(lake, table) == [1, 2, 3, 4]
    # Version 4 is the lake's own, and changes nothing.
    assert (dataset.version, ids(lake, table, version=4)) == (5, [1, 2, 3])
    insert(lake, table, 5)
    assert numbers(lake, table) == [1, 2, 3, 4, 5, 6]


def test_a_claim_too_far_is_refused_and_the_way_cleared(lake: LakeCatalog, table: Id) -> None:
    write_behind(lake, table, 99)
    key = stage(lake, table, 3)
    with pytest.raises(ConcurrentModificationError, match="the latest is 2, and 3 comes next"):
        claim(lake, table, 4, key)
    assert manifests.key(3) not in files(lake, table)
    assert kept(lake, table) == [3]


def test_a_branch_made_behind_the_lake_is_not_shown(lake: LakeCatalog, table: Id) -> None:
    lance.dataset(location(lake, table)).create_branch("rogue")
    assert lake.list_table_branches({"id": table}).branches == {}  # type: ignore[arg-type]
    for asking in (numbers, ids):
        with pytest.raises(TableBranchNotFoundError):
            asking(lake, table, branch="rogue")


def test_a_stray_on_a_branch_is_not_shown(lake: LakeCatalog, table: Id) -> None:
    lake.create_table_branch({"id": table, "name": "side"})  # type: ignore[arg-type]
    branch = lance.dataset(location(lake, table)).checkout_version(("side", None))
    branch.insert(rows(99))
    insert(lake, table, 3, branch="side")
    assert ids(lake, table, branch="side") == [1, 2, 3]
    assert numbers(lake, table, branch="side") == [2, 3]


# -- what clients do without telling ---------------------------------------------------------------


def test_versions_that_a_client_cleaned_up_are_not_listed(lake: LakeCatalog, table: Id) -> None:
    insert(lake, table, 3)
    opened(lake, table).cleanup_old_versions(older_than=timedelta(0))
    assert numbers(lake, table) == [3]
    with pytest.raises(TableVersionNotFoundError, match="a clean-up removed it"):
        lake.describe_table_version({"id": table, "version": 1})  # type: ignore[arg-type]
    with pytest.raises(TableVersionNotFoundError):
        ids(lake, table, version=1)
    insert(lake, table, 4)
    assert ids(lake, table) == [1, 2, 3, 4]


def test_a_branch_that_a_client_deleted_can_be_made_again(lake: LakeCatalog, table: Id) -> None:
    opened(lake, table).create_branch("side").insert(rows(9))
    assert numbers(lake, table, branch="side") == [2, 3]
    opened(lake, table).branches.delete("side")
    with pytest.raises(TableBranchNotFoundError):
        numbers(lake, table, branch="side")
    insert(lake, table, 3)
    opened(lake, table).create_branch("side").insert(rows(4))
    assert ids(lake, table, branch="side") == [1, 2, 3, 4]


def test_a_deleted_branch_can_be_made_again(lake: LakeCatalog, table: Id) -> None:
    for number in (3, 4):
        lake.create_table_branch({"id": table, "name": "side"})  # type: ignore[arg-type]
        insert(lake, table, number, branch="side")
        assert ids(lake, table, branch="side") == [1, 2, number]
        lake.delete_table_branch({"id": table, "name": "side"})  # type: ignore[arg-type]


# -- deleting --------------------------------------------------------------------------------------


def test_deleted_versions_are_gone_from_rows_and_storage(lake: LakeCatalog, table: Id) -> None:
    insert(lake, table, 3)
    request = {"id": table, "ranges": [{"start_version": 0, "end_version": 3}]}
    assert lake.batch_delete_table_versions(request).deleted_count == 2  # type: ignore[arg-type]
    assert files(lake, table) == {manifests.key(3)}
    assert numbers(lake, table) == [3]


def test_a_tagged_version_is_not_deleted(lake: LakeCatalog, table: Id) -> None:
    lake.create_table_tag({"id": table, "tag": "first", "version": 1})  # type: ignore[arg-type]
    request = {"id": table, "ranges": [{"start_version": 1, "end_version": 2}]}
    with pytest.raises(InvalidTableStateError, match=r"1 \(first\)"):
        lake.batch_delete_table_versions(request)  # type: ignore[arg-type]
    with pytest.raises(InvalidTableStateError, match=r"1 \(first\)"):
        lake.batch_commit_tables({"operations": [{"delete_table_versions": request}]})  # type: ignore[arg-type]
    assert numbers(lake, table) == [1, 2]


# -- reconciling -----------------------------------------------------------------------------------


def told(differences: list[Difference]) -> list[tuple[str, int, bool]]:
    return [(found.kind, found.version, found.fixed) for found in differences]


def test_what_agrees_is_not_reported(lake: LakeCatalog, table: Id) -> None:
    assert lake.reconcile(table) == []
    assert lake.reconcile("t", adopt=True) == []


def test_differences_of_every_kind_are_reported(lake: LakeCatalog, table: Id) -> None:
    insert(lake, table, 3)
    storage(lake, table).delete(manifests.key(1))
    died = claim_and_die(lake, table, 4, 4)
    write_behind(lake, table, 99)
    assert told(lake.reconcile(table)) == [("uncopied", 4, True), ("vanished", 1, False), ("stray", 4, False)]
    assert died.final_path in files(lake, table)
    assert told(lake.reconcile(table)) == [("vanished", 1, False), ("stray", 4, False)]
    assert ids(lake, table) == [1, 2, 3, 4]


def test_strays_that_continue_are_adopted(lake: LakeCatalog, table: Id) -> None:
    for number in (3, 4):
        write_behind(lake, table, number)
    assert told(lake.reconcile(table, adopt=True)) == [("stray", 3, True), ("stray", 4, True)]
    assert ids(lake, table) == [1, 2, 3, 4]
    assert numbers(lake, table) == [1, 2, 3, 4]
    insert(lake, table, 5)
    assert ids(lake, table) == [1, 2, 3, 4, 5]
    assert lake.reconcile(table) == []


def test_a_stray_that_was_overtaken_is_not_adopted(lake: LakeCatalog, table: Id) -> None:
    """Both strays were built on each other and not on version 3, whatever their numbers say."""
    write_behind(lake, table, 98)
    write_behind(lake, table, 99)
    insert(lake, table, 3)
    assert told(lake.reconcile(table, adopt=True)) == [("stray", 3, False), ("stray", 4, False)]
    assert ids(lake, table) == [1, 2, 3]


def test_vanished_versions_are_forgotten_but_never_the_latest(lake: LakeCatalog, table: Id) -> None:
    storage(lake, table).delete(manifests.key(1), manifests.key(2))
    found = lake.reconcile(table, adopt=True)
    assert told(found) == [("vanished", 1, True), ("vanished", 2, False)]
    assert told(lake.reconcile(table)) == [("vanished", 2, False)]


def test_a_first_version_is_adopted(lake: LakeCatalog) -> None:
    lake.declare_table({"id": ["t"]})  # type: ignore[arg-type]
    write_behind(lake, ["t"], 1)
    assert told(lake.reconcile("t", adopt=True)) == [("stray", 1, True)]
    assert ids(lake, ["t"]) == [1]


# -- who owns the versions -------------------------------------------------------------------------


def test_a_table_moves_from_the_lake_to_storage_and_back(lake: LakeCatalog, table: Id) -> None:
    lake.create_table_branch({"id": table, "name": "side"})  # type: ignore[arg-type]
    claim_and_die(lake, table, 3, 3)
    write_behind(lake, table, 99)
    lake.set_versioning(table, managed=False)
    assert lake.describe_table({"id": table}).managed_versioning is False  # type: ignore[arg-type]
    write_behind(lake, table, 4)
    assert ids(lake, table) == [1, 2, 3, 4]
    with pytest.raises(InvalidTableStateError, match="storage alone"):
        lake.reconcile(table)
    lake.set_versioning(table, managed=True)
    write_behind(lake, table, 98)  # the lake has not managed it all the time: this one counts, too
    insert(lake, table, 5)
    assert ids(lake, table) == [1, 2, 3, 4, 5, 98]
    assert numbers(lake, table) == [1, 2, 3, 4, 5, 6]
    insert(lake, table, 6, branch="side")
    assert ids(lake, table, branch="side") == [1, 2, 6]


@pytest.mark.parametrize("managed", [True, False])
def test_a_table_may_be_moved_to_where_it_is(lake: LakeCatalog, table: Id, managed: bool) -> None:
    lake.set_versioning(table, managed=managed)
    lake.set_versioning(table, managed=managed)
    assert numbers(lake, table) == [1, 2]


def test_a_batch_needs_tables_of_the_lake(lake: LakeCatalog, table: Id) -> None:
    lake.set_versioning(table, managed=False)
    key = stage(lake, table, 3)
    entry = {"id": table, "version": 3, "manifest_path": key}
    with pytest.raises(InvalidTableStateError, match="Make it managed first"):
        lake.batch_create_table_versions({"entries": [entry]})  # type: ignore[arg-type]
    assert numbers(lake, table) == [1, 2]


def test_a_table_is_declared_and_filled_in_one_batch(lake: LakeCatalog, table: Id, tmp_path: Path) -> None:
    """Its first version lies ready where it is declared."""
    place = tmp_path / "ready"
    lance.write_dataset(rows(7), place)
    (manifest,) = (place / "_versions").glob("*.manifest")
    staged = manifest.rename(f"{manifest}-staged")
    entry = {"id": ["new"], "version": 1, "manifest_path": str(staged)}
    operations = [{"declare_table": {"id": ["new"], "location": str(place)}}, {"create_table_version": entry}]
    lake.batch_commit_tables({"operations": operations})  # type: ignore[arg-type]
    assert ids(lake, ["new"]) == [7]
