"""Where the table of a job lies: in a catalog of the lake, or in one that is mounted beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lanceway.config import CatalogSettings
from lanceway.identifiers import Identifier
from lanceway.lake.runs.jobs import JobRow
from lanceway.lake.store.database import LakeStore
from lanceway.writes.table_ref import TableRef


@dataclass(frozen=True)
class Places:
    """The catalogs of a lake's metalake, and those of a configuration."""

    store: LakeStore
    metalake: str = "lanceway"
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    mounted: Mapping[str, CatalogSettings] = field(default_factory=dict)

    def table(self, job: JobRow) -> TableRef:
        """The table of a job, for the user who asked for it."""
        mount = self.mounted.get(job.catalog)
        above = () if mount is None or not mount.at else Identifier.of(mount.at)
        return self.beside(job, (*above, *job.path))

    def beside(self, job: JobRow, names: Sequence[str]) -> TableRef:
        """Another table of the same catalog, by its whole identifier there."""
        type_, settings = self.catalog(job)
        given = {f"namespace.{key}": value for key, value in settings.items()}
        return TableRef.of({"table": json.dumps(list(names)), "namespace.type": type_, **given})

    def catalog(self, job: JobRow) -> tuple[str, Mapping[str, str]]:
        """The type and the settings of a job's catalog."""
        mount = self.mounted.get(job.catalog)
        if mount is not None:
            return mount.type, mount.settings
        own = {
            "uri": self.store.uri,
            "metalake": self.metalake,
            "catalog": job.catalog,
            "user": job.requested_by,
            "create": "false",
        }
        return "lake", {**own, **{f"storage.{key}": value for key, value in self.storage.items()}}
