"""A file's rows take the types of the table, or are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lanceway.cli.files import FileRows, fitted, with_vectors
from lanceway.errors import InvalidInputError, TableColumnNotFoundError, TableSchemaValidationError


def rows(**columns: pa.Array) -> FileRows:
    batch = pa.record_batch(columns)
    return FileRows(batch.schema, iter([batch]), batch.num_rows)


def whole(found: FileRows) -> pa.Table:
    return pa.Table.from_batches(found.batches, schema=found.schema)


def test_types_and_order_are_the_tables() -> None:
    schema = pa.schema([("id", pa.int32()), ("v", pa.list_(pa.float32(), 2))])
    table = whole(fitted(rows(v=pa.array([[1.0, 2.0]]), id=pa.array([7])), schema, "t"))
    assert table.schema == schema
    assert table.to_pylist() == [{"id": 7, "v": [1.0, 2.0]}]


def test_columns_may_be_left_out_and_strange_ones_stay_for_the_catalog() -> None:
    schema = pa.schema([("id", pa.int32()), ("name", pa.string())])
    table = whole(fitted(rows(other=pa.array(["x"]), id=pa.array([7])), schema, "t"))
    assert table.schema == pa.schema([("id", pa.int32()), ("other", pa.string())])


@pytest.mark.parametrize(
    ("column", "type_"),
    [
        (pa.array([3_000_000_000]), pa.int32()),
        (pa.array([1.5]), pa.int64()),
        (pa.array(["word"]), pa.int64()),
        (pa.array([[1.0, 2.0, 3.0]]), pa.list_(pa.float32(), 2)),
        (pa.array([{"a": 1}]), pa.int64()),
    ],
)
def test_a_value_that_would_change_is_refused(column: pa.Array, type_: pa.DataType) -> None:
    with pytest.raises(TableSchemaValidationError, match="'x' does not fit t"):
        whole(fitted(rows(x=column), pa.schema([("x", type_)]), "t"))


def test_a_null_where_none_may_be_is_refused() -> None:
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    with pytest.raises(TableSchemaValidationError, match="'x'"):
        whole(fitted(rows(x=pa.array([None, 1])), schema, "t"))


def test_lists_become_vectors() -> None:
    table = whole(with_vectors(rows(id=pa.array([1, 2]), v=pa.array([None, [1, 2, 3]])), ["v"]))
    assert table.schema.field("v").type == pa.list_(pa.float32(), 3)
    assert table["v"].to_pylist() == [None, [1.0, 2.0, 3.0]]


def test_vectors_of_several_lengths_are_refused() -> None:
    with pytest.raises(TableSchemaValidationError, match="'v'"):
        whole(with_vectors(rows(v=pa.array([[1.0, 2.0], [1.0]])), ["v"]))


def test_what_is_no_list_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'v' is int64"):
        with_vectors(rows(v=pa.array([1])), ["v"])


def test_a_missing_column_is_refused() -> None:
    with pytest.raises(TableColumnNotFoundError, match="no column 'w'"):
        with_vectors(rows(v=pa.array([[1.0]])), ["w"])


def test_vectors_without_a_length_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="is unknown"):
        with_vectors(rows(v=pa.array([None], pa.list_(pa.float64()))), ["v"])
