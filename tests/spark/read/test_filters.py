"""A filter that is pushed down keeps exactly the rows that Spark itself would keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import lance
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import functions as f
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from lanceway.spark.read import filters
from tests.spark.read import edge_values
from tests.spark_fixtures import lance as read

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

COMPARISONS = {
    EqualTo: lambda column, value: column == value,
    EqualNullSafe: lambda column, value: column.eqNullSafe(value),
    GreaterThan: lambda column, value: column > value,
    GreaterThanOrEqual: lambda column, value: column >= value,
    LessThan: lambda column, value: column < value,
    LessThanOrEqual: lambda column, value: column <= value,
}
TEXT = {
    StringStartsWith: lambda column, value: column.startswith(value),
    StringEndsWith: lambda column, value: column.endswith(value),
    StringContains: lambda column, value: column.contains(value),
}
SQUARE = [("id",), ("st",), ("list",), *edge_values.NAMES]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    return lance.write_dataset(edge_values.table(), tmp_path_factory.mktemp("edges") / "t.lance", max_rows_per_file=8)


@pytest.fixture(scope="module")
def frame(spark: SparkSession, dataset: lance.LanceDataset) -> DataFrame:
    """The table's rows in Spark's own memory, where Spark alone evaluates."""
    rows = read(spark, dataset.uri).cache()
    rows.count()
    return rows


def column(names: tuple[str, ...]) -> Column:
    return f.col(".".join(f"`{name}`" for name in names))


def as_spark(filter_: Filter) -> Column:
    """The condition that Spark turns into this filter."""
    kind: Any = type(filter_)
    if kind is Not:
        return ~as_spark(filter_.child)  # type: ignore[attr-defined]
    names = filter_.attribute  # type: ignore[attr-defined]
    if kind is IsNull:
        return column(names).isNull()
    if kind is IsNotNull:
        return column(names).isNotNull()
    value, type_ = filter_.value, edge_values.spark_type(names)  # type: ignore[attr-defined]
    if kind is In:
        return column(names).isin(*[f.lit(None) if one is None else edge_values.literal(one, type_) for one in value])
    make = COMPARISONS.get(kind) or TEXT[kind]
    return make(column(names), f.lit(None) if value is None else edge_values.literal(value, type_))


def values(names: tuple[str, ...]) -> st.SearchStrategy[Any]:
    near = edge_values.values_of(names)
    kind = edge_values.spark_type(names)
    if kind == "string":
        return st.sampled_from(near) | st.text(alphabet="ab'\\%_\"\n é", max_size=4)
    if kind == "double":
        return st.sampled_from(near) | st.floats()
    if kind == "float":
        return st.sampled_from(near) | st.floats(width=32)
    if kind in ("tinyint", "smallint", "int"):
        return st.sampled_from(near) | st.integers(-128, 127)
    return st.sampled_from(near)


@st.composite
def any_filter(draw: st.DrawFn) -> Filter:
    kind = draw(st.sampled_from([*COMPARISONS, *TEXT, In, IsNull, IsNotNull]))
    if kind in (IsNull, IsNotNull):
        made = kind(draw(st.sampled_from(SQUARE)))
    else:
        named = [names for names in edge_values.NAMES if kind not in TEXT or edge_values.spark_type(names) == "string"]
        names = draw(st.sampled_from(named))
        one = values(names)
        if kind is In:
            made = In(names, tuple(draw(st.lists(one | st.none(), min_size=1, max_size=4))))
        else:
            made = kind(names, draw(one))
    return Not(made) if draw(st.booleans()) else made


# Each example is a job of Spark: many filters in one, and none to find a smaller one.
@settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(asked=st.lists(any_filter(), min_size=40, max_size=60))
def test_pushed_filters_mean_what_spark_means(
    asked: list[Filter], dataset: lance.LanceDataset, frame: DataFrame
) -> None:
    pushed = [(filter_, filters.translate(filter_, dataset.schema)) for filter_ in asked]
    kept = [(filter_, condition) for filter_, condition in pushed if condition is not None]
    rows = frame.select("id", *[as_spark(filter_).alias(str(at)) for at, (filter_, _) in enumerate(kept)]).collect()
    for at, (filter_, condition) in enumerate(kept):
        found = dataset.to_table(columns=["id"], filter=condition)["id"].to_pylist()
        assert sorted(found) == sorted(row["id"] for row in rows if row[str(at)]), (filter_, condition)


@pytest.mark.parametrize("names", edge_values.NAMES, ids=".".join)
def test_every_comparison_of_a_type_is_pushed_or_none(names: tuple[str, ...], dataset: lance.LanceDataset) -> None:
    """So that a type cannot be forgotten: each edge value of each column that Lance compares as Spark does."""
    for value in edge_values.values_of(names):
        for kind in COMPARISONS:
            condition = filters.translate(kind(names, value), dataset.schema)
            assert (condition is None) == (names in edge_values.LEFT_TO_SPARK), (kind, value)


@pytest.mark.parametrize(
    "left",
    [
        EqualTo(("i8",), 300),
        EqualTo(("u8",), -1),
        EqualTo(("i64",), None),
        EqualTo(("list",), [1]),
        EqualTo(("fixed",), b"abc"),
        EqualTo(("ms",), edge_values.FINE[-1]),
        EqualTo(("q`t",), 1),
        EqualTo(("gone",), 1),
        Not(In(("i64",), (1, None))),
        StringContains(("i64",), "1"),
        EqualTo(("s",), "a\ufffd"),
        In(("coded",), ("a", "\ufffd")),
        StringStartsWith(("large",), "\ufffd"),
    ],
    ids=str,
)
def test_what_cannot_be_told_exactly_is_left_to_spark(left: Filter, dataset: lance.LanceDataset) -> None:
    assert filters.translate(left, dataset.schema) is None


CONDITIONS = [
    "i32 = 7 AND s <> 'a''b'",
    "f64 > 0 AND f64 <= double('NaN')",
    "s LIKE 'a%' AND large LIKE '%b' AND coded LIKE '%a%'",
    "utc >= timestamp '2024-02-29 01:02:03.000004Z'",
    "us < timestamp_ntz '2024-02-29 01:02:03.000004' AND d > date '0001-01-01'",
    "dec IN (1.23, 0.00) OR dec IS NULL",
    "bin = X'6162' AND NOT b",
    "st.x <=> NULL",
    "st.`y z` > 'a' AND st.`in`.f IS NOT NULL",
    "id NOT IN (1, 2, 3) AND NOT (i16 >= 7)",
    "list IS NOT NULL AND size(list) = 1",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_query_finds_the_same_rows(
    condition: str, spark: SparkSession, dataset: lance.LanceDataset, frame: DataFrame
) -> None:
    found = read(spark, dataset.uri).where(condition).select("id")
    assert sorted(found.collect()) == sorted(frame.where(condition).select("id").collect())
    left = [part for part in ("OR", "size(") if part in condition]
    assert ("Filter" in found._jdf.queryExecution().optimizedPlan().toString()) == bool(left)


# Spark has years before 1 and after 9999, and Python does not.
FAR = [
    "d < date '+10000-01-01'",
    "d > date '0000-01-01' AND i32 = 7",
    "us < timestamp_ntz '+12345-06-07 08:09:10'",
    "NOT (us <= timestamp_ntz '0000-01-01 00:00:00')",
    "utc < timestamp '+10000-01-01 00:00:00Z' OR i32 = 7",
    "utc NOT IN (timestamp '+10000-01-01 00:00:00Z', timestamp '1970-01-01 00:00:00Z')",
]


@pytest.mark.parametrize("condition", FAR)
def test_a_time_that_python_does_not_have_is_left_to_spark(
    condition: str, spark: SparkSession, dataset: lance.LanceDataset, frame: DataFrame
) -> None:
    rows = read(spark, dataset.uri).where(condition).select("id")
    assert sorted(rows.collect()) == sorted(frame.where(condition).select("id").collect()) != []
    assert "Filter" in rows._jdf.queryExecution().optimizedPlan().toString()
