"""Scans of tables: what is pushed down is right for every type, and only what is needed is read."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import lance
import numpy as np
import pyarrow as pa
import pytest

from lanceway.tables.sql.execution import run
from lanceway.tables.sql.statement import parse

COLUMNS = {
    "i": pa.array([1, 2, None], pa.int32()),
    "tiny": pa.array([1, 2, None], pa.uint8()),
    "huge": pa.array([1, 2**64 - 1, None], pa.uint64()),
    "f": pa.array([1.5, float("nan"), None]),
    "single": pa.array([1.5, 2.5, None], pa.float32()),
    "half": pa.array(np.array([1.5, 2.5, 3.5], np.float16)),
    "yes": pa.array([True, False, None]),
    "s": pa.array(["a", "b", None]),
    "large": pa.array(["a", "b", None], pa.large_string()),
    "word": pa.array(["a", "b", None]).dictionary_encode(),
    "b": pa.array([b"a", b"b", None]),
    "day": pa.array([date(2020, 1, 1), date(2021, 1, 1), None]),
    "moment": pa.array([datetime(2020, 1, 1), datetime(2021, 1, 1), None], pa.timestamp("us")),
    "nano": pa.array([datetime(2020, 1, 1), datetime(2021, 1, 1), None], pa.timestamp("ns")),
    "zoned": pa.array(
        [datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")
    ),
    "money": pa.array([Decimal("1.50"), Decimal("2.50"), None], pa.decimal128(10, 2)),
    "point": pa.array([{"x": 1}, {"x": 2}, None]),
    "list": pa.array([[1], [2, 3], None]),
}
CONDITIONS = {
    "i": [
        "i = 1",
        "i <> 1",
        "i > 1",
        "i IS NULL",
        "i IS NOT NULL",
        "i IN (1, 3)",
        "i NOT IN (1, 3)",
        "i BETWEEN 1 AND 2",
        "i + 1 = 2",
        "i = 1 OR i IS NULL",
        "NOT i = 1",
    ],
    "tiny": ["tiny = 1", "tiny > 1"],
    "huge": ["huge = 18446744073709551615", "huge < 5"],
    "f": ["f > 1", "f < 2", "f = 'nan'", "f <> 1.5", "f >= 1.5"],
    "single": ["single = 1.5", "single > 2"],
    "half": ["half > 2", "half = 1.5"],
    "yes": ["yes", "NOT yes", "yes = true", "yes IS NULL"],
    "s": ["s = 'a'", "s > 'a'", "s LIKE 'a%'", "s LIKE '%b'", "s IN ('a', 'c')", "upper(s) = 'B'"],
    "large": ["large = 'a'", "large >= 'b'"],
    "word": ["word = 'a'", "word IN ('b', 'c')"],
    "b": ["b = 'a'::BLOB", "b > 'a'::BLOB"],
    "day": ["day >= '2020-06-01'", "day = '2020-01-01'"],
    "moment": ["moment >= '2020-06-01'", "year(moment) = 2020"],
    "nano": ["nano >= '2020-06-01'", "nano = '2020-01-01'"],
    "zoned": ["zoned >= '2020-06-01'"],
    "money": ["money > 2", "money = 1.5"],
    "point": ["point.x = 1", "point.x > 1", "point IS NULL"],
    "list": ["len(list) = 2", "list IS NULL"],
}
TIME = pa.array([time(1), time(2), None], pa.time64("us"))


def rows(query: str, **tables: lance.LanceDataset) -> list[dict[str, Any]]:
    return list(run(parse(query), lambda identifier: tables[identifier.name]).read_all().to_pylist())


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, lance.LanceDataset]:
    """The columns as a table, and once more with one of a type by which pylance takes no filter at all."""
    folder, table = tmp_path_factory.mktemp("tables"), pa.table(COLUMNS)
    return {
        "plain": lance.write_dataset(table, folder / "plain.lance"),
        "with a time": lance.write_dataset(table.append_column("hour", TIME), folder / "timed.lance"),
    }


@pytest.mark.parametrize("table", ["plain", "with a time"])
@pytest.mark.parametrize("condition", [condition for conditions in CONDITIONS.values() for condition in conditions])
def test_filters_find_what_duckdb_finds_by_itself(
    tables: dict[str, lance.LanceDataset], table: str, condition: str
) -> None:
    # DuckDB has no 16-bit floats, and its own scan of Arrow has trouble with some of the others.
    whole = tables[table].to_table()
    half = whole.column_names.index("half")
    whole = whole.set_column(half, "half", whole["half"].cast(pa.float32()))
    with duckdb.connect() as connection:
        connection.register("given", whole)
        connection.execute("CREATE TABLE copy AS SELECT * FROM given")
        query = f"SELECT i, s, f FROM copy WHERE {condition} ORDER BY ALL"
        expected = connection.execute(query).to_arrow_table()
    assert repr(rows(query, copy=tables[table])) == repr(expected.to_pylist())


def test_a_filter_over_a_time(tables: dict[str, lance.LanceDataset]) -> None:
    assert rows("SELECT i FROM t WHERE hour > '01:30:00' AND f > 1", t=tables["with a time"]) == [{"i": 2}]


def test_only_the_columns_and_rows_of_a_query_are_read(tmp_path: Path) -> None:
    count = 200_000
    data = pa.table({"id": range(count), "text": [f"{number:050}" for number in range(count)]})
    lance.write_dataset(data, tmp_path / "wide.lance", max_rows_per_group=10_000)

    def bytes_for(query: str) -> int:
        dataset = lance.dataset(tmp_path / "wide.lance")
        dataset.io_stats_incremental()
        rows(query, wide=dataset)
        return int(dataset.io_stats_incremental().read_bytes)

    whole = bytes_for("SELECT sum(id), max(text) FROM wide")
    assert bytes_for("SELECT sum(id) FROM wide") < whole / 5
    assert bytes_for("SELECT max(text) FROM wide WHERE id = 7") < whole / 2


def test_half_floats_become_floats_in_vectors_too(tmp_path: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.array([1, 2, 3, 4], np.float16)), 2)
    dataset = lance.write_dataset(pa.table({"v": vectors, "h": vectors.values[:2]}), tmp_path / "v.lance")
    assert rows("SELECT v FROM t WHERE h > 1", t=dataset) == [{"v": [3.0, 4.0]}]
