"""The tree of catalogs as the server shows it to a principal: without the secrets of its storage."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from lance_namespace import ListTablesRequest, ListTablesResponse
from pydantic import BaseModel

from lanceway.catalogs.federated.catalog import FederatedCatalog, ListingStep
from lanceway.catalogs.wrappers.forward import Forwarder, carry_out
from lanceway.server.lance.safe_options import without_secrets


class View(Forwarder):
    """The catalog that dialects use: storage options in its answers are safe to send."""

    def __init__(self, tree: FederatedCatalog) -> None:
        self._tree = tree

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        return without_secrets(carry_out(self._tree, operation, request, *data))

    def try_fast(self, operation: str, names: list[str] | None, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the answer if it needs no waiting, else None."""
        response = self._tree.try_fast(operation, names, fields)
        return None if response is None else without_secrets(response)

    def listing(self, request: ListTablesRequest) -> Generator[ListingStep, Any, ListTablesResponse]:
        """List the tables of all catalogs, step by step."""
        return self._tree.listing(request)

    def namespace_id(self) -> str:
        return self._tree.namespace_id()
