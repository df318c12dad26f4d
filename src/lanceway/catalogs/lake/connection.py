"""Connecting to a lake: its settings, its database, and the catalog in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, fields
from typing import Any, Self

from lance_namespace import LanceNamespace
from sqlalchemy import Connection

from lanceway import config
from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.lake.managed_table import Manifests
from lanceway.config import Setting
from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError, NamespaceNotFoundError
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.engines import read_uri
from lanceway.lake.tree import catalogs, metalakes
from lanceway.lake.tree.catalogs import CatalogRow
from lanceway.lake.tree.locations import canonical, is_same
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.tree.separators import POLICIES
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import store as storage
from lanceway.tables.storage.store import Store, local_path

MANAGED = "managed"
STORAGE = "storage"

SETTINGS = (
    Setting(
        "uri",
        "The lake's database: sqlite:///lake.db or postgresql://user@host/database.",
        required=True,
        secret=True,  # it may hold a password
    ),
    Setting(
        "root",
        "The warehouse, below which new tables are put: a URI, an absolute path, or one relative to the running "
        "process. Needed for a new catalog.",
    ),
    Setting("metalake", "The metalake in the database.", default="lanceway"),
    Setting("catalog", "The catalog in the metalake.", default="lake"),
    Setting("user", "Who acts: owns what is made, and is named in its history. The login name if it is not set."),
    Setting(
        "versioning",
        "Where new tables of a new catalog keep their versions: managed (in the lake, which is the default) or "
        "storage.",
        choices=(MANAGED, STORAGE),
    ),
    Setting("separator", "What separates names in a logical path of a new database: LANCEWAY_SEPARATOR, else ':'."),
    Setting("policy", "Which separators are allowed, for a new database.", choices=POLICIES),
    Setting("create", "Whether what is missing of database, metalake and catalog is made.", bool, default=True),
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)


@dataclass(frozen=True, slots=True)
class LakeSettings:
    """The settings of one catalog of a lake, as `SETTINGS` describes them.

    They mean the same in another folder, for another user: no path is relative, and the user is named.
    """

    uri: str = field(repr=False)  # it may hold a password
    root: str | None
    metalake: str
    catalog: str
    user: str
    versioning: str | None
    separator: str | None
    policy: str | None
    create: bool
    storage: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Self:
        root = settings["root"]
        path = None if root is None else local_path(root)
        completed = {
            **settings,
            "uri": read_uri(settings["uri"]).render_as_string(hide_password=False),
            "root": root if path is None else os.path.abspath(path),
            "user": settings["user"] or config.login(),
        }
        return cls(**{row.name: completed[row.name] for row in fields(cls)})


@dataclass(frozen=True, slots=True)
class LakeConnection:
    """One catalog of a lake as one user has it: what every part of `LakeCatalog` works on.

    The `client` is the catalog itself: pylance asks it about managed tables, and claims their versions through it.
    """

    store: LakeStore
    catalog: CatalogRow
    user: str
    options: Mapping[str, str] | None
    client: LanceNamespace
    confinement: Callable[[str], None] | None = None  # raises for a location that the user may not choose

    def check_location(self, location: str) -> None:
        """Raise PermissionDeniedError for a location that the user may not choose."""
        if self.confinement is not None:
            self.confinement(location)

    def entry(self, row: TableRow) -> TableEntry:
        """Return what the contract knows of a table."""
        return TableEntry(location_of(row), self.options, row.properties, row.managed, claim=str(row.id))

    def handle(self, row: TableRow) -> StoredTable:
        """Return a table to work on: a managed one through the catalog, another one as storage has it."""
        if not row.managed:
            return self.stored(row)
        client, names = self.client, tuple(row.identifier)
        return StoredTable(str(row.identifier), location_of(row), self.options, client=client, id=names)

    def stored(self, row: TableRow) -> StoredTable:
        """Return a table as storage has it, even if the lake owns its versions."""
        return StoredTable(str(row.identifier), location_of(row), self.options)

    def manifests(self, row: TableRow) -> Manifests:
        return Manifests(self.store, self.catalog.id, row, self.handle(row))

    def storage(self, location: str) -> Store:
        return storage.open_store(location, self.options)


def location_of(row: TableRow) -> str:
    assert row.location is not None, "a Lance table has a location"
    return row.location


def connect(settings: LakeSettings) -> tuple[LakeStore, CatalogRow]:
    """Open the database and load the catalog, made if they are missing and the settings allow it."""
    defaults = config.lake()
    separator = defaults.get("separator") if settings.separator is None else settings.separator
    policy = defaults.get("policy") if settings.policy is None else settings.policy
    if settings.create and settings.root is None:
        _refuse_without_root(settings)
    store = open_store(settings.uri, separator=separator, policy=policy, upgrade=settings.create)
    with ExitStack() as undo:
        undo.callback(store.close)
        row = _load_or_create(store, settings)
        check(row, settings)
        undo.pop_all()  # it is the caller's to close from here on
    return store, row


def _refuse_without_root(settings: LakeSettings) -> None:
    """Refuse a new lake that does not say where its tables are, before there is a database."""
    with closing(LakeStore(settings.uri)) as store:
        if store.is_missing:
            raise _rootless(settings.catalog)


def _rootless(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"The catalog {name!r} is new and needs the setting 'root': the folder or URI below which its tables are."
    )


def _load_or_create(store: LakeStore, settings: LakeSettings) -> CatalogRow:
    try:
        return store.read(catalogs.load, settings.metalake, settings.catalog)
    except NamespaceNotFoundError:
        if not settings.create:
            raise
        # Links in a path are followed before the transaction, which must not wait for a file system.
        root = settings.root and canonical(settings.root)
        return store.transact(_create, settings, root)


def _create(connection: Connection, settings: LakeSettings, root: str | None) -> CatalogRow:
    """Make the metalake and the catalog if they are missing; another process may be making them too."""
    metalake, name, user = settings.metalake, settings.catalog, settings.user
    if root is None:
        raise _rootless(name)
    with suppress(NamespaceAlreadyExistsError):
        metalakes.create(connection, metalake, by=user)
    with suppress(NamespaceAlreadyExistsError):
        managed = settings.versioning != STORAGE
        catalogs.create(connection, metalake, name, by=user, nested=True, managed=managed, location=root)
    return catalogs.load(connection, metalake, name)


def check(row: CatalogRow, settings: LakeSettings) -> None:
    """Refuse settings that do not fit the catalog that is there."""
    if row.kind != catalogs.LAKE:
        raise InvalidInputError(
            f"The catalog {row.name!r} is of type {row.kind!r} and not kept in the lake. Use another name."
        )
    root = settings.root
    if root is not None and row.location is not None and is_same(root, row.location):
        root = row.location  # as it was written when the catalog was made
    versioning = MANAGED if row.managed else STORAGE
    for name, setting, has in (("root", root, row.location), ("versioning", settings.versioning, versioning)):
        if setting is not None and setting != has:
            raise InvalidInputError(
                f"The catalog {row.name!r} has the {name} {has!r}, and {setting!r} was given. Leave the setting out, "
                "or choose another name for a new catalog."
            )
