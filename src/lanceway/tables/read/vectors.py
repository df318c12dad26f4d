"""The vector half of a query: which column, which vectors, how hard to search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance_namespace import AnalyzeTableQueryPlanRequest, QueryTableRequest

    from lanceway.tables.dataset import Table

    Query = QueryTableRequest | AnalyzeTableQueryPlanRequest

_METRICS = ("l2", "cosine", "dot", "hamming")
_ALSO_CALLED = {"euclidean": "l2"}


def nearest(table: Table, dataset: lance.LanceDataset, request: Query) -> dict[str, Any] | None:
    """What pylance is to search for, None if the request has no vector."""
    query = _vector(request)
    if query is None:
        return None
    if not request.k:
        raise InvalidInputError("k is 0, but a vector search needs to know how many neighbours to find; give k.")
    column = _column(table, dataset.schema, request.vector_column)
    _check_size(table, dataset.schema, column, query)
    found: dict[str, Any] = {
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
        found["distance_range"] = (request.lower_bound, request.upper_bound)
    return found


def is_batch(near: dict[str, Any]) -> bool:
    """Whether several searches are asked for at once."""
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
    """How many numbers a vector of this column has; None if it holds no vectors."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    if pa.types.is_list(type_):
        type_ = type_.value_type
    return int(type_.list_size) if pa.types.is_fixed_size_list(type_) else None


def _column(table: Table, schema: pa.Schema, asked: str | None) -> str:
    if asked is not None:
        if size(fields.require(table, schema, asked, "query_table").type) is None:
            raise InvalidInputError(
                f"query_table: the column {asked} of {table.name} holds no vectors. {_known(schema)}"
            )
        return asked
    candidates = _candidates(schema)
    if len(candidates) != 1:
        raise InvalidInputError(f"query_table: name the vector_column of {table.name} to search. {_known(schema)}")
    return candidates[0]


def _candidates(schema: pa.Schema) -> list[str]:
    return [path for path, field in fields.walk(schema) if size(field.type) is not None]


def _known(schema: pa.Schema) -> str:
    candidates = _candidates(schema)
    return f"Its vector columns: {', '.join(candidates)}." if candidates else "It has no vector column."


def _check_size(table: Table, schema: pa.Schema, column: str, query: list[Any]) -> None:
    field = fields.require(table, schema, column, "query_table")
    given = len(query[0]) if isinstance(query[0], list) else len(query)
    if given != size(field.type):
        raise InvalidInputError(
            f"query_table: the query vector has {given} numbers, but those in the column {column} of {table.name} "
            f"have {size(field.type)}."
        )
