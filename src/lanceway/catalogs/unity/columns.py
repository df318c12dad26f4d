"""A table's Arrow schema as Unity shows it: columns of Spark's types, and what those lose in their metadata.

Spark writes a type as JSON: a word, or an object for an array, a map or a struct. Unity's `type_text` and `type_name`
follow from that JSON alone. Properties in Unity hold 255 characters, so what is lost stands in the metadata of a
column's `type_json`, which is Spark's form of a field and may hold anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lance_namespace_urllib3_client.models.json_arrow_field import JsonArrowField
from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema
from pydantic import ValidationError

from lanceway.tables.schema import arrow_json
from lanceway.tables.schema.fields import is_blob_type

if TYPE_CHECKING:
    import pyarrow as pa

# A type as Spark writes it.
Spark = str | dict[str, Any]

# lance-spark's own key for the size of a vector, so that Spark gets the vector back.
VECTOR_SIZE = "arrow.fixed-size-list.size"
# In a field's metadata: the field as the contract writes it, where Spark's form loses some of it.
ARROW = "lanceway.arrow-field"
_EXTENSION = "ARROW:extension:name"
# For a type that Spark has no word for.
OPAQUE = "string"
_INTERVAL = "interval day to second"

# By the name that pyarrow prints. Unsigned ones take the next larger word.
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "null": "void",
        "bool": "boolean",
        "int8": "byte",
        "int16": "short",
        "int32": "integer",
        "int64": "long",
        "uint8": "short",
        "uint16": "integer",
        "uint32": "long",
        "uint64": "decimal(20,0)",
        "halffloat": "float",
        "float": "float",
        "double": "double",
        **dict.fromkeys(("string", "large_string", "string_view"), "string"),
        **dict.fromkeys(("binary", "large_binary", "binary_view"), "binary"),
        **dict.fromkeys(("date32[day]", "date64[ms]"), "date"),
    }
)
# A word of Spark, with what Unity writes for it: its text in SQL, and its name.
_UNITY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "void": ("void", "NULL"),
        "boolean": ("boolean", "BOOLEAN"),
        "byte": ("tinyint", "BYTE"),
        "short": ("smallint", "SHORT"),
        "integer": ("int", "INT"),
        "long": ("bigint", "LONG"),
        "float": ("float", "FLOAT"),
        "double": ("double", "DOUBLE"),
        "string": ("string", "STRING"),
        "binary": ("binary", "BINARY"),
        "date": ("date", "DATE"),
        "timestamp": ("timestamp", "TIMESTAMP"),
        "timestamp_ntz": ("timestamp_ntz", "TIMESTAMP_NTZ"),
        _INTERVAL: (_INTERVAL, "INTERVAL"),
    }
)
_ARROW: Mapping[str, str] = MappingProxyType(
    {
        "void": "null",
        "boolean": "bool_",
        "byte": "int8",
        "short": "int16",
        "integer": "int32",
        "long": "int64",
        "float": "float32",
        "double": "float64",
        "string": "string",
        "binary": "binary",
        "date": "date32",
    }
)
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT = re.compile(r"(?:var)?char\(\d+\)")
_BARE = re.compile(r"\w+")
_LARGEST_PRECISION = 38
_NO_METADATA: Mapping[bytes, bytes] = MappingProxyType({})


# -- Arrow to Spark ------------------------------------------------------------------------------


def spark_field(field: pa.Field) -> dict[str, Any]:
    """Return a field as Spark writes it. Metadata holds texts, and the size of a vector as a number."""
    metadata: dict[str, Any] = {_text(key): _text(value) for key, value in (field.metadata or _NO_METADATA).items()}
    size = getattr(_plain(field.type), "list_size", None)
    if size is not None:
        metadata[VECTOR_SIZE] = size
    return {"name": field.name, "type": spark_type(field.type), "nullable": field.nullable, "metadata": metadata}


def spark_type(type_: pa.DataType) -> Spark:
    """Return Spark's type for any of Arrow's; `string` where Spark has no such type."""
    import pyarrow as pa

    types, type_ = pa.types, _plain(type_)
    if types.is_decimal(type_):
        fits = type_.precision <= _LARGEST_PRECISION and 0 <= type_.scale <= type_.precision
        return f"decimal({type_.precision},{type_.scale})" if fits else OPAQUE
    if types.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if types.is_duration(type_):
        return _INTERVAL
    if types.is_fixed_size_binary(type_):
        return "binary"
    return _nested(type_) if types.is_nested(type_) else _WORDS.get(str(type_), OPAQUE)


def _nested(type_: pa.DataType) -> Spark:
    import pyarrow as pa

    if pa.types.is_struct(type_):
        return {"type": "struct", "fields": [spark_field(field) for field in type_]}
    if pa.types.is_map(type_):
        key, value = type_.key_field, type_.item_field
        return {
            "type": "map",
            "keyType": spark_type(key.type),
            "valueType": spark_type(value.type),
            "valueContainsNull": value.nullable,
        }
    if isinstance(
        type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType
    ):
        item = type_.value_field
        return {"type": "array", "elementType": spark_type(item.type), "containsNull": item.nullable}
    return OPAQUE


def _plain(type_: pa.DataType) -> pa.DataType:
    """Return what a type is made of: an extension's storage, a dictionary's values, the bytes of a blob."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        if is_blob_type(type_):
            return pa.large_binary()
        return _plain(type_.storage_type)
    return _plain(type_.value_type) if pa.types.is_dictionary(type_) else type_


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


# -- Unity's texts for Spark's types -------------------------------------------------------------


def type_text(spark: Spark) -> str:
    """Return a type as SQL writes it: `array<float>`."""
    if isinstance(spark, str):
        return _UNITY[spark][0] if spark in _UNITY else spark
    if spark["type"] == "array":
        return f"array<{type_text(spark['elementType'])}>"
    if spark["type"] == "map":
        return f"map<{type_text(spark['keyType'])},{type_text(spark['valueType'])}>"
    return f"struct<{','.join(_named(field) for field in spark['fields'])}>"


def _named(field: Mapping[str, Any]) -> str:
    name = field["name"]
    quoted = name if _BARE.fullmatch(name) else "`" + name.replace("`", "``") + "`"
    return f"{quoted}:{type_text(field['type'])}"


def type_name(spark: Spark) -> str:
    if isinstance(spark, dict):
        return str(spark["type"]).upper()
    return _UNITY[spark][1] if spark in _UNITY else "DECIMAL"


def precision(spark: Spark) -> tuple[int, int] | None:
    """Return the precision and scale of a decimal, None for another type."""
    decimal = _DECIMAL.fullmatch(spark) if isinstance(spark, str) else None
    return (int(decimal[1]), int(decimal[2])) if decimal else None


# -- Spark to Arrow ------------------------------------------------------------------------------


def arrow_field(spark: Mapping[str, Any]) -> pa.Field:
    """Return the Arrow field for Spark's. Raises KeyError, TypeError or ValueError for one that cannot be read."""
    import pyarrow as pa

    metadata = dict(spark.get("metadata") or {})
    size = metadata.pop(VECTOR_SIZE, None)
    type_ = arrow_type(spark["type"])
    if size is not None and pa.types.is_list(type_):
        type_ = pa.list_(type_.value_field, int(size))
    texts = {str(key): value if isinstance(value, str) else str(value) for key, value in metadata.items()}
    return pa.field(str(spark["name"]), type_, bool(spark.get("nullable", True)), texts or None)


def arrow_type(spark: Spark) -> pa.DataType:
    import pyarrow as pa

    if isinstance(spark, str):
        return _arrow_word(spark)
    if spark["type"] == "array":
        return pa.list_(pa.field("item", arrow_type(spark["elementType"]), bool(spark.get("containsNull", True))))
    if spark["type"] == "map":
        item = pa.field("value", arrow_type(spark["valueType"]), bool(spark.get("valueContainsNull", True)))
        return pa.map_(arrow_type(spark["keyType"]), item)
    if spark["type"] == "struct":
        return pa.struct([arrow_field(field) for field in spark["fields"]])
    raise ValueError(spark["type"])


def _arrow_word(word: str) -> pa.DataType:
    import pyarrow as pa

    digits = precision(word)
    if digits:
        return pa.decimal128(*digits)
    if _TEXT.fullmatch(word):
        return pa.string()
    if word in ("timestamp", "timestamp_ntz"):
        return pa.timestamp("us", "UTC" if word == "timestamp" else None)
    return pa.duration("us") if word == _INTERVAL else getattr(pa, _ARROW[word])()


# -- columns -------------------------------------------------------------------------------------


def to_columns(schema: pa.Schema) -> list[dict[str, Any]]:
    """Return the columns for Unity."""
    return [_column(position, field) for position, field in enumerate(schema)]


def _column(position: int, field: pa.Field) -> dict[str, Any]:
    spark = spark_field(field)
    if not _is_lossless(field, spark):
        spark["metadata"][ARROW] = json.dumps(_json_field(field), separators=(",", ":"))
    column = {
        "name": field.name,
        "type_text": type_text(spark["type"]),
        "type_json": json.dumps(spark, separators=(",", ":")),
        "type_name": type_name(spark["type"]),
        "position": position,
        "nullable": field.nullable,
    }
    digits = precision(spark["type"])
    return {**column, "type_precision": digits[0], "type_scale": digits[1]} if digits else column


def _is_lossless(field: pa.Field, spark: Mapping[str, Any]) -> bool:
    """Return whether Spark's form of a field loses nothing."""
    return bool(field.equals(arrow_field(spark), check_metadata=True))


def _json_field(field: pa.Field) -> dict[str, Any]:
    """Return the field in the contract's JSON, an extension with its name, as Arrow's own files have it."""
    import pyarrow as pa

    model = arrow_json.schema(pa.schema([field])).fields[0]
    json_field: dict[str, Any] = model.model_dump(mode="json", exclude_none=True)
    if isinstance(field.type, pa.BaseExtensionType):
        json_field["metadata"] = {**json_field.get("metadata", {}), _EXTENSION: field.type.extension_name}
    return json_field


def to_schema(columns: Sequence[Mapping[str, Any]]) -> JsonArrowSchema | None:
    """Return the schema that Unity shows, None where it shows none or a column cannot be read."""
    ordered = sorted(columns, key=lambda column: column.get("position") or 0)
    try:
        fields = [_read(json.loads(column["type_json"])) for column in ordered]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError, ValidationError):
        return None
    return JsonArrowSchema(fields=fields) if fields else None


def _read(spark: dict[str, Any]) -> Any:
    import pyarrow as pa

    metadata = dict(spark.get("metadata") or {})
    json_field = metadata.pop(ARROW, None)
    if json_field is not None:
        return JsonArrowField.from_dict(json.loads(json_field))
    return arrow_json.schema(pa.schema([arrow_field(spark)])).fields[0]
