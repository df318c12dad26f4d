"""Bounds of expressions: what would end the process or fill its memory never reaches pylance."""

from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import QueryTableRequest

from lanceway.errors import InvalidInputError
from lanceway.tables import expressions

MANY = 300_000
TOO_MUCH = {
    "ors": " OR ".join(f"id={i}" for i in range(MANY)),
    "ors of one letter": " OR ".join("b" for _ in range(1_002)),
    "a sum": "id=" + "+".join(["1"] * 3_000),
    "a chain of IS": "b" + " IS NOT TRUE" * 3_000,
    "casts": "id" + "::bigint" * 3_000 + " = 1",
    "lower case": "b" + " is null" * 3_000,
    "brackets": "(" * 65 + "b" + ")" * 65,
    "subscripts": "s" + "[0]" * 3_000 + " = 1",
    "a long text": "s = '" + "x" * 300_000 + "'",
    "hidden in a comment": "s = 'a' -- '\n OR " + "b OR " * 2_000 + "b -- '",
    "hidden in dollars": "s = $$'$$ OR " + "b OR " * 2_000 + "s = $$'$$",
    "hidden behind a prefix": "s = r'''a' OR b",
    "a long value": "length(repeat('x', 2000000000)) = 3",
    "a long value of long ones": "length(repeat(repeat('x', 5000), 5000)) = 3",
    "a value as long as a column says": "length(repeat(s, id)) = 3",
    "a name in backticks": "length( `REPEAT` ('x', 2000000000)) = 3",
    "a long list": "array_length(range(1, 1000000000)) = 3",
    "replacements": "length(" + "replace(" * 9 + "'a'" + ", 'a', 'aaaaaaaaaa')" * 9 + ") = 3",
    "a list joined": "array_to_string(array_repeat('a', 9999), repeat('b', 9999)) = s",
}
FINE = {
    "a comparison": "id = 1 AND name LIKE '%a%' OR price BETWEEN 1.5 AND -2",
    "a list": "id IN (" + ", ".join(map(str, range(20_000))) + ")",
    "a list below zero": "id IN (" + ", ".join(f"-{i}" for i in range(20_000)) + ")",
    "a list of texts": "id IN (" + ", ".join(f"'{i:032x}'" for i in range(5_000)) + ")",
    "operators in a text": "s = '" + "a-b/c=d OR " * 2_000 + "'",
    "a doubled quote": "s = 'it''s -- no comment'",
    "a date": "day > date '2024-01-01' AND n = lpad(CAST(id AS STRING), 8, '0')",
    "ors": " OR ".join(f"id={i}" for i in range(500)),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^count_table_rows: the filter or SQL expression"):
        expressions.check("count_table_rows", TOO_MUCH[name])


@pytest.mark.parametrize("name", FINE)
def test_what_people_write_passes(name: str) -> None:
    expressions.check("count_table_rows", FINE[name], None, "")


def test_the_expressions_of_one_request_count_together() -> None:
    part = " OR ".join(["b"] * 600)
    expressions.check("update_table", part)
    with pytest.raises(InvalidInputError, match="operators"):
        expressions.check("update_table", part, part)


def _query(query: dict[str, Any]) -> Any:
    text = {"structured_query": {"query": query}}
    return QueryTableRequest.model_validate({"k": 1, "vector": {}, "full_text_query": text}).full_text_query


def _nested(depth: int) -> dict[str, Any]:
    query: dict[str, Any] = {"match": {"terms": "a", "column": "s"}}
    for _ in range(depth):
        query = {"boolean": {"must": [query], "must_not": [], "should": []}}
    return query


def test_a_full_text_query_is_bounded_too() -> None:
    expressions.check_text_query("query_table", None)
    expressions.check_text_query("query_table", _query(_nested(8)))
    wide = {"multi_match": {"match_queries": [{"terms": "a", "column": "s"}] * 2_000}}
    long = {"match": {"terms": "a " * 100_000, "column": "s"}}
    for query in (_nested(30), wide, long):
        with pytest.raises(InvalidInputError, match="full-text query is too complex"):
            expressions.check_text_query("query_table", _query(query))
