"""Queries as LanceDB's client writes them: bare vectors and names of columns, and numbers that mean "no limit"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from lanceway.errors import UnsupportedOperationError

# What the client sends for a query without a limit; a count in a signed 64-bit number.
_ALL_ROWS = 2**63 - 1


def refuse_lsm(wanted: object) -> None:
    """Refuse a query or a merge that insists on the LSM write path."""
    if wanted in (True, "true"):
        raise UnsupportedOperationError("This server has no LSM write path. Leave use_lsm out, or give it as False.")


def read(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a query as Lance REST has them."""
    refuse_lsm(fields.get("use_lsm"))
    query = {**fields, "vector": _vector(fields.get("vector"))}
    if "columns" in fields:
        query["columns"] = _columns(fields["columns"])
    if "full_text_query" in fields:
        query["full_text_query"] = _text(fields["full_text_query"])
    if fields.get("maximum_nprobes") == 0:
        query["maximum_nprobes"] = None
    if not fields.get("vector"):
        query |= _limit(fields.get("k"), fields.get("filter"))
    return query


def _limit(k: Any, filter_: Any) -> dict[str, Any]:
    """Return the limit of a query without a vector. Lance REST has 0 for none, and no number for no rows."""
    if k in (None, _ALL_ROWS):
        return {"k": 0}
    return {"k": 1, "filter": f"({filter_}) AND false" if filter_ else "false"} if k == 0 else {}


def _vector(value: Any) -> Any:
    if value is None:
        return {}
    if not isinstance(value, list):
        return value
    return {"multi_vector" if value and isinstance(value[0], list) else "single_vector": value}


def _columns(value: Any) -> Any:
    if isinstance(value, list):
        return {"column_names": value}
    if isinstance(value, dict) and not value.keys() <= {"column_names", "column_aliases"}:
        return {"column_aliases": value}
    return value


def _text(value: Any) -> Any:
    if not isinstance(value, dict) or "query" not in value:
        return value
    if isinstance(value["query"], str):
        return {"string_query": value}
    return {"structured_query": {**value, "query": _tree(value["query"])}}


def _tree(value: Any) -> Any:
    """Return a structured text query, in which a query of several columns is several of one."""
    if isinstance(value, list):
        return [_tree(each) for each in value]
    if not isinstance(value, dict):
        return value
    tree = {key: _tree(inner) for key, inner in value.items()}
    several = tree.get("multi_match")
    if isinstance(several, dict) and isinstance(several.get("columns"), list):
        tree["multi_match"] = {"match_queries": list(_matches(several))}
    return tree


def _matches(query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    boosts = query.get("boost") or []
    for column, boost in zip_longest(query["columns"], boosts[: len(query["columns"])]):
        match = {"terms": query.get("query"), "column": column, "boost": boost, "operator": query.get("operator")}
        yield {key: value for key, value in match.items() if value is not None}
