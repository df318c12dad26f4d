"""Connecting to a lake: its settings, its database, and the catalog in it."""

from __future__ import annotations

import getpass
import os
import weakref
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from types import MappingProxyType
from typing import Any, Self

from sqlalchemy import Connection

from lanceway import config
from lanceway.catalogs.contract.base import Catalog, TableEntry
from lanceway.catalogs.contract.job_queue import JobQueue
from lanceway.config import Setting
from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError, NamespaceNotFoundError
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.engines import read_uri
from lanceway.lake.tree import catalogs, metalakes, settings
from lanceway.lake.tree.locations import canonical, is_same
from lanceway.lake.tree.lookups import TableRow as Row
from lanceway.lake.tree.separators import POLICIES, Separator
from lanceway.tables.storage.store import local_path

MANAGED, STORAGE = "managed", "storage"
_NOBODY = "anonymous"
_AT_THE_END = 0.5  # seconds
# No setting: a store that is open already, and the catalog that was found in it.
_SHARED = "over"


class LakeConnection(Catalog):
    """A catalog of a metalake in a lake's database."""

    TYPE = "lake"
    SETTINGS = (
        Setting(
            "uri",
            "The lake's database: sqlite:///lake.db or postgresql://user@host/database.",
            required=True,
            secret=True,  # it may hold a password
        ),
        Setting(
            "root",
            "The warehouse, below which new tables lie: a URI, an absolute path, or one relative to the running "
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

    _lake: LakeStore
    _catalog: catalogs.CatalogRow

    def __init__(self, **properties: object) -> None:
        shared = properties.get(_SHARED)
        if isinstance(shared, tuple):
            self._configure(**{key: value for key, value in properties.items() if key != _SHARED})
            self._lake, self._catalog = shared
            self._check(self._catalog)
            return
        self._configure(**properties)
        self._lake = self._opened()
        # One that nobody has closed gives its connections back with its life, and holds nobody up.
        weakref.finalize(self, self._lake.close, _AT_THE_END)
        with ExitStack() as undo:
            undo.callback(self._lake.close)
            self._catalog = self._connected()
            undo.pop_all()

    @classmethod
    def over(cls, store: LakeStore, found: catalogs.CatalogRow, **properties: object) -> Self:
        """A catalog that was found in a store which others use too."""
        own = {**properties, "uri": store.uri, "catalog": found.name, "create": False}
        return cls(**own, **{_SHARED: (store, found)})

    def acting_as(self, user: str) -> Self:
        """The same catalog for another user. It costs next to nothing: the connections are shared."""
        view = type(self).__new__(type(self))
        view.__dict__ |= self.__dict__
        view._settings = MappingProxyType({**self._settings, "user": user})
        view._shared_with = self  # which gives the connections back at the end of its life, and so not before ours
        return view

    def _configure(self, **properties: object) -> None:
        super().__init__(**properties)
        given = self._settings
        complete = {
            "uri": read_uri(given["uri"]).render_as_string(hide_password=False),
            "root": _absolute(given["root"]),
            "user": given["user"] or login(),
        }
        self._settings = MappingProxyType({**given, **complete})
        self._options: Mapping[str, str] | None = given["storage"] or None
        self._shared_with: LakeConnection | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # A relative path means the file it meant here, wherever the other process runs, and whoever runs it.
        rebuild, (cls, given) = super().__reduce__()
        kept = {name: self._settings[name] for name in ("uri", "root", "user") if self._settings[name] is not None}
        return rebuild, (cls, {**given, **kept})

    def close(self) -> None:
        super().close()
        self._lake.close()

    @property
    def separator(self) -> str:
        """The character that separates the names in a logical path, such as `team:sales`."""
        return self._separator().character

    def _separator(self) -> Separator:
        # Asked for each time: it is the lake's, and may be changed while we run.
        return self._lake.read(settings.separator)

    def _desk(self) -> JobQueue:
        catalog, user = self._catalog.name, self._user
        return super()._desk() or JobQueue(self._lake, str(self._settings["metalake"]), catalog, user)

    @property
    def _user(self) -> str:
        return str(self._settings["user"])

    def _entry(self, row: Row) -> TableEntry:
        assert row.location is not None, "a Lance table has a location"
        return TableEntry(row.location, self._options, row.properties, row.managed, claim=str(row.id))

    # -- connecting ------------------------------------------------------------------------------

    def _opened(self) -> LakeStore:
        given, told = self._settings, config.lake()
        separator, policy = (given[name] or told.get(name) for name in ("separator", "policy"))
        return open_store(given["uri"], separator=separator, policy=policy, upgrade=bool(given["create"]))

    def _connected(self) -> catalogs.CatalogRow:
        try:
            found = self._lake.read(self._load)
        except NamespaceNotFoundError:
            if not self._settings["create"]:
                raise
            root = self._settings["root"] and canonical(self._settings["root"])
            found = self._lake.transact(self._ensure, root)
        self._check(found)
        return found

    def _load(self, connection: Connection) -> catalogs.CatalogRow:
        return catalogs.load(connection, self._settings["metalake"], self._settings["catalog"])

    def _ensure(self, connection: Connection, root: str | None) -> catalogs.CatalogRow:
        """The metalake and the catalog, made if they are missing; somebody else may be making them too."""
        given = self._settings
        if root is None:
            raise InvalidInputError(
                f"The catalog {given['catalog']!r} is new and needs the setting 'root': the folder or URI below which "
                "its tables lie."
            )
        with suppress(NamespaceAlreadyExistsError):
            metalakes.create(connection, given["metalake"], by=self._user)
        with suppress(NamespaceAlreadyExistsError):
            catalogs.create(
                connection,
                given["metalake"],
                given["catalog"],
                by=self._user,
                nested=True,
                managed=given["versioning"] != STORAGE,
                location=root,
            )
        return self._load(connection)

    def _check(self, found: catalogs.CatalogRow) -> None:
        """Refuse settings that do not fit the catalog that there is."""
        if found.kind != catalogs.LAKE:
            raise InvalidInputError(
                f"The catalog {found.name!r} is of type {found.kind!r} and not kept in the lake. Use another name."
            )
        root, versioning = self._settings["root"], self._settings["versioning"]
        kept = MANAGED if found.managed else STORAGE
        if root is not None and found.location is not None and is_same(root, found.location):
            root = found.location  # as it was written when the catalog was made
        for name, wanted, has in (("root", root, found.location), ("versioning", versioning, kept)):
            if wanted is not None and wanted != has:
                raise InvalidInputError(
                    f"The catalog {found.name!r} has the {name} {has!r}, and {wanted!r} was given. Leave the setting "
                    "out, or choose another name for a new catalog."
                )


def _absolute(root: str | None) -> str | None:
    if root is None:
        return None
    path = local_path(root)
    return root if path is None else os.path.abspath(path)


def login() -> str:
    """Who runs this process."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a process without an account
        return _NOBODY
