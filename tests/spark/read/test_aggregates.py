"""Aggregates that tasks compute: added up as Spark does it, they are those of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType, StructField, StructType

from lanceway.spark.read import aggregates
from lanceway.spark.read.aggregates import COUNT, COUNT_ALL, MAX, MIN, SUM, AggregateCall, Aggregation

FUNCTIONS = (
    AggregateCall(SUM, "x"),
    AggregateCall(COUNT, "x"),
    AggregateCall(COUNT_ALL, None),
    AggregateCall(MIN, "x"),
    AggregateCall(MAX, "x"),
)
SCHEMA = StructType([StructField("word", StringType()), *(StructField(str(n), LongType()) for n in range(5))])
BY_WORD = Aggregation(("word",), FUNCTIONS, SCHEMA)
_LARGEST = 2**63 - 1


INPUT = pa.schema({"word": pa.string(), "x": pa.int64()})


def batches(rows: list[tuple[str | None, int | None]], size: int) -> Iterator[pa.RecordBatch]:
    words, numbers = [row[0] for row in rows], [row[1] for row in rows]
    table = pa.table({"word": pa.array(words, pa.string()), "x": pa.array(numbers, pa.int64())})
    return iter(table.to_batches(max_chunksize=size))


def added_up(found: Iterator[pa.Table]) -> dict[Any, list[Any]]:
    """As Spark adds them up, in numbers without end."""
    sums: dict[Any, list[Any]] = {}
    for table in found:
        for key, *values in zip(*(column.to_pylist() for column in table.columns), strict=True):
            held = sums.setdefault(key, [None, 0, 0, None, None])
            held[0] = _both(int.__add__, held[0], values[0])
            held[1] += values[1]
            held[2] += values[2]
            held[3], held[4] = _both(min, held[3], values[3]), _both(max, held[4], values[4])
    return sums


def _both(add: Any, one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else add(one, other)


def expected(rows: list[tuple[str | None, int | None]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[int | None]] = {}
    for word, number in rows:
        groups.setdefault(word, []).append(number)
    answer = {}
    for word, numbers in groups.items():
        known = [number for number in numbers if number is not None]
        none = [None] * 3
        total, least, most = (sum(known), min(known), max(known)) if known else none
        answer[word] = [total, len(known), len(numbers), least, most]
    return answer


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.sampled_from("abc")), st.one_of(st.none(), st.integers(-_LARGEST - 1, _LARGEST))
        ),
        max_size=60,
    ),
    st.integers(1, 20),
)
def test_they_are_those_of_all_rows_whatever_the_numbers(rows: list[tuple[str | None, int | None]], size: int) -> None:
    assert added_up(aggregates.partial_aggregates(BY_WORD, INPUT, batches(rows, size))) == expected(rows)


def test_without_groups_there_is_one_row_for_many_and_one_for_none() -> None:
    of_all = Aggregation((), FUNCTIONS, StructType(SCHEMA.fields[1:]))
    (empty,) = aggregates.partial_aggregates(of_all, INPUT, batches([], 7))
    assert [column.to_pylist() for column in empty.columns] == [[None], [0], [0], [None], [None]]
    (totals,) = aggregates.partial_aggregates(of_all, INPUT, batches([("a", number) for number in range(100)], 7))
    assert [column.to_pylist() for column in totals.columns] == [[4950], [100], [100], [0], [99]]


def test_rows_that_are_groups_of_their_own_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregates, "_ROWS", 10)
    rows: list[tuple[str | None, int | None]] = [(f"word {number}", number or None) for number in range(10)]
    rows += [("the same", number) for number in range(10)]
    found = list(aggregates.partial_aggregates(BY_WORD, INPUT, batches(rows, 10)))
    assert [table.num_rows for table in found] == [10, 10], "the second ten are aggregated for nothing"
    assert added_up(iter(found)) == expected(rows)


def test_few_groups_stay_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregates, "_ROWS", 10)
    rows: list[tuple[str | None, int | None]] = [("ab"[number % 2], number) for number in range(100)]
    assert [table.num_rows for table in aggregates.partial_aggregates(BY_WORD, INPUT, batches(rows, 5))] == [2]


@pytest.mark.parametrize("group", [(), ("word",)])
def test_floating_point_numbers_are_added_up_in_their_order(
    group: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregates, "_ROWS", 1000)
    numbers = [0.1, 1e16, None, -1e16, 0.3] * 1000
    table = pa.table({"word": ["a"] * len(numbers), "x": pa.array(numbers, pa.float64())})
    in_order = 0.0
    for number in numbers:
        in_order += number or 0.0
    of_sum = Aggregation(group, (AggregateCall(SUM, "x"),), SCHEMA)
    (totals,) = aggregates.partial_aggregates(of_sum, table.schema, iter(table.to_batches(max_chunksize=100)))
    assert totals.columns[-1].to_pylist() == [in_order]


def test_rows_are_handed_on_from_where_a_sum_might_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark then sees the sum leave the range, although later rows bring it back."""
    monkeypatch.setattr(aggregates, "_ROWS", 4)
    numbers = [1, 2, 3, 4, _LARGEST, 0, 100, -100, 5, 6, 7, 8]
    of_sum = Aggregation((), (AggregateCall(SUM, "x"),), StructType([StructField("0", LongType())]))
    tables = list(aggregates.partial_aggregates(of_sum, INPUT, batches([("a", number) for number in numbers], 4)))
    assert [table.columns[0].to_pylist() for table in tables] == [[10], [_LARGEST, 0, 100, -100], [5, 6, 7, 8]]


def test_one_large_number_does_not_stop_the_adding_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregates, "_ROWS", 1000)
    numbers = [2**61, *range(999)] * 3
    of_sum = Aggregation((), (AggregateCall(SUM, "x"),), StructType([StructField("0", LongType())]))
    (totals,) = aggregates.partial_aggregates(of_sum, INPUT, batches([("a", number) for number in numbers], 100))
    assert totals.columns[0].to_pylist() == [sum(numbers)]
