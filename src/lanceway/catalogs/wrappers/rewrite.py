"""Rewriting the identifiers in requests and responses, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar, get_args

from lance_namespace import CreateMaterializedViewRequest
from pydantic import BaseModel

from lanceway.catalogs.contract.metadata import WIRE_DELIMITER
from lanceway.tables.schema import views

Model = TypeVar("Model", bound=BaseModel)
Names = list[str]

_ID, _NEW_PARENT = "id", "new_namespace_id"


def identifiers(request: BaseModel) -> list[Names | None]:
    """Return the identifiers that a request is about: its own, or those of the requests in a batch."""
    fields, nested = _places(type(request))
    if _ID in fields:
        return [request.id]  # type: ignore[attr-defined]
    return [names for field in nested for item in _items(getattr(request, field)) for names in identifiers(item)]


def rewrite_request(request: Model, change: Callable[[Names | None], Names | None]) -> Model:
    """Return a request with every identifier changed. One that is left out is None, and may get a value."""
    fields, nested = _places(type(request))
    changes: dict[str, object] = {}
    for field in fields:
        value = getattr(request, field)
        # Without a new parent a table stays in its own, wherever that is.
        if field == _ID or value is not None:
            changes[field] = change(value)
    for field in nested:
        value = getattr(request, field)
        if isinstance(value, list):
            changes[field] = [rewrite_request(item, change) for item in value]
        elif value is not None:
            changes[field] = rewrite_request(value, change)
    if isinstance(request, CreateMaterializedViewRequest):
        changes["source_query"] = views.moved(request.source_query, change)
    return request.model_copy(update=changes)


def rewrite_response(operation: str, response: Any, change: Callable[[Names], Names]) -> Any:
    """Change every identifier of a response, in place."""
    if operation == "list_all_tables":
        response.tables = [WIRE_DELIMITER.join(change(name.split(WIRE_DELIMITER))) for name in response.tables]
    for field in ("id", "namespace"):
        names = getattr(response, field, None)
        if isinstance(names, list):
            setattr(response, field, change(names))
    for result in getattr(response, "results", None) or ():
        for field in type(result).model_fields:
            rewrite_response(field, getattr(result, field), change)
    return response


@cache
def _places(model: type[BaseModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a request that are identifiers, and those that hold requests with identifiers."""
    nested = tuple(
        field
        for field, info in model.model_fields.items()
        if any(_has_identifiers(inner, {model}) for inner in _models(info.annotation))
    )
    return _identifier_fields(model), nested


def _identifier_fields(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field for field in (_ID, _NEW_PARENT) if field in model.model_fields)


def _has_identifiers(model: type[BaseModel], visited: set[type[BaseModel]]) -> bool:
    if model in visited:  # a full text query may hold others of its kind
        return False
    visited.add(model)
    inner_models = (inner for info in model.model_fields.values() for inner in _models(info.annotation))
    return bool(_identifier_fields(model)) or any(_has_identifiers(inner, visited) for inner in inner_models)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _items(value: Any) -> list[BaseModel]:
    return value if isinstance(value, list) else [] if value is None else [value]
