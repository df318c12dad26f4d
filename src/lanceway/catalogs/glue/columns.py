"""A table's Arrow schema as Glue shows it: columns, and what they cannot tell in a parameter.

Athena and the Glue console read the columns. A column whose type Hive has no word for is not among them; it stands
in the parameter, as does everything that a column loses: sizes of vectors, units, signs, nullability, metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_urllib3_client.models.json_arrow_field import JsonArrowField

from lanceway.catalogs.glue import types
from lanceway.tables.schema import arrow_json

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

# The parameter: a list of [position, the column's type in Glue or null, the field as the contract writes it].
PARAMETER = "lanceway.arrow-fields"
_LONGEST_NAME, _LONGEST_TYPE, _LONGEST_PARAMETER = 255, 131_072, 512_000


def written(schema: pa.Schema) -> tuple[list[dict[str, str]], dict[str, str]]:
    """The columns for Glue, and the parameter for the rest, where there is any."""
    columns: list[dict[str, str]] = []
    rest: list[tuple[int, str | None, Any]] = []
    fields, seen = arrow_json.schema(schema).fields, set[str]()
    for position, (field, told) in enumerate(zip(schema, fields, strict=True)):
        word = _column_type(field, seen)
        if word is not None:
            columns.append({"Name": field.name, "Type": word})
            seen.add(field.name.lower())
        if word is None or not _tells_all(field, word):
            rest.append((position, word, told.model_dump(mode="json", exclude_none=True)))
    text = json.dumps(rest, separators=(",", ":"))
    # Too much for Glue is left out: the columns are still true, and the dataset tells everything.
    return columns, {PARAMETER: text} if rest and len(text) <= _LONGEST_PARAMETER else {}


def _column_type(field: pa.Field, seen: set[str]) -> str | None:
    """The type of the column, None if the field cannot be one. Glue and Athena take names in any case for the same."""
    if not 1 <= len(field.name) <= _LONGEST_NAME or not field.name.isprintable() or field.name.lower() in seen:
        return None
    word = types.word(field.type)
    return word if word is not None and len(word) <= _LONGEST_TYPE else None


def _tells_all(field: pa.Field, word: str) -> bool:
    import pyarrow as pa

    return bool(field.equals(pa.field(field.name, types.read(word) or pa.null()), check_metadata=True))


def read(columns: Sequence[Mapping[str, Any]], parameters: Mapping[str, str]) -> JsonArrowSchema | None:
    """The schema that Glue shows, None where it shows none or some column's type cannot be read.

    The columns are what others change, so a column that has another type than the parameter remembers wins.
    """
    import pyarrow as pa

    rest = _rest(parameters)
    kept = {told["name"]: (word, told) for _, word, told in rest if word is not None}
    found: list[Any] = []
    for column in columns:
        name, type_ = column["Name"], column.get("Type", "")
        word, told = kept.get(name, (None, None))
        if word == type_:
            found.append(JsonArrowField.from_dict(told))
            continue
        arrow = types.read(type_)
        if arrow is None:
            return None
        found.append(arrow_json.schema(pa.schema([(name, arrow)])).fields[0])
    for position, word, told in rest:
        if word is None:
            found.insert(position, JsonArrowField.from_dict(told))
    return _schema(found)


def _schema(fields: list[Any]) -> JsonArrowSchema | None:
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

    return JsonArrowSchema(fields=fields) if fields else None


def _rest(parameters: Mapping[str, str]) -> list[tuple[int, str | None, dict[str, Any]]]:
    """What the parameter says; one that somebody else has broken says nothing."""
    try:
        rows = json.loads(parameters.get(PARAMETER, "[]"))
        return [(int(position), word, dict(told, name=str(told["name"]))) for position, word, told in rows]
    except (KeyError, TypeError, ValueError):
        return []
