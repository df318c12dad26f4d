"""Iceberg tables and views in a tree: those of the lake, and the Lance tables of every mounted catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pytest

from lanceway.catalogs.contract.iceberg import IcebergCommit, KeepsIceberg
from lanceway.catalogs.federated.locations import AllowedLocations
from lanceway.config import CatalogSettings
from lanceway.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from tests.access.iceberg_helpers import create_table, create_view, creation, new_table, set_properties, snapshot
from tests.catalogs.federated.tree_helpers import SECRET, create, folder_of, rows
from tests.catalogs.federated.tree_helpers import tree as make_tree

LAKE, FOLDER = ("lake", "team"), ("archive", "team")


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "archive").mkdir()
    with make_tree(tmp_path, {"archive": folder_of(tmp_path / "archive")}) as root:
        for space in (LAKE, FOLDER):
            root.create_namespace({"id": list(space)})
        yield root


def test_a_tree_keeps_iceberg_tables(tree: Any) -> None:
    assert isinstance(tree, KeepsIceberg)


def test_a_table_of_the_lake_is_made_changed_and_dropped(tree: Any) -> None:
    made = create_table(tree, *LAKE, "ice")
    create(tree, *LAKE, "lance")
    assert tree.list_iceberg_tables(LAKE) == ["ice", "lance"]
    assert tree.load_iceberg_table((*LAKE, "ice")) == made
    (changed,) = tree.commit_iceberg_tables([set_properties(*LAKE, "ice", note="x")])
    assert json.loads(changed.metadata)["properties"]["note"] == "x"
    assert tree.load_iceberg_table((*LAKE, "lance")).is_companion
    tree.rename_iceberg_table((*LAKE, "ice"), (*LAKE, "new"))
    tree.rename_iceberg_table((*LAKE, "lance"), (*LAKE, "other"))
    assert tree.list_iceberg_tables(LAKE) == ["new", "other"]
    assert tree.list_tables({"id": list(LAKE)}).tables == ["other"]
    assert tree.iceberg_table_exists((*LAKE, "new"))
    tree.drop_iceberg_table((*LAKE, "new"), purge=True)
    assert not tree.iceberg_table_exists((*LAKE, "new"))


def test_a_view_of_the_lake_is_made_changed_and_dropped(tree: Any) -> None:
    create_view(tree, *LAKE, "v")
    assert tree.list_iceberg_views(LAKE) == ["v"]
    replaced = tree.replace_iceberg_view(set_properties(*LAKE, "v", note="x"))
    assert json.loads(replaced.metadata)["properties"]["note"] == "x"
    tree.rename_iceberg_view((*LAKE, "v"), (*LAKE, "w"))
    assert tree.iceberg_view_exists((*LAKE, "w"))
    pointer = tree.load_iceberg_view((*LAKE, "w")).metadata_location
    assert pointer is not None
    tree.drop_iceberg_view((*LAKE, "w"))
    with pytest.raises(TableNotFoundError):
        tree.load_iceberg_view((*LAKE, "w"))


def test_a_catalog_that_was_made_again_is_found(tree: Any, tmp_path: Path) -> None:
    tree.create_namespace({"id": ["other"]})
    tree.create_namespace({"id": ["other", "n"]})
    create_table(tree, "other", "n", "ice")  # the catalog is open now
    with make_tree(tmp_path) as elsewhere:
        elsewhere.drop_namespace({"id": ["other"], "behavior": "Cascade"})
        elsewhere.create_namespace({"id": ["other"]})
        elsewhere.create_namespace({"id": ["other", "n"]})
    assert tree.list_iceberg_tables(("other", "n")) == []
    with pytest.raises(NamespaceNotFoundError):
        tree.list_iceberg_tables(("missing", "n"))


# -- mounted catalogs ----------------------------------------------------------------------------


def test_lance_tables_of_a_mounted_catalog_are_companions(tree: Any) -> None:
    for name in ("c", "a", "b"):
        create(tree, *FOLDER, name)
    assert tree.list_iceberg_tables(FOLDER) == ["a", "b", "c"]
    assert tree.list_iceberg_tables(FOLDER, after="a", limit=1) == ["b"]
    assert tree.list_iceberg_tables(FOLDER, after="c", limit=1) == []
    loaded = tree.load_iceberg_table((*FOLDER, "a"))
    metadata = json.loads(loaded.metadata)
    assert loaded.is_companion
    assert loaded.metadata_location is None
    assert metadata["location"] == loaded.location
    assert metadata["properties"]["table_type"] == "lance"
    assert SECRET not in loaded.metadata.decode()
    assert lance.dataset(loaded.location).count_rows() == 1
    assert tree.load_iceberg_table((*FOLDER, "a")) == loaded
    others = {json.loads(tree.load_iceberg_table((*FOLDER, name)).metadata)["table-uuid"] for name in "abc"}
    assert len(others) == 3


def test_a_lance_table_is_declared_renamed_and_dropped_in_a_mounted_catalog(tree: Any) -> None:
    declared = create_table(tree, *FOLDER, "new", properties={"table_type": "Lance", "note": "x"})
    assert json.loads(declared.metadata)["properties"]["table_type"] == "lance"
    lance.write_dataset(rows(1, 2), declared.location)
    with pytest.raises(TableAlreadyExistsError):
        create_table(tree, *FOLDER, "new", properties={"table_type": "lance"})
    tree.rename_iceberg_table((*FOLDER, "new"), (*FOLDER, "old"))
    assert tree.list_iceberg_tables(FOLDER) == ["old"]
    location = tree.load_iceberg_table((*FOLDER, "old")).location
    tree.drop_iceberg_table((*FOLDER, "old"))
    assert not tree.iceberg_table_exists((*FOLDER, "old"))
    assert lance.dataset(location).count_rows() == 2, "without a purge the data stays"


def test_a_purge_removes_the_data_of_a_lance_table(tree: Any) -> None:
    create(tree, *FOLDER, "t")
    location = tree.load_iceberg_table((*FOLDER, "t")).location
    tree.drop_iceberg_table((*FOLDER, "t"), purge=True)
    assert not Path(location.removeprefix("file://")).exists()


def test_a_mounted_catalog_refuses_iceberg_tables_and_views(tree: Any) -> None:
    create(tree, *FOLDER, "t")
    refused = [
        lambda: create_table(tree, *FOLDER, "ice"),
        lambda: tree.create_iceberg_table((*FOLDER, "ice"), new_table(staged=True, properties={"table_type": "lance"})),
        lambda: tree.register_iceberg_table((*FOLDER, "ice"), "/x/metadata/00000-x.metadata.json"),
        lambda: tree.commit_iceberg_tables([set_properties(*FOLDER, "t", a="1")]),
        lambda: tree.commit_iceberg_tables([creation(*FOLDER, "ice")]),
        lambda: create_view(tree, *FOLDER, "v"),
        lambda: tree.register_iceberg_view((*FOLDER, "v"), "/x/metadata/00000-x.metadata.json"),
    ]
    for call in refused:
        with pytest.raises(UnsupportedOperationError, match=r"Lance table"):
            call()
    missing = [
        lambda: tree.load_iceberg_table((*FOLDER, "none")),
        lambda: tree.commit_iceberg_tables([set_properties(*FOLDER, "none", a="1")]),
        lambda: tree.load_iceberg_view((*FOLDER, "t")),
        lambda: tree.replace_iceberg_view(set_properties(*FOLDER, "t", a="1")),
        lambda: tree.rename_iceberg_view((*FOLDER, "t"), (*FOLDER, "u")),
        lambda: tree.drop_iceberg_view((*FOLDER, "t")),
    ]
    for call in missing:
        with pytest.raises(TableNotFoundError):
            call()
    assert tree.list_iceberg_views(FOLDER) == []
    assert not tree.iceberg_view_exists((*FOLDER, "t"))
    with pytest.raises(NamespaceNotFoundError):
        tree.list_iceberg_views(("archive", "none"))
    assert tree.list_iceberg_tables(FOLDER) == ["t"]


def test_a_call_stays_within_one_catalog(tree: Any) -> None:
    create_table(tree, *LAKE, "ice")
    create_view(tree, *LAKE, "v")
    tree.create_namespace({"id": ["other"]})
    with pytest.raises(InvalidInputError, match="'lake' and 'other'"):
        tree.commit_iceberg_tables([set_properties(*LAKE, "ice", a="1"), set_properties("other", "n", "t", a="1")])
    with pytest.raises(InvalidInputError, match="one catalog"):
        tree.rename_iceberg_table((*LAKE, "ice"), ("other", "n", "ice"))
    with pytest.raises(InvalidInputError, match="one catalog"):
        tree.rename_iceberg_view((*LAKE, "v"), (*FOLDER, "v"))
    for commits in ([], [IcebergCommit((), [], [])]):
        with pytest.raises(InvalidInputError, match="at least one table"):
            tree.commit_iceberg_tables(commits)
    with pytest.raises(InvalidInputError, match="name of a catalog"):
        tree.load_iceberg_table(())
    assert "a" not in json.loads(tree.load_iceberg_table((*LAKE, "ice")).metadata)["properties"]


# -- locations -----------------------------------------------------------------------------------


def confined(tree: Any, *roots: Path) -> Any:
    """The tree as users have it who are no administrators."""
    return tree.confined_to(AllowedLocations(tuple(map(str, roots))))


def test_clients_choose_locations_below_those_that_are_allowed(tree: Any, tmp_path: Path) -> None:
    allowed, elsewhere = tmp_path / "allowed", tmp_path / "elsewhere"
    user = confined(tree, allowed)
    create_table(tree, *LAKE, "ice")
    create_view(tree, *LAKE, "v")
    outside = f"file://{elsewhere}/t"
    moved = [{"action": "set-location", "location": outside}]
    refused = [
        lambda: create_table(user, *LAKE, "new", location=outside),
        lambda: create_table(user, *LAKE, "new", location=outside, staged=True),
        lambda: create_table(user, *LAKE, "new", location=outside, properties={"table_type": "lance"}),
        lambda: create_table(user, *FOLDER, "new", location=outside, properties={"table_type": "lance"}),
        lambda: user.commit_iceberg_tables([creation(*LAKE, "new", location=outside)]),
        lambda: user.commit_iceberg_tables([IcebergCommit((*LAKE, "ice"), [], moved)]),
        lambda: user.register_iceberg_table((*LAKE, "new"), f"{outside}/metadata/00000-x.metadata.json"),
        lambda: create_view(user, *LAKE, "new", location=outside),
        lambda: user.replace_iceberg_view(IcebergCommit((*LAKE, "v"), [], moved)),
        lambda: user.register_iceberg_view((*LAKE, "new"), f"{outside}/metadata/00000-x.metadata.json"),
    ]
    for call in refused:
        with pytest.raises(PermissionDeniedError, match="allowed_locations"):
            call()
    assert tree.list_iceberg_tables(LAKE) == ["ice"]
    assert create_table(user, *LAKE, "new", location=f"file://{allowed}/t").location == f"file://{allowed}/t"
    assert create_view(user, *LAKE, "w", location=f"file://{allowed}/w").location == f"file://{allowed}/w"
    (at,) = user.commit_iceberg_tables(
        [IcebergCommit((*LAKE, "new"), [], [{"action": "set-location", "location": f"file://{allowed}/u"}])]
    )
    assert at.location == f"file://{allowed}/u"


def test_what_the_lake_chose_for_a_staged_table_is_allowed(tree: Any, tmp_path: Path) -> None:
    user = confined(tree, tmp_path / "allowed")
    staged = create_table(user, *LAKE, "new", staged=True)
    (made,) = user.commit_iceberg_tables([creation(*LAKE, "new", location=staged.location)])
    assert made.location == staged.location


def test_the_location_in_a_registered_file_must_be_allowed(tree: Any, tmp_path: Path) -> None:
    """Whatever path leads to the file: what counts is where the table would be."""
    allowed = tmp_path / "allowed"
    user = confined(tree, allowed)
    create_table(tree, *LAKE, "away", location=f"file://{tmp_path}/elsewhere/t")
    loaded = tree.load_iceberg_table((*LAKE, "away"))
    tree.drop_iceberg_table((*LAKE, "away"))
    copied = allowed / "t" / "metadata" / loaded.metadata_location.rpartition("/")[2]
    copied.parent.mkdir(parents=True)
    copied.write_bytes(loaded.metadata)
    with pytest.raises(PermissionDeniedError, match="allowed_locations"):
        user.register_iceberg_table((*LAKE, "new"), f"file://{copied}")
    assert tree.register_iceberg_table((*LAKE, "new"), loaded.metadata_location).location == loaded.location


def test_files_of_a_snapshot_are_below_the_location_of_their_table(tree: Any, tmp_path: Path) -> None:
    """Who may change one table cannot have the server look into another one."""
    user = confined(tree, tmp_path / "warehouse")
    victim = create_table(tree, *LAKE, "victim").location
    own = create_table(tree, *LAKE, "ice").location

    def statistics(path: str) -> IcebergCommit:
        row = {
            "snapshot-id": 1,
            "statistics-path": path,
            "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }
        return IcebergCommit((*LAKE, "ice"), [], [{"action": "set-statistics", "snapshot-id": 1, "statistics": row}])

    for path in (f"{victim}/metadata/snap.avro", f"{own}/../x/metadata/snap.avro", f"{own}2/snap.avro", "/etc/passwd"):
        for commit in (snapshot(path, *LAKE, "ice"), statistics(path)):
            with pytest.raises(PermissionDeniedError, match="below its location"):
                user.commit_iceberg_tables([commit])
    user.commit_iceberg_tables([snapshot(f"{own}/metadata/snap.avro", *LAKE, "ice")])
    user.commit_iceberg_tables([statistics(f"{own}/metadata/x.stats")])
    for key in ("write.metadata.path", "write.data.path"):
        with pytest.raises(PermissionDeniedError, match="allowed_locations"):
            confined(tree, tmp_path / "allowed").commit_iceberg_tables([set_properties(*LAKE, "ice", **{key: victim})])


def test_a_mounted_folder_needs_no_lake(tmp_path: Path) -> None:
    """A tree without a lake of its own shows companions too."""
    from lanceway.catalogs import FederatedCatalog

    settings = CatalogSettings("dir", {"path": str(tmp_path), "layout": "lance"})
    with FederatedCatalog({"archive": settings}) as root:
        create(root, "archive", "t")
        assert root.list_iceberg_tables(("archive",)) == ["t"]
        assert root.load_iceberg_table(("archive", "t")).is_companion
        with pytest.raises(NamespaceNotFoundError):
            root.list_iceberg_tables(("lake", "team"))
