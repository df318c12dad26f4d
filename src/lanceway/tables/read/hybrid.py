"""A search by vector and by text at once.

Both searches are made, each for k rows, and merged by reciprocal rank: a row gets 1 / (60 + rank)
from each search that found it, and the sum is its `_relevance_score`. The best k rows come back,
best first; rows of equal score in the order of their row ids. Distances and scores of the two
searches are not comparable and are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.tables.errors import translated
from lanceway.tables.read import vectors

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.query import FullTextQuery
    from lance_namespace import AnalyzeTableQueryPlanRequest, QueryTableRequest

    from lanceway.tables.dataset import Table

SCORE = "_relevance_score"
_ROW_ID = "_rowid"
# The usual damping: being first is good, but being found twice is better.
_DAMPING = 60
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Options:
    """How the merged rows are to be read."""

    dataset: lance.LanceDataset
    columns: list[str] | dict[str, str] | None
    with_row_id: bool


def searches(
    dataset: lance.LanceDataset,
    near: dict[str, Any],
    text: FullTextQuery,
    request: QueryTableRequest | AnalyzeTableQueryPlanRequest,
    common: dict[str, Any],
) -> list[lance.LanceScanner]:
    """The two searches, for row ids alone."""
    if vectors.is_batch(near):
        raise InvalidInputError("query_table: a hybrid search takes one vector; give single_vector.")
    wanted = request.k + (request.offset or 0)
    ids: dict[str, Any] = {"columns": [], "with_row_id": True, **common}
    return [
        dataset.scanner(nearest=near, limit=wanted, **ids),
        dataset.scanner(full_text_query=text, limit=wanted, **ids),
    ]


def search(
    table: Table, found: list[lance.LanceScanner], options: Options, request: QueryTableRequest
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow as pa

    with translated(table, "query_table"):
        scores = _scores([scanner.to_table()[_ROW_ID].to_pylist() for scanner in found])
        columns = options.dataset.scanner(columns=options.columns, with_row_id=True, limit=1).projected_schema
    offset = request.offset or 0
    best = sorted(scores, key=lambda row: (-scores[row], row))[offset : offset + request.k]
    kept = [field for field in columns if field.name != _ROW_ID or options.with_row_id]
    schema = pa.schema([*kept, pa.field(SCORE, pa.float32())])
    return schema, _rows(options, best, scores, schema)


def _scores(rankings: list[list[int]]) -> dict[int, float]:
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] += 1 / (_DAMPING + rank)
    return scores


def _rows(options: Options, best: list[int], scores: dict[int, float], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for start in range(0, len(best), _ROWS_AT_ONCE):
        ids = best[start : start + _ROWS_AT_ONCE]
        rows = _take(options, ids).append_column(SCORE, pa.array([scores[row] for row in ids], pa.float32()))
        yield from rows.select(schema.names).cast(schema).to_batches()


def _take(options: Options, ids: list[int]) -> pa.Table:
    """The rows of these ids, in this order."""
    import pyarrow as pa

    wanted = f"{_ROW_ID} IN ({', '.join(map(str, ids))})"
    rows = options.dataset.scanner(columns=options.columns, filter=wanted, with_row_id=True).to_table()
    place = {row: index for index, row in enumerate(rows[_ROW_ID].to_pylist())}
    return rows.take(pa.array([place[row] for row in ids]))
