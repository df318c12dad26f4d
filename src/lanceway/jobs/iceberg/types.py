"""How the types of a Lance table and of an Iceberg table map to each other, as Arrow schemas.

What Iceberg has no type for becomes the next wider one: an unsigned number a longer one, a vector a list. The schema
of the Lance table is written into a property of the Iceberg table, so that an import restores its types. Values are
never rounded or cut: one that does not fit ends the job.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.tables.schema import reserved

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.schema import Schema

# Of an Iceberg table: the schema of the Lance table that it was exported from, as Arrow's IPC format in base64.
ARROW_SCHEMA = "lanceway.arrow-schema"
_DOC = b"doc"  # what pyiceberg calls the comment of a column, in the metadata of an Arrow field
_INT, _LONG = 32, 64
_MOST_DIGITS = 38
_UNSIGNED_DIGITS = 20  # of the largest unsigned number of 64 bits
# More bytes than these are not put into one batch: offsets of texts and lists have 31 bits.
_LARGEST_BATCH = 2**30


@dataclass(frozen=True)
class TypeMapping:
    """A table's schema in both worlds, column by column in the same order."""

    lance: pa.Schema
    iceberg: pa.Schema
    schema: Schema  # Iceberg's own

    @classmethod
    def of_lance(cls, schema: pa.Schema) -> TypeMapping:
        """Map the schema of a Lance table. Raises InvalidInputError for what Iceberg cannot hold."""
        import pyarrow as pa
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
        from pyiceberg.schema import assign_fresh_schema_ids

        iceberg = pa.schema([_iceberg_field(field, field.name) for field in schema])
        try:
            columns = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(iceberg))
            columns.highest_field_id, columns.find_column_name(1)  # which look for names that are there twice
        except (ValueError, ValidationError) as error:
            raise InvalidInputError(f"The table has columns that Iceberg cannot hold: {error}. Rename them.") from error
        return cls(schema, iceberg, columns)

    @classmethod
    def of_iceberg(cls, schema: Schema, properties: Mapping[str, str]) -> TypeMapping:
        """Map the schema of an Iceberg table. Columns that an export recorded get their own types back.

        Raises InvalidInputError for a type that Lance cannot hold.
        """
        import pyarrow as pa
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        _refuse_unheld(schema)
        iceberg = schema_to_pyarrow(schema, include_field_ids=False)
        recorded = {field.name: field for field in _recorded(properties)}
        fields = [_lance_field(field, recorded.get(field.name)) for field in iceberg]
        return cls(reserved.cleaned(pa.schema(fields)), iceberg, schema)

    @property
    def columns(self) -> list[dict[str, str]]:
        """Return every column with its type in both worlds."""
        pairs = zip(self.lance, self.schema.fields, strict=True)
        return [
            {"column": lance.name, "lance": str(lance.type), "iceberg": str(own.field_type)} for lance, own in pairs
        ]

    def recorded(self) -> dict[str, str]:
        """Return the property that lets an import restore the types; none where it would find them by itself."""
        import pyarrow as pa

        restored = pa.schema([_restorable(field) for field in self.lance])
        fields = [_lance_field(field, None) for field in self.iceberg]
        if pa.schema(fields).equals(restored, check_metadata=True):
            return {}
        return {ARROW_SCHEMA: base64.b64encode(restored.serialize().to_pybytes()).decode()}

    def to_iceberg(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with Iceberg's types. Raises InvalidInputError for a value that does not fit."""
        return _cast(batch, self.iceberg, "Iceberg")

    def to_lance(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield rows with Lance's types. Raises InvalidInputError for a value that does not fit."""
        if batch.nbytes > _LARGEST_BATCH and batch.num_rows > 1:
            half = batch.num_rows // 2
            yield from self.to_lance(batch.slice(0, half))
            yield from self.to_lance(batch.slice(half))
        else:
            yield _cast(batch, self.lance, "Lance")


def _cast(batch: pa.RecordBatch, schema: pa.Schema, world: str) -> pa.RecordBatch:
    import pyarrow as pa

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidInputError(
                f"The column {field.name!r} holds a value that does not fit {field.type}, its type in {world}: "
                f"{' '.join(str(error).split())}. Change the value or the type of the column, and begin again."
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


# -- from Lance to Iceberg ---------------------------------------------------------------------------


def _iceberg_field(field: pa.Field, path: str, *, within_null: bool = False) -> pa.Field:
    import pyarrow as pa

    comment = {key: value for key, value in (field.metadata or {}).items() if key == _DOC}
    nullable = field.nullable or within_null
    return pa.field(field.name, _iceberg_type(field.type, path, nullable), nullable, comment or None)


def _iceberg_type(type_: pa.DataType, path: str, nullable: bool) -> pa.DataType:
    """Return the type that values have in Iceberg.

    What is required inside a struct that may be null is optional there: pyiceberg cannot write it otherwise.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(type_):
        return _iceberg_type(type_.value_type, path, nullable)
    if isinstance(type_, pa.BaseExtensionType):
        return _extension(type_, path)
    if types.is_struct(type_) and type_.num_fields:
        return pa.struct([_iceberg_field(field, f"{path}.{field.name}", within_null=nullable) for field in type_])
    if types.is_map(type_):
        key = pa.field("key", _iceberg_type(type_.key_type, f"{path}.key", False), nullable=False)
        optional = type_.item_field.nullable
        value = pa.field("value", _iceberg_type(type_.item_type, f"{path}.value", optional), optional)
        return pa.map_(key, value)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        optional = type_.value_field.nullable
        return pa.large_list(
            pa.field("element", _iceberg_type(type_.value_type, f"{path}.element", optional), optional)
        )
    return _primitive(type_, path)


def _extension(type_: pa.DataType, path: str) -> pa.DataType:
    import pyarrow as pa

    if type_ == pa.uuid():
        return type_
    if isinstance(type_, pa.JsonType):
        return pa.large_string()
    raise _refusal(path, type_, "extension types, except UUIDs and JSON, have no counterpart there")


def _primitive(type_: pa.DataType, path: str) -> pa.DataType:
    import pyarrow as pa

    types = pa.types
    if types.is_integer(type_):
        bits = type_.bit_width * (2 if types.is_unsigned_integer(type_) else 1)
        return pa.int32() if bits <= _INT else pa.int64() if bits <= _LONG else pa.decimal128(_UNSIGNED_DIGITS, 0)
    if types.is_decimal(type_):
        if not (type_.precision <= _MOST_DIGITS and 0 <= type_.scale <= type_.precision):
            raise _refusal(
                path, type_, f"decimals have at most {_MOST_DIGITS} digits there, and as many after the point"
            )
        return pa.decimal128(type_.precision, type_.scale)
    if types.is_timestamp(type_):
        return pa.timestamp("us", None if type_.tz is None else "UTC")
    for is_a, iceberg in _simple():
        if is_a(type_):
            return iceberg
    if types.is_fixed_size_binary(type_) or types.is_boolean(type_):
        return type_
    raise _refusal(path, type_, "it has no such type")


def _simple() -> list[tuple[Callable[[pa.DataType], bool], pa.DataType]]:
    import pyarrow as pa

    types = pa.types
    return [
        (types.is_float16, pa.float32()),
        (types.is_float32, pa.float32()),
        (types.is_float64, pa.float64()),
        (types.is_date, pa.date32()),
        (types.is_time, pa.time64("us")),
        (types.is_duration, pa.int64()),
        *((is_text, pa.large_string()) for is_text in (types.is_string, types.is_large_string, types.is_string_view)),
        *((is_bytes, pa.large_binary()) for is_bytes in (types.is_binary, types.is_large_binary, types.is_binary_view)),
    ]


def _refusal(path: str, type_: pa.DataType, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"The column {path!r} is {type_}, which Iceberg cannot hold: {reason}. Export a table without it, or with "
        "another type."
    )


# -- from Iceberg to Lance ---------------------------------------------------------------------------


def _lance_field(field: pa.Field, recorded: pa.Field | None) -> pa.Field:
    comment = {key: value for key, value in (field.metadata or {}).items() if key == _DOC}
    if recorded is not None and _leads_to(recorded, field):
        kept = {key: value for key, value in (recorded.metadata or {}).items() if key != _DOC}
        return field.with_type(recorded.type).with_metadata({**kept, **comment} or None)
    return field.with_type(_plain(field.type)).with_metadata(comment or None)


def _leads_to(recorded: pa.Field, field: pa.Field) -> bool:
    """Return whether a column has the type still that it was exported with."""
    try:
        return bool(_iceberg_type(recorded.type, recorded.name, field.nullable) == field.type)
    except InvalidInputError:
        return False


def _plain(type_: pa.DataType) -> pa.DataType:
    """Return the type that Lance is given: Iceberg's, with the offsets that tables usually have."""
    import pyarrow as pa

    types = pa.types
    if types.is_large_string(type_):
        return pa.string()
    if types.is_large_binary(type_):
        return pa.binary()
    if types.is_large_list(type_):
        element = type_.value_field
        return pa.list_(pa.field("item", _plain(element.type), element.nullable))
    if types.is_struct(type_):
        return pa.struct([pa.field(field.name, _plain(field.type), field.nullable) for field in type_])
    if types.is_map(type_):
        key, value = type_.key_field, type_.item_field
        return pa.map_(
            pa.field("key", _plain(key.type), nullable=False), pa.field("value", _plain(value.type), value.nullable)
        )
    return type_


def _restorable(field: pa.Field, *, within_null: bool = False) -> pa.Field:
    """Return a field as an import can make it again: without dictionaries, and optional where Iceberg has it so."""
    nullable = field.nullable or within_null
    return field.with_type(_restorable_type(field.type, nullable)).with_nullable(nullable)


def _restorable_type(type_: pa.DataType, nullable: bool) -> pa.DataType:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(type_):
        return _restorable_type(type_.value_type, nullable)
    if types.is_struct(type_):
        return pa.struct([_restorable(field, within_null=nullable) for field in type_])
    if types.is_fixed_size_list(type_):
        return pa.list_(_restorable(type_.value_field), type_.list_size)
    if types.is_list(type_):
        return pa.list_(_restorable(type_.value_field))
    if types.is_large_list(type_):
        return pa.large_list(_restorable(type_.value_field))
    if types.is_map(type_):
        return pa.map_(_restorable(type_.key_field), _restorable(type_.item_field))
    return type_


def _refuse_unheld(schema: Schema) -> None:
    from pyiceberg.schema import index_by_id
    from pyiceberg.types import GeographyType, GeometryType, StructType

    for field in index_by_id(schema).values():
        type_ = field.field_type
        if isinstance(type_, GeometryType | GeographyType) or (isinstance(type_, StructType) and not type_.fields):
            raise InvalidInputError(
                f"The column {schema.find_column_name(field.field_id)!r} is {type_}, which Lance cannot hold. Import a "
                "table without it, or with another type."
            )


def _recorded(properties: Mapping[str, str]) -> pa.Schema:
    """Return the schema that an export wrote down; one without columns where there is none, or it cannot be read."""
    import pyarrow as pa

    text = properties.get(ARROW_SCHEMA)
    try:
        return pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text or "", validate=True)))
    except (pa.ArrowException, OSError, ValueError, binascii.Error):  # anyone may set a property
        return pa.schema([])
