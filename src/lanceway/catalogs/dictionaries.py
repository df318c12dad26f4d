"""Requests written as dictionaries: what may be written shorter in them, and keys that no request has.

    {"id": "team.fruit"}             the names with dots between them
    {"vector": [0.5, 0.9]}           one vector, or a list of several
    {"columns": ["name", "price"]}   the names of the columns
    {"full_text_query": "whale"}     a text, in all columns that have an index for it

A query may leave `vector` out, and `k` as well. Over HTTP, requests have the forms of the specification alone.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_args

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.errors import UnknownKeyWarning
from lanceway.identifiers import Identifier

# Rows of a search by a vector or a text where the request does not say how many.
DEFAULT_K = 10
_ALL_ROWS = 0

_QUERIES = (ln.QueryTableRequest, ln.AnalyzeTableQueryPlanRequest)
_IDENTIFIERS = ("id", "new_namespace_id")
# Words for one thing in different operations and libraries; those of the contract are among them.
_SAME = (
    ("predicate", "filter", "where", "condition"),
    ("k", "limit", "top_k", "n", "max_rows"),
    ("columns", "select", "fields", "projection"),
    ("vector", "query", "query_vector", "embedding"),
    ("full_text_query", "query", "text", "fts"),
    ("distance_type", "metric", "distance"),
    ("id", "table", "table_id", "table_name", "namespace", "name"),
    ("index_name", "tag", "column", "name"),
)
# A program that puts data into keys must not fill the memory.
_MOST = 1000
_warned: set[tuple[str, str]] = set()


def written_out(model: type[BaseModel], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request without short forms, at any depth."""
    fields = _fields(model)
    full = {key: _value(key, fields.get(key), value) for key, value in request.items()}
    return _query(full) if model in _QUERIES else full


def warn_of_unknown_keys(model: type[BaseModel], request: Mapping[str, Any]) -> None:
    """Warn, once for each operation and key, of keys that the model does not have: they are ignored.

    The warning names the operation that was called from outside, and shows the line of the call.
    """
    for path, key, known in _unknown(model, request, ""):
        operation, level = _called()
        if (operation, path + key) in _warned or len(_warned) >= _MOST:
            continue
        near = _near(key, known)
        hint = f"Did you mean {path + near!r}?" if near else f"It takes {', '.join(sorted(known))}."
        message = f"{operation} has no key {path + key!r}. {hint} The key is ignored."
        warnings.warn(message, UnknownKeyWarning, stacklevel=level)
        _warned.add((operation, path + key))


@cache
def _fields(model: type[BaseModel]) -> Mapping[str, type[BaseModel] | None]:
    """Return the models of the fields of a model, None for plain values, by every key that a field may have."""
    return {
        key: _model(info.annotation) for name, info in model.model_fields.items() for key in {name, info.alias or name}
    }


def _model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model(part)) is not None), None)


def _value(key: str, model: type[BaseModel] | None, value: Any) -> Any:
    if key in _IDENTIFIERS and isinstance(value, str):
        return list(Identifier.parse(value))
    if model is not None and isinstance(value, Mapping):
        return written_out(model, value)
    if model is not None and isinstance(value, list | tuple):
        return [written_out(model, item) if isinstance(item, Mapping) else item for item in value]
    return value


def _query(fields: dict[str, Any]) -> dict[str, Any]:
    vector, columns, text = fields.get("vector"), fields.get("columns"), fields.get("full_text_query")
    fields["vector"] = _vector(vector)
    if isinstance(columns, list | tuple):
        fields["columns"] = {"column_names": list(columns)}
    if isinstance(text, str):
        fields["full_text_query"] = {"string_query": {"query": text}}
    if fields.get("k") is None:
        fields["k"] = DEFAULT_K if fields["vector"] or text else _ALL_ROWS
    return fields


def _vector(given: Any) -> Any:
    """Return a vector, or several, as a request has them: plain lists, and what can be made one, such as an array."""
    values = given.tolist() if given is not None and hasattr(given, "tolist") else given
    if not isinstance(values, list | tuple):
        return {} if values is None else values
    if not values:
        return {}
    return {"multi_vector" if isinstance(values[0], list | tuple) else "single_vector": list(values)}


def _unknown(model: type[BaseModel], request: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Yield the path, the key and the known keys for each key that is not known, at any depth."""
    fields = _fields(model)
    for key, value in request.items():
        if key not in fields:
            yield path, str(key), fields
        elif (inner := fields[key]) is not None:
            for item in value if isinstance(value, list | tuple) else [value]:
                if isinstance(item, Mapping):
                    yield from _unknown(inner, item, f"{path}{key}.")


def _near(key: str, known: Iterable[str]) -> str | None:
    same = [word for words in _SAME if key in words for word in words if word in known]
    return next(iter(same or difflib.get_close_matches(key, sorted(known), n=1)), None)


def _called() -> tuple[str, int]:
    """Return which function of this package was called from outside, and at which level of the stack."""
    frame, level, name = sys._getframe(1), 1, ""
    while frame.f_globals.get("__name__", "").startswith("lanceway."):
        name, level = frame.f_code.co_name, level + 1
        if frame.f_back is None:  # called by a library that is not Python
            break
        frame = frame.f_back
    return name.removesuffix("_stream"), level
