"""Queries with an order of their rows, which the contract's own do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lance_namespace as ln
from pydantic import BaseModel, StrictBool

from lanceway.errors import InvalidInputError
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.dataset import ColumnOrdering

    from lanceway.tables.dataset import StoredTable


class SortKey(BaseModel):
    """A column by which rows are sorted; the first one counts most."""

    column_name: str
    ascending: StrictBool = True
    nulls_first: StrictBool = False


class SortedQuery(ln.QueryTableRequest):
    """A query whose rows may be asked for in an order."""

    order_by: list[SortKey] | None = None


class SortedExplanation(ln.ExplainTableQueryPlanRequest):
    """The plan of a query whose rows may be asked for in an order."""

    query: SortedQuery


class SortedAnalysis(ln.AnalyzeTableQueryPlanRequest):
    """The plan of a query that is run, whose rows may be asked for in an order."""

    order_by: list[SortKey] | None = None


def keys(
    table: StoredTable,
    schema: pa.Schema,
    request: ln.QueryTableRequest | ln.AnalyzeTableQueryPlanRequest,
    operation: str,
    *,
    is_search: bool,
) -> list[ColumnOrdering | str] | None:
    """Return the order of the rows as pylance takes it. A search has one of its own."""
    asked = request.order_by if isinstance(request, SortedQuery | SortedAnalysis) else None
    if not asked:
        return None
    if is_search:
        raise InvalidInputError(
            f"{operation}: order_by cannot be used with a search of {table.name}, whose rows come by their distance or "
            "score. Sort the answer, or leave the search out."
        )
    from lance.dataset import ColumnOrdering

    for key in asked:
        fields.require(table, schema, key.column_name, operation)
    return [ColumnOrdering(key.column_name, key.ascending, key.nulls_first) for key in asked]
