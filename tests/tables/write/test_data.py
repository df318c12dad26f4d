"""Data of every form becomes Arrow batches, or is refused with what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import lance
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lanceway.errors import InvalidInputError, TableColumnNotFoundError, TableSchemaValidationError
from lanceway.tables.write.data import for_new_table, for_table, reader_of

TABLE = pa.table({"id": [1, 2], "name": ["a", "b"]})
ROWS = TABLE.to_pylist()


class Streamed:
    """A data frame of another package, known by the interface alone."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


FORMS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "batches": TABLE.to_batches,
    "reader": TABLE.to_reader,
    "generator of batches": lambda: (batch for batch in TABLE.to_batches()),
    "rows": lambda: ROWS,
    "tuple of rows": lambda: tuple(ROWS),
    "generator of rows": lambda: (row for row in ROWS),
    "columns": TABLE.to_pydict,
    "pandas": TABLE.to_pandas,
    "duckdb": lambda: duckdb.sql("SELECT * FROM (VALUES (1::BIGINT, 'a'), (2::BIGINT, 'b')) t(id, name)"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_rows(form: str) -> None:
    assert reader_of(FORMS[form]()).read_all() == TABLE


def test_a_parquet_file(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    assert reader_of(tmp_path / "rows.parquet").read_all() == TABLE
    assert reader_of(str(tmp_path / "rows.parquet")).read_all() == TABLE
    (tmp_path / "broken.parquet").write_text("no")
    for name, words in (
        ("broken.parquet", "cannot be read"),
        ("none.parquet", "cannot be read"),
        ("a.csv", "not the name"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            reader_of(tmp_path / name)


def test_an_index_of_pandas_without_a_name_is_no_column() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3]})
    read = reader_of(frame[frame.id > 1])
    assert read.schema == pa.schema([("id", pa.int64())])
    assert not read.schema.metadata
    assert read.read_all()["id"].to_pylist() == [2, 3]
    assert reader_of(frame.assign(key=["x", "y", "z"]).set_index("key")).schema.names == ["id", "key"]


def test_categories_of_polars_are_of_plain_strings(tmp_path: Path) -> None:
    """polars hands over views of strings. Lance writes these, though not in dictionaries."""
    views = pa.array(["x", "y"], pa.string_view())
    frame = pa.table(
        {
            "s": views,
            "c": pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.uint32()), views),
            "e": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.uint8()), views, ordered=True),
        }
    )
    lance.write_dataset(reader_of(Streamed(frame)), tmp_path / "t")
    written = lance.dataset(tmp_path / "t").to_table().to_pydict()
    assert written == {"s": ["x", "y"], "c": ["y", "x"], "e": ["x", "y"]}


def test_rows_may_leave_out_columns() -> None:
    assert reader_of([{"id": 1}, {"name": "b"}]).read_all().to_pylist() == [
        {"id": 1, "name": None},
        {"id": None, "name": "b"},
    ]


NO_ROWS = {
    "a number": 3,
    "bytes": b"rows",
    "None": None,
    "an object": object(),
    "numbers": [1, 2],
    "lists": [[1]],
    "an empty list": [],
    "an empty dictionary": {},
    "an empty iterator": iter(()),
    "a column of two types": [{"a": 1}, {"a": "x"}],
}


@pytest.mark.parametrize("data", NO_ROWS.values(), ids=NO_ROWS)
def test_what_holds_no_rows_is_refused(data: object) -> None:
    with pytest.raises(InvalidInputError):
        reader_of(data)


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([[0.5, 1.0], [1.0, 0.5]], pa.list_(pa.float32(), 2)),
        ([[0.5, 1.0], None], pa.list_(pa.float32(), 2)),
        ([[0.5, 1], [1, 0]], pa.list_(pa.float32(), 2)),
        ([[0.5, 1.0], [1.0]], pa.list_(pa.float64())),
        ([[0.5, None], [1.0, 0.5]], pa.list_(pa.float64())),
        ([[0.5], [1.0]], pa.list_(pa.float64())),
        ([[1, 2], [3, 4]], pa.list_(pa.int64())),
        ([["a", "b"]] * 2, pa.list_(pa.string())),
    ],
    ids=str,
)
def test_lists_of_floats_of_one_length_become_vectors(values: list[Any], type_: pa.DataType) -> None:
    assert for_new_table({"v": values}).schema.field("v").type == type_
    assert for_new_table([{"v": value} for value in values]).schema.field("v").type == type_
    assert for_new_table(pa.table({"v": pa.array(values)})).schema.field("v").type == pa.array(values).type


def test_vectors_are_made_of_other_data_where_they_are_named() -> None:
    for type_ in (pa.list_(pa.int64()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)):
        made = for_new_table(pa.table({"v": pa.array([[1, 2]], type_)}), vectors=["v"]).read_all()
        assert made.schema.field("v").type == pa.list_(pa.float32(), 2)
        assert made.to_pydict() == {"v": [[1.0, 2.0]]}
    with pytest.raises(TableColumnNotFoundError):
        for_new_table(TABLE, vectors=["v"])


def test_a_schema_decides() -> None:
    schema = pa.schema([("name", pa.large_string()), ("id", pa.int8())])
    assert for_new_table(ROWS, schema).read_all().schema == schema
    assert for_new_table(None, schema).read_all().num_rows == 0
    with pytest.raises(TableSchemaValidationError, match="'id' does not fit the schema"):
        for_new_table([{"id": 300}], schema).read_all()


def test_numbers_lose_nothing_on_their_way_into_a_list() -> None:
    """They are not vectors of 32 bits in between."""
    wide = pa.schema([("v", pa.list_(pa.float64()))])
    assert for_table([{"v": [0.1, 0.2]}], wide, "t").read_all().to_pylist() == [{"v": [0.1, 0.2]}]
