"""Find the table of a job: in a catalog of the lake, or in one that is mounted beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from lanceway.access.decisions import AccessDeniedError
from lanceway.access.guard import require_all
from lanceway.access.operations import JOBS, SQL_SOURCES, TARGET, Demand
from lanceway.access.records.audit import AuditTrail
from lanceway.access.rules import Rule
from lanceway.catalogs.federated.catalog import FederatedCatalog
from lanceway.catalogs.federated.locations import AllowedBasePaths
from lanceway.catalogs.federated.mounts import CatalogDisabledError, ServiceMount
from lanceway.config import CatalogSettings, ServerSettings
from lanceway.errors import PermissionDeniedError
from lanceway.identifiers import Identifier
from lanceway.lake import users
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.securables import Securable
from lanceway.lake.runs.jobs import JobRow
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.tree import catalogs
from lanceway.tables import bases
from lanceway.tables.schema.views import View
from lanceway.writes.table_ref import TableRef

# The metalake of a server.
METALAKE = "lanceway"


_LAKE = "lake"


class UntrustedRequesterError(PermissionDeniedError):
    """A job was asked for by a user whose word is not enough to run what a table's metadata says."""


@dataclass(frozen=True)
class Places:
    """The catalogs of a lake's metalake, and those of a configuration."""

    store: LakeStore
    metalake: str = METALAKE
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    mounted: Mapping[str, CatalogSettings] = field(default_factory=dict)
    operator: str | None = None  # whose jobs run like an administrator's: no server let others queue them
    trail: AuditTrail | None = None  # where denials are recorded

    def require_enabled(self, job: JobRow) -> None:
        """Refuse a job in a catalog that is switched off. Raises CatalogDisabledError, NamespaceNotFoundError."""
        if (
            self.mounted.get(job.catalog) is None
            and self.store.read(catalogs.load, self.metalake, job.catalog).disabled
        ):
            raise CatalogDisabledError(job.catalog)

    def require_trusted(self, job: JobRow) -> None:
        """Refuse a job of a user who is not an administrator in a catalog that keeps no definitions.

        There a table's metadata says what is run, which any writer of the table may set. A lake has rows for it.
        """
        mount = self.mounted.get(job.catalog)
        if mount is None or mount.type == _LAKE or job.requested_by == self.operator:
            return
        user = self.store.read(users.find, job.requested_by)
        if user is None or not user.admin:
            raise UntrustedRequesterError(
                f"The {job.kind} of {'.'.join((job.catalog, *job.path))} was not run: {job.requested_by!r} asked for "
                f"it, and in the catalog {job.catalog!r} ({mount.type}) definitions are metadata that any writer of a "
                "table can set. Let an administrator of the server ask for it, or keep the table in a lake."
            )

    def require_rights(self, job: JobRow, view: View | None = None) -> None:
        """Refuse a job that the user who asked for it may not do, or not any more: change the table, read its sources.

        Who queued it with the database's own credentials is an administrator.
        """
        if job.requested_groups is None:
            return
        user = self.store.read(users.find, job.requested_by)
        if user is not None and user.is_disabled:  # counts with access control off, too
            raise AccessDeniedError(f"The {job.kind} was not run: the user {job.requested_by!r} is disabled.")
        questions = [
            (rule, self._securable(job, path))
            for demand in JOBS[job.kind].demands
            for rule, path in self._asked(job, demand, view)
        ]
        self.store.read(require_all, Caller(job.requested_by, tuple(job.requested_groups)), questions)

    @staticmethod
    def _asked(job: JobRow, demand: Demand, view: View | None) -> Iterator[tuple[Rule, Sequence[str]]]:
        """Yield what a demand comes to. The sources of a view are known when its definition has been read."""
        if demand.of == TARGET:
            yield demand.rule, job.path
        elif view is not None and view.sql is not None:
            yield SQL_SOURCES.rule, ()
        elif view is not None:
            yield demand.rule, view.source

    def _securable(self, job: JobRow, path: Sequence[str]) -> Securable:
        mount = self.mounted.get(job.catalog)
        above = Identifier.of(mount.at) if mount is not None and mount.at else Identifier()
        names = Identifier(path)
        inside = Identifier(names[above.depth :]) if above and names.startswith(above) else names
        kind = TABLE if inside else NAMESPACE
        return Securable(self.metalake, job.catalog, inside, kind, mounted=mount is not None)

    def table(self, job: JobRow) -> TableRef:
        """Return the table of a job, for the user who asked for it."""
        mount = self.mounted.get(job.catalog)
        above = () if mount is None or not mount.at else Identifier.of(mount.at)
        return self.beside(job, (*above, *job.path))

    def beside(self, job: JobRow, names: Sequence[str]) -> TableRef:
        """Return another table of the same catalog, by its full identifier there."""
        type_, settings = self.catalog(job)
        options = {f"namespace.{key}": value for key, value in settings.items()}
        return TableRef.of({"table": json.dumps(list(names)), "namespace.type": type_, **options})

    def catalog(self, job: JobRow) -> tuple[str, Mapping[str, str]]:
        """Return the type and the settings of a job's catalog."""
        mount = self.mounted.get(job.catalog)
        if mount is not None:
            return mount.type, mount.settings
        settings = {
            "uri": self.store.uri,
            "metalake": self.metalake,
            "catalog": job.catalog,
            "user": job.requested_by,
            "create": "false",
        }
        return _LAKE, {**settings, **{f"storage.{key}": value for key, value in self.storage.items()}}


class MountedSections(Mapping[str, CatalogSettings]):
    """How the mounted catalogs of a server are connected to: those of its configuration, and those that were made.

    A section is read when it is needed, and so is as any process has left it; one may hold secrets.
    """

    def __init__(self, tree: FederatedCatalog) -> None:
        self._tree = tree

    def __getitem__(self, name: str) -> CatalogSettings:
        """Return a catalog. Raise CatalogDisabledError, and SecretsUnavailableError where a key is missing."""
        mount = self._tree.mounts()[name]
        assert isinstance(mount, ServiceMount), "those that are mounted are"
        mount.refuse_disabled()
        return mount.section()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree.mounts())

    def __len__(self) -> int:
        return len(self._tree.mounts())


@contextmanager
def server_places(settings: ServerSettings, database: str) -> Iterator[Places]:
    """Open the catalogs of a server with these settings, whose jobs are in `database`.

    Jobs are carried out for users of the server, and so base paths are confined as they are there.
    """
    store = open_store(database, upgrade=False)
    try:
        with confined(settings, store), audited(settings, store) as trail:
            tree = FederatedCatalog.from_settings(settings, store, metalake=METALAKE)
            yield Places(store, storage=settings.storage, mounted=MountedSections(tree), trail=trail)
    finally:
        store.close()


@contextmanager
def confined(settings: ServerSettings, store: LakeStore) -> Iterator[None]:
    """Confine base paths while jobs of a database are carried out: others may have asked for them."""
    release_bases = bases.confine(AllowedBasePaths.from_settings(settings, store))
    try:
        yield
    finally:
        release_bases()


@contextmanager
def audited(settings: ServerSettings, store: LakeStore) -> Iterator[AuditTrail | None]:
    """Keep the audit trail that a server with these settings keeps, None where it keeps none."""
    trail = AuditTrail.from_settings(store, settings)
    try:
        yield trail
    finally:
        if trail is not None:
            trail.close()
