"""Vector search, text search and both at once, as options of a read: one task runs the search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace import QueryTableRequest

from lanceway.catalogs.contract.requests import accept
from lanceway.errors import InvalidInputError
from lanceway.tables.read import query
from lanceway.writes.options import OWNER, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from lanceway.writes.table_ref import TableRef

# What `nearest` may hold besides column and vector; the other names are the contract's own.
_ALSO_CALLED = {"column": "vector_column", "metric": "distance_type"}
_OF_NEAREST = frozenset(
    {
        "bypass_vector_index",
        "distance_type",
        "ef",
        "fast_search",
        "k",
        "lower_bound",
        "maximum_nprobes",
        "minimum_nprobes",
        "nprobes",
        "offset",
        "prefilter",
        "refine_factor",
        "upper_bound",
        "vector",
        "vector_column",
    }
)
_K = 10


def search(ref: TableRef, read: ReadOptions) -> pa.RecordBatchReader:
    """Return the rows found, nearest or best first. Raises InvalidInputError for a search that makes no sense."""
    if read.with_row_address:
        raise InvalidInputError(f"{OWNER}: a search has row ids (with_row_id) but no row addresses.")
    fields: dict[str, Any] = {
        "id": list(ref.id),
        "k": read.limit or 0,
        "vector": {},
        "filter": read.filter,
        "version": read.version,
        "branch": read.branch,
        "with_row_id": read.with_row_id,
    }
    if read.columns is not None:
        fields["columns"] = {"column_names": list(read.columns)}
    if read.full_text is not None:
        fields["full_text_query"] = _full_text(read.full_text)
    if read.nearest is not None:
        fields |= _nearest(read.nearest, read.limit)
    return query.run(ref.table(), accept(QueryTableRequest, fields))


def _nearest(search: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    fields = {_ALSO_CALLED.get(key, key): value for key, value in search.items()}
    unknown = sorted(fields.keys() - _OF_NEAREST)
    if unknown:
        raise InvalidInputError(
            f"{OWNER}: nearest has no {unknown[0]!r}. It takes: {', '.join(sorted(_OF_NEAREST | _ALSO_CALLED.keys()))}."
        )
    vector = fields.get("vector")
    if not isinstance(vector, list) or not vector:
        raise InvalidInputError(f"{OWNER}: nearest needs the vector to search for, as a list of numbers.")
    several = isinstance(vector[0], list)
    fields["vector"] = {"multi_vector": vector} if several else {"single_vector": vector}
    return {"k": limit or _K, **fields}


def _full_text(search: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(search.get("query"), str):
        return {"string_query": dict(search)}
    return {"structured_query": {"query": dict(search)}}
