"""Names of tables of any depth in a query, as DuckDB takes them."""

from __future__ import annotations

import pytest

from lanceway.tables.sql.statement import parse


def named(query: str) -> set[str]:
    return {str(identifier) for identifier in parse(query).tables.values()}


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT * FROM fruit", {"fruit"}),
        ("FROM team.fruit", {"team.fruit"}),
        ("SELECT * FROM lake.team.a.fruit f, other.b.c.d", {"lake.team.a.fruit", "other.b.c.d"}),
        (
            "SELECT x FROM (a.b.c.d JOIN e.f.g.h USING (id)), LATERAL (SELECT 1) q, k.l.m.n",
            {"a.b.c.d", "e.f.g.h", "k.l.m.n"},
        ),
        ("SELECT (SELECT 1 FROM a.b.c.d) WHERE x IN (FROM e.f.g.h)", {"a.b.c.d", "e.f.g.h"}),
        ("SELECT EXTRACT(year FROM f.a.b.c.d) FROM f WHERE f.a IS DISTINCT FROM f.b.c.d.e", {"f"}),
        ("SELECT 'FROM a.b.c.d' /* FROM e.f.g.h */ FROM i -- , j.k.l.m", {"i"}),
        ('SELECT * FROM "my team"."a ""b""".c."FROM"', {'my team.a "b".c.FROM'}),
        (
            "SELECT * FROM main.fruit, memory.x, information_schema.tables",
            {"main.fruit", "memory.x", "information_schema.tables"},
        ),
        ("SELECT * FROM duckdb_tables, sqlite_master", {"duckdb_tables", "sqlite_master"}),
        ("DESCRIBE a.b.c.d", {"a.b.c.d"}),
        ("SELECT * FROM range(3)", set()),
    ],
)
def test_tables_are_found_by_their_whole_names(query: str, tables: set[str]) -> None:
    assert named(query) == tables


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("WITH q AS (SELECT * FROM w) SELECT * FROM q, team.q", {"w", "team.q"}),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", {"t"}),
        ("SELECT * FROM t WHERE EXISTS (WITH t AS (SELECT 1) SELECT * FROM T)", {"t"}),
        ("WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM a, b", set()),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r", set()),
    ],
)
def test_names_of_with_are_no_tables(query: str, tables: set[str]) -> None:
    assert named(query) == tables


def test_columns_behind_whole_names_follow_their_tables() -> None:
    query = "SELECT a.b.c.d.x, d.y FROM a.b.c.d WHERE A.b.c.d.z = 1"
    assert parse(query).text == 'SELECT "a.b.c"."d"."x", d.y FROM "a.b.c"."d" WHERE A.b.c.d.z = 1'


def test_a_query_of_short_names_stays_as_it_is() -> None:
    assert parse("SELECT é, 'ü' FROM fruit -- ß").text == "SELECT é, 'ü' FROM fruit -- ß"
