"""Names in mounted catalogs that hold the separator of the lake: refused, or plain text, as the policy says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceway.catalogs import FederatedCatalog
from lanceway.catalogs.contract import limits
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.config import CatalogSettings
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.lake.store.database import open_store
from lanceway.lake.tree import metalakes

DATA = pa.table({"id": [1]})


def _tree(folder: Path, policy: str) -> FederatedCatalog:
    store = open_store(f"sqlite:///{folder}/lake.db", separator=":", policy=policy)
    store.transact(metalakes.create, "lanceway", by="test")
    mounted = CatalogSettings("dir", {"path": str(folder / "mounted"), "layout": "manifest"})
    return FederatedCatalog({"files": mounted}, OwnLake(store, warehouse=str(folder / "warehouse")))


@pytest.fixture
def restricted(tmp_path: Path) -> Iterator[FederatedCatalog]:
    with _tree(tmp_path, "restricted") as tree:
        tree.create_table_stream({"id": ["files", "plain"]}, DATA.to_reader())  # type: ignore[arg-type]
        yield tree


@pytest.fixture
def unrestricted(tmp_path: Path) -> Iterator[FederatedCatalog]:
    with _tree(tmp_path, "unrestricted") as tree:
        tree.create_table_stream({"id": ["files", "plain"]}, DATA.to_reader())  # type: ignore[arg-type]
        yield tree


WAYS: dict[str, Callable[[Any, Path], object]] = {
    "create_namespace": lambda tree, folder: tree.create_namespace({"id": ["files", "a:b"]}),
    "create_table": lambda tree, folder: tree.create_table_stream({"id": ["files", "a:b"]}, DATA.to_reader()),
    "declare": lambda tree, folder: tree.declare_table({"id": ["files", "a:b"]}),
    "create_empty": lambda tree, folder: tree.create_empty_table({"id": ["files", "a:b"]}),
    "register": lambda tree, folder: tree.register_table({"id": ["files", "a:b"], "location": "elsewhere.lance"}),
    "rename": lambda tree, folder: tree.rename_table({"id": ["files", "plain"], "new_table_name": "a:b"}),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_restricted_keeps_it_out(
    restricted: FederatedCatalog, tmp_path: Path, way: Callable[[Any, Path], object]
) -> None:
    lance.write_dataset(DATA, str(tmp_path / "mounted" / "elsewhere.lance"))
    with pytest.raises(InvalidInputError) as refused:
        way(restricted, tmp_path)
    for part in ("'a:b'", "':'", "'files'", "restricted", "'a_b' or 'a-b'"):
        assert part in str(refused.value)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_unrestricted_takes_it_for_plain_text(
    unrestricted: FederatedCatalog, tmp_path: Path, way: Callable[[Any, Path], object]
) -> None:
    lance.write_dataset(DATA, str(tmp_path / "mounted" / "elsewhere.lance"))
    way(unrestricted, tmp_path)
    names = [
        *unrestricted.list_namespaces({"id": ["files"]}).namespaces,  # type: ignore[arg-type]
        *unrestricted.list_tables({"id": ["files"]}).tables,  # type: ignore[arg-type]
    ]
    assert "a:b" in names


def test_a_job_is_planned_by_the_same_rule(restricted: FederatedCatalog) -> None:
    limits.check_new_table(restricted, Identifier(("files", "a_b")))
    with pytest.raises(InvalidInputError, match="kept free by the policy"):
        limits.check_new_table(restricted, Identifier(("files", "a:b", "t")))


def test_what_is_there_already_is_read_and_dropped(unrestricted: FederatedCatalog) -> None:
    unrestricted.declare_table({"id": ["files", "a:b"]})  # type: ignore[arg-type]
    lake = unrestricted._lake
    assert lake is not None
    from lanceway.lake.tree import nesting

    lake.store.transact(nesting.change_separator, ":", policy="restricted")
    assert unrestricted.describe_table({"id": ["files", "a:b"]}).location  # type: ignore[arg-type]
    unrestricted.drop_table({"id": ["files", "a:b"]})  # type: ignore[arg-type]
