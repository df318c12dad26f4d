"""The name of a branch is part of a path, and must not lead out of its table."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    CreateTableBranchRequest,
    CreateTableVersionRequest,
    DeleteTableBranchRequest,
    DescribeTableVersionRequest,
    ListTableVersionsRequest,
)

from lanceway.errors import InvalidInputError, LanceNamespaceError, TableBranchNotFoundError
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches, manifests, versions
from tests.tables import table_helpers as samples

VALID = ("a", "a/b", "a/b/c", "A", "a.", ".a", "a.lock/b", "a_-1", "-a", "main/x", "tree", "ä", "हि", "x" * 200)
INVALID = (
    "..",
    ".",
    "../x",
    "../../other",
    "a/../b",
    "a/./b",
    "a..b",
    "a/",
    "/a",
    "a//b",
    "a\\b",
    "a b",
    "a%2F..",
    "a:b",
    "a\x00b",
    "a\nb",
    "a.lock",
    "a/b.lock",
    "\u200b",
)


@pytest.mark.parametrize("name", VALID)
def test_what_pylance_takes_for_a_branch_has_a_folder(table: StoredTable, name: str) -> None:
    open_at(table).create_branch(name)
    assert Path(table.location, manifests.folder(name)).is_dir()
    assert [one.version for one in versions.list_(table, ListTableVersionsRequest(branch=name), None)] == [1]


@pytest.mark.parametrize("name", INVALID)
def test_what_pylance_refuses_has_none(table: StoredTable, name: str) -> None:
    with pytest.raises(OSError, match=r"Ref is invalid|illegal character"):
        open_at(table).create_branch(name)
    with pytest.raises(InvalidInputError, match=r"is not a name of a branch.*letters, digits"):
        manifests.folder(name)
    with pytest.raises(InvalidInputError, match="is not a name of a branch"):
        branches.create(table, CreateTableBranchRequest(name=name))


@pytest.fixture
def victim(tmp_path: Path) -> StoredTable:
    """Another table, with versions that could be deleted."""
    other = samples.make(tmp_path, name="victim")
    for first in (10, 20):
        open_at(other).insert(samples.rows(first))
    return other


@pytest.mark.parametrize("way", ["../../victim", "side/../../../victim", "../../../{root}/victim", "/{whole}"])
def test_no_branch_leads_to_another_table(table: StoredTable, victim: StoredTable, tmp_path: Path, way: str) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    branch = way.format(root=tmp_path.name, whole=victim.location)
    before = samples.files(victim.location)
    everything = BatchDeleteTableVersionsRequest.model_validate(
        {"branch": branch, "ranges": [{"start_version": 1, "end_version": 2}]}
    )
    staged = CreateTableVersionRequest(version=4, branch=branch, manifest_path="_versions/staged")
    for ask in (
        lambda: versions.list_(table, ListTableVersionsRequest(branch=branch), None),
        lambda: versions.describe(table, DescribeTableVersionRequest(branch=branch, version=1)),
        lambda: versions.create(table, staged),
        lambda: versions.delete(table, everything),
        lambda: manifests.key(1, branch),
    ):
        with pytest.raises(InvalidInputError, match="is not a name of a branch"):
            ask()
    with pytest.raises(LanceNamespaceError):
        branches.delete(table, DeleteTableBranchRequest(name=branch))
    assert samples.files(victim.location) == before


def test_a_folder_that_is_no_branch_is_none(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    odd = Path(table.location, "tree/my notes/_versions")
    odd.mkdir(parents=True)
    (odd / "1.manifest").write_bytes(b"")
    assert manifests.branches(table.store()) == ["side"]
    with pytest.raises(TableBranchNotFoundError):
        open_at(table, branch="my notes")


@pytest.mark.parametrize("version", [0, -1, 2**64])
def test_a_version_that_cannot_be_is_not_created(table: StoredTable, version: int) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    folder = Path(table.location, manifests.folder("new"))
    folder.mkdir(parents=True)
    (folder / "staged").write_bytes(b"x")
    request = CreateTableVersionRequest.model_construct(
        version=version, branch="new", manifest_path="tree/new/_versions/staged", naming_scheme="V1"
    )
    with pytest.raises(LanceNamespaceError):
        versions.create(table, request)
    assert samples.files(folder) == ["staged"]
