"""Identifiers in requests and answers: found wherever they stand, and changed."""

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
    """The identifiers of what a request is about: its own, or those of the requests that a batch holds."""
    own, nested = _places(type(request))
    if _ID in own:
        return [request.id]  # type: ignore[attr-defined]
    return [names for field in nested for held in _held(getattr(request, field)) for names in identifiers(held)]


def in_request(request: Model, change: Callable[[Names | None], Names | None]) -> Model:
    """A request with every identifier changed. One that is left out is None, and may be given a value."""
    own, nested = _places(type(request))
    changes: dict[str, object] = {}
    for field in own:
        value = getattr(request, field)
        # Without a new parent a table stays in its own, wherever that is.
        if field == _ID or value is not None:
            changes[field] = change(value)
    for field in nested:
        value = getattr(request, field)
        if isinstance(value, list):
            changes[field] = [in_request(held, change) for held in value]
        elif value is not None:
            changes[field] = in_request(value, change)
    if isinstance(request, CreateMaterializedViewRequest):
        changes["source_query"] = views.moved(request.source_query, change)
    return request.model_copy(update=changes)


def in_answer(operation: str, answer: Any, change: Callable[[Names], Names]) -> Any:
    """An answer with every identifier changed, in place."""
    if operation == "list_all_tables":
        answer.tables = [WIRE_DELIMITER.join(change(name.split(WIRE_DELIMITER))) for name in answer.tables]
    for field in ("id", "namespace"):
        names = getattr(answer, field, None)
        if isinstance(names, list):
            setattr(answer, field, change(names))
    for result in getattr(answer, "results", None) or ():
        for field in type(result).model_fields:
            in_answer(field, getattr(result, field), change)
    return answer


@cache
def _places(model: type[BaseModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a request that are identifiers, and those that hold requests which have some."""
    nested = tuple(
        field
        for field, info in model.model_fields.items()
        if any(_has_identifiers(held, {model}) for held in _models(info.annotation))
    )
    return _own(model), nested


def _own(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field for field in (_ID, _NEW_PARENT) if field in model.model_fields)


def _has_identifiers(model: type[BaseModel], seen: set[type[BaseModel]]) -> bool:
    if model in seen:  # a full text query may hold others of its kind
        return False
    seen.add(model)
    held = (inner for info in model.model_fields.values() for inner in _models(info.annotation))
    return bool(_own(model)) or any(_has_identifiers(inner, seen) for inner in held)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _held(value: Any) -> list[BaseModel]:
    return value if isinstance(value, list) else [] if value is None else [value]
