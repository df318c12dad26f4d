"""Arrow fields as Arrow's Java library writes them in JSON, both ways.

    {"name": "v", "nullable": true, "type": {"name": "fixedsizelist", "listSize": 4},
     "children": [{"name": "item", "nullable": true, "type": {"name": "floatingpoint", "precision": "SINGLE"}, …}]}

Programs on the JVM exchange types so that a catalog of theirs has no name for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = {"s": "SECOND", "ms": "MILLISECOND", "us": "MICROSECOND", "ns": "NANOSECOND"}
_UNITS_BACK = {name: unit for unit, name in _UNITS.items()}
_PRECISIONS = {16: "HALF", 32: "SINGLE", 64: "DOUBLE"}
_PRECISIONS_BACK = {name: bits for bits, name in _PRECISIONS.items()}
_PLAIN = {
    "null": "null",
    "bool": "bool",
    "string": "utf8",
    "large_string": "largeutf8",
    "binary": "binary",
    "large_binary": "largebinary",
}
_PLAIN_BACK = {
    "null": "null",
    "bool": "bool_",
    "utf8": "string",
    "largeutf8": "large_string",
    "binary": "binary",
    "largebinary": "large_binary",
}


def field(arrow: pa.Field) -> dict[str, Any]:
    """Return a field as JSON. Raises InvalidInputError for a type that cannot be written so."""
    type_, children = _written(arrow.type)
    return {
        "name": arrow.name,
        "nullable": arrow.nullable,
        "type": type_,
        "children": [field(each) for each in children],
    }


def _written(type_: pa.DataType) -> tuple[dict[str, Any], Sequence[pa.Field]]:
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return _written(type_.storage_type)
    if types.is_fixed_size_list(type_):
        return {"name": "fixedsizelist", "listSize": type_.list_size}, [type_.value_field]
    if types.is_list(type_) or types.is_large_list(type_):
        return {"name": "list" if types.is_list(type_) else "largelist"}, [type_.value_field]
    if types.is_struct(type_):
        return {"name": "struct"}, list(type_)
    if types.is_map(type_):
        entries = pa.field("entries", pa.struct([type_.key_field, type_.item_field]), nullable=False)
        return {"name": "map", "keysSorted": type_.keys_sorted}, [entries]
    return _leaf(type_), []


def _leaf(type_: pa.DataType) -> dict[str, Any]:
    import pyarrow as pa

    types = pa.types
    if str(type_) in _PLAIN:
        return {"name": _PLAIN[str(type_)]}
    if types.is_integer(type_):
        return {"name": "int", "bitWidth": type_.bit_width, "isSigned": types.is_signed_integer(type_)}
    if types.is_floating(type_):
        return {"name": "floatingpoint", "precision": _PRECISIONS[type_.bit_width]}
    if types.is_decimal(type_):
        return {"name": "decimal", "precision": type_.precision, "scale": type_.scale, "bitWidth": type_.bit_width}
    if types.is_fixed_size_binary(type_):
        return {"name": "fixedsizebinary", "byteWidth": type_.byte_width}
    if types.is_date(type_):
        return {"name": "date", "unit": "DAY" if types.is_date32(type_) else "MILLISECOND"}
    if types.is_timestamp(type_):
        return {"name": "timestamp", "unit": _UNITS[type_.unit], **({} if type_.tz is None else {"timezone": type_.tz})}
    if types.is_time(type_):
        return {"name": "time", "unit": _UNITS[type_.unit], "bitWidth": type_.bit_width}
    if types.is_duration(type_):
        return {"name": "duration", "unit": _UNITS[type_.unit]}
    raise InvalidInputError(f"The type {type_} cannot be written as JSON of Arrow's Java library.")


def parse_field(value: object) -> pa.Field:
    """Return the field that JSON describes. Raises InvalidInputError for one that it cannot describe."""
    import pyarrow as pa

    try:
        return _parsed(value)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise InvalidInputError(
            "This is not an Arrow field as Arrow's Java library writes it. Send one such as "
            '{"name": "v", "nullable": true, "type": {"name": "fixedsizelist", "listSize": 4}, "children": [{"name": '
            '"item", "nullable": true, "type": {"name": "floatingpoint", "precision": "SINGLE"}, "children": []}]}.'
        ) from error
    except RecursionError as error:
        raise InvalidInputError("The Arrow field is nested too deeply.") from error


def _parsed(value: Any) -> pa.Field:
    import pyarrow as pa

    children = [_parsed(child) for child in value.get("children") or ()]
    return pa.field(str(value["name"]), _parsed_type(value["type"], children), bool(value.get("nullable", True)))


def _parsed_type(type_: Mapping[str, Any], children: list[pa.Field]) -> pa.DataType:
    import pyarrow as pa

    name = type_["name"]
    if name in _PLAIN_BACK:
        make: Callable[[], pa.DataType] = getattr(pa, _PLAIN_BACK[name])
        return make()
    if name == "int":
        return getattr(pa, f"{'' if type_['isSigned'] else 'u'}int{int(type_['bitWidth'])}")()
    if name == "floatingpoint":
        return getattr(pa, f"float{_PRECISIONS_BACK[type_['precision']]}")()
    if name == "decimal":
        return getattr(pa, f"decimal{int(type_.get('bitWidth', 128))}")(type_["precision"], type_["scale"])
    if name == "fixedsizebinary":
        return pa.binary(type_["byteWidth"])
    if name == "date":
        return pa.date32() if type_["unit"] == "DAY" else pa.date64()
    if name == "timestamp":
        return pa.timestamp(_UNITS_BACK[type_["unit"]], type_.get("timezone"))
    if name == "time":
        return getattr(pa, f"time{int(type_['bitWidth'])}")(_UNITS_BACK[type_["unit"]])
    if name == "duration":
        return pa.duration(_UNITS_BACK[type_["unit"]])
    return _parsed_nested(name, type_, children)


def _parsed_nested(name: str, type_: Mapping[str, Any], children: list[pa.Field]) -> pa.DataType:
    import pyarrow as pa

    if name == "struct":
        return pa.struct(children)
    if name == "fixedsizelist":
        return pa.list_(children[0], type_["listSize"])
    if name == "map":
        key, item = children[0].type
        return pa.map_(key, item, keys_sorted=bool(type_.get("keysSorted")))
    return {"list": pa.list_, "largelist": pa.large_list}[name](children[0])
