"""Tables in Glue: an external table whose parameters say that it is Lance, and whose location is the table's."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.glue import columns, names
from lanceway.catalogs.glue.client import Answer
from lanceway.catalogs.glue.errors import GlueForbiddenError, was_retried
from lanceway.catalogs.glue.namespaces import GlueNamespaces
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables.storage import options, own_files
from lanceway.tables.storage.store import open_store

EXTERNAL = "EXTERNAL_TABLE"
TABLE_TYPE, LANCE = "table_type", "lance"
STORAGE = "storage."
# Tells one claim of a name from the next.
CLAIM = "lanceway.claim"
_OWN = (CLAIM, columns.PARAMETER)
_MARK = 8


class GlueTables(GlueNamespaces):
    """Finding, declaring and forgetting tables."""

    # -- finding ---------------------------------------------------------------------------------

    def _row(self, table: Identifier) -> Answer:
        """A Lance table as Glue has it. Raises InvalidInputError for a table that is none."""
        if table.depth < 2 or not names.may_be_catalogs(Identifier(table[:-2])):
            self._refuse_missing_parent(table)
            raise TableNotFoundError(f"There is no table {table}: in Glue, a table lies in a database.")
        about = f"The table {table}"
        try:
            row: Answer = self._glue.call("GetTable", about, missing=TableNotFoundError, **self._at(table))["Table"]
        except TableNotFoundError:
            self._refuse_missing_parent(table)
            raise
        if not is_lance(row):
            raise InvalidInputError(
                f"{table} is no Lance table: in Glue it is a table of another kind. A Lance table has the type "
                f"{EXTERNAL}, the parameter {TABLE_TYPE}={LANCE} and a location."
            )
        return row

    def _refuse_missing_parent(self, table: Identifier) -> None:
        """Glue says the same of a missing table and of one whose database is missing."""
        if table.depth > 1:
            with suppress(GlueForbiddenError):  # may not look; the table is missing in any case
                self._database(table.parent)

    def _inside(self, table: Identifier) -> Mapping[str, Any]:
        return {"DatabaseName": table[-2], **self._in(Identifier(table[:-2]))}

    def _at(self, table: Identifier) -> Mapping[str, Any]:
        return {"Name": table.name, **self._inside(table)}

    def _find_table(self, table: Identifier) -> TableEntry:
        return self._entry(self._row(names.folded(table)))

    def _entry(self, row: Answer) -> TableEntry:
        parameters = row.get("Parameters") or {}
        own = {name.removeprefix(STORAGE): text for name, text in parameters.items() if name.startswith(STORAGE)}
        location = row["StorageDescriptor"]["Location"]
        combined = options.for_table(location, self._settings["storage"], own)
        return replace(_without_storage(row), storage_options=combined or None)

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        namespace = names.folded(namespace)
        if namespace.is_root:
            return []
        found = {row["Name"]: partial(self._entry, row) for row in self._lance_rows(namespace)}
        return self._wanted_names(namespace, found, after, limit, include_declared)

    def _lance_rows(self, namespace: Identifier) -> list[Answer]:
        try:
            return [row for row in self._rows_of(namespace) if is_lance(row)]
        except (NamespaceNotFoundError, GlueForbiddenError) as error:
            if self._is_catalog(namespace):
                return []  # a catalog holds databases, and no tables
            raise error from error.__cause__

    def _is_catalog(self, namespace: Identifier) -> bool:
        try:
            return self._catalog(namespace) is not None
        except GlueForbiddenError:
            return False

    # -- claiming --------------------------------------------------------------------------------

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        table = self._new(table)
        claim = uuid.uuid4().hex
        where = absolute(table, location) if location else self._place(table, claim)
        return self._create(table, new_row(table, where, properties, claim))

    def _new(self, table: Identifier) -> Identifier:
        """The identifier of a new table, if one may have it."""
        table = names.folded(table)
        names.check_new_table(table)
        if table.depth < 2:
            raise InvalidInputError(
                f"{table} cannot be a table here: in Glue a table lies in a database. Use an identifier such as "
                f"{['database', table.name]!r}."
            )
        if not names.may_be_catalogs(Identifier(table[:-2])):
            raise NamespaceNotFoundError(f"There is no namespace {table.parent}: no catalog of Glue has such a name.")
        return table

    def _place(self, table: Identifier, claim: str) -> str:
        """Where a new table is to lie: in a folder that no other table ever has, not even the next of this name."""
        base = self._database(table.parent).get("LocationUri")
        if not base and self._settings["root"]:
            base = "/".join((self._settings["root"].rstrip("/"), *table.parent))
        if not base:
            raise InvalidInputError(
                f"{table} needs a location: the database {table.parent} has none (LocationUri) below which a table "
                "could lie. Give the table a location, or the database, or connect with root."
            )
        return f"{base.rstrip('/')}/{table.name}-{claim[:_MARK]}.lance"

    def _create(self, table: Identifier, made: dict[str, Any]) -> TableEntry:
        about, place, entry = f"{table} cannot be created", self._inside(table), self._entry(made)
        try:
            self._glue.call("CreateTable", about, taken=TableAlreadyExistsError, TableInput=made, **place)
        except TableAlreadyExistsError as taken:
            if not (was_retried(taken) and self._is_claimed_by(table, made["Parameters"][CLAIM])):
                raise
        return entry

    def _is_claimed_by(self, table: Identifier, claim: str | None) -> bool:
        try:
            return (self._row(table).get("Parameters") or {}).get(CLAIM) == claim
        except (NamespaceNotFoundError, TableNotFoundError, InvalidInputError):
            return False

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        try:
            found = self._find_table(table)
        except (NamespaceNotFoundError, TableNotFoundError, InvalidInputError):
            return False
        return (found.claim, found.location) == (entry.claim, entry.location)

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        with suppress(NamespaceNotFoundError, TableNotFoundError):
            if self._holds(table, entry) and self._is_declared_only(table, entry):
                self._delete(names.folded(table))

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        if entry.claim and f"-{entry.claim[:_MARK]}.lance" in entry.location:  # nobody else's, now or later
            self._remove(entry)

    # -- forgetting and dropping -----------------------------------------------------------------

    def _deregister_table(self, table: Identifier) -> TableEntry:
        row = self._row(names.folded(table))
        self._delete(names.folded(table))
        return _without_storage(row)

    def _delete(self, table: Identifier) -> None:
        try:
            self._glue.call("DeleteTable", f"The table {table}", missing=TableNotFoundError, **self._at(table))
        except TableNotFoundError as gone:
            if not was_retried(gone):
                raise

    def _drop_table(self, table: Identifier) -> TableEntry:
        entry = self._find_table(table)
        if not urlsplit(entry.location).path.strip("/"):
            raise InvalidInputError(
                f"{table} cannot be dropped: its location is {entry.location}, all of which would be deleted. "
                "Deregister it, and delete its data by hand."
            )
        self._delete(names.folded(table))
        try:
            self._remove(entry)
        except LanceNamespaceError as error:
            raise type(error)(
                f"{table} is gone from Glue, but its data is still at {entry.location}: {error} Delete it there once "
                "the cause is mended."
            ) from error
        return entry

    def _remove(self, entry: TableEntry) -> None:
        """Delete what Lance has made. Anybody may choose a location, and other things may lie there."""
        own_files.remove(open_store(entry.location, entry.storage_options))


def is_lance(row: Answer) -> bool:
    """Views, links and tables that Lake Formation shows in part may lack any of these."""
    kind = (row.get("Parameters") or {}).get(TABLE_TYPE, "")
    location = (row.get("StorageDescriptor") or {}).get("Location")
    return row.get("TableType") == EXTERNAL and kind.lower() == LANCE and bool(location)


def _without_storage(row: Answer) -> TableEntry:
    """Describe a table without the options of its storage, which may be such that it cannot be read."""
    parameters = row.get("Parameters") or {}
    shown = {name: text for name, text in parameters.items() if not name.startswith(STORAGE) and name not in _OWN}
    return TableEntry(row["StorageDescriptor"]["Location"], None, shown, claim=parameters.get(CLAIM))


def new_row(table: Identifier, location: str, properties: Mapping[str, str], claim: str) -> dict[str, Any]:
    given = properties.get(TABLE_TYPE, LANCE)
    reserved = [name for name in _OWN if name in properties]
    if given.lower() != LANCE or reserved:
        name = reserved[0] if reserved else TABLE_TYPE
        raise InvalidInputError(
            f"{table} cannot have the property {name} with a value of its own: it is how Lance tables are told in "
            "Glue. Leave it out."
        )
    return {
        "Name": table.name,
        "TableType": EXTERNAL,
        "Parameters": {**properties, TABLE_TYPE: LANCE, CLAIM: claim},
        "StorageDescriptor": {"Location": location, "Columns": []},
    }


def absolute(table: Identifier, location: str) -> str:
    if "://" not in location and not location.startswith(("/", "file:")):
        raise InvalidInputError(
            f"{table} cannot lie at {location!r}: others read the location from Glue, so it must be a URI such as "
            "s3://bucket/path or an absolute path."
        )
    return location
