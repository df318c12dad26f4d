"""Arrow types in Spark's words, which are Unity's, and back.

Spark writes a type as JSON: a word, or an object for an array, a map or a struct. Unity's `type_text` and `type_name`
follow from that JSON alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lanceway.tables.schema.fields import is_blob_type

if TYPE_CHECKING:
    import pyarrow as pa

# A type as Spark writes it.
Spark = str | dict[str, Any]

# lance-spark's own key for the size of a vector, so that Spark gets the vector back.
VECTOR_SIZE = "arrow.fixed-size-list.size"
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


# -- written -------------------------------------------------------------------------------------


def spark_field(field: pa.Field) -> dict[str, Any]:
    """A field as Spark writes it. Metadata holds texts, and the size of a vector as a number."""
    metadata: dict[str, Any] = {_text(key): _text(value) for key, value in (field.metadata or _NO_METADATA).items()}
    size = getattr(_plain(field.type), "list_size", None)
    if size is not None:
        metadata[VECTOR_SIZE] = size
    return {"name": field.name, "type": spark_type(field.type), "nullable": field.nullable, "metadata": metadata}


def spark_type(type_: pa.DataType) -> Spark:
    """Spark's type for any of Arrow's; where it has none, a string stands for it."""
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
    """What a type is made of: an extension's storage, a dictionary's values. Of a blob, readers want its bytes."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        if is_blob_type(type_):
            return pa.large_binary()
        return _plain(type_.storage_type)
    return _plain(type_.value_type) if pa.types.is_dictionary(type_) else type_


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


# -- Unity's two other words for it --------------------------------------------------------------


def type_text(spark: Spark) -> str:
    """As SQL writes it: `array<float>`."""
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
    """The precision and scale of a decimal, None for what is none."""
    found = _DECIMAL.fullmatch(spark) if isinstance(spark, str) else None
    return (int(found[1]), int(found[2])) if found else None


# -- read ----------------------------------------------------------------------------------------


def arrow_field(spark: Mapping[str, Any]) -> pa.Field:
    """The Arrow field that Spark's means. Raises KeyError, TypeError or ValueError for what cannot be read."""
    import pyarrow as pa

    metadata = dict(spark.get("metadata") or {})
    size = metadata.pop(VECTOR_SIZE, None)
    type_ = arrow_type(spark["type"])
    if size is not None and pa.types.is_list(type_):
        type_ = pa.list_(type_.value_field, int(size))
    told = {str(key): value if isinstance(value, str) else str(value) for key, value in metadata.items()}
    return pa.field(str(spark["name"]), type_, bool(spark.get("nullable", True)), told or None)


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
