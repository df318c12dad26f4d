"""Indices: made, listed, described, dropped.

An option that an index type does not have (`num_sub_vectors` of a B-tree) is ignored, because
clients send their defaults along.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import lance_namespace as ln
from lance_namespace_urllib3_client.models.index_content import IndexContent

from lanceway.errors import InvalidInputError, TableIndexAlreadyExistsError, TableIndexNotFoundError
from lanceway.tables import expressions
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import translated
from lanceway.tables.read import search
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.lance.indices import IndexDescription

_VECTOR = ("IVF_FLAT", "IVF_HNSW_FLAT", "IVF_HNSW_PQ", "IVF_HNSW_SQ", "IVF_PQ", "IVF_RQ", "IVF_SQ")
_TEXT = ("FTS", "INVERTED")
_SCALAR = ("BITMAP", "BLOOMFILTER", "BTREE", "LABEL_LIST", "MINHASHLSH", "NGRAM", "RTREE", "ZONEMAP")
_SPELLINGS = {name.replace("_", ""): name for name in (*_VECTOR, *_TEXT, *_SCALAR)}
_TEXT_OPTIONS = (
    "with_position",
    "base_tokenizer",
    "language",
    "max_token_length",
    "lower_case",
    "stem",
    "remove_stop_words",
    "ascii_folding",
)
# Those of `ReplacingIndexRequest` alone.
_MORE_TEXT_OPTIONS = ("custom_stop_words", "min_ngram_length", "max_ngram_length", "prefix_only")
# The contract's name of a vector index's option, and pylance's.
_VECTOR_OPTIONS = {
    "num_partitions": "num_partitions",
    "target_partition_size": "target_partition_size",
    "sample_rate": "sample_rate",
    "max_iterations": "max_iters",
}
_HNSW_OPTIONS = {"m": "m", "ef_construction": "ef_construction"}


_NUMBERS = (
    *("num_partitions", "num_sub_vectors", "num_bits", "sample_rate", "max_iterations", "m", "ef_construction"),
    "max_token_length",
)


class ReplacingIndexRequest(ln.CreateTableIndexRequest):
    """An index that may take the place of one of its name, with options of text that the contract does not have."""

    replace: bool = False
    custom_stop_words: list[str] | None = None
    min_ngram_length: int | None = None
    max_ngram_length: int | None = None
    prefix_only: bool | None = None


def create(table: StoredTable, request: ln.CreateTableIndexRequest) -> None:
    """Make an index of any type. Raises TableIndexAlreadyExistsError where its name is taken."""
    _create(table, request, "create_table_index", (*_VECTOR, *_TEXT, *_SCALAR))


def create_scalar(table: StoredTable, request: ln.CreateTableIndexRequest) -> None:
    """Make an index that is no vector index; a full-text index is one of them."""
    _create(table, request, "create_table_scalar_index", (*_TEXT, *_SCALAR))


def _create(table: StoredTable, request: ln.CreateTableIndexRequest, operation: str, kinds: tuple[str, ...]) -> None:
    expressions.check_numbers(operation, request, _NUMBERS)
    dataset = open_at(table, branch=request.branch)
    replace = isinstance(request, ReplacingIndexRequest) and request.replace
    index = prepare(table, dataset, request, operation, kinds, replace=replace)
    with translated(table, operation):
        if index.is_vector:
            dataset.create_index(request.column, index.kind, name=index.name, replace=replace, **index.options)
        else:
            kind = cast("Any", index.kind)
            dataset.create_scalar_index(request.column, kind, name=index.name, replace=replace, **index.options)


class Prepared(NamedTuple):
    """An index that can be made: its type and name, and the options as pylance has them."""

    kind: str
    name: str
    options: dict[str, Any]

    @property
    def is_vector(self) -> bool:
        return self.kind in _VECTOR


def prepare(
    table: StoredTable,
    dataset: lance.LanceDataset,
    request: ln.CreateTableIndexRequest,
    operation: str,
    kinds: tuple[str, ...] = (*_VECTOR, *_TEXT, *_SCALAR),
    *,
    replace: bool = False,
) -> Prepared:
    """Refuse what cannot be made, before anything is. A name that is taken is refused unless it is to be replaced."""
    kind = _kind(request.index_type, operation, kinds)
    field = fields.require(table, dataset.schema, request.column, operation)
    name = request.name or f"{request.column}_idx"
    if not replace:
        _check_free(table, dataset, name, operation)
    if kind in _VECTOR:
        dimension = search.size(field.type)
        if dimension is None:
            _refuse_vector_index(table, field, kind, operation)
        return Prepared(kind, name, _vector_options(request, kind, dimension))
    more = _MORE_TEXT_OPTIONS if isinstance(request, ReplacingIndexRequest) else ()
    options = _options(request, {option: option for option in (*_TEXT_OPTIONS, *more)}) if kind in _TEXT else {}
    return Prepared(kind, name, options)


def _refuse_vector_index(table: StoredTable, field: pa.Field, kind: str, operation: str) -> NoReturn:
    import pyarrow as pa

    is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    instead = "For texts make an FTS index" if is_text else "For other values make a BTREE index"
    raise InvalidInputError(
        f"{operation}: the column {field.name} of {table.name} has the type {field.type}, but an {kind} index needs "
        f"vectors: lists of numbers of one length. {instead}."
    )


def _kind(index_type: str, operation: str, kinds: tuple[str, ...]) -> str:
    kind = _SPELLINGS.get(index_type.replace("_", "").upper())
    if kind not in kinds:
        raise InvalidInputError(
            f"{operation}: the index type is {index_type!r}, but must be one of {', '.join(sorted(kinds))}."
        )
    return kind


def _check_free(table: StoredTable, dataset: lance.LanceDataset, name: str, operation: str) -> None:
    if any(index.name == name for index in _all(table, dataset, operation)):
        raise TableIndexAlreadyExistsError(
            f"{operation}: {table.name} already has an index {name!r}. Drop it first, or give the new one a name."
        )


def _options(request: ln.CreateTableIndexRequest, names: dict[str, str]) -> dict[str, Any]:
    values = {theirs: getattr(request, ours) for ours, theirs in names.items()}
    return {name: value for name, value in values.items() if value is not None}


def _vector_options(request: ln.CreateTableIndexRequest, kind: str, dimension: int) -> dict[str, Any]:
    options = _options(request, _VECTOR_OPTIONS | (_HNSW_OPTIONS if "HNSW" in kind else {}))
    options["metric"] = search.metric(request.distance_type) or "l2"
    if not kind.endswith("FLAT") and request.num_bits is not None:
        options["num_bits"] = request.num_bits
    if kind.endswith("PQ"):
        options["num_sub_vectors"] = request.num_sub_vectors or _sub_vectors(dimension)
    return options


def _sub_vectors(dimension: int) -> int:
    """Return the number of sub-vectors: of 16 numbers each if they divide evenly, else of 8, else one."""
    return next((dimension // size for size in (16, 8) if dimension % size == 0), 1)


def _all(table: StoredTable, dataset: lance.LanceDataset, operation: str) -> list[IndexDescription]:
    with translated(table, operation):
        return list(dataset.describe_indices())


def list_(table: StoredTable, request: ln.ListTableIndicesRequest, after: str | None) -> list[IndexContent]:
    """Return the indices whose names come after `after`, in the order of their names."""
    dataset = open_at(table, version=request.version, branch=request.branch)
    listed = [index for index in _all(table, dataset, "list_table_indices") if after is None or index.name > after]
    with translated(table, "list_table_indices"):
        rows = dataset.count_rows() if listed else 0
    return [_content(index, rows) for index in sorted(listed, key=lambda index: index.name)]


def _content(index: IndexDescription, rows: int) -> IndexContent:
    first = index.segments[0]
    created = [segment.created_at for segment in index.segments if segment.created_at is not None]
    return IndexContent(
        index_name=index.name,
        index_uuid=str(first.uuid),
        columns=list(index.field_names),
        status="done",
        index_type=_friendly(index.index_type),
        type_url=index.type_url,
        num_indexed_rows=index.num_rows_indexed,
        num_unindexed_rows=max(rows - index.num_rows_indexed, 0),
        size_bytes=index.total_size_bytes,
        num_segments=len(index.segments),
        created_at=min(created, default=None),
        index_version=first.index_version,
        index_details=json.dumps(index.details, sort_keys=True),
    )


def _friendly(kind: str) -> str:
    """Return the name under which an index of this type is made."""
    spelling = _SPELLINGS.get(kind.replace("_", "").upper(), kind)
    return "FTS" if spelling == "INVERTED" else spelling


def describe(table: StoredTable, request: ln.DescribeTableIndexStatsRequest) -> ln.DescribeTableIndexStatsResponse:
    dataset = open_at(table, version=request.version, branch=request.branch)
    name = _require(table, dataset, request.index_name, "describe_table_index_stats")
    with translated(table, "describe_table_index_stats"):
        stats = dataset.stats.index_stats(name)
    parts = stats.get("indices") or [{}]
    return ln.DescribeTableIndexStatsResponse(
        distance_type=parts[0].get("metric_type"),
        index_type=_friendly(stats["index_type"]),
        num_indexed_rows=stats["num_indexed_rows"],
        num_unindexed_rows=stats["num_unindexed_rows"],
        num_indices=stats["num_indices"],
    )


def drop(table: StoredTable, request: ln.DropTableIndexRequest) -> None:
    dataset = open_at(table, branch=request.branch)
    name = _require(table, dataset, request.index_name, "drop_table_index")
    with translated(table, "drop_table_index"):
        dataset.drop_index(name)


def _require(table: StoredTable, dataset: lance.LanceDataset, name: str | None, operation: str) -> str:
    if not name:
        raise InvalidInputError(f"{operation} on {table.name} needs index_name, the name of an index.")
    names = sorted(index.name for index in _all(table, dataset, operation))
    if name not in names:
        choices = f"It has: {', '.join(names)}." if names else "It has none."
        raise TableIndexNotFoundError(f"{operation}: {table.name} has no index {name!r}. {choices}")
    return name
