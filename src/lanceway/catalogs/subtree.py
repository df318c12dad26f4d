"""A namespace inside a catalog that becomes the root: the setting `at`."""

from __future__ import annotations

import json
from typing import Any

from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lanceway.catalogs.metadata import WIRE_DELIMITER, create_root, refuse_drop_of_root
from lanceway.catalogs.requests import table_id
from lanceway.catalogs.wrapper import Wrapper
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

_ON_NAMESPACES = frozenset(
    {"list_namespaces", "describe_namespace", "namespace_exists", "list_tables", "list_all_tables"}
)


class Subtree(Wrapper):
    """The catalog `inner` seen from its namespace `at`: identifiers begin there, and nothing above is reached."""

    def __init__(self, inner: LanceNamespace, at: Identifier) -> None:
        if at.is_root:
            raise InvalidInputError("at is empty: name the namespace that is to become the root, or leave at out.")
        super().__init__(inner)
        self._at = at

    def namespace_id(self) -> str:
        return f"{self._inner.namespace_id()}-at-{json.dumps(self._at)}"

    def __repr__(self) -> str:
        return f"Subtree({self._inner!r}, at={str(self._at)!r})"

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        given = getattr(request, "id", None)
        if operation == "create_namespace" and not given:
            return create_root(getattr(request, "mode", None))
        if operation == "drop_namespace" and not given:
            refuse_drop_of_root()
        if operation not in _ON_NAMESPACES and "id" in type(request).model_fields:
            table_id(given, operation)
        return self._outside(operation, super()._forward(operation, self._inside(request), *data))

    def _inside(self, request: BaseModel) -> BaseModel:
        """The request as the catalog inside understands it."""
        changes: dict[str, object] = {}
        for field in type(request).model_fields:
            value = getattr(request, field)
            if field == "id" or (field == "new_namespace_id" and value is not None):
                changes[field] = [*self._at, *(value or ())]
            # A batch holds requests of its own, which have identifiers too.
            elif isinstance(value, BaseModel):
                changes[field] = self._inside(value)
            elif isinstance(value, list) and value and isinstance(value[0], BaseModel):
                changes[field] = [self._inside(item) for item in value]
        return request.model_copy(update=changes)

    def _outside(self, operation: str, response: Any) -> Any:
        """The answer in the words of those outside: identifiers without the names of `at`."""
        depth = self._at.depth
        if operation == "list_all_tables":
            skip = len(self._at.format(WIRE_DELIMITER)) + len(WIRE_DELIMITER)
            response.tables = [name[skip:] for name in response.tables]
        for field in ("id", "namespace"):
            value = getattr(response, field, None)
            if isinstance(value, list):
                setattr(response, field, value[depth:])
        for result in getattr(response, "results", None) or ():
            for field in type(result).model_fields:
                self._outside(field, getattr(result, field))
        return response
