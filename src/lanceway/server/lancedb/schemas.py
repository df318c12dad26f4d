"""Arrow schemas in JSON as LanceDB's client reads them: Lance's own names of types, with parameters behind colons.

Lance REST writes `utf8`, `float32` and `timestamp:us` where the client knows `string`, `float` and `timestamp:us:-`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceway.errors import InvalidInputError

Document = dict[str, Any]

_NAMES = {
    "date32": "date32:day",
    "date64": "date64:ms",
    "float16": "halffloat",
    "float32": "float",
    "float64": "double",
    "large_utf8": "large_string",
    "utf8": "string",
}
_DECIMAL_SHIFT = 1000  # Lance REST has a decimal's precision and scale in one number
_WITHOUT_ZONE = "-"


def to_client(schema: Document) -> Document:
    """Return a schema of Lance REST as the client reads it."""
    return {**schema, "fields": [_field(field) for field in schema["fields"]]}


def _field(field: Document) -> Document:
    return {**field, "type": _type(field["type"])}


def _type(type_: Document) -> Document:
    name = type_["type"]
    if name in _NAMES:
        return {"type": _NAMES[name]}
    if name.startswith("decimal"):
        precision, scale = divmod(type_["length"], _DECIMAL_SHIFT)
        return {"type": f"decimal:{name.removeprefix('decimal')}:{precision}:{scale}"}
    if name.startswith("timestamp:") and name.count(":") == 1:
        return {"type": f"{name}:{_WITHOUT_ZONE}"}
    if name == "dictionary":
        index, values = (_type(part["type"])["type"] for part in type_["fields"])
        return {"type": f"dict:{values}:{index}:false"}
    if name == "map":  # the client knows no maps, but their entries
        return {"type": "list", "fields": [_field(field) for field in type_["fields"]]}
    if "fields" in type_:
        return {**type_, "fields": [_field(field) for field in type_["fields"]]}
    return type_


def from_client(type_: Mapping[str, Any]) -> Document:
    """Return a type that the client writes as Lance REST has it."""
    name = type_.get("type")
    if not isinstance(name, str) or not name.startswith("decimal:"):
        return dict(type_)
    try:
        bits, precision, scale = (int(part) for part in name.split(":")[1:])
    except ValueError:
        raise InvalidInputError(
            f"{name!r} is not a decimal type. Write its bits, precision and scale: decimal:128:10:2."
        ) from None
    return {"type": f"decimal{bits}", "length": precision * _DECIMAL_SHIFT + scale}
