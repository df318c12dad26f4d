"""How requests and answers are written: as Lance REST has them, or otherwise by a dialect that shares its routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from lanceway.catalogs.contract.hooks import REQUESTS
from lanceway.catalogs.contract.requests import received
from lanceway.identifiers import with_whole_names
from lanceway.server.lance.answers import EncodedAnswer, encode_answer
from lanceway.tables.indices import ReplacingIndexRequest
from lanceway.tables.read.sorting import SortedAnalysis, SortedExplanation, SortedQuery
from lanceway.wire.lance import LanceRoute

# Requests with fields that the contract does not have.
_MODELS: Mapping[str, type[BaseModel]] = {
    "analyze_table_query_plan": SortedAnalysis,
    "create_table_index": ReplacingIndexRequest,
    "explain_table_query_plan": SortedExplanation,
    "query_table": SortedQuery,
}


class WireForm:
    """Lance REST itself. A subclass overrides what it writes otherwise."""

    def place(self, id_: list[str] | None) -> list[str] | None:
        """Return an identifier of the path as the tree of all catalogs has it."""
        return id_

    def said(self, message: str, id_: list[str] | None) -> str:
        """Return an error's message with names as the client writes them: here, after the name of their catalog."""
        return with_whole_names(message, id_ or [])

    def read(self, route: LanceRoute, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a request as Lance REST names them."""
        return fields

    def model(self, route: LanceRoute, fields: Mapping[str, Any]) -> Any:
        """Return the request as a catalog takes it."""
        return received(_MODELS.get(route.operation) or REQUESTS[route.operation], fields)

    def write(self, route: LanceRoute, response: Any) -> EncodedAnswer:
        """Return a catalog's response as it is sent. Call it on the catalog's thread: it may be large."""
        return encode_answer(route, response)


LANCE_REST = WireForm()
