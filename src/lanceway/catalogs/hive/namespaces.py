"""Namespaces in Hive: databases, which hold tables, and in version 3 and later catalogs, which hold databases."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from typing import TYPE_CHECKING

from hive_metastore import ttypes

from lanceway.catalogs.hive.folders import kept
from lanceway.catalogs.hive.metastore import HiveDatabase, HiveMetastore
from lanceway.catalogs.hive.names import HivePlace, absolute, check_new, database_location, normal
from lanceway.catalogs.hive.settings import CATALOGS, HiveSettings
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
    namespace_not_empty,
    namespace_not_found,
)
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from collections.abc import Iterator

# Properties that the metastore has places of their own for.
DESCRIPTION, LOCATION = "database.description", "database.location-uri"
OWNER, OWNER_TYPE = "database.owner", "database.owner-type"
CATALOG_DESCRIPTION, CATALOG_LOCATION = "description", "catalog.location.uri"
_OWN = frozenset({DESCRIPTION, LOCATION, OWNER, OWNER_TYPE})
_CATALOG_OWN = frozenset({CATALOG_DESCRIPTION, CATALOG_LOCATION})
# The database that the metastore makes in every catalog.
_DEFAULT = "default"
# What the metastore's own tables have room for in every version: it tries for long to store more, and then fails.
LONGEST_KEY, LONGEST_VALUE = 256, 4000


class HiveNamespaces:
    """The namespaces of one metastore. Identifiers have been folded to lower case."""

    def __init__(self, metastore: HiveMetastore, settings: HiveSettings, owner: str) -> None:
        self._metastore = metastore
        self._settings = settings
        self._owner = owner

    # -- levels ----------------------------------------------------------------------------------

    @property
    def levels(self) -> int:
        """Return how many names the identifier of a database has. The metastore may be asked, once."""
        if self._settings.hierarchy is not None:
            return 2 if self._settings.hierarchy == CATALOGS else 1
        return 2 if self._metastore.has_catalogs else 1

    def is_database(self, namespace: Identifier) -> bool:
        return namespace.depth == self.levels

    def place(self, namespace: Identifier) -> HivePlace:
        """Return the database of a namespace. Raises NamespaceNotFoundError for what cannot be one."""
        if namespace.depth > self.levels:
            raise namespace_not_found(f"There is no namespace {namespace}: a database of Hive holds no namespaces.")
        if namespace.depth < self.levels:
            raise namespace_not_found(f"{namespace} is not a database: it holds databases, and they hold tables.")
        return HivePlace(self._settings.catalog if self.levels == 1 else namespace[0], namespace.name)

    # -- finding ---------------------------------------------------------------------------------

    def database(self, namespace: Identifier) -> HiveDatabase:
        """Return a database. Raises NamespaceNotFoundError."""
        return self._metastore.database(self.place(namespace))

    def properties(self, namespace: Identifier) -> Mapping[str, str]:
        """Return the properties of a namespace. Raises NamespaceNotFoundError."""
        if namespace.depth < self.levels:
            row = self._metastore.catalog(namespace.name)
            own = {CATALOG_DESCRIPTION: row.description, CATALOG_LOCATION: row.locationUri}
            return {name: text for name, text in own.items() if text}
        return _properties(self.database(namespace))

    def children(self, namespace: Identifier) -> Iterable[str]:
        """Return the names in a namespace, in no order. Raises NamespaceNotFoundError."""
        if namespace.depth >= self.levels:
            self.database(namespace)
            return []
        if self.levels == 1:
            return self._metastore.databases(self._settings.catalog)
        if namespace.is_root:
            return self._metastore.catalogs()
        self._metastore.catalog(namespace.name)  # the databases of a missing one are none
        return self._metastore.databases(namespace.name)

    def created_at(self, namespace: Identifier) -> int | None:
        """Return when a namespace was made, in seconds; None where the metastore does not say."""
        is_catalog = namespace.depth < self.levels
        row = self._metastore.catalog(namespace.name) if is_catalog else self.database(namespace)
        return row.createTime or None

    # -- making ----------------------------------------------------------------------------------

    def create(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Make a catalog or a database in an existing parent."""
        check_new(namespace)
        if namespace.depth < self.levels:
            catalog = self._new_catalog(namespace, properties)
            with kept(catalog.locationUri, self._settings.storage), self._won(namespace):
                self._metastore.create_catalog(catalog)
            return dict(properties)
        place = self.place(namespace)
        if place.catalog is not None:
            self._metastore.catalog(place.catalog)  # with the error of a missing parent
        database = self._new_database(namespace, place, properties)
        folder = kept(database.locationUri, self._settings.storage) if database.locationUri else nullcontext()
        with folder, self._won(namespace), explained(namespace, properties):
            self._metastore.create_database(database)
        return dict(properties)

    @contextmanager
    def _won(self, namespace: Identifier) -> Iterator[None]:
        """Turn the failure of the metastore's own database, where two clients create one name, into what it means."""
        try:
            yield
        except InternalError as error:
            with suppress(NamespaceNotFoundError):
                self.properties(namespace)
                raise NamespaceAlreadyExistsError(
                    f"{namespace} cannot be created: another client has created it at the same moment."
                ) from error
            raise

    def _new_catalog(self, namespace: Identifier, properties: Mapping[str, str]) -> ttypes.Catalog:
        unknown = sorted(set(properties) - _CATALOG_OWN)
        if unknown:
            raise InvalidInputError(
                f"The catalog {namespace} cannot have the property {unknown[0]!r}: a metastore keeps "
                f"{CATALOG_DESCRIPTION} and {CATALOG_LOCATION} of a catalog alone. Set it on the catalog's databases."
            )
        location, root = properties.get(CATALOG_LOCATION), self._settings.root
        if not location and not root:
            raise InvalidInputError(
                f"The catalog {namespace} needs a location: give it the property {CATALOG_LOCATION}, or connect with "
                "root."
            )
        where = absolute(location) if location else f"{root}/{namespace.name}"
        return ttypes.Catalog(name=namespace.name, description=properties.get(CATALOG_DESCRIPTION), locationUri=where)

    def _new_database(self, namespace: Identifier, place: HivePlace, properties: Mapping[str, str]) -> HiveDatabase:
        """Return the row of a database: with the properties that Hive has places for there, the others as parameters.

        One without a location is below the root, or where the metastore puts it.
        """
        location, root = properties.get(LOCATION), self._settings.root
        default = database_location(root, place) if root else None
        where = absolute(location) if location else default
        return ttypes.Database(
            name=place.database,
            catalogName=place.catalog,
            description=properties.get(DESCRIPTION),
            locationUri=where,
            parameters={name: text for name, text in properties.items() if name not in _OWN},
            **_owner(namespace, properties),
        )

    # -- replacing and dropping ------------------------------------------------------------------

    def keep_or_replace(
        self, namespace: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> Mapping[str, str]:
        """Overwrite an existing namespace in place if it is empty: at no moment is it missing."""
        current = self.properties(namespace)
        if not replace:
            return current
        self._refuse_filled(namespace, "overwritten")
        key = CATALOG_LOCATION if namespace.depth < self.levels else LOCATION
        if properties.get(key) and absolute(properties[key]) != normal(current.get(key, "")):
            raise InvalidInputError(
                f"{namespace} cannot be overwritten with another {key}: Hive does not move what is there. Drop it, and "
                "create it at the other location."
            )
        if namespace.depth < self.levels:
            row = self._new_catalog(namespace, {CATALOG_LOCATION: current[CATALOG_LOCATION], **properties})
            self._metastore.alter_catalog(row)
        else:
            place = self.place(namespace)
            with explained(namespace, properties):
                row = self._new_database(namespace, place, {LOCATION: current[LOCATION], **properties})
                self._metastore.alter_database(place, row)
        return dict(properties)

    def drop(self, namespace: Identifier, cascade: bool) -> Mapping[str, str]:
        """Drop an empty namespace, keep the folder that it has, and return its properties."""
        if cascade:
            raise UnsupportedOperationError(
                f"{self._owner} does not support drop_namespace with behavior cascade. Drop what {namespace} holds "
                "first, then the namespace."
            )
        properties = self.properties(namespace)
        self._refuse_filled(namespace, "dropped")
        if namespace.depth < self.levels:
            self._drop_catalog(namespace)
        else:
            self._metastore.drop_database(self.place(namespace))
        return properties

    def _drop_catalog(self, namespace: Identifier) -> None:
        """Drop a catalog whose folder stays. The metastore deletes it, and tables that were deregistered may be there.

        So the catalog is moved to a folder that is nowhere first, and back again if it cannot be dropped.
        """
        place = HivePlace(namespace.name, _DEFAULT)
        old, default = self._metastore.catalog(namespace.name), self._default_database(place)
        moved = copy(old)
        moved.locationUri = f"{old.locationUri.rstrip('/')}/.lanceway-dropped-{uuid.uuid4().hex}"
        self._metastore.alter_catalog(moved)
        try:
            if default is not None:
                self._metastore.drop_database(place)
            self._metastore.drop_catalog(namespace.name)
        except LanceNamespaceError:
            with suppress(NamespaceNotFoundError):  # another client has dropped it
                self._metastore.alter_catalog(old)
                if default is not None and self._default_database(place) is None:
                    self._metastore.create_database(default)
            raise

    def _default_database(self, place: HivePlace) -> HiveDatabase | None:
        try:
            return self._metastore.database(place)
        except NamespaceNotFoundError:
            return None

    def _refuse_filled(self, namespace: Identifier, verb: str) -> None:
        """Refuse a namespace that holds anything, tables that are not Lance included."""
        if namespace.depth < self.levels:
            databases = self._metastore.databases(namespace.name)
            inside = next((name for name in sorted(databases) if name != _DEFAULT), None)
            default = HivePlace(namespace.name, _DEFAULT)
        else:
            inside, default = None, self.place(namespace)
        inside = inside or min(self._metastore.table_names(default), default=None)
        if inside is not None:
            raise namespace_not_empty(f"{namespace} cannot be {verb}: it holds {inside!r}. Drop what is inside first.")


def _properties(row: HiveDatabase) -> dict[str, str]:
    own = {
        DESCRIPTION: row.description,
        LOCATION: row.locationUri and normal(row.locationUri),
        OWNER: row.ownerName,
        OWNER_TYPE: ttypes.PrincipalType._VALUES_TO_NAMES.get(row.ownerType),
    }
    return {**(row.parameters or {}), **{name: text for name, text in own.items() if text}}


def _owner(namespace: Identifier, properties: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of a database's owner, none where the metastore is to say who that is."""
    name, kind = properties.get(OWNER), properties.get(OWNER_TYPE)
    if not name:
        if kind:
            raise InvalidInputError(
                f"{namespace} has the property {OWNER_TYPE}, but not {OWNER}. Set both, or neither."
            )
        return {}
    kinds = ttypes.PrincipalType._NAMES_TO_VALUES
    if (kind or "USER").upper() not in kinds:
        raise InvalidInputError(
            f"{namespace}: {OWNER_TYPE} is {kind!r}, but must be one of {', '.join(sorted(kinds))}."
        )
    return {"ownerName": name, "ownerType": kinds[(kind or "USER").upper()]}


@contextmanager
def explained(owner: Identifier, properties: Mapping[str, str]) -> Iterator[None]:
    """Explain a failure of the metastore by a property that is too long, if there is one."""
    try:
        yield
    except InternalError as error:
        for name, value in properties.items():
            if len(name) > LONGEST_KEY or len(value) > LONGEST_VALUE:
                raise InvalidInputError(
                    f"{owner} cannot be stored with the property {name[:100]!r}: names have at most {LONGEST_KEY} "
                    f"characters in this metastore, and values {LONGEST_VALUE}."
                ) from error
        raise
