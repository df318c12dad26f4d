"""Rows read: by filter, by vector, by text, by both, and the plans of it.

- `k` is how many rows come back. 0 means all of them, as in pylance's own namespace; a vector
  search needs at least 1.
- A filter is applied before a search unless `prefilter` is false, so that k rows are found where
  k rows match.
- An empty vector means no vector search. Several vectors are several searches: up to k rows for
  each, told apart by the column `query_index`. On a column of multivectors they are one query.
- A vector together with a text is a hybrid search, see `hybrid.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import lance_namespace as ln

from lanceway.errors import InvalidInputError
from lanceway.tables import expressions
from lanceway.tables.cache import read_at
from lanceway.tables.dataset import StoredTable
from lanceway.tables.errors import translated
from lanceway.tables.read import search as fulltext
from lanceway.tables.read import search as hybrid
from lanceway.tables.read import search as vectors
from lanceway.tables.read import sorting
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    Query = ln.QueryTableRequest | ln.AnalyzeTableQueryPlanRequest

# How much pylance may read ahead of its reader. Its own default is up to 2 GiB, which for most answers
# is all of them; with this the speed is the same.
_READ_AHEAD = 64 * 2**20
_NUMBERS = ("nprobes", "minimum_nprobes", "maximum_nprobes", "refine_factor", "ef")
_DISTANCE, _SCORE = "_distance", "_score"
# What every table has besides its own columns.
_SYSTEM = frozenset(
    {
        _DISTANCE,
        "_row_created_at_version",
        "_row_last_updated_at_version",
        "_rowaddr",
        "_rowid",
        "_rowoffset",
        _SCORE,
    }
)


def run(table: StoredTable, request: ln.QueryTableRequest) -> pa.RecordBatchReader:
    """Return the answer, one batch at a time. Errors also come while it is read."""
    searches, options = _plan(table, request, "query_table")
    if len(searches) > 1:
        return _guarded(table, *hybrid.search(table, searches, options, request))
    with translated(table, "query_table"):
        reader = searches[0].to_reader()
    return _guarded(table, reader.schema, reader)


def _guarded(table: StoredTable, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, _translating(table, batches))


def _translating(table: StoredTable, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with translated(table, "query_table"):
        yield from batches


def count(table: StoredTable, request: ln.CountTableRowsRequest) -> int:
    expressions.check("count_table_rows", request.predicate)
    dataset = read_at(table, version=request.version, branch=request.branch)
    with translated(table, "count_table_rows"):
        return int(dataset.count_rows(request.predicate or None))


def explain(table: StoredTable, request: ln.ExplainTableQueryPlanRequest) -> str:
    """Return the plan of a query that is not run; of a hybrid one, both plans."""
    query = request.query
    if query.branch is None:
        query = query.model_copy(update={"branch": request.branch})
    searches, _ = _plan(table, query, "explain_table_query_plan")
    with translated(table, "explain_table_query_plan"):
        return "\n".join(search.explain_plan(bool(request.verbose)) for search in searches)


def analyze(table: StoredTable, request: ln.AnalyzeTableQueryPlanRequest) -> str:
    """Return the plan of a query after it was run, with what each step cost."""
    searches, _ = _plan(table, request, "analyze_table_query_plan")
    with translated(table, "analyze_table_query_plan"):
        return "\n".join(search.analyze_plan() for search in searches)


def _plan(table: StoredTable, request: Query, operation: str) -> tuple[list[lance.LanceScanner], hybrid.Options]:
    """Return one scanner, or for a hybrid search the two whose answers are to be merged."""
    aliases = request.columns.column_aliases if request.columns else None
    expressions.check(operation, request.filter, *(aliases or {}).values())
    expressions.check_text_query(operation, request.full_text_query)
    expressions.check_numbers(operation, request, _NUMBERS)
    expressions.check_numbers(operation, request, ("k", "offset"), expressions.MOST_ROWS)
    dataset = read_at(table, version=request.version, branch=request.branch)
    text = fulltext.query(table, dataset, request.full_text_query)
    near = vectors.nearest(table, dataset, request)
    columns = _columns(table, dataset.schema, request, operation)
    is_search = near is not None or text is not None
    order = sorting.keys(table, dataset.schema, request, operation, is_search=is_search)
    common: dict[str, Any] = {
        "filter": request.filter or None,
        "prefilter": request.prefilter is not False,
        "fast_search": request.fast_search,
        "io_buffer_size": _READ_AHEAD,
    }
    if is_search:
        expressions.check_neighbours(operation, request.k, request.offset)
    options = hybrid.Options(dataset, columns, bool(request.with_row_id))
    with translated(table, operation):
        if near is not None and text is not None:
            return hybrid.searches(dataset, near, text, request, common), options
        common |= {"with_row_id": request.with_row_id, "order_by": order, **_window(request, near)}
        score = _DISTANCE if near is not None else _SCORE if text is not None else None
        return [dataset.scanner(nearest=near, full_text_query=text, **common, **_projection(columns, score))], options


def _projection(columns: list[str] | dict[str, str] | None, score: str | None) -> dict[str, Any]:
    """Return the columns of an answer, with the score of a search by name: pylance warns where it is to add it."""
    if columns is None or score is None:
        return {"columns": columns}
    added: list[str] | dict[str, str] = columns
    if score not in columns:
        added = {**columns, score: score} if isinstance(columns, dict) else [*columns, score]
    return {"columns": added, "disable_scoring_autoprojection": True}


def _window(request: Query, near: dict[str, Any] | None) -> dict[str, int | None]:
    """Return the limit and offset of the rows that come back."""
    if near is None or not vectors.is_batch(near):
        return {"limit": request.k or None, "offset": request.offset or None}
    if request.offset:
        raise InvalidInputError("offset cannot be used with several query vectors: each of them has its own rows.")
    return {"limit": None, "offset": None}


def _columns(
    table: StoredTable, schema: pa.Schema, request: Query, operation: str
) -> list[str] | dict[str, str] | None:
    """Return names of columns, or expressions by the name they shall have; None for all columns."""
    chosen = request.columns
    if chosen is None or not (chosen.column_names or chosen.column_aliases):
        return None
    if chosen.column_names and chosen.column_aliases:
        raise InvalidInputError(f"{operation}: give column_names or column_aliases, not both.")
    if chosen.column_aliases:
        return dict(chosen.column_aliases)
    for name in chosen.column_names or ():
        if name not in _SYSTEM:
            fields.require(table, schema, name, operation)
    return list(chosen.column_names or ())
