"""Arrow types as the contract writes them in JSON, both ways.

A type is its name, with `length` and `fields` where it has them. Parameters that neither can
hold follow the name after colons: `timestamp:us:UTC`, `time32:s`, `duration:ns`. A decimal's
length is its precision times 1000 plus its scale, as pylance has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace_urllib3_client.models.json_arrow_data_type import JsonArrowDataType
from lance_namespace_urllib3_client.models.json_arrow_field import JsonArrowField
from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "large_string": "large_utf8",
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
# What may be written for a type besides the name we give it.
_PARAMETERLESS: Mapping[str, str] = {
    **{name: name for name in ("null", "binary", "large_binary", "date32", "date64")},
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bool": "bool_",
    "boolean": "bool_",
    "double": "float64",
    "float": "float32",
    "halffloat": "float16",
    "large_string": "large_string",
    "large_utf8": "large_string",
    "string": "string",
    "utf8": "string",
}
_DECIMAL_SHIFT = 1000


def schema(arrow: pa.Schema) -> JsonArrowSchema:
    return JsonArrowSchema(fields=[_field(field) for field in arrow], metadata=_metadata(arrow.metadata))


def _field(field: pa.Field) -> JsonArrowField:
    return JsonArrowField(
        name=field.name,
        nullable=field.nullable,
        type=data_type(field.type),
        metadata=_metadata({**(field.metadata or {}), **_extension(field.type)}),
    )


def _extension(type_: pa.DataType) -> dict[bytes, bytes]:
    """Return what marks a column of an extension type, as Arrow has it in a schema."""
    import pyarrow as pa

    if not isinstance(type_, pa.ExtensionType):
        return {}
    return {
        b"ARROW:extension:name": type_.extension_name.encode(),
        b"ARROW:extension:metadata": type_.__arrow_ext_serialize__(),
    }


def _metadata(metadata: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    if not metadata:
        return None
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in metadata.items()}


def data_type(type_: pa.DataType) -> JsonArrowDataType:
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return data_type(type_.storage_type)
    if types.is_fixed_size_list(type_):
        return JsonArrowDataType(type="fixed_size_list", length=type_.list_size, fields=[_field(type_.value_field)])
    if types.is_list(type_) or types.is_large_list(type_):
        name = "list" if types.is_list(type_) else "large_list"
        return JsonArrowDataType(type=name, fields=[_field(type_.value_field)])
    if types.is_struct(type_):
        return JsonArrowDataType(type="struct", fields=[_field(field) for field in type_])
    if types.is_map(type_):
        entries = pa.field("entries", pa.struct([type_.key_field, type_.item_field]), nullable=False)
        return JsonArrowDataType(type="map", fields=[_field(entries)])
    if types.is_dictionary(type_):
        parts = pa.field("indices", type_.index_type, nullable=False), pa.field("values", type_.value_type)
        return JsonArrowDataType(type="dictionary", fields=[_field(part) for part in parts])
    return _plain_type(type_)


def _plain_type(type_: pa.DataType) -> JsonArrowDataType:
    import pyarrow as pa

    types = pa.types
    if types.is_fixed_size_binary(type_) and not types.is_decimal(type_):
        return JsonArrowDataType(type="fixed_size_binary", length=type_.byte_width)
    if types.is_decimal(type_):
        length = type_.precision * _DECIMAL_SHIFT + type_.scale
        return JsonArrowDataType(type=f"decimal{type_.bit_width}", length=length)
    if types.is_timestamp(type_):
        return JsonArrowDataType(type=":".join(filter(None, ("timestamp", type_.unit, type_.tz))))
    if types.is_time(type_) or types.is_duration(type_):
        return JsonArrowDataType(type=f"{str(type_).split('[')[0]}:{type_.unit}")
    return JsonArrowDataType(type=_NAMES.get(str(type_), str(type_)))


def parse_type(document: Mapping[str, Any] | JsonArrowDataType) -> pa.DataType:
    """Return the type that JSON describes. Raises InvalidInputError for one it cannot describe."""
    import pyarrow as pa

    value = document.to_dict() if isinstance(document, JsonArrowDataType) else document
    try:
        return _parse(value)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, pa.ArrowException) as error:
        raise InvalidInputError(
            f"{value!r} is not a data type. Write an Arrow type such as "
            '{"type": "int64"}, {"type": "timestamp:us:UTC"} or '
            '{"type": "fixed_size_list", "length": 4, "fields": [{"name": "item", "nullable": true, '
            '"type": {"type": "float32"}}]}.'
        ) from error


def _parse(value: Mapping[str, Any]) -> pa.DataType:
    import pyarrow as pa

    name, *parameters = value["type"].split(":", 2)
    name = name.lower()
    if name in _PARAMETERLESS:
        make: Callable[[], pa.DataType] = getattr(pa, _PARAMETERLESS[name])
        return make()
    if name in ("timestamp", "time32", "time64", "duration"):
        return getattr(pa, name)(*(part for part in parameters if part != "-") if parameters else ("us",))
    if name in ("decimal128", "decimal256", "decimal32", "decimal64"):
        return getattr(pa, name)(*divmod(int(value["length"]), _DECIMAL_SHIFT))
    return _parse_nested(name, value)


def _parse_nested(name: str, value: Mapping[str, Any]) -> pa.DataType:
    import pyarrow as pa

    if name == "fixed_size_binary":
        return pa.binary(value["length"])
    fields = [_parse_field(field) for field in value["fields"]]
    if name == "fixed_size_list":
        return pa.list_(fields[0], value["length"])
    if name == "map":
        key, item = fields[0].type
        return pa.map_(key, item)
    if name == "dictionary":
        return pa.dictionary(fields[0].type, fields[1].type)
    makers = {"list": lambda: pa.list_(fields[0]), "large_list": lambda: pa.large_list(fields[0])}
    return makers[name]() if name != "struct" else pa.struct(fields)


def _parse_field(value: Mapping[str, Any]) -> pa.Field:
    import pyarrow as pa

    return pa.field(value["name"], _parse(value["type"]), value.get("nullable", True), value.get("metadata"))
