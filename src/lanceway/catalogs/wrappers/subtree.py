"""A namespace inside a catalog that becomes the root: the setting `at`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lanceway.catalogs.contract.metadata import create_root, refuse_drop_of_root
from lanceway.catalogs.contract.requests import table_id
from lanceway.catalogs.wrappers import rewrite
from lanceway.catalogs.wrappers.forward import Wrapper, acting_as, with_desk
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lanceway.catalogs.contract.job_queue import JobQueue
    from lanceway.catalogs.contract.lazy_job_queue import LazyJobQueue

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

    def acting_as(self, user: str) -> Subtree:
        """The same for another user, where the catalog inside keeps track of who acts."""
        return Subtree(acting_as(self._inner, user), self._at)

    def with_desk(self, desk: JobQueue | LazyJobQueue) -> Subtree:
        """The same, with background jobs recorded elsewhere, under the names that tables have from here."""
        return Subtree(with_desk(self._inner, desk.inside(self._at)), self._at)

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
        answer = super()._forward(operation, rewrite.in_request(request, self._inside), *data)
        return rewrite.in_answer(operation, answer, self._outside)

    def _holds(self, names: list[str]) -> bool:
        return names[: self._at.depth] == list(self._at)

    def _inside(self, names: list[str] | None) -> list[str]:
        return [*self._at, *(names or ())]

    def _outside(self, names: list[str]) -> list[str]:
        return names[self._at.depth :]
