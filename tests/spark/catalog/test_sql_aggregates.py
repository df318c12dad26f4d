"""Aggregates are what Spark itself makes of the same rows in Parquet, wherever they are computed and in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark.catalog.parquet_twins import Twins, ansi, twins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = (
    "g STRING, big BIGINT, back BIGINT, small BIGINT, i INT, sh SMALLINT, b TINYINT, x DOUBLE, f FLOAT, odd DOUBLE,"
    " dec DECIMAL(38, 2), few DECIMAL(10, 2), s STRING, yes BOOLEAN, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ,"
    " bin BINARY, span INTERVAL DAY TO SECOND, none BIGINT"
)
# `big` overflows; `back` does so on its way, and comes back.
_ROWS = """
    ('a', 9223372036854775807L, 9223372036854775807L, 1L, 2147483647, 1S, 1Y, 0.1D, float(0.1), double('NaN'),
     999999999999999999999999999999999999.99BD, 1.50BD, 'a', true, DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00',
     TIMESTAMP_NTZ'2020-01-01 00:00:00', X'00', INTERVAL '1 00:00:00' DAY TO SECOND, NULL),
    ('a', 9223372036854775807L, 100L, 2L, 2147483647, 2S, 2Y, 1e16D, float('NaN'), -0.0D,
     999999999999999999999999999999999999.99BD, -1.50BD, 'Z', false, DATE'1900-01-01', TIMESTAMP'1900-01-01 00:00:00',
     TIMESTAMP_NTZ'1900-01-01 00:00:00', X'FF', INTERVAL '0 01:00:00' DAY TO SECOND, NULL),
    ('b', 3L, -100L, 3L, -1, 3S, 3Y, -1e16D, float('-Infinity'), 0.0D,
     0.01BD, 0.00BD, 'ü', true, DATE'9999-12-31', TIMESTAMP'2100-01-01 00:00:00',
     TIMESTAMP_NTZ'2100-01-01 00:00:00', X'0A0B', INTERVAL '0 00:00:01' DAY TO SECOND, NULL),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    ('a', -5L, -1L, 4L, 7, 4S, -128Y, 0.3D, float('-0.0'), double('Infinity'),
     -1.00BD, 2.25BD, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
_PUSHED = "PushedAggregates"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with twins(spark, "aggregates", _COLUMNS, _ROWS, tmp_path_factory.mktemp("aggregates")) as made:
        yield made


def test_sums_counts_and_extremes_are_left_to_lance(tables: Twins) -> None:
    for query in (
        "SELECT sum(small), sum(x), avg(x), count(*), count(s), count(odd), min(i), max(b), min(day) FROM {t}",
        "SELECT g, sum(big), count(ts), max(day) FROM {t} GROUP BY g",
    ):
        assert _PUSHED in tables.plan(query), query


@pytest.mark.parametrize(
    "function", ["avg(big)", "try_avg(small)", "avg(i)", "avg(few)", "avg(big), sum(big), count(big)"]
)
def test_an_average_of_whole_numbers_is_left_to_spark(function: str, tables: Twins) -> None:
    assert _PUSHED not in tables.plan(f"SELECT {function} FROM {{t}}")
    assert _PUSHED not in tables.plan(f"SELECT g, {function} FROM {{t}} GROUP BY g")


@pytest.mark.parametrize("mode", [True, False], ids=["ANSI", "no ANSI"])
@pytest.mark.parametrize(
    "functions",
    [
        "avg(big)",
        "try_avg(big)",
        "sum(big)",
        "try_sum(big)",
        "sum(back)",
        "try_sum(back)",
        "sum(small), count(*), count(big), min(big), max(big), min(back), sum(x), avg(x), min(day), max(day)",
        "min(i), max(i), min(sh), max(b), count(yes), count(bin), count(none), sum(none), min(none), count(span)",
        "sum(i)",
        "avg(i), sum(sh), avg(b), sum(f), avg(f)",
        "sum(dec)",
        "try_avg(dec), try_sum(dec)",
        "sum(few), avg(few), min(few), max(dec), sum(span), avg(span)",
        "sum(odd), avg(odd), min(odd), max(odd), min(f), max(f)",
        "min(s), max(s), min(yes), max(yes), min(ts), max(ts), min(ntz), max(ntz), min(bin), max(bin), max(span)",
        "count(DISTINCT odd), count(DISTINCT big), sum(DISTINCT small), avg(DISTINCT small)",
        "bool_and(yes), count_if(yes), stddev(small), first(small, true), sum(small) FILTER (WHERE i > 0)",
    ],
)
def test_aggregates_are_those_of_the_same_rows_in_parquet(functions: str, mode: bool, tables: Twins) -> None:
    with ansi(tables.spark, mode):
        for query in (f"SELECT {functions} FROM {{t}}", f"SELECT g, {functions} FROM {{t}} GROUP BY g"):
            assert tables.answer(query, tables.catalog) == tables.answer(query, tables.parquet), query


@pytest.mark.parametrize("group", ["odd", "f", "yes", "day", "ts", "few", "i, s", "none", "bin"])
def test_groups_are_those_of_the_same_rows_in_parquet(group: str, tables: Twins) -> None:
    parquet, catalog, source = tables.answers(
        f"SELECT {group}, count(*), sum(small), max(i) FROM {{t}} GROUP BY {group}"
    )
    assert catalog == source == parquet


def test_no_rows_have_no_sum_and_are_counted(tables: Twins) -> None:
    for mode in (True, False):
        with ansi(tables.spark, mode):
            parquet, catalog, source = tables.answers(
                "SELECT sum(big), avg(big), sum(x), avg(x), count(*), count(big), min(i) FROM {t} WHERE i = 5"
            )
            assert catalog == source == parquet == ["(None, None, None, None, 0, 0, None)"]
