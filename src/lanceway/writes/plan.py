"""The plan of a write: made in the driver before any row is written, and carried to every task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, TableAlreadyExistsError, TableSchemaValidationError
from lanceway.tables import dataset
from lanceway.writes import journal, options
from lanceway.writes.casting import differences
from lanceway.writes.table_ref import Destination, TableRef

if TYPE_CHECKING:
    import pyarrow as pa

APPEND, OVERWRITE, CREATE, IGNORE = "append", "overwrite", "create", "ignore"
_MODES = {"append": APPEND, "overwrite": OVERWRITE, "error": CREATE, "errorifexists": CREATE, "ignore": IGNORE}


@dataclass(frozen=True)
class WritePlan:
    """A write to one table: `kind` is append, overwrite, create (there is no version yet) or ignore.

    `version` is the one that the write builds on, `schema` the table's own once the write is done. `journal_entry` is
    the entry under which tasks note the files that they have written, None where they do not.
    """

    kind: str
    destination: Destination
    schema: pa.Schema
    version: int = 0
    files: Mapping[str, Any] = field(default_factory=dict)
    journal_entry: str | None = None

    def begin(self) -> WritePlan:
        """Open a journal entry, and return the plan with it: the write has to be ended."""
        return replace(self, journal_entry=journal.begin(self.destination))


def plan(options_: Mapping[str, str], rows: pa.Schema, *, overwrite: bool, noted: bool = True) -> WritePlan:
    """Plan a write by the mode and by what is there. A name that is free, or only declared, becomes a new table.

    The write is under way then, and has to be ended, unless `noted` is false: its tasks note no files.

    Raises TableAlreadyExistsError for mode error, and TableSchemaValidationError where rows do not fit.
    """
    chosen = _choose(options_, rows, overwrite=overwrite)
    return chosen.begin() if noted and chosen.kind != IGNORE else chosen


def _choose(options_: Mapping[str, str], rows: pa.Schema, *, overwrite: bool) -> WritePlan:
    values = options.parse(options_)
    mode = _mode(values["mode"], overwrite=overwrite)
    files = _file_settings(values)
    ref = TableRef.of(options_)
    destination = ref.destination()
    if destination is None or not destination.has_data():
        schema = new_schema(rows, values)
        return WritePlan(CREATE, destination or ref.declare(), schema, files=files)
    if mode == CREATE:
        raise TableAlreadyExistsError(f"{ref.name} cannot be created: it already exists at {destination.location}.")
    if mode != IGNORE:
        destination.require_writable()
    opened = dataset.open_at(destination.reading)
    schema = opened.schema
    if mode == OVERWRITE:
        schema = _replacing(opened.schema, rows, values)
    elif mode == APPEND:
        require_fit(ref, rows, opened.schema)
    return WritePlan(mode, destination, schema, int(opened.version), files)


def require_fit(ref: TableRef, rows: pa.Schema, table: pa.Schema) -> None:
    """Refuse rows that do not fit a table, naming each difference."""
    reasons = list(differences(rows, table))
    if reasons:
        raise TableSchemaValidationError(f"The rows do not fit {ref.name}: {'; '.join(reasons)}.")


def new_schema(rows: pa.Schema, values: Mapping[str, Any]) -> pa.Schema:
    """Return the schema of a table made from rows: all columns nullable, vectors and blobs as options name them."""
    import pyarrow as pa
    from lance.blob import blob_field

    vectors, blobs = _sizes(values["vector_columns"]), options.column_names(values["blob_columns"]) or ()
    for name in (*vectors, *blobs):
        if name not in rows.names:
            raise InvalidInputError(f"There is no column {name!r} to make a vector or a blob of: {rows.names}.")
    columns = []
    for column in rows:
        if column.name in vectors:
            column = column.with_type(pa.list_(_element(column), vectors[column.name]))
        if column.name in blobs:
            column = blob_field(column.name)
        columns.append(column.with_nullable(True))
    return pa.schema(columns)


def _replacing(table: pa.Schema, rows: pa.Schema, values: Mapping[str, Any]) -> pa.Schema:
    """Return the schema after an overwrite: the table's own where the rows fit it, else that of the rows."""
    by_options = values["vector_columns"] or values["blob_columns"]
    same = not by_options and set(rows.names) == set(table.names) and not list(differences(rows, table))
    return table if same else new_schema(rows, values)


def _mode(mode: str | None, *, overwrite: bool) -> str:
    if mode is None:
        return OVERWRITE if overwrite else APPEND
    chosen = _MODES.get(mode.lower())
    if chosen is None:
        raise InvalidInputError(f"{options.OWNER}: mode is {mode!r}, but must be one of {', '.join(_MODES)}.")
    if overwrite and chosen != OVERWRITE:
        raise InvalidInputError(f"{options.OWNER}: the option mode is {mode!r}, but overwriting was asked for.")
    return chosen


def _file_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    names = ("max_rows_per_file", "max_bytes_per_file", "data_storage_version")
    options.at_least(1, values, *names[:2])
    return {name: values[name] for name in names if values[name] is not None}


def _sizes(text: str | None) -> dict[str, int]:
    try:
        sizes = json.loads(text or "{}")
    except ValueError:
        sizes = None
    if not isinstance(sizes, dict) or not all(type(size) is int and size > 0 for size in sizes.values()):
        raise InvalidInputError(
            f'{options.OWNER}: vector_columns is {text!r}, but must be a JSON object of sizes, such as {{"v": 64}}.'
        )
    return sizes


def _element(column: pa.Field) -> pa.Field:
    """Return the element of a vector column. Doubles stay doubles, and Arrow lets each element be null."""
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        raise InvalidInputError(
            f"The column {column.name!r} is {column.type} and cannot be a vector; make it an array."
        )
    return pa.field("item", column.type.value_type)
