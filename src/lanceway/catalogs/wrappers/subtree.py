"""A namespace inside a catalog that becomes the root: the setting `at`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lanceway.catalogs.contract import capabilities, limits
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.metadata import create_root, refuse_drop_of_root
from lanceway.catalogs.contract.requests import table_id
from lanceway.catalogs.wrappers import rewrite
from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lanceway.catalogs.contract.jobs import JobQueue, LazyJobQueue

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
        """Return the subtree for another user, where the catalog inside keeps track of who acts."""
        return Subtree(capabilities.acting_as(self._inner, user), self._at)

    def with_job_queue(self, queue: JobQueue | LazyJobQueue) -> Subtree:
        """Return the subtree with its background jobs recorded in another queue."""
        return Subtree(capabilities.with_job_queue(self._inner, queue.inside(self._at)), self._at)

    def __repr__(self) -> str:
        return f"Subtree({self._inner!r}, at={str(self._at)!r})"

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        names = getattr(request, "id", None)
        if operation == "create_namespace" and not names:
            return create_root(getattr(request, "mode", None))
        if operation == "drop_namespace" and not names:
            refuse_drop_of_root()
        if operation not in _ON_NAMESPACES and "id" in type(request).model_fields:
            table_id(names, operation)
        response = super()._forward(operation, rewrite.rewrite_request(request, self._inside), *data)
        return rewrite.rewrite_response(operation, response, self._outside)

    def _holds(self, names: list[str]) -> bool:
        return names[: self._at.depth] == list(self._at)

    def _inside(self, names: list[str] | None) -> list[str]:
        return [*self._at, *(names or ())]

    def _outside(self, names: list[str]) -> list[str]:
        return names[self._at.depth :]

    # -- limits ----------------------------------------------------------------------------------

    def unwrapped(self) -> tuple[LanceNamespace, Identifier]:
        """Return the innermost catalog, and the namespace in it that is the root here."""
        catalog, at = limits.unwrap(self._inner)
        return catalog, Identifier((*at, *self._at))

    def address(self) -> str:
        """Return where the metadata lives, as text without a secret: the same for every user."""
        catalog, at = self.unwrapped()
        suffix = f" at={list(at)!r}" if isinstance(catalog, limits.StatesLimits) else ""
        return limits.address(catalog) + suffix

    def identifier_limits(self) -> IdentifierLimits:
        """Return how many names the identifier of a table has below this root."""
        catalog, at = self.unwrapped()
        least, most, folds_case = limits.identifier_limits(catalog)
        if most is not None and most - at.depth < 1:
            raise InvalidInputError(f"{at} cannot be a root for tables: {catalog!r} holds none so deep.")
        return IdentifierLimits(max(1, least - at.depth), None if most is None else most - at.depth, folds_case)

    def check_new_table(self, table: Identifier) -> None:
        """Raises InvalidInputError, with names to use instead, where no table could have this identifier."""
        limits.check_new_table(self._inner, self._below(table))

    def check_new_namespace(self, namespace: Identifier) -> None:
        """Raises InvalidInputError where creating this namespace would not make room for a table."""
        limits.check_new_namespace(self._inner, self._below(namespace))

    def check_location(self, table: Identifier, location: str) -> None:
        """Raises InvalidInputError where a table at this location could not be registered."""
        limits.check_location(self._inner, table, location)

    def single_writer(self) -> bool:
        """Whether changes should be made one at a time, because concurrent ones would only wait for each other."""
        return limits.single_writer(self._inner)

    def _below(self, identifier: Identifier) -> Identifier:
        return Identifier((*self._at, *identifier))
