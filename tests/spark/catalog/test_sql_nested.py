"""Fields of structs inside arrays and maps, and functions of an array's elements: beside the same rows in Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark.catalog.parquet_twins import Twins, twins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Arrays of every type, and two elements of it, the second of which is null.
_ARRAYS = {
    "ints": ("INT", "1"),
    "longs": ("BIGINT", "2L"),
    "shorts": ("SMALLINT", "3S"),
    "bytes": ("TINYINT", "4Y"),
    "floats": ("FLOAT", "float(0.5)"),
    "doubles": ("DOUBLE", "double('NaN')"),
    "booleans": ("BOOLEAN", "true"),
    "strings": ("STRING", "'a'"),
    "binaries": ("BINARY", "X'00'"),
    "days": ("DATE", "DATE'2020-01-01'"),
    "moments": ("TIMESTAMP", "TIMESTAMP'2020-01-01 00:00:00'"),
    "plain_moments": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2020-01-01 00:00:00'"),
    "spans": ("INTERVAL DAY TO SECOND", "INTERVAL '1 02:03:04' DAY TO SECOND"),
    "small_decimals": ("DECIMAL(10, 2)", "decimal(1.5)"),
    "large_decimals": ("DECIMAL(30, 2)", "decimal(1.5)"),
}
_COLUMNS = (
    "id INT, ast ARRAY<STRUCT<a: INT, b: STRING, c: STRUCT<u: BIGINT, v: ARRAY<STRUCT<z: INT, y: STRING>>>>>,"
    " m MAP<STRING, STRUCT<p: INT, q: STRING>>, by_key MAP<STRUCT<k: INT, l: STRING>, ARRAY<INT>>,"
    " aa ARRAY<ARRAY<STRUCT<u: INT, w: DOUBLE>>>, aai ARRAY<ARRAY<INT>>, counts MAP<STRING, INT>,"
    " s STRUCT<x: ARRAY<INT>, y: STRUCT<z: ARRAY<STRUCT<e: INT, f: INT>>, n: INT>>, "
    + ", ".join(f"{name} ARRAY<{type_}>" for name, (type_, _) in _ARRAYS.items())
)
_DEEP = "named_struct('u', 7L, 'v', array(named_struct('z', 1, 'y', 'q'), NULL))"
_DEEPER = "named_struct('z', array(named_struct('e', 1, 'f', 2), NULL), 'n', 1)"
_ROWS = ", ".join(
    f"({', '.join(row)})"
    for row in (
        (
            "1",
            f"array(named_struct('a', 1, 'b', 'x', 'c', {_DEEP}), NULL, named_struct('a', NULL, 'b', 'y', 'c', NULL))",
            "map('k', named_struct('p', 1, 'q', 'a'), 'j', NULL)",
            "map(named_struct('k', 1, 'l', 'a'), array(1, NULL))",
            "array(array(named_struct('u', 1, 'w', 0.5D), NULL), NULL, array())",
            "array(array(1, NULL), NULL, array())",
            "map('a', 1, 'b', NULL)",
            f"named_struct('x', array(1, NULL), 'y', {_DEEPER})",
            *(f"array({value}, NULL)" for _, value in _ARRAYS.values()),
        ),
        ("2", *["NULL"] * (7 + len(_ARRAYS))),
        (
            "3",
            "array()",
            "map()",
            "map()",
            "array()",
            "array()",
            "map()",
            "named_struct('x', array(), 'y', NULL)",
            *["array()"] * len(_ARRAYS),
        ),
    )
)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with twins(spark, "nested", _COLUMNS, _ROWS, tmp_path_factory.mktemp("nested")) as made:
        yield made


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT id, ast.a FROM {t}", "ast:array<struct<a:int>>"),
        ("SELECT ast[0].a FROM {t} WHERE id < 3", "ast:array<struct<a:int>>"),
        ("SELECT e.a FROM (SELECT explode(ast) AS e FROM {t})", "ast:array<struct<a:int"),
        ("SELECT id, e.a FROM {t} LATERAL VIEW explode(ast) AS e", "ast:array<struct<a:int"),
        ("SELECT transform(ast, e -> e.a) FROM {t}", "ast:array<struct<a:int"),
        ("SELECT m['k'].p FROM {t}", "m:map<string,struct<p:int>>"),
        ("SELECT aa[0][0].u FROM {t} WHERE id < 3", "aa:array<array<struct<u:int"),
        ("SELECT ast.c.u FROM {t}", "ast:array<struct<c:struct<u:bigint>>>"),
        ("SELECT ast[0].c.v.z FROM {t} WHERE id < 3", "ast:array<struct<c:struct<v:array<struct<z:int>>>>>"),
        (
            "SELECT ast[0].c.v[0].y, ast[0].b FROM {t} WHERE id < 3",
            "ast:array<struct<b:string,c:struct<v:array<struct<y:string>>>>>",
        ),
        ("SELECT map_keys(by_key).l FROM {t}", "by_key:map<struct<l:string>,array<int>>"),
        ("SELECT map_values(m).q FROM {t}", "m:map<string,struct<q:string>>"),
        ("SELECT s.y.z.f FROM {t}", "s:struct<y:struct<z:array<struct<f:int>>>>"),
        ("SELECT ast.b FROM {t} WHERE get(ast, 0).a = 1 AND s.y.n = 1", "ast:array<struct<a:int,b:string>>"),
        ("SELECT count(ast.a), count(m['k'].q), max(ast[0].c.u) FROM {t} WHERE id < 3", "ReadSchema"),
        ("SELECT filter(ast, e -> e.a > 0).b FROM {t}", "ReadSchema"),
        ("SELECT inline(ast) FROM {t}", "ReadSchema"),
        ("SELECT posexplode(ast.c) FROM {t}", "ReadSchema"),
        ("SELECT * FROM {t}", "ReadSchema"),
    ],
)
def test_fields_of_structs_at_every_depth(query: str, read: str, tables: Twins) -> None:
    parquet, catalog, source = tables.answers(query)
    assert isinstance(parquet, list)
    assert catalog == parquet
    assert source == parquet
    assert read in tables.plan(query)


@pytest.mark.parametrize("column", _ARRAYS)
def test_elements_of_every_type_of_which_some_are_null(column: str, tables: Twins) -> None:
    # One at a time: of many, Spark makes no code, and reads elements in another way.
    for function in (
        f"transform({column}, e -> e)",
        f"filter({column}, e -> e IS NOT NULL)",
        f"array_compact({column})",
    ):
        query = f"SELECT id, {function} FROM {{t}}"
        assert tables.answer(query, tables.catalog) == tables.answer(query, tables.parquet), query
    together = f"SELECT id, {column}[0], array_distinct({column}), reverse({column}) FROM {{t}} WHERE id < 3"
    parquet, catalog, source = tables.answers(together)
    assert isinstance(parquet, list)
    assert catalog == parquet
    assert source == parquet


@pytest.mark.parametrize(
    "function",
    [
        "transform(ints, e -> e + 1)",
        "filter(ints, e -> e IS NULL)",
        "forall(ints, e -> e > 0)",
        "exists(ints, e -> e > 5)",
        "aggregate(ints, 0, (n, e) -> n + coalesce(e, 10))",
        "zip_with(ints, longs, (l, r) -> r)",
        "array_sort(ints, (l, r) -> 0)",
        "explode(array_compact(ints))",
        "size(slice(ints, 1, 2))",
    ],
)
def test_functions_of_elements_of_which_some_are_null(function: str, tables: Twins) -> None:
    parquet, catalog, source = tables.answers(f"SELECT id, {function} FROM {{t}}")
    assert isinstance(parquet, list)
    assert catalog == parquet
    assert source == parquet


@pytest.mark.parametrize(
    "query",
    [
        "SELECT transform(s.x, e -> e + 1), transform(by_key[named_struct('k', 1, 'l', 'a')], e -> e) FROM {t}",
        "SELECT transform(aai, inner -> transform(inner, e -> e)), flatten(aai) FROM {t}",
        "SELECT map_filter(counts, (k, v) -> v IS NULL), transform_values(counts, (k, v) -> v + 1) FROM {t}",
        "SELECT transform(ints, e -> e + 1), transform(doubles, e -> e * 2), filter(longs, e -> e > 1) FROM {t}",
        "SELECT exists(ints, e -> e > 5), forall(shorts, e -> e > 0), transform(booleans, e -> NOT e) FROM {t}",
        "SELECT aggregate(ints, 0, (n, e) -> n + e), transform(strings, e -> e || 'x') FROM {t}",
        "SELECT array_max(ints), array_min(doubles), array_contains(longs, 2), sort_array(bytes) FROM {t}",
        "SELECT ints, count(*) FROM {t} GROUP BY ints",
        "SELECT collect_list(ints), collect_list(s), collect_list(counts) FROM {t} WHERE id = 1",
        "SELECT first(doubles), last(s) FROM {t}",
        "SELECT id, lead(longs) OVER (ORDER BY id) FROM {t}",
        "SELECT a.id FROM {t} a JOIN {t} b ON a.ints = b.ints",
        "SELECT * FROM {t} ORDER BY id LIMIT 1",
    ],
)
def test_arrays_and_maps_with_nulls_in_them_are_copied(query: str, tables: Twins) -> None:
    parquet, catalog, source = tables.answers(query)
    assert isinstance(parquet, list)
    assert catalog == parquet
    assert source == parquet


def test_rows_that_an_index_finds_have_them_too(tables: Twins) -> None:
    import lance

    described = {row[0]: row[1] for row in tables.spark.sql(f"DESCRIBE TABLE EXTENDED {tables.catalog}").collect()}
    lance.dataset(described["Location"]).create_scalar_index("id", "BTREE")
    query = "SELECT ast.c.u, m['k'].p, transform(ints, e -> e) FROM {t} WHERE id = 1"
    assert "LocalTableScan" in tables.plan(query)
    parquet, catalog, _ = tables.answers(query)
    assert isinstance(parquet, list)
    assert catalog == parquet
