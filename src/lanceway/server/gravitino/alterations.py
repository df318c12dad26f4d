"""Changes of a table: each kind is one transaction, so a request has changes of one kind, and all hold or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lance_namespace as ln
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry
from lance_namespace_urllib3_client.models.update_field_metadata_entry import UpdateFieldMetadataEntry

from lanceway.access.guard import Guard
from lanceway.catalogs.contract.iceberg import IcebergCommit
from lanceway.errors import InvalidInputError, TableColumnNotFoundError, UnsupportedOperationError
from lanceway.lake.tree.lookups import NotLanceError
from lanceway.server.gravitino import columns, iceberg
from lanceway.server.gravitino.calls import new_name, property_changes
from lanceway.tables.schema import arrow_json, fields
from lanceway.wire.gravitino_requests import UpdateRequest

_PROPERTIES, _NAME, _ADD, _ALTER, _DROP, _DESCRIBE = "properties", "name", "add", "alter", "drop", "describe"
# What each update is a change of.
_KINDS: Mapping[str, str] = {
    "setProperty": _PROPERTIES,
    "removeProperty": _PROPERTIES,
    "updateComment": _PROPERTIES,
    "rename": _NAME,
    "addColumn": _ADD,
    "renameColumn": _ALTER,
    "updateColumnType": _ALTER,
    "updateColumnNullability": _ALTER,
    "deleteColumn": _DROP,
    "updateColumnComment": _DESCRIBE,
}
_UNSUPPORTED = {
    "updateColumnPosition": "Columns of a Lance table keep their order.",
    "updateColumnDefaultValue": "Columns of a Lance table have no defaults.",
    "updateColumnAutoIncrement": "Columns of a Lance table are not incremented.",
    "addTableIndex": "Make an index through Lance REST.",
    "deleteTableIndex": "Drop an index through Lance REST.",
}
_FIXED = ("location", "format", "lance.version", "lance.declared")


class TableAlterations:
    """Alters one table as a caller."""

    def __init__(self, guard: Guard, names: list[str]) -> None:
        self._guard, self._names = guard, names
        self._changes: Mapping[str, Callable[[Sequence[UpdateRequest]], None]] = {
            _PROPERTIES: self._alter_properties,
            _ADD: self._add_columns,
            _ALTER: self._alter_columns,
            _DROP: self._drop_columns,
            _DESCRIBE: self._comment_columns,
        }

    def apply(self, updates: Sequence[UpdateRequest]) -> list[str]:
        """Make all changes or none, and return the names of the table, which may be new."""
        kinds = {_kind(update) for update in updates}
        if len(kinds) > 1 or (_NAME in kinds and len(updates) > 1):
            raise InvalidInputError(
                "Changes of different kinds cannot be made at once: properties, name, new columns, altered columns, "
                "dropped columns and comments of columns. Send a request for each kind."
            )
        kind = kinds.pop()
        if kind == _NAME:
            return self._rename(updates[0])
        self._changes[kind](updates)
        return self._names

    def _rename(self, update: UpdateRequest) -> list[str]:
        name = new_name("table", update.new_name or "")
        schema = self._names[:-1]
        if update.new_schema is not None:
            schema = self._guard.split(self._names[0], new_name("schema", update.new_schema))
        self._guard.rename_iceberg_table(self._names, [*schema, name])  # a Lance table too
        return [*schema, name]

    def _alter_properties(self, updates: Sequence[UpdateRequest]) -> None:
        changes = property_changes(updates, "table")
        fixed = next((key for key in _FIXED if key in changes), None)
        if fixed is not None:
            raise InvalidInputError(f"The property {fixed!r} of a table cannot be changed. Leave it out.")
        try:
            self._guard.alter_table_properties(self._names, changes)
        except NotLanceError:
            self._alter_iceberg_properties(changes)

    def _alter_iceberg_properties(self, changes: Mapping[str, str | None]) -> None:
        fixed = next((key for key in iceberg.FIXED if key in changes), None)
        if fixed is not None:
            raise InvalidInputError(f"The property {fixed!r} of a table cannot be changed. Leave it out.")
        values = {key: value for key, value in changes.items() if value is not None}
        updates: list[dict[str, Any]] = []
        if values:
            updates.append({"action": "set-properties", "updates": values})
        if len(values) < len(changes):
            updates.append({"action": "remove-properties", "removals": [key for key in changes if key not in values]})
        self._guard.commit_iceberg_tables([IcebergCommit(self._names, [], updates)])

    def _add_columns(self, updates: Sequence[UpdateRequest]) -> None:
        entries = [self._new_column(update) for update in updates]
        self._guard.alter_table_add_columns(ln.AlterTableAddColumnsRequest(id=self._names, new_columns=entries))

    def _new_column(self, update: UpdateRequest) -> AddColumnsEntry:
        names = update.column or []
        if len(names) != 1:
            raise UnsupportedOperationError("A column can be added at the top of a table alone, not in another column.")
        if update.nullable is False or update.default is not None or update.auto_increment:
            raise UnsupportedOperationError(
                f"The column {names[0]!r} can only be added as a nullable one, without a default: the rows that are "
                "there have no value for it."
            )
        if update.position not in (None, "default"):
            raise UnsupportedOperationError(f"The column {names[0]!r} can only be added as the last one.")
        if update.comment:
            raise UnsupportedOperationError(
                f"The column {names[0]!r} cannot be added with a comment. Add it, then send updateColumnComment."
            )
        type_ = columns.to_type(update.type, names[0])
        return AddColumnsEntry(name=names[0], expression=columns.empty_expression(type_, names[0]))

    def _alter_columns(self, updates: Sequence[UpdateRequest]) -> None:
        entries: dict[str, dict[str, Any]] = {}
        for update in updates:
            path = _path(update.old_column if update.kind == "renameColumn" else update.column)
            change = entries.setdefault(path, {})
            if update.kind == "renameColumn":
                change["rename"] = _given(update.new_column, "newFieldName")
            elif update.kind == "updateColumnType":
                change["data_type"] = arrow_json.data_type(columns.to_type(update.new_type, path)).to_dict()
            else:
                change["nullable"] = _given(update.nullable, "nullable")
        alterations = [AlterColumnsEntry(path=path, **change) for path, change in entries.items()]
        request = ln.AlterTableAlterColumnsRequest(id=self._names, alterations=alterations)
        self._guard.alter_table_alter_columns(request)

    def _drop_columns(self, updates: Sequence[UpdateRequest]) -> None:
        gone = [_path(update.column) for update in updates]
        try:
            self._guard.alter_table_drop_columns(ln.AlterTableDropColumnsRequest(id=self._names, columns=gone))
        except TableColumnNotFoundError:
            if len(updates) > 1 or not updates[0].if_exists:
                raise

    def _comment_columns(self, updates: Sequence[UpdateRequest]) -> None:
        entries = [
            UpdateFieldMetadataEntry(path=_path(update.column), metadata={columns.COMMENT: update.new_comment or None})
            for update in updates
        ]
        self._guard.update_field_metadata(ln.UpdateFieldMetadataRequest(id=self._names, updates=entries))


def _kind(update: UpdateRequest) -> str:
    if update.kind in _UNSUPPORTED:
        raise UnsupportedOperationError(f"The update {update.kind!r} is not supported. {_UNSUPPORTED[update.kind]}")
    if update.kind not in _KINDS:
        raise InvalidInputError(f"There is no update {update.kind!r} of a table. Use {', '.join(_KINDS)}.")
    return _KINDS[update.kind]


def _path(names: list[str] | None) -> str:
    if not names or not all(names):
        raise InvalidInputError("An update of a column needs its name: a list of texts. Send it as fieldName.")
    return fields.format_(names)


def _given(value: Any, name: str) -> Any:
    if value is None:
        raise InvalidInputError(f"The update needs {name}. Send it.")
    return value
