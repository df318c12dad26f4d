"""Keys of metadata and properties that are Lanceway's own: no client sets them, in whatever part of a request.

Some say what a job runs, so to set one would be to let a worker run it. A request that sets one is refused. Arrow data
may have them without any intent, since rows that were read from a table have its schema: there they are left out.
Where a client commits a manifest of its own they cannot be refused; a lake goes by its rows, and never by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

# Views and computed columns; properties of transactions; versions that the lake makes to take a number.
KEYS = ("lanceway.view", "lanceway.computed", "lanceway.virtual", "lanceway.transaction", "lanceway.barred")
# The fields of requests whose keys become metadata or properties.
_MAPS = frozenset({"properties", "metadata", "field_metadata"})


def is_reserved(key: str) -> bool:
    return key.startswith("lanceway.") and any(key == reserved or key.startswith(f"{reserved}.") for reserved in KEYS)


def refuse_request(request: BaseModel) -> None:
    """Refuse a request that sets a reserved key anywhere in it."""
    if _may_hold(type(request)):
        _refuse(type(request).__name__, _keys(request))


def without(data: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return data without the reserved keys in its metadata and in that of its fields, at any depth."""
    import pyarrow as pa

    schema = cleaned(data.schema)
    if schema.equals(data.schema, check_metadata=True):
        return data
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in data)
    return pa.RecordBatchReader.from_batches(schema, batches)


def cleaned(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the reserved keys in its metadata and in that of its fields, at any depth."""
    import pyarrow as pa

    return pa.schema([_cleaned_field(field) for field in schema], _free(schema.metadata))


def _refuse(what: str, keys: Iterable[str]) -> None:
    for key in keys:
        if is_reserved(key):
            raise InvalidInputError(
                f"{what}: the key {key!r} is reserved: Lanceway sets it itself, and clients cannot. Leave it out of "
                "properties and metadata, those of an Arrow schema and its fields too. Views are made with "
                "create_materialized_view, computed and virtual columns with alter_table_add_columns."
            )


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            part = getattr(value, name)
            if name in _MAPS and isinstance(part, dict):
                yield from part
            elif name == "key" and isinstance(part, str):  # of a property that is set on a transaction
                yield part
            else:
                yield from _keys(part)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


@cache
def _may_hold(model: type[BaseModel]) -> bool:
    """Return whether a request has such fields at any depth: most have none, and cost nothing."""
    return any(
        name in _MAPS or name == "key" or any(map(_may_hold, _models(field.annotation)))
        for name, field in model.model_fields.items()
        if name not in ("identity", "context")
    )


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        # Types of columns, and conditions of searches, hold others of their own kind.
        if annotation.__name__ not in _RECURSIVE:
            yield annotation
        return
    for argument in get_args(annotation):
        yield from _models(argument)


_RECURSIVE = frozenset({"FtsQuery", "StructuredFtsQuery", "BooleanQuery", "BoostQuery"})


def _cleaned_field(field: pa.Field) -> pa.Field:
    import pyarrow as pa

    return pa.field(field.name, _cleaned_type(field.type), field.nullable, _free(field.metadata))


def _cleaned_type(type_: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_struct(type_):
        return pa.struct([_cleaned_field(type_.field(number)) for number in range(type_.num_fields)])
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_cleaned_field(type_.value_field), type_.list_size)
    if pa.types.is_list(type_):
        return pa.list_(_cleaned_field(type_.value_field))
    if pa.types.is_large_list(type_):
        return pa.large_list(_cleaned_field(type_.value_field))
    if pa.types.is_map(type_):
        return pa.map_(_cleaned_field(type_.key_field), _cleaned_field(type_.item_field), type_.keys_sorted)
    return type_


def _free(metadata: Any) -> dict[bytes, bytes] | None:
    """Return the metadata without the keys that are reserved."""
    if not metadata:
        return None
    return {key: value for key, value in metadata.items() if not is_reserved(key.decode(errors="replace"))} or None
