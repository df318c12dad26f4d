"""The home: the folder where a server keeps its state, created when it is first opened.

    ~/.lanceway/           mode 0700
      lake.db              mode 0600: the lake, unless the database is elsewhere
      warehouse/           the data of its tables, unless the warehouse is elsewhere
      admin-token          mode 0600: the token of the user `admin`
      secret-key           mode 0600: what encrypts secrets of catalogs, made with the first one
      jobs.sqlite          mode 0600: what the server's worker remembers of jobs that it has not finished

A fresh one has the metalake `lanceway` with one catalog, `lake`, whose namespaces nest.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self

from sqlalchemy import Connection
from sqlalchemy.engine import URL

from lanceway import config
from lanceway.access import tokens
from lanceway.access.authenticator import Authenticator
from lanceway.access.credentials.vending import Vending
from lanceway.access.oidc import Oidc
from lanceway.access.principal import ADMIN
from lanceway.catalogs.federated.catalog import FederatedCatalog
from lanceway.catalogs.federated.locations import AllowedBasePaths, AllowedLocations
from lanceway.config import ServerSettings
from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError, NamespaceNotFoundError
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.tree import catalogs, metalakes
from lanceway.lake.tree import settings as tree_settings
from lanceway.lake.tree.locations import canonical
from lanceway.server.code_flow import CodeFlow
from lanceway.tables.storage.store import local_path

METALAKE, CATALOG = "lanceway", "lake"
_DATABASE, _WAREHOUSE, _TOKEN = "lake.db", "warehouse", "admin-token"


@dataclass(frozen=True, slots=True)
class Home:
    """An opened home. `first_token` is the admin's if this call created it."""

    path: Path
    database: str = field(repr=False)  # may hold a password
    warehouse: str
    store: LakeStore
    first_token: str | None = field(repr=False)

    @property
    def token_file(self) -> Path:
        return self.path / _TOKEN

    @classmethod
    def open(
        cls, path: Path, *, database: str | None = None, warehouse: str | None = None, anonymous: bool = False
    ) -> Self:
        """Open the home at `path` and create what is missing. Any number of processes may do so at once.

        One that is made for a server that anyone may use without a token starts without access control: there is no
        one to grant anything to.
        """
        path = path.expanduser().absolute()
        _make(path)
        if not database:
            _protect(path / _DATABASE)
            database = _sqlite(path / _DATABASE)
        warehouse = _absolute(warehouse) if warehouse else str(path / _WAREHOUSE)
        names = config.lake()
        with ExitStack() as undo:
            store = open_store(database, separator=names.get("separator"), policy=names.get("policy"))
            undo.callback(store.close)
            location = canonical(f"{warehouse.rstrip('/')}/{CATALOG}")
            _ensure(store, partial(_create, location=location, anonymous=anonymous))
            first_token = tokens.ensure_admin(store, path / _TOKEN)
            undo.pop_all()
        return cls(path, database, warehouse, store, first_token)

    @classmethod
    def of(cls, settings: ServerSettings) -> Self:
        return cls.open(
            settings.home, database=settings.database, warehouse=settings.warehouse, anonymous=settings.anonymous
        )

    def complete(self, settings: ServerSettings) -> ServerSettings:
        """Fill in what the settings leave to the home."""
        return replace(settings, home=self.path, database=self.database, warehouse=self.warehouse)

    def close(self) -> None:
        self.store.close()


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"The home {path} cannot be created: {error.strerror}. Choose another one with --home."
        ) from error


def _protect(database: Path) -> None:
    """Let the owner alone read a database that is there, whatever the modes of the home and of the file were."""
    for file in (database, *(database.with_name(f"{database.name}-{part}") for part in ("wal", "shm"))):
        with suppress(FileNotFoundError, PermissionError):  # another user's home, in which this one may work
            file.chmod(0o600)


def _sqlite(path: Path) -> str:
    return URL.create("sqlite", database=str(path)).render_as_string(hide_password=False)


def _absolute(warehouse: str) -> str:
    path = local_path(warehouse)
    return warehouse if path is None else str(path.absolute())


def _ensure(store: LakeStore, create: Callable[[Connection], None]) -> None:
    """Create the metalake and its first catalog in a database that has none."""
    try:
        store.read(metalakes.load, name=METALAKE)
    except NamespaceNotFoundError:
        # Another process may create it at the same moment. A catalog that was dropped later stays dropped.
        with suppress(NamespaceAlreadyExistsError):
            store.transact(create)


def _create(connection: Connection, *, location: str, anonymous: bool) -> None:
    metalakes.create(connection, METALAKE, by=ADMIN)
    catalogs.create(connection, METALAKE, CATALOG, by=ADMIN, nested=True, location=location)
    if anonymous:
        tree_settings.store(connection, {tree_settings.ACCESS_CONTROL: tree_settings.OFF})


def prepare(settings: ServerSettings) -> Home:
    """Create the server's home if it is new, and close it again. Raises what would keep the server from starting."""
    for file in (settings.tls_cert, settings.tls_key):
        if file is not None and not file.is_file():
            raise InvalidInputError(f"There is no file {file}, which HTTPS needs. Correct tls_cert and tls_key.")
    Oidc.from_settings(settings)
    CodeFlow.from_settings(settings)
    home = Home.of(settings)
    with ExitStack() as closing:
        closing.callback(home.close)
        Authenticator.from_settings(home.store, settings).close()
        tree = FederatedCatalog.from_settings(home.complete(settings), home.store)
        closing.callback(tree.close)
        Vending.from_settings(settings, tree)
        AllowedLocations.from_settings(home.complete(settings))
        AllowedBasePaths.from_settings(settings)
    return home
