"""Shallow clones in a lake: they share files, which stay as long as the clones do."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lanceway
from lanceway.catalogs import FederatedCatalog, LakeCatalog
from lanceway.catalogs.contract import clones
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.config import CatalogSettings
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lanceway.lake.tree.clones import TableHasClonesError


def rows(*ids: int) -> Any:
    return pa.table({"id": pa.array(ids, pa.int64())}).to_reader()


@pytest.fixture(params=["managed", "storage"])
def lake(request: pytest.FixtureRequest, uri: str, tmp_path: Path) -> Iterator[Any]:
    names = {"catalog": f"c{uuid.uuid4().hex[:12]}", "user": "alice", "versioning": request.param}
    lake: Any = LakeCatalog(uri=uri, root=str(tmp_path / "data"), **names)
    with lake:
        lake.create_table_stream({"id": ["t"]}, rows(1, 2))
        lake.insert_into_table_stream({"id": ["t"]}, rows(3))
        yield lake


def ids(lake: Any, *table: str) -> list[int]:
    opened = lake._table(list(table), "query_table")
    return sorted(lanceway.tables.dataset.open_at(opened).to_table()["id"].to_pylist())


def tags(lake: Any) -> list[str]:
    return list(lake.list_table_tags({"id": ["t"]}).tags)


def test_a_clone_has_the_rows_and_goes_its_own_way(lake: Any) -> None:
    made = lake.clone_table(["t"], ["c"])
    assert ids(lake, "c") == [1, 2, 3]
    assert not (Path(made.location) / "data").exists()
    lake.insert_into_table_stream({"id": ["c"]}, rows(4))
    lake.delete_from_table({"id": ["c"], "predicate": "id = 1"})
    lake.insert_into_table_stream({"id": ["t"]}, rows(5))
    assert (ids(lake, "c"), ids(lake, "t")) == ([2, 3, 4], [1, 2, 3, 5])
    assert lake._tables.row(lanceway.identifiers.Identifier(("c",))).owner == "alice"


def test_a_version_or_a_tag(lake: Any) -> None:
    lake.create_table_tag({"id": ["t"], "tag": "old", "version": 1})
    lake.clone_table("t", "by_version", version=1)
    lake.clone_table("t", "by_tag", tag="old")
    assert ids(lake, "by_version") == ids(lake, "by_tag") == [1, 2]
    with pytest.raises(TableVersionNotFoundError):
        lake.clone_table("t", "c", version=9)


def test_a_branch_is_refused(lake: Any) -> None:
    lake.create_table_branch({"id": ["t"], "name": "dev"})
    lake.create_table_tag({"id": ["t"], "tag": "on_dev", "branch": "dev", "version": 2})
    for reference in ({"branch": "dev"}, {"tag": "on_dev"}):
        with pytest.raises(InvalidInputError, match="main branch"):
            lake.clone_table("t", "c", **reference)
    assert tags(lake) == ["on_dev"]
    lake.clone_table("t", "c", branch="main")


def test_a_name_that_is_taken_leaves_nothing_behind(lake: Any, tmp_path: Path) -> None:
    with pytest.raises(TableAlreadyExistsError):
        lake.clone_table("t", "t")
    with pytest.raises(lanceway.errors.NamespaceNotFoundError):
        lake.clone_table("t", ["nowhere", "c"])
    assert tags(lake) == []
    assert len(os.listdir(tmp_path / "data")) == 1


def test_a_source_stays_as_long_as_it_has_clones(lake: Any, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"]})
    lake.rename_table({"id": ["t"], "new_table_name": "t", "new_namespace_id": ["n"]})
    lake.clone_table(["n", "t"], ["hidden"])
    location = lake.describe_table({"id": ["n", "t"]}).location
    for drop in (
        lambda: lake.drop_table({"id": ["n", "t"]}),
        lambda: lake.deregister_table({"id": ["n", "t"]}),
        lambda: lake.drop_namespace({"id": ["n"], "behavior": "Cascade"}),
        lambda: lake.register_table({"id": ["n", "t"], "location": location, "mode": "overwrite"}),
        lambda: lake.batch_commit_tables({"operations": [{"deregister_table": {"id": ["n", "t"]}}]}),
    ):
        with pytest.raises(TableHasClonesError) as refused:
            drop()
        assert "hidden" not in str(refused.value)
        assert "hidden" in str(refused.value.with_names())
    assert ids(lake, "hidden") == ids(lake, "n", "t") == [1, 2, 3]
    lake.drop_table({"id": ["hidden"]})
    assert ids(lake, "n", "t") == [1, 2, 3]
    assert lake.list_table_tags({"id": ["n", "t"]}).tags == {}
    lake.drop_namespace({"id": ["n"], "behavior": "Cascade"})
    assert os.listdir(tmp_path / "data") == []


def test_source_and_clones_go_together(lake: Any, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"]})
    lake.clone_table("t", ["n", "c"])
    lake.clone_table(["n", "c"], ["n", "of_clone"])
    lake.drop_namespace({"id": ["n"], "behavior": "Cascade"})
    assert tags(lake) == []
    lake.drop_table({"id": ["t"]})
    assert os.listdir(tmp_path / "data") == []


def test_a_clone_is_not_deregistered(lake: Any) -> None:
    lake.clone_table("t", "c")
    with pytest.raises(InvalidTableStateError, match="is a clone"):
        lake.deregister_table({"id": ["c"]})
    assert ids(lake, "c") == [1, 2, 3]


def test_a_clean_up_keeps_the_cloned_version(lake: Any) -> None:
    lake.clone_table("t", "c")
    (held,) = tags(lake)
    lake.create_table_stream({"id": ["t"], "mode": "overwrite"}, rows(9))
    for change in (
        lambda: lake.delete_table_tag({"id": ["t"], "tag": held}),
        lambda: lake.update_table_tag({"id": ["t"], "tag": held, "version": 3}),
        lambda: lake.batch_delete_table_versions({"id": ["t"], "ranges": [{"start_version": 1, "end_version": 3}]}),
    ):
        with pytest.raises((InvalidTableStateError, InvalidInputError)):
            change()
    stored = lance.dataset(lake.describe_table({"id": ["t"]}).location)
    options = {"delete_unverified": True, "error_if_tagged_old_versions": False}
    assert stored.cleanup_old_versions(timedelta(0), **options).old_versions == 1
    assert ids(lake, "c") == [1, 2, 3]
    own = lance.dataset(lake.describe_table({"id": ["c"]}).location)
    lake.create_table_stream({"id": ["c"], "mode": "overwrite"}, rows(7))
    own.checkout_latest()
    own.cleanup_old_versions(timedelta(0), **options)
    assert (ids(lake, "c"), ids(lake, "t")) == ([7], [9])
    assert lance.dataset(stored.uri, version=2).count_rows() == 3  # the clean-up of a clone leaves its source alone


def test_a_clone_of_a_clone(lake: Any) -> None:
    lake.clone_table("t", "c")
    lake.insert_into_table_stream({"id": ["c"]}, rows(4))
    lake.clone_table("c", "d")
    assert ids(lake, "d") == [1, 2, 3, 4]
    with pytest.raises(TableHasClonesError):
        lake.drop_table({"id": ["c"]})
    for name in ("d", "c", "t"):
        lake.drop_table({"id": [name]})


def test_a_drop_at_the_same_time(lake: Any) -> None:
    """One of the two comes first: there is never a clone without its source."""

    def attempt(function: Callable[[], object]) -> bool:
        try:
            function()
        except LanceNamespaceError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        for number in range(8):
            source, target = f"s{number}", f"c{number}"
            lake.create_table_stream({"id": [source]}, rows(1, 2))
            made = pool.submit(attempt, partial(lake.clone_table, source, target))
            dropped = pool.submit(attempt, partial(lake.drop_table, {"id": [source]}))
            assert made.result() != dropped.result()
            if made.result():
                assert ids(lake, target) == ids(lake, source) == [1, 2]


def test_other_catalogs_make_none(tmp_path: Path) -> None:
    from lanceway.lake.store.database import open_store
    from lanceway.lake.tree import metalakes

    store = open_store(f"sqlite:///{tmp_path}/lake.db")
    store.transact(metalakes.create, "lanceway", by="test")
    mounted = CatalogSettings("dir", {"path": str(tmp_path / "mounted")})
    with FederatedCatalog({"files": mounted}, OwnLake(store, warehouse=str(tmp_path / "warehouse"))) as made:
        tree: Any = made
        tree.create_namespace({"id": ["lake"]})
        for name in ("files", "lake"):
            tree.create_table_stream({"id": [name, "t"]}, rows(1))
        for source, target in (("files", "files"), ("files", "lake"), ("lake", "files")):
            with pytest.raises(UnsupportedOperationError, match="same catalog"):
                tree.clone_table([source, "t"], [target, "c"])
        assert tree.clone_table(["lake", "t"], ["lake", "c"]).location
        with pytest.raises(TableNotFoundError):
            tree.clone_table(["lake", "none"], ["lake", "d"])
    folder = lanceway.connect("dir", path=str(tmp_path / "mounted"))
    with pytest.raises(UnsupportedOperationError, match="makes no clones"):
        clones.require(folder)
