"""Arrow types in the words of Glue and Athena, which are Hive's, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

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


def word(type_: pa.DataType) -> str | None:
    """Hive's word for an Arrow type, None if there is none."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return word(type_.storage_type)
    if types.is_dictionary(type_):
        return word(type_.value_type)
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
        key, value = word(type_.key_type), word(type_.item_type)
        return f"map<{key},{value}>" if key and value else None
    if isinstance(
        type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType
    ):
        item = word(type_.value_type)
        return f"array<{item}>" if item else None
    return None


def _struct(type_: pa.StructType) -> str | None:
    fields = [(field.name, word(field.type)) for field in type_]
    if not fields or not all(inner and _BARE.fullmatch(name) for name, inner in fields):
        return None
    return f"struct<{','.join(f'{name}:{inner}' for name, inner in fields)}>"


def read(text: str) -> pa.DataType | None:
    """The Arrow type that Hive's word means, None for one that Arrow has none for or that cannot be read."""
    reader = _Reader(text)
    try:
        found = reader.type()
    except (IndexError, KeyError, ValueError):
        return None
    return found if reader.is_done else None


class _Reader:
    """Reads a type from the left. What does not fit raises IndexError, KeyError or ValueError."""

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
        found = [part()]
        while self._take(",", closing) == ",":
            found.append(part())
        return found

    def _field(self) -> pa.Field:
        import pyarrow as pa

        name = self._take()
        self._take(":")
        return pa.field(name, self.type())

    def _numbers(self) -> list[int]:
        if self.is_done or self._tokens[self._at] != "(":
            return []
        return self._between(lambda: int(self._take()), "(", ")")
