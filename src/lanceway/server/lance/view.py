"""What the server sees of its tree for one who asks: all of it, but no secret of its storage."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from lance_namespace import ListTablesRequest, ListTablesResponse
from pydantic import BaseModel

from lanceway.catalogs.federated.catalog import FederatedCatalog, ListingStep
from lanceway.catalogs.wrappers.forward import Forwarder, carry_out
from lanceway.server.lance.safe_options import without_secrets


class View(Forwarder):
    """The one way by which dialects ask: whatever a catalog answers, its storage options are safe to be sent."""

    def __init__(self, tree: FederatedCatalog) -> None:
        self._tree = tree

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        return without_secrets(carry_out(self._tree, operation, request, *data))

    def glance(self, operation: str, names: list[str] | None, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer, if it can be had without any wait."""
        answer = self._tree.glance(operation, names, fields)
        return None if answer is None else without_secrets(answer)

    def listing(self, request: ListTablesRequest) -> Generator[ListingStep, Any, ListTablesResponse]:
        """The tables of all catalogs, step by step."""
        return self._tree.listing(request)

    def namespace_id(self) -> str:
        return self._tree.namespace_id()
