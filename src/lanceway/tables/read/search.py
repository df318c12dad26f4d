"""The vector half of a query: which column, which vectors, how hard to search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance_namespace import AnalyzeTableQueryPlanRequest, QueryTableRequest

    from lanceway.tables.dataset import StoredTable

    Query = QueryTableRequest | AnalyzeTableQueryPlanRequest
    from lance.query import FullTextQuery
    from lance_namespace_urllib3_client.models.fts_query import FtsQuery
    from lance_namespace_urllib3_client.models.match_query import MatchQuery
    from lance_namespace_urllib3_client.models.phrase_query import PhraseQuery
    from lance_namespace_urllib3_client.models.query_table_request_full_text_query import QueryTableRequestFullTextQuery

_METRICS = ("l2", "cosine", "dot", "hamming")
_ALSO_CALLED = {"euclidean": "l2"}


def nearest(table: StoredTable, dataset: lance.LanceDataset, request: Query) -> dict[str, Any] | None:
    """Return the vector search as pylance takes it, None if the request has no vector."""
    query = _vector(request)
    if query is None:
        return None
    if not request.k:
        raise InvalidInputError("k is 0, but a vector search needs to know how many neighbours to find; give k.")
    column = _column(table, dataset.schema, request.vector_column)
    _check_size(table, dataset.schema, column, query)
    nearest: dict[str, Any] = {
        "column": column,
        "q": query,
        # The neighbours that offset skips have to be found, too.
        "k": request.k + (request.offset or 0),
        "metric": metric(request.distance_type),
        "refine_factor": request.refine_factor,
        "ef": request.ef,
        "use_index": not request.bypass_vector_index,
        **_probes(request),
    }
    if request.lower_bound is not None or request.upper_bound is not None:
        nearest["distance_range"] = (request.lower_bound, request.upper_bound)
    return nearest


def is_batch(near: dict[str, Any]) -> bool:
    """Return whether several searches are asked for at once."""
    return isinstance(near["q"][0], list)


def metric(name: str | None) -> str | None:
    if name is None:
        return None
    chosen = _ALSO_CALLED.get(name.lower(), name.lower())
    if chosen not in _METRICS:
        raise InvalidInputError(f"The distance type {name!r} is not known; it must be one of {', '.join(_METRICS)}.")
    return chosen


def _vector(request: Query) -> list[float] | list[list[float]] | None:
    single, several = request.vector.single_vector, request.vector.multi_vector
    if single and several:
        raise InvalidInputError("Give single_vector or multi_vector, not both.")
    if several and len({len(vector) for vector in several}) > 1:
        raise InvalidInputError("The vectors of multi_vector differ in length; all must be as long as the column's.")
    if several and several[0]:
        return [list(vector) for vector in several]
    return list(single) if single else None


def _probes(request: Query) -> dict[str, int | None]:
    if request.minimum_nprobes is None and request.maximum_nprobes is None:
        return {"nprobes": request.nprobes}
    return {"minimum_nprobes": request.minimum_nprobes, "maximum_nprobes": request.maximum_nprobes}


def size(type_: pa.DataType) -> int | None:
    """Return the dimension of a column's vectors, None if it holds none."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    if pa.types.is_list(type_):
        type_ = type_.value_type
    return int(type_.list_size) if pa.types.is_fixed_size_list(type_) else None


def _column(table: StoredTable, schema: pa.Schema, name: str | None) -> str:
    if name is not None:
        if size(fields.require(table, schema, name, "query_table").type) is None:
            raise InvalidInputError(
                f"query_table: the column {name} of {table.name} holds no vectors. {_known(schema)}"
            )
        return name
    candidates = _candidates(schema)
    if not candidates:
        raise InvalidInputError(f"query_table: {table.name} has no vector column to search.{_lists(schema)}")
    if len(candidates) != 1:
        raise InvalidInputError(f"query_table: name the vector_column of {table.name} to search. {_known(schema)}")
    return candidates[0]


def _candidates(schema: pa.Schema) -> list[str]:
    return [path for path, field in fields.walk(schema) if size(field.type) is not None]


def _known(schema: pa.Schema) -> str:
    candidates = _candidates(schema)
    if candidates:
        return f"Its vector columns: {', '.join(candidates)}."
    return f"It has no vector column.{_lists(schema)}"


def _lists(schema: pa.Schema) -> str:
    """Return what to do where lists of floats were meant to be vectors."""
    import pyarrow as pa

    lists = [field for field in schema if pa.types.is_list(field.type) or pa.types.is_large_list(field.type)]
    column = next((field for field in lists if pa.types.is_floating(field.type.value_type)), None)
    if column is None:
        return ""
    return (
        f" The column {column.name} holds lists of any length; those of a vector have one length. Create the table "
        f"again with vectors=['{column.name}']."
    )


def _check_size(table: StoredTable, schema: pa.Schema, column: str, query: list[Any]) -> None:
    field = fields.require(table, schema, column, "query_table")
    length = len(query[0]) if isinstance(query[0], list) else len(query)
    if length != size(field.type):
        raise InvalidInputError(
            f"query_table: the query vector has {_numbers(length)}, but those in the column {column} of {table.name} "
            f"have {size(field.type)}."
        )


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


_KINDS = ("match", "phrase", "boost", "multi_match", "boolean")


def query(
    table: StoredTable, dataset: lance.LanceDataset, request: QueryTableRequestFullTextQuery | None
) -> FullTextQuery | None:
    """Return the full-text query as pylance takes it, None if the request has no text."""
    text, tree = (request.string_query, request.structured_query) if request is not None else (None, None)
    if text is not None and tree is not None:
        raise InvalidInputError("query_table: give string_query or structured_query, not both.")
    if text is not None:
        return _Builder(table, dataset).text(text.query, text.columns)
    return _Builder(table, dataset).build(tree.query) if tree is not None else None


class _Builder:
    def __init__(self, table: StoredTable, dataset: lance.LanceDataset) -> None:
        self._table, self._dataset = table, dataset

    def text(self, terms: str, columns: list[str] | None) -> FullTextQuery:
        from lance.query import MatchQuery, MultiMatchQuery

        searched = self._searched(columns)
        return MatchQuery(terms, searched[0]) if len(searched) == 1 else MultiMatchQuery(terms, searched)

    def build(self, node: FtsQuery) -> FullTextQuery:
        kinds = [kind for kind in _KINDS if getattr(node, kind) is not None]
        if len(kinds) != 1:
            raise InvalidInputError(
                f"query_table: a full-text query must be exactly one of {', '.join(_KINDS)}, but has {kinds or 'none'}."
            )
        make: Callable[[Any], FullTextQuery] = getattr(self, f"_{kinds[0]}")
        return make(getattr(node, kinds[0]))

    def _match(self, node: MatchQuery) -> FullTextQuery:
        return self._anywhere(node.column, lambda column: _match(node, column))

    def _phrase(self, node: PhraseQuery) -> FullTextQuery:
        from lance.query import PhraseQuery

        return self._anywhere(node.column, lambda column: PhraseQuery(node.terms, column, slop=node.slop or 0))

    def _boost(self, node: Any) -> FullTextQuery:
        from lance.query import BoostQuery

        factor = 0.5 if node.negative_boost is None else node.negative_boost
        return BoostQuery(self.build(node.positive), self.build(node.negative), negative_boost=factor)

    def _multi_match(self, node: Any) -> FullTextQuery:
        return _any_of([self._match(match) for match in node.match_queries])

    def _boolean(self, node: Any) -> FullTextQuery:
        from lance.query import BooleanQuery, Occur

        clauses = ((Occur.MUST, node.must), (Occur.MUST_NOT, node.must_not), (Occur.SHOULD, node.should))
        return BooleanQuery([(occur, self.build(part)) for occur, parts in clauses for part in parts])

    def _anywhere(self, column: str | None, make: Callable[[str], FullTextQuery]) -> FullTextQuery:
        return _any_of([make(name) for name in self._searched([column] if column else None)])

    def _searched(self, columns: list[str] | None) -> list[str]:
        if columns:
            for column in columns:
                fields.require(self._table, self._dataset.schema, column, "query_table")
            return columns
        with translated(self._table, "query_table"):
            indices = self._dataset.describe_indices()
        indexed = sorted({name for index in indices if index.index_type == "Inverted" for name in index.field_names})
        if not indexed:
            raise InvalidInputError(
                f"query_table: {self._table.name} has no full-text index to search. Name a column, or make an index "
                "of type FTS with create_table_index."
            )
        return indexed


def _match(node: MatchQuery, column: str) -> FullTextQuery:
    from lance.query import MatchQuery

    return MatchQuery(
        node.terms,
        column,
        boost=1.0 if node.boost is None else node.boost,
        fuzziness=node.fuzziness or 0,
        max_expansions=50 if node.max_expansions is None else node.max_expansions,
        operator=_operator(node.operator),
        prefix_length=node.prefix_length or 0,
    )


def _operator(name: str | None) -> Any:
    from lance.query import FullTextOperator

    if name is None:
        return FullTextOperator.OR
    if name.upper() not in ("AND", "OR"):
        raise InvalidInputError(f"query_table: the operator of a match is {name!r}, but must be And or Or.")
    return FullTextOperator(name.upper())


def _any_of(queries: list[FullTextQuery]) -> FullTextQuery:
    from lance.query import BooleanQuery, Occur

    if not queries:
        raise InvalidInputError("query_table: a full-text query needs at least one match.")
    return queries[0] if len(queries) == 1 else BooleanQuery([(Occur.SHOULD, query) for query in queries])


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
    """Return the two searches, for row ids alone."""
    if is_batch(near):
        raise InvalidInputError("query_table: a hybrid search takes one vector; give single_vector.")
    limit = request.k + (request.offset or 0)
    ids: dict[str, Any] = {"columns": [], "with_row_id": True, "disable_scoring_autoprojection": True, **common}
    return [
        dataset.scanner(nearest=near, limit=limit, **ids),
        dataset.scanner(full_text_query=text, limit=limit, **ids),
    ]


def search(
    table: StoredTable, scanners: list[lance.LanceScanner], options: Options, request: QueryTableRequest
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow as pa

    with translated(table, "query_table"):
        scores = _scores([scanner.to_table()[_ROW_ID].to_pylist() for scanner in scanners])
        columns = options.dataset.scanner(columns=options.columns, with_row_id=True, limit=1).projected_schema
    offset = request.offset or 0
    best = sorted(scores, key=lambda row: (-scores[row], row))[offset : offset + request.k]
    shown = [field for field in columns if field.name != _ROW_ID or options.with_row_id]
    schema = pa.schema([*shown, pa.field(SCORE, pa.float32())])
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
    """Return the rows of these ids, in this order."""
    import pyarrow as pa

    condition = f"{_ROW_ID} IN ({', '.join(map(str, ids))})"
    rows = options.dataset.scanner(columns=options.columns, filter=condition, with_row_id=True).to_table()
    place = {row: index for index, row in enumerate(rows[_ROW_ID].to_pylist())}
    return rows.take(pa.array([place[row] for row in ids]))
