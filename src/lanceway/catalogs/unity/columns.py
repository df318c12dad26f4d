"""A table's Arrow schema as Unity shows it: columns, in which everything that Spark's types lose is kept beside them.

Properties in Unity hold 255 characters, so what is lost stands in the metadata of a column's `type_json`, which is
Spark's form of a field and may hold anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_urllib3_client.models.json_arrow_field import JsonArrowField
from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema
from pydantic import ValidationError

from lanceway.catalogs.unity import types
from lanceway.tables.schema import arrow_json

if TYPE_CHECKING:
    import pyarrow as pa

# In a field's metadata: the field as the contract writes it, where Spark's form loses some of it.
ARROW = "lanceway.arrow-field"
_EXTENSION = "ARROW:extension:name"


def written(schema: pa.Schema) -> list[dict[str, Any]]:
    """The columns for Unity."""
    return [_column(position, field) for position, field in enumerate(schema)]


def _column(position: int, field: pa.Field) -> dict[str, Any]:
    spark = types.spark_field(field)
    if not _tells_all(field, spark):
        spark["metadata"][ARROW] = json.dumps(_told(field), separators=(",", ":"))
    column = {
        "name": field.name,
        "type_text": types.type_text(spark["type"]),
        "type_json": json.dumps(spark, separators=(",", ":")),
        "type_name": types.type_name(spark["type"]),
        "position": position,
        "nullable": field.nullable,
    }
    digits = types.precision(spark["type"])
    return {**column, "type_precision": digits[0], "type_scale": digits[1]} if digits else column


def _tells_all(field: pa.Field, spark: Mapping[str, Any]) -> bool:
    """Whether the field comes back whole from Spark's form of it."""
    return bool(field.equals(types.arrow_field(spark), check_metadata=True))


def _told(field: pa.Field) -> dict[str, Any]:
    """The field in the contract's JSON, an extension with its name, as Arrow's own files have it."""
    import pyarrow as pa

    told: dict[str, Any] = arrow_json.schema(pa.schema([field])).fields[0].model_dump(mode="json", exclude_none=True)
    if isinstance(field.type, pa.BaseExtensionType):
        told["metadata"] = {**told.get("metadata", {}), _EXTENSION: field.type.extension_name}
    return told


def read(columns: Sequence[Mapping[str, Any]]) -> JsonArrowSchema | None:
    """The schema that Unity shows, None where it shows none or a column cannot be read: half of one would mislead."""
    ordered = sorted(columns, key=lambda column: column.get("position") or 0)
    try:
        fields = [_read(json.loads(column["type_json"])) for column in ordered]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError, ValidationError):
        return None
    return JsonArrowSchema(fields=fields) if fields else None


def _read(spark: dict[str, Any]) -> Any:
    import pyarrow as pa

    metadata = dict(spark.get("metadata") or {})
    told = metadata.pop(ARROW, None)
    if told is not None:
        return JsonArrowField.from_dict(json.loads(told))
    return arrow_json.schema(pa.schema([types.arrow_field(spark)])).fields[0]
