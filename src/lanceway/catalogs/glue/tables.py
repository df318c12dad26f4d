"""Tables in Glue: an external table whose parameters say that it is Lance, and whose location is the table's."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.glue import columns, names
from lanceway.catalogs.glue.client import GlueClient, GlueRow
from lanceway.catalogs.glue.errors import GlueForbiddenError, was_retried
from lanceway.catalogs.glue.namespaces import GlueNamespaces
from lanceway.catalogs.glue.settings import GlueSettings
from lanceway.catalogs.metastore.tables import (
    CLAIM,
    LANCE,
    TABLE_TYPE,
    NewTable,
    find_created,
    own_folder,
    require_data,
)
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    namespace_not_found,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.storage import options

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)

EXTERNAL = "EXTERNAL_TABLE"
STORAGE = "storage."
# How often a row is read again because another writer changed it first.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class GlueEntry(TableEntry):
    """A table with the columns that Glue shows for it, and the parameter that has what they lose."""

    columns: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)


class GlueTables:
    """The tables of one Glue catalog. Identifiers have been folded to lower case."""

    name = "Glue"
    reserved = (CLAIM, columns.PARAMETER)

    def __init__(self, client: GlueClient, namespaces: GlueNamespaces, settings: GlueSettings) -> None:
        self._client = client
        self._namespaces = namespaces
        self._settings = settings

    # -- finding ---------------------------------------------------------------------------------

    def load(self, table: Identifier) -> GlueRow:
        """Return a Lance table as Glue has it. Raises InvalidInputError for a table of another kind."""
        try:
            row = self.row(table)
        except TableNotFoundError:
            self._refuse_missing_parent(table)
            raise
        if not is_lance(row):
            raise InvalidInputError(
                f"{table} is not a Lance table: in Glue it is a table of another kind. A Lance table has the type "
                f"{EXTERNAL}, the parameter {TABLE_TYPE}={LANCE} and a location."
            )
        return row

    peek = load

    def row(self, table: Identifier) -> GlueRow:
        """Return a table as Glue has it, Lance or not. Raises TableNotFoundError, also if its database is missing."""
        if table.depth < 2 or not names.may_be_catalogs(Identifier(table[:-2])):
            raise table_not_found(f"There is no table {table}: in Glue, a table is in a database.")
        place = self._place(table)
        response = self._client.call(
            "GetTable", f"The table {table}", missing=TableNotFoundError, Name=table.name, **place
        )
        return cast(GlueRow, response["Table"])

    def _refuse_missing_parent(self, table: Identifier) -> None:
        """Raise NamespaceNotFoundError if the database is missing: Glue says the same of a missing table."""
        if table.depth > 1:
            with suppress(GlueForbiddenError):  # may not look; the table is missing in any case
                self._namespaces.database(table.parent)

    def _place(self, table: Identifier) -> Mapping[str, Any]:
        return {"DatabaseName": table[-2], **self._client.inside(Identifier(table[:-2]))}

    def lance_tables(self, namespace: Identifier) -> Iterator[GlueRow]:
        """Yield the Lance tables of a database. A catalog holds databases, and no tables."""
        try:
            yield from filter(is_lance, self._namespaces.tables_in(namespace))
        except (NamespaceNotFoundError, GlueForbiddenError) as error:
            if not self._is_catalog(namespace):
                raise error from error.__cause__

    def _is_catalog(self, namespace: Identifier) -> bool:
        try:
            return self._namespaces.catalog(namespace) is not None
        except GlueForbiddenError:
            return False

    # -- entries ---------------------------------------------------------------------------------

    def claim_of(self, row: GlueRow) -> str | None:
        return (row.get("Parameters") or {}).get(CLAIM)

    def describe(self, row: GlueRow) -> GlueEntry:
        """Return the entry of a row without storage options."""
        parameters = row.get("Parameters") or {}
        hidden = (CLAIM, columns.PARAMETER)
        storage = row["StorageDescriptor"]
        return GlueEntry(
            storage["Location"],
            properties={
                name: text for name, text in parameters.items() if not name.startswith(STORAGE) and name not in hidden
            },
            claim=self.claim_of(row),
            columns=tuple(storage.get("Columns") or ()),
            parameters=parameters,
        )

    def entry(self, row: GlueRow) -> GlueEntry:
        """Return the entry of a row. Raises InvalidInputError for storage options that parameters must not set."""
        entry = self.describe(row)
        return replace(entry, storage_options=self.storage_options(entry.location, entry.parameters) or None)

    reach = entry

    def storage_options(self, location: str, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the options of the catalog and, above them, those among a table's parameters."""
        table_options = {
            name.removeprefix(STORAGE): text for name, text in parameters.items() if name.startswith(STORAGE)
        }
        return options.for_table(location, self._settings.storage, table_options)

    # -- new tables ------------------------------------------------------------------------------

    def check_new(self, table: Identifier) -> Identifier:
        """Return the identifier of a new table as Glue has it, if a table may have it."""
        table = names.folded(table)
        names.check_new_table(table)
        if table.depth < 2:
            raise InvalidInputError(
                f"{table} cannot be a table here: in Glue a table is in a database. Use an identifier such as "
                f"{['database', table.name]!r}."
            )
        if not names.may_be_catalogs(Identifier(table[:-2])):
            raise namespace_not_found(f"There is no namespace {table.parent}: no catalog of Glue has such a name.")
        return table

    def locate(self, table: Identifier, location: str | None, claim: str) -> str:
        """Return the given location, or a new folder below the database's location or the root's."""
        if location:
            return _require_absolute(table, location)
        base = self._namespaces.database(table.parent).get("LocationUri")
        if not base and self._settings.root:
            base = "/".join((self._settings.root.rstrip("/"), *table.parent))
        if not base:
            raise InvalidInputError(
                f"{table} needs a location: the database {table.parent} has none (LocationUri) below which a table "
                "could be. Give the table a location, or the database, or connect with root."
            )
        return f"{base.rstrip('/')}/{own_folder(table.name, claim)}"

    def inspect(self, table: Identifier, location: str, properties: Mapping[str, str]) -> pa.Schema:
        """Return the schema of the table at a location. Raises InvalidInputError where no Lance table is."""
        return dataset.open_at(require_data(table, location, self.storage_options(location, properties))).schema

    def create(self, table: Identifier, new: NewTable) -> GlueRow:
        return self._create_row(table, _new_row(table, new))

    def _create_row(self, table: Identifier, row: GlueRow) -> GlueRow:
        self.entry(row)  # raises for storage options that are refused, before the row is made
        place = self._place(table)
        try:
            self._client.call(
                "CreateTable", f"{table} cannot be created", taken=TableAlreadyExistsError, TableInput=row, **place
            )
        except TableAlreadyExistsError as error:
            if not was_retried(error):
                raise
            find_created(self, table, row["Parameters"][CLAIM], error)
        return row

    def replace(self, table: Identifier, new: NewTable) -> GlueRow:
        row = _new_row(table, new)
        self._update(table, lambda _: row)
        return row

    def copy(self, row: GlueRow, target: Identifier) -> GlueRow:
        parameters = {**row["Parameters"], CLAIM: uuid.uuid4().hex}
        return self._create_row(target, {**self._client.writable(row), "Name": target.name, "Parameters": parameters})

    def delete(self, table: Identifier, row: GlueRow) -> None:
        place = self._place(table)
        try:
            self._client.call("DeleteTable", f"The table {table}", missing=TableNotFoundError, Name=table.name, **place)
        except TableNotFoundError as error:
            if not was_retried(error):  # the first request may have deleted it, and its response got lost
                raise

    # -- changing rows ---------------------------------------------------------------------------

    def _update(self, table: Identifier, change: Callable[[GlueRow], GlueRow | None]) -> None:
        """Change a table's row. If another writer changes it at the same time, it is read again."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            row = self.load(table)
            changed = change(row)
            if changed is None:
                return
            version = {"VersionId": row["VersionId"]} if row.get("VersionId") else {}
            try:
                self._client.call(
                    "UpdateTable",
                    f"{table} cannot be changed",
                    missing=TableNotFoundError,
                    taken=TableAlreadyExistsError,
                    TableInput=changed,
                    SkipArchive=True,
                    **version,
                    **self._place(table),
                )
            except ConcurrentModificationError:
                if not attempts_left:
                    raise
            else:
                return

    def show_schema(self, table: Identifier, schema: Callable[[], pa.Schema]) -> None:
        """Write a schema to Glue. The request itself has succeeded by now, so a failure is only logged."""
        try:
            shown, parameter = columns.to_columns(schema())
            self._update(table, lambda row: self._with_columns(row, shown, parameter))
        except LanceNamespaceError as error:
            _LOG.warning("Glue does not show the new columns of %s: %s", table, error)

    def _with_columns(self, row: GlueRow, shown: list[dict[str, str]], parameter: Mapping[str, str]) -> GlueRow | None:
        """Return the row with other columns, None if it has them already."""
        parameters = {key: text for key, text in row["Parameters"].items() if key != columns.PARAMETER}
        storage = row["StorageDescriptor"]
        current = [{"Name": column["Name"], "Type": column.get("Type")} for column in storage.get("Columns") or ()]
        if current == shown and row["Parameters"].get(columns.PARAMETER) == parameter.get(columns.PARAMETER):
            return None
        return {
            **self._client.writable(row),
            "Parameters": {**parameters, **parameter},
            "StorageDescriptor": {**storage, "Columns": shown},
        }


def is_lance(row: GlueRow) -> bool:
    """Return whether a row is a Lance table. Views, links and tables seen through Lake Formation may lack any field."""
    kind = (row.get("Parameters") or {}).get(TABLE_TYPE, "")
    location = (row.get("StorageDescriptor") or {}).get("Location")
    return row.get("TableType") == EXTERNAL and kind.lower() == LANCE and bool(location)


def _new_row(table: Identifier, new: NewTable) -> dict[str, Any]:
    shown, parameter = ([], {}) if new.schema is None else columns.to_columns(new.schema)
    return {
        "Name": table.name,
        "TableType": EXTERNAL,
        "Parameters": {**new.properties, TABLE_TYPE: LANCE, CLAIM: new.claim, **parameter},
        "StorageDescriptor": {"Location": new.location, "Columns": shown},
    }


def _require_absolute(table: Identifier, location: str) -> str:
    if "://" not in location and not location.startswith(("/", "file:")):
        raise InvalidInputError(
            f"{table} cannot be at {location!r}: others read the location from Glue, so it must be a URI such as "
            "s3://bucket/path or an absolute path."
        )
    return location
