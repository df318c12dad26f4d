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
from tests.catalogs.glue.glue_helpers import database
from tests.catalogs.unity.unity_helpers import Home
from tests.servers.moto import Glue

DATA = pa.table({"id": [1]})


def _tree(folder: Path, policy: str) -> FederatedCatalog:
    mounted = CatalogSettings("dir", {"path": str(folder / "mounted"), "layout": "manifest"})
    return _mounting(folder, policy, ":", files=mounted)


def _mounting(folder: Path, policy: str, separator: str, **mounted: CatalogSettings) -> FederatedCatalog:
    store = open_store(f"sqlite:///{folder}/lake.db", separator=separator, policy=policy)
    store.transact(metalakes.create, "lanceway", by="test")
    return FederatedCatalog(mounted, OwnLake(store, warehouse=str(folder / "warehouse")))


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


# Flat catalogs of services: a name that holds `@`, which both services take.
SERVICES = ("unity", "glue")
FLAT_WAYS: dict[str, Callable[[Any, list[str]], object]] = {
    "create_namespace": lambda tree, above: tree.create_namespace({"id": [*above, "a@b"]}),
    "create_table": lambda tree, above: tree.create_table_stream({"id": [*above, "s", "a@b"]}, DATA.to_reader()),
    "declare": lambda tree, above: tree.declare_table({"id": [*above, "s", "a@b"]}),
}


def _service(tmp_path: Path, policy: str, service: str, unity: Home, glue: Glue) -> tuple[FederatedCatalog, list[str]]:
    """A tree with a mounted service, and the names above its namespaces."""
    root = str(tmp_path / "mounted")
    if service == "unity":
        settings = CatalogSettings("unity", {"endpoint": unity.endpoint, "catalog": unity.catalog, "root": root})
        above = ["service", unity.catalog]
        unity.schema("s")
    else:
        settings = CatalogSettings("glue", {**glue.settings, "root": root})
        above = ["service"]
        database(glue, "s")
    return _mounting(tmp_path, policy, "@", service=settings), above


@pytest.mark.parametrize("way", FLAT_WAYS.values(), ids=FLAT_WAYS)
@pytest.mark.parametrize("service", SERVICES)
def test_restricted_keeps_it_out_of_services(
    tmp_path: Path, unity: Home, glue: Glue, service: str, way: Callable[[Any, list[str]], object]
) -> None:
    tree, above = _service(tmp_path, "restricted", service, unity, glue)
    with tree:
        with pytest.raises(InvalidInputError, match="kept free by the policy 'restricted'"):
            way(tree, above)
        assert tree.list_namespaces({"id": above}).namespaces == ["s"]  # type: ignore[arg-type]
        assert tree.list_tables({"id": [*above, "s"]}).tables == []  # type: ignore[arg-type]


@pytest.mark.parametrize("way", FLAT_WAYS.values(), ids=FLAT_WAYS)
@pytest.mark.parametrize("service", SERVICES)
def test_unrestricted_hands_it_to_services_as_it_is(
    tmp_path: Path, unity: Home, glue: Glue, service: str, way: Callable[[Any, list[str]], object]
) -> None:
    tree, above = _service(tmp_path, "unrestricted", service, unity, glue)
    with tree:
        way(tree, above)
        names = [
            *tree.list_namespaces({"id": above}).namespaces,  # type: ignore[arg-type]
            *tree.list_tables({"id": [*above, "s"]}).tables,  # type: ignore[arg-type]
        ]
        assert "a@b" in names
