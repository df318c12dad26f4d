"""Iceberg tables as Gravitino has tables: columns of an Iceberg schema, and properties that say what the table is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lanceway.catalogs.contract.iceberg import LoadedIceberg

ICEBERG = "iceberg"
PROVIDER = "provider"
# What the metadata says of the table itself, as properties that cannot be set.
_FACTS = ("format-version", "current-snapshot-id", "uuid")
FIXED = (PROVIDER, *_FACTS)
_NAMES: Mapping[str, str] = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "time(6)",
    "timestamp": "timestamp(6)",
    "timestamptz": "timestamp_tz(6)",
    "timestamp_ns": "timestamp(9)",
    "timestamptz_ns": "timestamp_tz(9)",
    "string": "string",
    "uuid": "uuid",
    "binary": "binary",
}
_FIXED_SIZE = re.compile(r"fixed\[(\d+)\]")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def columns(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the columns of a table by its metadata."""
    schemas = metadata.get("schemas") or [metadata["schema"]]
    current = metadata.get("current-schema-id", 0)
    schema = next(schema for schema in schemas if schema.get("schema-id", 0) == current)
    return [{**_field(field), "autoIncrement": False} for field in schema["fields"]]


def properties(loaded: LoadedIceberg, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a table, and what its metadata says of it."""
    facts = {
        PROVIDER: ICEBERG,
        "format-version": metadata.get("format-version"),
        "current-snapshot-id": _snapshot(metadata),
        "uuid": metadata.get("table-uuid"),
    }
    own = {key: value for key, value in (metadata.get("properties") or {}).items() if key not in FIXED}
    return {**own, **{key: str(value) for key, value in facts.items() if value is not None}}


def read(loaded: LoadedIceberg) -> Mapping[str, Any]:
    """Return the metadata of a table."""
    metadata: Mapping[str, Any] = json.loads(loaded.metadata)
    return metadata


def _snapshot(metadata: Mapping[str, Any]) -> int | None:
    snapshot: int | None = metadata.get("current-snapshot-id")
    return None if snapshot == -1 else snapshot


def _field(field: Mapping[str, Any]) -> dict[str, Any]:
    column = {"name": field["name"], "type": _type(field["type"]), "nullable": not field["required"]}
    return {**column, "comment": field["doc"]} if field.get("doc") else column


def _type(value: str | Mapping[str, Any]) -> str | dict[str, Any]:
    if isinstance(value, str):
        return _simple(value)
    kind = value["type"]
    if kind == "struct":
        return {"type": "struct", "fields": [_field(field) for field in value["fields"]]}
    if kind == "list":
        nullable = not value["element-required"]
        return {"type": "list", "elementType": _type(value["element"]), "containsNull": nullable}
    return {
        "type": "map",
        "keyType": _type(value["key"]),
        "valueType": _type(value["value"]),
        "valueContainsNull": not value["value-required"],
    }


def _simple(text: str) -> str | dict[str, Any]:
    if text in _NAMES:
        return _NAMES[text]
    if match := _DECIMAL.fullmatch(text):
        return f"decimal({match[1]},{match[2]})"
    if match := _FIXED_SIZE.fullmatch(text):
        return f"fixed({match[1]})"
    return {"type": "unparsed", "unparsedType": text}
