"""What is run as a query, and what is refused before anything is."""

from __future__ import annotations

import pytest

from lanceway.errors import InvalidInputError
from lanceway.tables.sql.statement import parse

REFUSED = "is not available: queries read the catalog's tables alone"


@pytest.mark.parametrize(
    "statement",
    [
        *("DROP TABLE fruit", "CREATE TABLE x AS SELECT 1", "INSERT INTO fruit VALUES (1)", "UPDATE fruit SET id = 1"),
        *(
            "DELETE FROM fruit",
            "ALTER TABLE fruit ADD COLUMN x INT",
            "TRUNCATE fruit",
            "MERGE INTO fruit USING f ON 1=1",
        ),
        *("COPY fruit TO 'x.csv'", "COPY fruit FROM 'x.csv'", "EXPORT DATABASE 'x'", "IMPORT DATABASE 'x'"),
        *("ATTACH 'x.db'", "DETACH x", "USE x", "INSTALL httpfs", "LOAD httpfs", "SET threads = 1", "RESET threads"),
        *(
            "PRAGMA version",
            "CALL pragma_version()",
            "CHECKPOINT",
            "BEGIN",
            "PREPARE p AS SELECT 1",
            "EXECUTE p",
            "VACUUM",
        ),
        *("EXPLAIN SELECT 1", "CREATE SECRET (TYPE s3)", "COMMENT ON TABLE fruit IS 'x'", "SET VARIABLE x = 1"),
    ],
)
def test_what_is_no_query_is_refused(statement: str) -> None:
    with pytest.raises(InvalidInputError, match=r"Nothing was run|syntax error"):
        parse(statement)


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT 1; DROP TABLE fruit", "SELECT 1; SELECT 2", "", ";", "-- nothing"),
        *("WITH x AS (DELETE FROM fruit RETURNING *) SELECT * FROM x", "SELECT * INTO x FROM fruit"),
    ],
)
def test_one_query_is_run_at_a_time(query: str) -> None:
    with pytest.raises(InvalidInputError, match=r"Nothing was run"):
        parse(query)


@pytest.mark.parametrize(
    "source",
    [
        *(
            "read_csv('/etc/passwd')",
            "read_text('/etc/passwd')",
            "read_blob('x')",
            "read_parquet('x')",
            "READ_JSON('x')",
        ),
        *("parquet_metadata('x')", "glob('/*')", "sniff_csv('x')", "read_duckdb('x')", "\"read_csv\"('x')"),
        *("main.read_csv('x')", "system.main.read_csv('x')", "arrow_scan(1, 2, 3)", "pandas_scan(1)", "seq_scan(1)"),
        *("query('SELECT 1')", "query_table('x')", "json_execute_serialized_sql('x')", "python_map_function(1)"),
        *("duckdb_settings()", "duckdb_secrets()", "pragma_database_size()", "enable_logging()", "checkpoint()"),
        *("iceberg_scan('x')", "sqlite_scan('x')", "postgres_scan('x')", "which_secret('x', 's3')"),
    ],
)
def test_nothing_but_tables_is_read(source: str) -> None:
    with pytest.raises(InvalidInputError, match=REFUSED):
        parse(f"SELECT * FROM {source}")


@pytest.mark.parametrize(
    "query",
    [
        *(
            "SELECT (SELECT 1 FROM {})",
            "WITH x AS (FROM {}) FROM x",
            "SELECT 1 UNION FROM {}",
            "SELECT 1 ORDER BY (FROM {})",
        ),
        *("FROM range(1), LATERAL (FROM {})", "DESCRIBE SELECT * FROM {}", "SELECT 1 WHERE EXISTS (FROM {})"),
        *("WITH a AS (WITH b AS (FROM {}) FROM b) FROM a", "SELECT list_transform([1], x -> (SELECT 1 FROM {}))"),
        *(
            "FROM (FROM {}) PIVOT (sum(a) FOR b IN (1))",
            "SUMMARIZE FROM {}",
            "SELECT * FROM range(1) LIMIT (SELECT 1 FROM {})",
        ),
    ],
)
def test_nothing_but_tables_is_read_anywhere_in_a_query(query: str) -> None:
    with pytest.raises(InvalidInputError, match=REFUSED):
        parse(query.format("read_csv('/etc/passwd')"))


def test_a_file_is_the_name_of_a_table() -> None:
    assert list(map(list, parse("SELECT * FROM 'people.csv'").tables.values())) == [["people.csv"]]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELEC 1", 'near "SELEC", in line 1, column 1'),
        ("SELECT *\nFROM lake.team.a.fruit x\nWHRE id > 1", 'near "WHRE", in line 3, column 1'),
        ("SELECT 'é', b FRO\n\tteam.fruit y", 'near "team", in line 2, column 2'),
        ("SELECT (1", "at end of input, in line 1, column 10"),
    ],
)
def test_a_syntax_error_says_where(query: str, place: str) -> None:
    with pytest.raises(InvalidInputError, match=place):
        parse(query)


def test_names_that_differ_in_case_alone_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="in case alone"):
        parse("SELECT * FROM fruit, Fruit")


@pytest.mark.parametrize(
    ("query", "instead"), [("SHOW TABLES", "tables list"), ("FROM t AT (VERSION => 1)", r"\.at\(3\)")]
)
def test_what_is_done_otherwise_is_said(query: str, instead: str) -> None:
    with pytest.raises(InvalidInputError, match=instead):
        parse(query)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("SELECT 1; COPY (SELECT 1) TO 'x'", "COPY"),
        ("SELECT 1;; SELECT 2; SET threads = 1", "SET"),
        ("-- first\n/* then */ ATTACH 'x'", "ATTACH"),
        ("PRAGMA none", "PRAGMA"),
    ],
)
def test_the_statement_that_is_no_query_is_named(query: str, word: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"; {word} is not one\. Nothing was run"):
        parse(query)
