"""A table's Arrow schema as Glue shows it: columns of Hive's types, and what they cannot hold in a parameter.

Athena and the Glue console read the columns. A column whose type Hive has no word for is not among them; it stands
in the parameter, as does everything that a column loses: sizes of vectors, units, signs, nullability, metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_urllib3_client.models.json_arrow_field import JsonArrowField

from lanceway.tables.schema import arrow_json

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

# The parameter: a list of [position, the column's type in Glue or null, the field as the contract writes it].
PARAMETER = "lanceway.arrow-fields"
_LONGEST_NAME, _LONGEST_TYPE, _LONGEST_PARAMETER = 255, 131_072, 512_000

# By the name that pyarrow prints. Unsigned ones take the next larger word.
_WORDS: Mapping[str, str] = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "halffloat": "float",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "string_view": "string",
    "binary": "binary",
    "large_binary": "binary",
    "binary_view": "binary",
    "date32[day]": "date",
    "date64[ms]": "date",
}
_ARROW: Mapping[str, str] = {
    "boolean": "bool_",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "integer": "int32",
    "bigint": "int64",
    "float": "float32",
    "real": "float32",
    "double": "float64",
    "string": "string",
    "binary": "binary",
    "date": "date32",
}
_LARGEST_PRECISION = 38
# A name inside a struct stands bare between the signs of the grammar.
_BARE = re.compile(r"[^\s,:<>()`]+")
_TOKEN = re.compile(r"\s*([^\s,:<>()]+|[,:<>()])")


def hive_type(type_: pa.DataType) -> str | None:
    """Return Hive's word for an Arrow type, None if it has no word."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return hive_type(type_.storage_type)
    if types.is_dictionary(type_):
        return hive_type(type_.value_type)
    if types.is_decimal(type_):
        fits = type_.precision <= _LARGEST_PRECISION and 0 <= type_.scale <= type_.precision
        return f"decimal({type_.precision},{type_.scale})" if fits else None
    if types.is_timestamp(type_):
        return "timestamp"
    if types.is_fixed_size_binary(type_):
        return "binary"
    return _nested(type_) if types.is_nested(type_) else _WORDS.get(str(type_))


def _nested(type_: pa.DataType) -> str | None:
    import pyarrow as pa

    types = pa.types
    if types.is_struct(type_):
        return _struct(type_)
    if types.is_map(type_):
        key, value = hive_type(type_.key_type), hive_type(type_.item_type)
        return f"map<{key},{value}>" if key and value else None
    if isinstance(
        type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType
    ):
        item = hive_type(type_.value_type)
        return f"array<{item}>" if item else None
    return None


def _struct(type_: pa.StructType) -> str | None:
    fields = [(field.name, hive_type(field.type)) for field in type_]
    if not fields or not all(inner and _BARE.fullmatch(name) for name, inner in fields):
        return None
    return f"struct<{','.join(f'{name}:{inner}' for name, inner in fields)}>"


def arrow_type(text: str) -> pa.DataType | None:
    """Return the Arrow type that Hive's word means, None for a word that cannot be read or has no type in Arrow."""
    reader = _Reader(text)
    try:
        type_ = reader.type()
    except (IndexError, KeyError, ValueError):
        return None
    return type_ if reader.is_done else None


class _Reader:
    """Read a type from the left. Text that does not fit raises IndexError, KeyError or ValueError."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._tokens)

    def _take(self, *expected: str) -> str:
        token: str = self._tokens[self._at]
        if expected and token not in expected:
            raise ValueError(token)
        self._at += 1
        return token

    def type(self) -> pa.DataType:
        import pyarrow as pa

        name = self._take().lower()
        if name == "array":
            return pa.list_(*self._between(self.type))
        if name == "map":
            return pa.map_(*self._between(self.type))
        if name == "struct":
            return pa.struct(self._between(self._field))
        if name == "decimal":
            return pa.decimal128(*self._numbers() or (10, 0))
        if name in ("char", "varchar"):
            self._numbers()
            return pa.string()
        return pa.timestamp("us") if name == "timestamp" else getattr(pa, _ARROW[name])()

    def _between(self, part: Callable[[], Any], opening: str = "<", closing: str = ">") -> list[Any]:
        self._take(opening)
        parts = [part()]
        while self._take(",", closing) == ",":
            parts.append(part())
        return parts

    def _field(self) -> pa.Field:
        import pyarrow as pa

        name = self._take()
        self._take(":")
        return pa.field(name, self.type())

    def _numbers(self) -> list[int]:
        if self.is_done or self._tokens[self._at] != "(":
            return []
        return self._between(lambda: int(self._take()), "(", ")")


def to_columns(schema: pa.Schema) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Return the columns for Glue, and the parameter with the fields that columns cannot hold, if there are any."""
    columns: list[dict[str, str]] = []
    remaining: list[tuple[int, str | None, Any]] = []
    names: set[str] = set()
    for position, (field, json_field) in enumerate(zip(schema, arrow_json.schema(schema).fields, strict=True)):
        word = _column_type(field, names)
        if word is not None:
            columns.append({"Name": field.name, "Type": word})
            names.add(field.name.lower())
        if word is None or not _is_lossless(field, word):
            remaining.append((position, word, json_field.model_dump(mode="json", exclude_none=True)))
    text = json.dumps(remaining, separators=(",", ":"))
    # Too much for Glue is left out: the columns are still true, and the dataset knows everything.
    return columns, {PARAMETER: text} if remaining and len(text) <= _LONGEST_PARAMETER else {}


def _column_type(field: pa.Field, names: set[str]) -> str | None:
    """Return the type of the column, None if the field cannot be one. Names that differ in case alone are the same."""
    if not 1 <= len(field.name) <= _LONGEST_NAME or not field.name.isprintable() or field.name.lower() in names:
        return None
    word = hive_type(field.type)
    return word if word is not None and len(word) <= _LONGEST_TYPE else None


def _is_lossless(field: pa.Field, word: str) -> bool:
    import pyarrow as pa

    return bool(field.equals(pa.field(field.name, arrow_type(word) or pa.null()), check_metadata=True))


def to_schema(columns: Sequence[Mapping[str, Any]], parameters: Mapping[str, str]) -> JsonArrowSchema | None:
    """Return the schema that Glue shows, None where it shows none or some column's type cannot be read.

    Other tools change the columns, so a column wins that has another type than the parameter says.
    """
    import pyarrow as pa

    remaining = _remaining(parameters)
    by_name = {json_field["name"]: (word, json_field) for _, word, json_field in remaining if word is not None}
    fields: list[Any] = []
    for column in columns:
        name, type_ = column["Name"], column.get("Type", "")
        word, json_field = by_name.get(name, (None, None))
        if word == type_:
            fields.append(JsonArrowField.from_dict(json_field))
            continue
        arrow = arrow_type(type_)
        if arrow is None:
            return None
        fields.append(arrow_json.schema(pa.schema([(name, arrow)])).fields[0])
    for position, word, field in remaining:
        if word is None:
            fields.insert(position, JsonArrowField.from_dict(field))
    return _schema(fields)


def _schema(fields: list[Any]) -> JsonArrowSchema | None:
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

    return JsonArrowSchema(fields=fields) if fields else None


def _remaining(parameters: Mapping[str, str]) -> list[tuple[int, str | None, dict[str, Any]]]:
    """Return the fields in the parameter; none if another tool has broken it."""
    try:
        rows = json.loads(parameters.get(PARAMETER, "[]"))
        return [(int(position), word, dict(field, name=str(field["name"]))) for position, word, field in rows]
    except (KeyError, TypeError, ValueError):
        return []
