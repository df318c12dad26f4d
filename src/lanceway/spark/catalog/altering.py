"""ALTER TABLE: columns added, renamed, retyped and dropped; properties and comments set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lance_namespace import (
    AlterTableAlterColumnsRequest,
    AlterTableDropColumnsRequest,
    UpdateFieldMetadataRequest,
    UpdateTableSchemaMetadataRequest,
)

from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.spark.catalog import creating
from lanceway.spark.types import arrow_schema
from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.tables.schema import arrow_json, fields
from lanceway.writes import destination
from lanceway.writes.table_ref import Target

Change = Mapping[str, Any]


def alter(target: Target, changes: Sequence[Change]) -> None:
    """Carry out the changes of one statement. Spark gives one kind at a time, and each kind makes one version."""
    kinds = {change["change"] for change in changes}
    if len(kinds) != 1:
        if kinds == {"set", "unset"}:
            return _properties(target, changes)
        raise InvalidInputError(f"ALTER TABLE {target.name}: one kind of change at a time, not {', '.join(kinds)}.")
    return _KINDS[kinds.pop()](target, changes)


def set_properties(target: Target, new: Mapping[str, str], old: Iterable[str]) -> None:
    """The contract replaces a table's metadata whole, so what is to stay is sent again."""
    gone = set(old)
    kept = creating.properties_of(target.open().schema)
    wanted = {key: value for key, value in {**kept, **new}.items() if key not in gone}
    request = UpdateTableSchemaMetadataRequest(id=list(target.id), metadata=wanted)
    target.catalog().update_table_schema_metadata(request)


def _properties(target: Target, changes: Sequence[Change]) -> None:
    new = {change["key"]: change["value"] for change in changes if change["change"] == "set"}
    creating.vector_sizes(new)
    set_properties(target, new, [change["key"] for change in changes if change["change"] == "unset"])


def _add(target: Target, changes: Sequence[Change]) -> None:
    """New columns are null in the rows there are. A property `lance.vector.NAME` makes one a vector."""
    from pyspark.sql.types import StructType

    for change in changes:
        if len(change["column"]) > 1:
            raise UnsupportedOperationError(
                f"ALTER TABLE {target.name}: {_path(change)} lies inside another column, which Lance cannot add to."
            )
        if not change["nullable"]:
            raise InvalidInputError(
                f"ALTER TABLE {target.name}: the new column {_path(change)} is null in the rows there are. "
                "Leave NOT NULL out."
            )
    table = target.table()
    if (place := destination.find(target)) is not None:
        place.require_writable()
    opened = dataset.open_at(table)
    described = [
        {"name": change["column"][0], "type": change["type"], "nullable": True, "metadata": {}} for change in changes
    ]
    rows = arrow_schema(StructType.fromJson({"type": "struct", "fields": described}))
    sizes = creating.vector_sizes(creating.properties_of(opened.schema))
    known = {name: size for name, size in sizes.items() if name in rows.names}
    made = creating.stored(rows, known)
    with translated(table, "ALTER TABLE ADD COLUMNS"):
        opened.add_columns(made)
    _set_comments(target, {_path(change): change["comment"] for change in changes if change["comment"]})


def _alter_columns(target: Target, changes: Sequence[Change], entry: Callable[[Change], dict[str, Any]]) -> None:
    alterations = [{"path": _path(change), **entry(change)} for change in changes]
    request = AlterTableAlterColumnsRequest.model_validate({"id": list(target.id), "alterations": alterations})
    target.catalog().alter_table_alter_columns(request)


def _rename(target: Target, changes: Sequence[Change]) -> None:
    _alter_columns(target, changes, lambda change: {"rename": change["to"]})


def _type(target: Target, changes: Sequence[Change]) -> None:
    """Lance writes a column of another type anew, and without its comment."""
    own = target.open().schema
    comments = {_path(change): creating.comment_of(fields.find(own, _path(change))) for change in changes}
    _alter_columns(target, changes, lambda change: {"data_type": _described(change["type"])})
    _set_comments(target, {path: comment for path, comment in comments.items() if comment})


def _nullable(target: Target, changes: Sequence[Change]) -> None:
    _alter_columns(target, changes, lambda change: {"nullable": change["nullable"]})


def _comment(target: Target, changes: Sequence[Change]) -> None:
    _set_comments(target, {_path(change): change["comment"] for change in changes})


def _set_comments(target: Target, comments: Mapping[str, str]) -> None:
    if not comments:
        return
    key = creating.COMMENT.decode()
    updates = [{"path": path, "metadata": {key: comment}} for path, comment in comments.items()]
    request = UpdateFieldMetadataRequest.model_validate({"id": list(target.id), "updates": updates})
    target.catalog().update_field_metadata(request)


def _drop(target: Target, changes: Sequence[Change]) -> None:
    columns = [_path(change) for change in changes]
    target.catalog().alter_table_drop_columns(AlterTableDropColumnsRequest(id=list(target.id), columns=columns))


def _path(change: Change) -> str:
    return fields.format_(change["column"])


def _described(type_: Any) -> Any:
    """A type of Spark's as the contract writes Arrow's."""
    from pyspark.sql.types import StructType

    field = {"name": "-", "type": type_, "nullable": True, "metadata": {}}
    arrow = arrow_schema(StructType.fromJson({"type": "struct", "fields": [field]})).field(0).type
    return arrow_json.data_type(arrow).model_dump(by_alias=True, exclude_none=True)


_KINDS: Mapping[str, Callable[[Target, Sequence[Change]], None]] = MappingProxyType(
    {
        "set": _properties,
        "unset": _properties,
        "add": _add,
        "rename": _rename,
        "type": _type,
        "nullable": _nullable,
        "comment": _comment,
        "drop": _drop,
    }
)
