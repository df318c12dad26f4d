"""The requests to a Hive Metastore that the catalog is made of, in the words of each version.

Versions 2 and 3 have requests that version 4 has replaced. A request that the metastore does not know has done nothing,
so the other one is asked then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from hive_metastore import ttypes

from lanceway.catalogs.hive.client import HiveClient
from lanceway.catalogs.hive.errors import ErrorType, UnknownMethodError, translated
from lanceway.catalogs.hive.names import HivePlace
from lanceway.catalogs.metastore.tables import CLAIM
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

HiveCatalogRow = Any
HiveDatabase = Any
HiveTable = Any

# Hive would count the files at a table's location, again and again, for statistics that mean nothing for Lance.
_NO_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}
# What a metastore says, in words alone, where a table is not what it was, and where it cannot tell.
_CHANGED, _NO_CONDITIONS = "has been modified", "make sure direct SQL is enabled"


class HiveMetastore:
    """One metastore, of any version."""

    def __init__(self, client: HiveClient) -> None:
        self._client = client

    def close(self) -> None:
        self._client.close()

    def _read(self, about: str, method: str, *arguments: object, missing: ErrorType = NamespaceNotFoundError) -> Any:
        with translated(about, missing=missing):
            return self._client.call(about, method, *arguments)

    def _change(
        self,
        about: str,
        method: str,
        *arguments: object,
        missing: ErrorType = NamespaceNotFoundError,
        taken: ErrorType = NamespaceAlreadyExistsError,
        refused: ErrorType = InvalidInputError,
    ) -> None:
        with translated(about, missing=missing, taken=taken, refused=refused):
            self._client.call(about, method, *arguments, changes=True)

    # -- catalogs --------------------------------------------------------------------------------

    @cached_property
    def has_catalogs(self) -> bool:
        """Whether the metastore has catalogs, which those before version 3 have not."""
        try:
            self._read("Finding out whether the metastore has catalogs", "get_catalogs")
        except UnknownMethodError:
            return False
        return True

    def catalogs(self) -> list[str]:
        about = "Listing the catalogs"
        return list(_part(about, self._read(about, "get_catalogs"), "names"))

    def catalog(self, name: str) -> HiveCatalogRow:
        """Return a catalog. Raises NamespaceNotFoundError."""
        about = f"The catalog {name}"
        return _part(about, self._read(about, "get_catalog", ttypes.GetCatalogRequest(name)), "catalog")

    def create_catalog(self, row: HiveCatalogRow) -> None:
        about = f"The catalog {row.name} cannot be created"
        self._change(about, "create_catalog", ttypes.CreateCatalogRequest(row))

    def alter_catalog(self, row: HiveCatalogRow) -> None:
        about = f"The catalog {row.name} cannot be changed"
        self._change(about, "alter_catalog", ttypes.AlterCatalogRequest(row.name, row))

    def drop_catalog(self, name: str) -> None:
        """Drop a catalog without databases. The metastore deletes its folder, with whatever is in it."""
        about = f"The catalog {name} cannot be dropped"
        self._change(about, "drop_catalog", ttypes.DropCatalogRequest(name), refused=NamespaceNotEmptyError)

    # -- databases -------------------------------------------------------------------------------

    def databases(self, catalog: str | None) -> list[str]:
        """Return the databases of a catalog; none if it is missing."""
        pattern = "*" if catalog is None else f"@{catalog}#*"
        return list(self._read("Listing the databases", "get_databases", pattern))

    def database(self, place: HivePlace) -> HiveDatabase:
        """Return a database. Raises NamespaceNotFoundError."""
        return self._read(f"The database {place.database}", "get_database", place.wire)

    def create_database(self, row: HiveDatabase) -> None:
        self._change(f"The database {row.name} cannot be created", "create_database", row)

    def alter_database(self, place: HivePlace, row: HiveDatabase) -> None:
        self._change(f"The database {place.database} cannot be changed", "alter_database", place.wire, row)

    def drop_database(self, place: HivePlace) -> None:
        """Drop a database without tables, and keep the folder that it has."""
        about = f"The database {place.database} cannot be dropped"
        self._change(about, "drop_database", place.wire, False, False, refused=NamespaceNotEmptyError)

    # -- tables ----------------------------------------------------------------------------------

    def table_names(self, place: HivePlace) -> list[str]:
        """Return the names of the tables of a database, of any kind; none if it is missing."""
        return list(self._read(f"Listing the tables of {place.database}", "get_all_tables", place.wire))

    def table(self, place: HivePlace, name: str) -> HiveTable:
        """Return a table of any kind. Raises TableNotFoundError, also if its database is missing."""
        about = f"The table {place.database}.{name}"
        request = ttypes.GetTableRequest(dbName=place.database, tblName=name, catName=place.catalog)
        try:
            return _part(about, self._read(about, "get_table_req", request, missing=TableNotFoundError), "table")
        except UnknownMethodError:
            return self._read(about, "get_table", place.wire, name, missing=TableNotFoundError)

    def tables(self, place: HivePlace, names: Sequence[str]) -> list[HiveTable]:
        """Return the tables of these names that are there, in no order."""
        about = f"Reading the tables of {place.database}"
        request = ttypes.GetTablesRequest(dbName=place.database, tblNames=list(names), catName=place.catalog)
        try:
            return list(_part(about, self._read(about, "get_table_objects_by_name_req", request), "tables"))
        except UnknownMethodError:
            return list(self._read(about, "get_table_objects_by_name", place.wire, list(names)))

    def create_table(self, row: HiveTable) -> None:
        """Make a table. Raises TableAlreadyExistsError, InvalidInputError also if its database is missing."""
        about = f"The table {row.dbName}.{row.tableName} cannot be created"
        context = ttypes.EnvironmentContext(properties=_NO_STATISTICS)
        try:
            self._change(about, "create_table_with_environment_context", row, context, taken=TableAlreadyExistsError)
        except UnknownMethodError:
            request = ttypes.CreateTableRequest(table=row, envContext=context)
            self._change(about, "create_table_req", request, taken=TableAlreadyExistsError)

    def alter_table(self, place: HivePlace, name: str, row: HiveTable, claim: str | None) -> None:
        """Change a table, its name included. A metastore of version 4 does so only while it has this claim.

        One without direct SQL, and older ones, cannot look and change in one step.
        """
        expected = {"expected_parameter_key": CLAIM, "expected_parameter_value": claim} if claim else {}
        try:
            self._alter_table(place, name, row, {**_NO_STATISTICS, **expected})
        except InternalError as error:
            if _CHANGED in str(error):
                raise ConcurrentModificationError(
                    f"{error} Another table has taken its name in the meantime: look again and retry."
                ) from error
            if _NO_CONDITIONS not in str(error):
                raise
            self._alter_table(place, name, row, _NO_STATISTICS)

    def _alter_table(self, place: HivePlace, name: str, row: HiveTable, properties: Mapping[str, str]) -> None:
        about = f"The table {place.database}.{name} cannot be changed"
        context = ttypes.EnvironmentContext(properties=dict(properties))
        errors: dict[str, ErrorType] = {"missing": TableNotFoundError, "taken": TableAlreadyExistsError}
        method = "alter_table_with_environment_context"
        try:
            self._change(about, method, place.wire, name, row, context, **errors)
        except UnknownMethodError:
            request = ttypes.AlterTableRequest(
                catName=place.catalog, dbName=place.database, tableName=name, table=row, environmentContext=context
            )
            self._change(about, "alter_table_req", request, **errors)

    def drop_table(self, place: HivePlace, name: str) -> None:
        """Forget a table, and keep its data whatever the table's parameters say. Raises TableNotFoundError."""
        about = f"The table {place.database}.{name} cannot be dropped"
        self._change(about, "drop_table", place.wire, name, False, missing=TableNotFoundError)


def _part(about: str, answer: Any, name: str) -> Any:
    """Return a field of an answer. Raises InternalError where it is missing, which Thrift does not notice."""
    value = getattr(answer, name)
    if value is None:
        raise InternalError(f"{about}: what should be a Hive Metastore answers without {name}. Is the address right?")
    return value
