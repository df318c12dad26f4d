"""Stock daft-lance works on a server of ours by an address and a token."""

from __future__ import annotations

import daft
import daft_lance
import lance
import pyarrow as pa
import pytest

from lanceway.errors import TableAlreadyExistsError
from tests.clients.served.conftest import Served
from tests.clients.test_daft import address, rows


def test_a_table_is_created_appended_to_overwritten_and_read(place: Served, fruit: pa.Table) -> None:
    frame = daft.from_arrow(fruit)
    daft_lance.write_lance(frame, mode="create", **address(place))
    daft_lance.write_lance(frame, mode="append", **address(place))
    assert rows(place) == [1, 1, 2, 2, 3, 3]
    assert place.catalog.count_table_rows({"id": place.table("fruit")}).count == 6
    daft_lance.write_lance(frame, mode="overwrite", **address(place))
    assert rows(place) == [1, 2, 3]
    assert place.versions("fruit") == [1, 2, 3]
    with pytest.raises(TableAlreadyExistsError):
        daft_lance.write_lance(frame, mode="create", **address(place))


def test_a_filter_reaches_the_rows_and_a_former_version_too(managed: Served, fruit: pa.Table) -> None:
    lance.write_dataset(fruit, mode="create", **managed.address("fruit"))
    lance.write_dataset(fruit, mode="append", **managed.address("fruit"))
    found = daft_lance.read_lance(**address(managed)).where(daft.col("id") > 1).select("name").to_pydict()
    assert sorted(found["name"]) == ["banana", "banana", "cherry", "cherry"]
    assert sorted(daft_lance.read_lance(version=1, **address(managed)).to_pydict()["id"]) == [1, 2, 3]
