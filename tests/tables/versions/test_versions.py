from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    CreateTableBranchRequest,
    CreateTableTagRequest,
    CreateTableVersionRequest,
    CreateTableVersionResponse,
    DescribeTableVersionRequest,
    RestoreTableRequest,
)
from lance_namespace import ListTableVersionsRequest as ListRequest

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches, tags, versions
from tests.tables import table_helpers as samples


def grow(table: StoredTable, times: int = 1, branch: str | None = None) -> None:
    for _ in range(times):
        open_at(table, branch=branch).insert(samples.rows(100, 1))


def numbers(table: StoredTable, after: int | None = None, **asked: Any) -> list[int]:
    return [one.version for one in versions.list_(table, ListRequest(**asked), after)]


def delete(table: StoredTable, *ranges: tuple[int, int], branch: str | None = None) -> int | None:
    asked = [{"start_version": start, "end_version": end} for start, end in ranges]
    request = BatchDeleteTableVersionsRequest.model_validate({"ranges": asked, "branch": branch})
    return versions.delete(table, request).deleted_count


# -- reading -------------------------------------------------------------------------------------


def test_versions_are_listed_in_both_orders_and_after_one(table: StoredTable) -> None:
    grow(table, 11)
    assert numbers(table) == list(range(1, 13))
    assert numbers(table, descending=True) == list(range(12, 0, -1))
    assert numbers(table, 10) == [11, 12]
    assert numbers(table, 3, descending=True) == [2, 1]


def test_a_version_is_told_as_pylance_tells_it(tmp_path: Path) -> None:
    table = samples.make(tmp_path, name="t.lance")
    grow(table)
    theirs = DirectoryNamespace(root=str(tmp_path)).list_table_versions(ListRequest(id=["t"])).versions
    assert versions.list_(table, ListRequest(), None) == theirs


def test_one_version_is_described(table: StoredTable) -> None:
    grow(table, 2)
    told = versions.describe(table, DescribeTableVersionRequest(version=2)).version
    assert (told.version, told.manifest_path[0]) == (2, Path(table.location).parts[1][0])
    assert Path("/", told.manifest_path).is_file()
    assert versions.describe(table, DescribeTableVersionRequest()).version.version == 3
    for missing in (0, 4, 2**70):
        with pytest.raises(TableVersionNotFoundError, match=rf"no version {missing}\. The latest is 3\."):
            versions.describe(table, DescribeTableVersionRequest(version=missing))


def test_a_branch_has_its_own_versions(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    grow(table, 2, "side")
    assert numbers(table) == [1]
    assert numbers(table, branch="side") == [1, 2, 3]
    told = versions.describe(table, DescribeTableVersionRequest(version=3, branch="side")).version
    assert "tree/side/_versions/" in told.manifest_path
    for act in (
        lambda: numbers(table, branch="none"),
        lambda: versions.describe(table, DescribeTableVersionRequest(version=1, branch="none")),
    ):
        with pytest.raises(TableBranchNotFoundError):
            act()


def test_a_table_without_data_has_no_versions_to_tell(tmp_path: Path) -> None:
    empty = StoredTable("empty", str(tmp_path))
    with pytest.raises(InvalidTableStateError):
        numbers(empty)
    with pytest.raises(InvalidTableStateError):
        versions.describe(empty, DescribeTableVersionRequest(version=1))


def test_manifests_of_the_older_naming_are_versions_too(table: StoredTable) -> None:
    manifest = next(Path(table.location, "_versions").glob("*.manifest"))
    manifest.rename(manifest.with_name("1.manifest"))
    (manifest.parent / "latest_version_hint.json").unlink()
    assert numbers(table) == [1]
    assert versions.describe(table, DescribeTableVersionRequest(version=1)).version.manifest_path.endswith(
        "/1.manifest"
    )


# -- creating ------------------------------------------------------------------------------------


def stage(table: StoredTable, name: str = "staged", branch: str = "") -> str:
    """What a writer of a server-managed table does: its next manifest, under a name of its own."""
    folder = Path(table.location, branch, "_versions")
    newest = min(folder.glob("*.manifest"))
    copy = StoredTable("copy", f"{table.location}-{name}")
    shutil.copytree(table.location, copy.location)
    grow(copy, 1, branch.removeprefix("tree/") or None)
    made = min(Path(copy.location, branch, "_versions").glob("*.manifest"))
    assert made.name < newest.name
    shutil.copytree(Path(copy.location, branch, "data"), folder.parent / "data", dirs_exist_ok=True)
    staged = folder / f"{made.name}-{name}"
    shutil.copy(made, staged)
    return str(staged).lstrip("/")


def create(table: StoredTable, version: int, path: str, **asked: Any) -> CreateTableVersionResponse:
    return versions.create(table, CreateTableVersionRequest(version=version, manifest_path=path, **asked))


def test_a_staged_manifest_becomes_the_next_version(table: StoredTable) -> None:
    staged = stage(table)
    told = create(table, 2, staged, naming_scheme="V2").version
    assert told is not None
    assert told == versions.describe(table, DescribeTableVersionRequest(version=2)).version
    assert open_at(table).count_rows() == 11
    assert not Path("/", staged).exists()
    grow(table)
    assert numbers(table) == [1, 2, 3]


def test_a_path_may_begin_at_the_table_or_with_a_slash(table: StoredTable) -> None:
    name = Path(stage(table)).name
    create(table, 2, f"_versions/{name}")
    create(table, 3, f"/{stage(table, 'again')}", naming_scheme="v2")
    assert numbers(table) == [1, 2, 3]


def test_a_branch_gets_its_versions_too(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    create(table, 2, stage(table, branch="tree/side"), branch="side")
    assert numbers(table, branch="side") == [1, 2]
    assert numbers(table) == [1]
    assert open_at(table, branch="side").count_rows() == 11


@pytest.mark.parametrize("version", [0, 1, 3, 9])
def test_only_the_next_version_can_be_created(table: StoredTable, version: int) -> None:
    staged = stage(table)
    with pytest.raises(ConcurrentModificationError, match="the next version is 2"):
        create(table, version, staged)
    assert Path("/", staged).exists()
    assert numbers(table) == [1]


def test_one_of_many_writers_of_a_version_wins(table: StoredTable) -> None:
    staged = [stage(table, f"s{i}") for i in range(8)]

    def attempt(path: str) -> bool:
        try:
            create(table, 2, path)
        except ConcurrentModificationError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(attempt, staged)).count(True) == 1
    assert open_at(table).count_rows() == 11


def test_a_path_that_is_no_staged_manifest_of_the_table_is_refused(table: StoredTable, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    real = next(Path(table.location, "_versions").glob("*.manifest")).name
    for path in (
        "secret",
        f"{tmp_path}/secret",
        "_versions/../../secret",
        "_versions/",
        "_versions/..",
        f"_versions/{real}",
        "data/x",
        "s3://elsewhere/_versions/x",
    ):
        with pytest.raises(InvalidInputError, match="not a staged manifest"):
            create(table, 2, path)
    with pytest.raises(InvalidInputError, match="no such file"):
        create(table, 2, "_versions/nothing-here")
    with pytest.raises(InvalidInputError, match="naming scheme"):
        create(table, 2, stage(table), naming_scheme="V9")
    assert numbers(table) == [1]


# -- deleting ------------------------------------------------------------------------------------


def test_ranges_of_versions_are_deleted(table: StoredTable) -> None:
    grow(table, 9)
    assert delete(table, (2, 4), (6, 7), (6, 8)) == 4
    assert numbers(table) == [1, 4, 5, 8, 9, 10]
    assert delete(table, (0, 6)) == 3
    assert delete(table, (2, 4)) == 0
    assert delete(table) == 0
    assert open_at(table).count_rows() == 19
    with pytest.raises(TableVersionNotFoundError):
        open_at(table, version=5)


@pytest.mark.parametrize("ranges", [[(0, -1)], [(1, 2), (3, 4)], [(3, 99)]])
def test_the_latest_version_stays_and_so_does_the_rest_then(table: StoredTable, ranges: list[tuple[int, int]]) -> None:
    grow(table, 2)
    with pytest.raises(InvalidInputError, match=r"3 is the latest version.*end_version 3"):
        delete(table, *ranges)
    assert numbers(table) == [1, 2, 3]


def test_a_tagged_version_stays(table: StoredTable) -> None:
    grow(table, 2)
    tags.create(table, CreateTableTagRequest(tag="keep", version=2))
    with pytest.raises(InvalidTableStateError, match=r"2 \(keep\)"):
        delete(table, (1, 3))
    assert numbers(table) == [1, 2, 3]


def test_versions_of_a_branch_are_deleted_there(table: StoredTable) -> None:
    tags.create(table, CreateTableTagRequest(tag="main1", version=1))
    branches.create(table, CreateTableBranchRequest(name="side"))
    grow(table, 2, "side")
    assert delete(table, (1, 3), branch="side") == 2
    assert numbers(table, branch="side") == [3]
    assert numbers(table) == [1]


def test_what_is_no_range_is_refused(table: StoredTable) -> None:
    for start, end in ((-1, 2), (0, -2)):
        with pytest.raises(InvalidInputError, match="not a range"):
            delete(table, (start, end))


# -- restoring -----------------------------------------------------------------------------------


def test_an_earlier_version_is_restored_as_a_new_one(table: StoredTable) -> None:
    grow(table, 2)
    versions.restore(table, RestoreTableRequest(version=1))
    assert open_at(table).version == 4
    assert open_at(table).count_rows() == 10
    with pytest.raises(TableVersionNotFoundError, match="no version 9"):
        versions.restore(table, RestoreTableRequest(version=9))


def test_a_branch_is_restored_by_itself(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    grow(table, 2, "side")
    versions.restore(table, RestoreTableRequest(version=2, branch="side"))
    assert open_at(table, branch="side").count_rows() == 11
    assert open_at(table, branch="side").version == 4
    assert open_at(table).version == 1
