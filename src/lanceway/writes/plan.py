"""What a write will do, decided in the driver before any row is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, TableAlreadyExistsError, TableSchemaValidationError
from lanceway.tables import dataset
from lanceway.writes import destination, journal, options
from lanceway.writes.casting import differences
from lanceway.writes.destination import Destination
from lanceway.writes.table_ref import TableRef

if TYPE_CHECKING:
    import pyarrow as pa

APPEND, OVERWRITE, CREATE, IGNORE = "append", "overwrite", "create", "ignore"
_MODES = {"append": APPEND, "overwrite": OVERWRITE, "error": CREATE, "errorifexists": CREATE, "ignore": IGNORE}


@dataclass(frozen=True)
class WritePlan:
    """A write to one table: `kind` is append, overwrite, create (there is no version yet) or ignore.

    `version` is the one that the write builds on, `schema` the table's own once the write is done. `write` is the name
    under which tasks note what they have written, None where they do not.
    """

    kind: str
    destination: Destination
    schema: pa.Schema
    version: int = 0
    files: Mapping[str, Any] = field(default_factory=dict)
    write: str | None = None

    def begun(self) -> WritePlan:
        """The same, with the write under way: it has to be ended."""
        return replace(self, write=journal.begin(self.destination))


def plan(given: Mapping[str, str], rows: pa.Schema, *, overwrite: bool, noted: bool = True) -> WritePlan:
    """Choose by the mode and by what is there. A name that is free, or only declared, is filled.

    The write is under way then, unless its tasks are not to note what they write.

    Raises TableAlreadyExistsError for mode error, and TableSchemaValidationError where rows do not fit.
    """
    chosen = _choose(given, rows, overwrite=overwrite)
    return chosen.begun() if noted and chosen.kind != IGNORE else chosen


def _choose(given: Mapping[str, str], rows: pa.Schema, *, overwrite: bool) -> WritePlan:
    values = options.read(given)
    mode, files = _mode(values["mode"], overwrite=overwrite), _file_settings(values)
    target = TableRef.of(given)
    found = destination.find(target)
    if found is None or not found.has_data():
        own = new_schema(rows, values)
        return WritePlan(CREATE, found or destination.declare(target, {}), own, files=files)
    if mode == CREATE:
        raise TableAlreadyExistsError(f"{target.name} cannot be created: it already exists at {found.location}.")
    if mode != IGNORE:
        found.require_writable()
    opened = dataset.open_at(found.reading)
    if mode == OVERWRITE:
        own = _replacing(opened.schema, rows, values)
        return WritePlan(OVERWRITE, found, own, int(opened.version), files)
    if mode == APPEND:
        require_fit(target, rows, opened.schema)
    return WritePlan(mode, found, opened.schema, int(opened.version), files)


def require_fit(target: TableRef, rows: pa.Schema, table: pa.Schema) -> None:
    """Refuse rows that do not fit a table, naming each difference."""
    found = list(differences(rows, table))
    if found:
        raise TableSchemaValidationError(f"The rows do not fit {target.name}: {'; '.join(found)}.")


def new_schema(rows: pa.Schema, values: Mapping[str, Any]) -> pa.Schema:
    """The schema of a table made from rows: every column may be null, and lists named as vectors have their size."""
    import pyarrow as pa
    from lance.blob import blob_field

    vectors, blobs = _sizes(values["vector_columns"]), options.column_names(values["blob_columns"]) or ()
    for name in (*vectors, *blobs):
        if name not in rows.names:
            raise InvalidInputError(f"There is no column {name!r} to make a vector or a blob of: {rows.names}.")
    own = []
    for column in rows:
        if column.name in vectors:
            column = column.with_type(pa.list_(_element(column), vectors[column.name]))
        if column.name in blobs:
            column = blob_field(column.name)
        own.append(column.with_nullable(True))
    return pa.schema(own)


def _replacing(table: pa.Schema, rows: pa.Schema, values: Mapping[str, Any]) -> pa.Schema:
    """The schema after an overwrite: rows that fit the table keep its own and its vectors, others bring theirs."""
    told = values["vector_columns"] or values["blob_columns"]
    same = not told and set(rows.names) == set(table.names) and not list(differences(rows, table))
    return table if same else new_schema(rows, values)


def _mode(given: str | None, *, overwrite: bool) -> str:
    if given is None:
        return OVERWRITE if overwrite else APPEND
    chosen = _MODES.get(given.lower())
    if chosen is None:
        raise InvalidInputError(f"{options.OWNER}: mode is {given!r}, but must be one of {', '.join(_MODES)}.")
    if overwrite and chosen != OVERWRITE:
        raise InvalidInputError(f"{options.OWNER}: the option mode is {given!r}, but overwriting was asked for.")
    return chosen


def _file_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    names = ("max_rows_per_file", "max_bytes_per_file", "data_storage_version")
    options.at_least(1, values, *names[:2])
    return {name: values[name] for name in names if values[name] is not None}


def _sizes(text: str | None) -> dict[str, int]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(type(size) is int and size > 0 for size in found.values()):
        raise InvalidInputError(
            f'{options.OWNER}: vector_columns is {text!r}, but must be a JSON object of sizes, such as {{"v": 64}}.'
        )
    return found


def _element(column: pa.Field) -> pa.Field:
    """The elements of a vector column: doubles stay doubles, and each may be null as far as Arrow is concerned."""
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        raise InvalidInputError(
            f"The column {column.name!r} is {column.type} and cannot be a vector; make it an array."
        )
    return pa.field("item", column.type.value_type)
