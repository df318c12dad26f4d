"""lance-ray reads through a server, and writes past it: seen where storage keeps the versions."""

from __future__ import annotations

import lance
import lance_ray
import pyarrow as pa
import pytest
import ray

import lanceway
from lanceway.catalogs import LakeCatalog
from tests.clients.served.conftest import Served
from tests.clients.test_lance_ray import address
from tests.servers.lanceway import Lanceway

pytestmark = pytest.mark.usefixtures("ray_cluster")


def test_a_table_is_created_appended_to_overwritten_and_read(stored: Served, fruit: pa.Table) -> None:
    data = ray.data.from_arrow(fruit)
    lance_ray.write_lance(data, mode="create", **address(stored))
    lance_ray.write_lance(data, mode="append", **address(stored))
    assert stored.catalog.count_table_rows({"id": stored.table("fruit")}).count == 6
    lance_ray.write_lance(data, mode="overwrite", **address(stored))
    found = lance_ray.read_lance(columns=["name"], filter="id > 1", **address(stored)).take_all()
    assert sorted(row["name"] for row in found) == ["banana", "cherry"]
    assert stored.versions("fruit") == [1, 2, 3]


def test_on_a_managed_table_its_write_is_hidden_until_it_is_adopted(
    server: Lanceway, managed: Served, fruit: pa.Table
) -> None:
    lance.write_dataset(fruit, mode="create", **managed.address("fruit"))
    lance_ray.write_lance(ray.data.from_arrow(fruit), mode="append", **address(managed))
    assert lance.dataset(**managed.address("fruit")).count_rows() == 3
    assert managed.versions("fruit") == [1]
    lake = lanceway.connect("lake", uri=f"sqlite:///{server.home}/lake.db")
    assert isinstance(lake, LakeCatalog)
    with lake:
        (found,) = lake.reconcile(managed.table("fruit")[1:])
        assert (found.kind, found.version, found.fixed) == ("stray", 2, False)
        lake.reconcile(managed.table("fruit")[1:], adopt=True)
    assert managed.versions("fruit") == [1, 2]
    assert lance_ray.read_lance(**address(managed)).count() == 6
