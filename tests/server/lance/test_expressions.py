"""One request must not end the process that serves all: expressions that would are refused, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.server.server_helpers import Id, ask, count, created, refused, serving, stream, table
from tests.servers.lanceway import Lanceway

DEADLY = "id > 0" + " IS NOT TRUE" * 4_000
REQUESTS: dict[str, Callable[[Lanceway, Id], httpx.Response]] = {
    "count": lambda server, id_: ask(server, "table", id_, "count_rows", {"predicate": DEADLY}),
    "query": lambda server, id_: ask(server, "table", id_, "query", _query(filter=DEADLY)),
    "columns": lambda server, id_: ask(
        server, "table", id_, "query", _query(columns={"column_aliases": {"a": DEADLY}})
    ),
    "explain": lambda server, id_: ask(server, "table", id_, "explain_plan", {"query": _query(filter=DEADLY)}),
    "analyze": lambda server, id_: ask(server, "table", id_, "analyze_plan", _query(filter=DEADLY)),
    "delete": lambda server, id_: ask(server, "table", id_, "delete", {"predicate": DEADLY}),
    "update where": lambda server, id_: ask(
        server, "table", id_, "update", {"predicate": DEADLY, "updates": [["id", "1"]]}
    ),
    "update": lambda server, id_: ask(server, "table", id_, "update", {"updates": [["id", DEADLY]]}),
    "merge": lambda server, id_: ask(
        server,
        "table",
        id_,
        "merge_insert",
        content=stream(table(1)),
        params={"on": "id", "when_matched_update_all_filt": DEADLY},
    ),
    "add columns": lambda server, id_: ask(
        server, "table", id_, "add_columns", {"new_columns": [{"name": "c", "expression": DEADLY}]}
    ),
    "computed": lambda server, id_: ask(
        server, "table", id_, "add_columns", {"new_columns": [{"name": "c", "computed": DEADLY}]}
    ),
    "text": lambda server, id_: ask(
        server, "table", id_, "query", _query(full_text_query={"structured_query": {"query": _nested(200)}})
    ),
}


def _query(**more: Any) -> dict[str, Any]:
    return {"k": 1, "vector": {}, **more}


def _nested(depth: int) -> dict[str, Any]:
    query: dict[str, Any] = {"match": {"terms": "a", "column": "name"}}
    for _ in range(depth):
        query = {"boolean": {"must": [query], "must_not": [], "should": []}}
    return query


@pytest.mark.parametrize("name", REQUESTS)
def test_no_expression_ends_the_server(server: Lanceway, name: str) -> None:
    id_, pid = created(server, 1, 2), serving(server)
    assert refused(REQUESTS[name](server, id_)) == (400, 13)
    assert count(server, id_) == 2
    assert serving(server) == pid
