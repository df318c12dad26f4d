"""Daft reads and writes tables by a catalog and an identifier."""

from __future__ import annotations

import daft
import daft_lance
import pyarrow as pa
import pytest

from lanceway.errors import TableAlreadyExistsError
from tests.clients.conftest import Place


def address(place: Place) -> dict[str, object]:
    return {
        "namespace_impl": place.implementation,
        "namespace_properties": place.properties,
        "table_id": place.table("fruit"),
    }


def rows(place: Place) -> list[int]:
    return sorted(daft_lance.read_lance(**address(place)).to_pydict()["id"])


def test_a_table_is_created_appended_to_overwritten_and_read(place: Place, fruit: pa.Table) -> None:
    frame = daft.from_arrow(fruit)
    daft_lance.write_lance(frame, mode="create", **address(place))
    daft_lance.write_lance(frame, mode="append", **address(place))
    assert rows(place) == [1, 1, 2, 2, 3, 3]
    assert place.catalog.count_table_rows({"id": place.table("fruit")}).count == 6
    daft_lance.write_lance(frame, mode="overwrite", **address(place))
    assert rows(place) == [1, 2, 3]


def test_a_filter_reaches_the_rows_the_catalog_wrote(place: Place, fruit: pa.Table) -> None:
    place.catalog.create_table_stream({"id": place.table("fruit")}, fruit.to_reader())
    found = daft_lance.read_lance(**address(place)).where(daft.col("id") > 1).select("name").to_pydict()
    assert sorted(found["name"]) == ["banana", "cherry"]


def test_creating_twice_is_refused_and_changes_nothing(place: Place, fruit: pa.Table) -> None:
    frame = daft.from_arrow(fruit)
    daft_lance.write_lance(frame, mode="create", **address(place))
    with pytest.raises(TableAlreadyExistsError):
        daft_lance.write_lance(frame, mode="create", **address(place))
    assert rows(place) == [1, 2, 3]
