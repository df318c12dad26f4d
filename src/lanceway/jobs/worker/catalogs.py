"""Find the table of a job: in a catalog of the lake, or in one that is mounted beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from lanceway.catalogs.federated.catalog import canonical
from lanceway.config import CatalogSettings, ServerSettings
from lanceway.identifiers import Identifier
from lanceway.lake.runs.jobs import JobRow
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.writes.table_ref import TableRef

# The metalake of a server.
METALAKE = "lanceway"


@dataclass(frozen=True)
class Places:
    """The catalogs of a lake's metalake, and those of a configuration."""

    store: LakeStore
    metalake: str = METALAKE
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    mounted: Mapping[str, CatalogSettings] = field(default_factory=dict)

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
        return "lake", {**settings, **{f"storage.{key}": value for key, value in self.storage.items()}}


@contextmanager
def server_places(settings: ServerSettings, database: str) -> Iterator[Places]:
    """Open the catalogs of a server with these settings, whose jobs are in `database`."""
    store = open_store(database, upgrade=False)
    try:
        mounted = {canonical(name): catalog for name, catalog in settings.catalogs.items()}
        yield Places(store, storage=settings.storage, mounted=mounted)
    finally:
        store.close()
