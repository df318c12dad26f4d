"""Namespaces in Glue, made and dropped: catalogs, with databases as the leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceway.catalogs.glue import names
from lanceway.catalogs.glue.errors import GlueForbiddenError
from lanceway.catalogs.glue.lookup import GlueKind, GlueLookup
from lanceway.catalogs.glue.settings import DATABASES
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
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


class GlueNamespaces(GlueLookup):
    """Making, overwriting and dropping namespaces."""

    # -- making ----------------------------------------------------------------------------------

    def _makes_catalog(self, namespace: Identifier) -> bool:
        # Glue makes catalogs in the account alone: there is no way to say in which other one.
        return namespace.depth == 1 and self._is_default and self._settings["hierarchy"] != DATABASES

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        namespace = names.folded(namespace)
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
            self._glue.call("CreateCatalog", about, Name=namespace.name, CatalogInput=_catalog_input(properties))
        except (InvalidInputError, GlueForbiddenError, UnsupportedOperationError) as error:
            raise type(error)(
                f'{error} To make databases rather than catalogs, connect with hierarchy="{DATABASES}".'
            ) from error.__cause__

    def _refuse_foreign_account(self, namespace: Identifier) -> None:
        start = self._settings["catalog_id"]
        if start and not self._settings["endpoint"] and start != self._caller:
            raise UnsupportedOperationError(
                f"{self._owner()} cannot create the catalog {namespace}: Glue makes catalogs in the caller's own "
                f"account alone, and catalog_id is {start}. Connect with that account's credentials, or make databases."
            )

    def _refuse_database(self, namespace: Identifier) -> None:
        """One name means one namespace, though Glue would have a catalog and a database of it side by side."""
        try:
            self._database(namespace)
        except (NamespaceNotFoundError, GlueForbiddenError):
            return
        raise NamespaceAlreadyExistsError(f"{namespace} cannot be created: a database has this name.")

    def _create_database(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        names.check_new_database(namespace)
        self._refuse_catalog(namespace)
        parent = namespace.parent
        if not parent.is_root and self._catalog(parent) is None:
            raise NamespaceNotFoundError(
                f"{namespace} cannot be created: there is no catalog {parent}. A database holds tables alone."
            )
        self._glue.call(
            "CreateDatabase",
            f"The database {namespace} cannot be created",
            DatabaseInput=_database_input(namespace, properties),
            **self._in(parent),
        )

    def _refuse_catalog(self, namespace: Identifier) -> None:
        try:
            taken = self._catalog(namespace) is not None
        except GlueForbiddenError:
            taken = False
        if taken:
            raise NamespaceAlreadyExistsError(f"{namespace} cannot be created: a catalog has this name.")

    # -- replacing and dropping ------------------------------------------------------------------

    def _keep_or_replace(
        self, namespace: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> Mapping[str, str] | None:
        """An existing namespace that is empty is overwritten in place: at no moment is it gone."""
        if not replace:
            return self._namespace_properties(namespace)
        namespace = names.folded(namespace)
        kind, _ = self._found(namespace)
        self._refuse_filled(namespace, kind, "overwritten")
        about = f"The {kind.value} {namespace} cannot be overwritten"
        if kind is GlueKind.CATALOG:
            self._glue.call("UpdateCatalog", about, CatalogInput=_catalog_input(properties), **self._in(namespace))
        else:
            self._glue.call(
                "UpdateDatabase",
                about,
                Name=namespace.name,
                DatabaseInput=_database_input(namespace, properties),
                **self._in(namespace.parent),
            )
        return dict(properties)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        if cascade:
            raise UnsupportedOperationError(
                f"{self._owner()} does not support drop_namespace with behavior cascade. Drop what {namespace} holds "
                "first, then the namespace."
            )
        namespace = names.folded(namespace)
        kind, found = self._found(namespace)
        self._refuse_filled(namespace, kind, "dropped")
        about = f"The {kind.value} {namespace} cannot be dropped"
        if kind is GlueKind.CATALOG:
            self._glue.call("DeleteCatalog", about, **self._in(namespace))
        else:
            self._glue.call("DeleteDatabase", about, Name=namespace.name, **self._in(namespace.parent))
        return dict(found.get("Parameters") or {})

    def _refuse_filled(self, namespace: Identifier, kind: GlueKind, verb: str) -> None:
        """Glue itself would delete all that is inside."""
        if kind is GlueKind.CATALOG:
            inside = next(self._catalogs_in(namespace), None) or next(self._databases_in(namespace), None)
        else:
            inside = next((row["Name"] for row in self._rows_of(namespace)), None)
        if inside is not None:
            raise NamespaceNotEmptyError(
                f"The {kind.value} {namespace} cannot be {verb}: it holds {inside!r}. Drop what is inside first."
            )


def _catalog_input(properties: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "Parameters": dict(properties),
        "CreateDatabaseDefaultPermissions": [],
        "CreateTableDefaultPermissions": [],
    }
    if DESCRIPTION in properties:
        made["Description"] = properties[DESCRIPTION]
    for name, (*groups, leaf) in _SOURCES.items():
        if name in properties:
            inside = made
            for group in groups:
                inside = inside.setdefault(group, {})
            inside[leaf] = properties[name]
    return made


def _database_input(namespace: Identifier, properties: Mapping[str, str]) -> dict[str, Any]:
    """Properties are the parameters; the location and the description are told to Glue's own fields too."""
    made: dict[str, Any] = {"Name": namespace.name, "Parameters": dict(properties)}
    if properties.get(LOCATION):
        made["LocationUri"] = properties[LOCATION]
    if properties.get(DESCRIPTION):
        made["Description"] = properties[DESCRIPTION]
    return made
