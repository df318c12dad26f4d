"""Namespaces in Glue: catalogs, which hold catalogs and databases, and databases, which hold tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, cast

from lanceway.catalogs.glue import names
from lanceway.catalogs.glue.client import GlueClient, GlueRow
from lanceway.catalogs.glue.errors import FederationError, GlueForbiddenError
from lanceway.catalogs.glue.settings import DATABASES, GlueSettings
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
    namespace_not_empty,
    namespace_not_found,
)
from lanceway.identifiers import Identifier

# Properties of a namespace that Glue also has a place of its own for.
LOCATION, DESCRIPTION = "location", "description"
# Properties with which a catalog is made that is fed from elsewhere: where each belongs in Glue's request.
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "glue.federated_catalog.identifier": ("FederatedCatalog", "Identifier"),
    "glue.federated_catalog.connection_name": ("FederatedCatalog", "ConnectionName"),
    "glue.federated_catalog.connection_type": ("FederatedCatalog", "ConnectionType"),
    "glue.target_redshift_catalog_arn": ("TargetRedshiftCatalog", "CatalogArn"),
    "glue.catalog_type": ("CatalogProperties", "DataLakeAccessProperties", "CatalogType"),
    "glue.data_transfer_role": ("CatalogProperties", "DataLakeAccessProperties", "DataTransferRole"),
}


class GlueKind(Enum):
    CATALOG = "catalog"
    DATABASE = "database"


class GlueNamespaces:
    """The namespaces of one Glue catalog. Identifiers have been folded to lower case."""

    def __init__(self, client: GlueClient, settings: GlueSettings, owner: str) -> None:
        self._client = client
        self._settings = settings
        self._owner = owner

    # -- finding ---------------------------------------------------------------------------------

    def catalog(self, path: Identifier) -> GlueRow | None:
        """Return a catalog below the root, None if this path leads to no catalog.

        Where the settings say that namespaces are databases, Glue is not asked: a compatible service may know no
        catalogs, and fail when it is asked for them.
        """
        if self._settings.makes_databases or not names.may_be_catalogs(path):
            return None
        try:
            response = self._client.call("GetCatalog", f"The catalog {path}", **self._client.inside(path))
        except (NamespaceNotFoundError, InvalidInputError, UnsupportedOperationError):
            return None  # a compatible service may have no catalogs at all
        return cast(GlueRow, response["Catalog"])

    def database(self, path: Identifier) -> GlueRow:
        """Return a database. Raises NamespaceNotFoundError."""
        catalog = Identifier(path[:-1])
        if not names.may_be_catalogs(catalog):
            raise namespace_not_found(f"There is no namespace {path}: no catalog of Glue has such a name.")
        place = self._client.inside(catalog)
        response = self._client.call("GetDatabase", f"The namespace {path}", Name=path.name, **place)
        return cast(GlueRow, response["Database"])

    def find(self, namespace: Identifier) -> tuple[GlueKind, GlueRow]:
        """Return a catalog if one has the name, else a database; a database alone if the settings say so."""
        denied: GlueForbiddenError | None = None
        try:
            catalog = self.catalog(namespace)
        except GlueForbiddenError as error:  # Lake Formation says so of catalogs that are not there, too
            catalog, denied = None, error
        if catalog is not None:
            return GlueKind.CATALOG, catalog
        try:
            return GlueKind.DATABASE, self.database(namespace)
        except NamespaceNotFoundError as error:
            raise denied or error from None

    def properties(self, namespace: Identifier) -> Mapping[str, str]:
        """Return the properties of a namespace. Raises NamespaceNotFoundError."""
        _, row = self.find(namespace)
        return dict(row.get("Parameters") or {})

    # -- listing ---------------------------------------------------------------------------------

    def _catalogs_in(self, path: Identifier) -> Iterator[str]:
        """Yield the names of the catalogs directly inside a catalog. They come from ids, which are never shortened."""
        id_ = self._client.catalog_id(path)
        # Glue refuses IncludeRoot beside a parent. With it, the account's own catalog is in the answer: it is the root.
        parent: dict[str, Any] = {"ParentCatalogId": id_} if id_ else {"IncludeRoot": True}
        for row in self._client.rows("GetCatalogs", f"The catalogs in {path}", Recursive=False, **parent):
            child = row.get("CatalogId") or row["Name"]
            if child != id_ and not names.is_account(child):
                yield names.name_of(child)

    def _databases_in(self, path: Identifier) -> Iterator[str]:
        for row in self._client.rows("GetDatabases", f"The databases in {path}", **self._client.inside(path)):
            yield row["Name"]

    def children(self, path: Identifier) -> set[str]:
        """Return the names in a catalog, as far as the caller may see them.

        A caller who may list databases but no catalogs, or the reverse, gets those of the one kind; some federated
        catalogs refuse to list databases. A caller who may see neither gets the error. Where the settings say that
        namespaces are databases, they are all there is.
        """
        if self._settings.makes_databases:
            return {*self._databases_in(path)}
        children: set[str] = set()
        try:
            children.update(self._catalogs_in(path))
        except (FederationError, GlueForbiddenError, UnsupportedOperationError):
            return {*self._databases_in(path)}
        try:
            children.update(self._databases_in(path))
        except (GlueForbiddenError, InvalidInputError):
            if not children and (path.is_root or not self._is_federated(path)):
                raise
        return children

    def _is_federated(self, path: Identifier) -> bool:
        return bool((self.catalog(path) or {}).get("FederatedCatalog"))

    def tables_in(self, database: Identifier) -> Iterator[GlueRow]:
        """Yield every table of a database as Glue has it, Lance or not. Raises NamespaceNotFoundError."""
        catalog = Identifier(database[:-1])
        if not names.may_be_catalogs(catalog):
            raise namespace_not_found(f"There is no namespace {database}: no catalog of Glue has such a name.")
        yield from self._client.rows(
            "GetTables", f"The tables of {database}", DatabaseName=database.name, **self._client.inside(catalog)
        )

    # -- making ----------------------------------------------------------------------------------

    def _makes_catalog(self, namespace: Identifier) -> bool:
        # Glue makes catalogs in the account alone: there is no way to say in which other one.
        return namespace.depth == 1 and self._client.is_default and not self._settings.makes_databases

    def create(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Make a catalog or a database in an existing parent."""
        if self._makes_catalog(namespace):
            self._create_catalog(namespace, properties)
        else:
            self._create_database(namespace, properties)
        return dict(properties)

    def _create_catalog(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        names.check_new_catalog(namespace)
        self._refuse_foreign_account(namespace)
        self._refuse_database(namespace)
        about = f"The catalog {namespace} cannot be created"
        try:
            self._client.call("CreateCatalog", about, Name=namespace.name, CatalogInput=_catalog_input(properties))
        except (InvalidInputError, GlueForbiddenError, UnsupportedOperationError) as error:
            raise type(error)(
                f'{error} To make databases rather than catalogs, connect with hierarchy="{DATABASES}".'
            ) from error.__cause__

    def _refuse_foreign_account(self, namespace: Identifier) -> None:
        start = self._settings.catalog_id
        if start and not self._settings.endpoint and start != self._client.caller:
            raise UnsupportedOperationError(
                f"{self._owner} cannot create the catalog {namespace}: Glue makes catalogs in the caller's own "
                f"account alone, and catalog_id is {start}. Connect with that account's credentials, or make databases."
            )

    def _refuse_database(self, namespace: Identifier) -> None:
        """Refuse a name for two namespaces, though Glue would have a catalog and a database of one name."""
        try:
            self.database(namespace)
        except (NamespaceNotFoundError, GlueForbiddenError):
            return
        raise NamespaceAlreadyExistsError(f"{namespace} cannot be created: a database has this name.")

    def _create_database(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        names.check_new_database(namespace)
        self._refuse_catalog(namespace)
        parent = namespace.parent
        if not parent.is_root and self.catalog(parent) is None:
            raise namespace_not_found(
                f"{namespace} cannot be created: there is no catalog {parent}. A database holds tables alone."
                f"{self._flat}"
            )
        self._client.call(
            "CreateDatabase",
            f"The database {namespace} cannot be created",
            DatabaseInput=_database_input(namespace, properties),
            **self._client.inside(parent),
        )

    @property
    def _flat(self) -> str:
        """Return how to reach catalogs where the settings leave them out."""
        if not self._settings.makes_databases:
            return ""
        return f' With hierarchy = "{DATABASES}", name a child catalog by catalog_id.'

    def _refuse_catalog(self, namespace: Identifier) -> None:
        try:
            is_catalog = self.catalog(namespace) is not None
        except GlueForbiddenError:
            is_catalog = False
        if is_catalog:
            raise NamespaceAlreadyExistsError(f"{namespace} cannot be created: a catalog has this name.")

    # -- replacing and dropping ------------------------------------------------------------------

    def keep_or_replace(
        self, namespace: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> Mapping[str, str]:
        """Overwrite an existing namespace in place if it is empty: at no moment is it missing."""
        if not replace:
            return self.properties(namespace)
        kind, _ = self.find(namespace)
        self._refuse_filled(namespace, kind, "overwritten")
        about = f"The {kind.value} {namespace} cannot be overwritten"
        if kind is GlueKind.CATALOG:
            self._client.call(
                "UpdateCatalog", about, CatalogInput=_catalog_input(properties), **self._client.inside(namespace)
            )
        else:
            self._client.call(
                "UpdateDatabase",
                about,
                Name=namespace.name,
                DatabaseInput=_database_input(namespace, properties),
                **self._client.inside(namespace.parent),
            )
        return dict(properties)

    def drop(self, namespace: Identifier, cascade: bool) -> Mapping[str, str]:
        """Drop an empty namespace and return the properties it had."""
        if cascade:
            raise UnsupportedOperationError(
                f"{self._owner} does not support drop_namespace with behavior cascade. Drop what {namespace} holds "
                "first, then the namespace."
            )
        kind, row = self.find(namespace)
        self._refuse_filled(namespace, kind, "dropped")
        about = f"The {kind.value} {namespace} cannot be dropped"
        if kind is GlueKind.CATALOG:
            self._client.call("DeleteCatalog", about, **self._client.inside(namespace))
        else:
            self._client.call("DeleteDatabase", about, Name=namespace.name, **self._client.inside(namespace.parent))
        return dict(row.get("Parameters") or {})

    def _refuse_filled(self, namespace: Identifier, kind: GlueKind, verb: str) -> None:
        """Refuse a namespace that holds anything: Glue itself would delete all of it."""
        if kind is GlueKind.CATALOG:
            inside = next(self._catalogs_in(namespace), None) or next(self._databases_in(namespace), None)
        else:
            inside = next((row["Name"] for row in self.tables_in(namespace)), None)
        if inside is not None:
            raise namespace_not_empty(
                f"The {kind.value} {namespace} cannot be {verb}: it holds {inside!r}. Drop what is inside first."
            )


def _catalog_input(properties: Mapping[str, str]) -> dict[str, Any]:
    catalog: dict[str, Any] = {
        "Parameters": dict(properties),
        "CreateDatabaseDefaultPermissions": [],
        "CreateTableDefaultPermissions": [],
    }
    if DESCRIPTION in properties:
        catalog["Description"] = properties[DESCRIPTION]
    for name, (*groups, leaf) in _SOURCES.items():
        if name in properties:
            group = catalog
            for key in groups:
                group = group.setdefault(key, {})
            group[leaf] = properties[name]
    return catalog


def _database_input(namespace: Identifier, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return Glue's input: the properties as parameters, location and description in Glue's own fields too."""
    database: dict[str, Any] = {"Name": namespace.name, "Parameters": dict(properties)}
    if properties.get(LOCATION):
        database["LocationUri"] = properties[LOCATION]
    if properties.get(DESCRIPTION):
        database["Description"] = properties[DESCRIPTION]
    return database
