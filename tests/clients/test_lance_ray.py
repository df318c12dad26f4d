"""lance-ray reads and writes tables by a catalog and an identifier, from Ray's own worker processes."""

from __future__ import annotations

import lance_ray
import pyarrow as pa
import pytest
import ray

from tests.clients.conftest import Place

pytestmark = pytest.mark.usefixtures("ray_cluster")


def address(place: Place) -> dict[str, object]:
    return {
        "namespace_impl": place.implementation,
        "namespace_properties": place.properties,
        "table_id": place.table("fruit"),
    }


def test_a_table_is_created_appended_to_overwritten_and_read(place: Place, fruit: pa.Table) -> None:
    data = ray.data.from_arrow(fruit)
    lance_ray.write_lance(data, mode="create", **address(place))
    lance_ray.write_lance(data, mode="append", **address(place))
    assert place.catalog.count_table_rows({"id": place.table("fruit")}).count == 6
    lance_ray.write_lance(data, mode="overwrite", **address(place))
    assert lance_ray.read_lance(**address(place)).count() == 3


def test_a_filter_reaches_the_rows_the_catalog_wrote(place: Place, fruit: pa.Table) -> None:
    place.catalog.create_table_stream({"id": place.table("fruit")}, fruit.to_reader())
    found = lance_ray.read_lance(columns=["name"], filter="id > 1", **address(place)).take_all()
    assert sorted(row["name"] for row in found) == ["banana", "cherry"]
