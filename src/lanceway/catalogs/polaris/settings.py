"""The settings of a catalog of generic tables: those of Iceberg REST, and which service it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from lanceway.catalogs.metastore.http import absolute_path
from lanceway.catalogs.metastore.iceberg import settings as iceberg
from lanceway.catalogs.metastore.iceberg.settings import IcebergSettings
from lanceway.config import Setting
from lanceway.errors import InvalidInputError
from lanceway.tables import dataset
from lanceway.wire import http
from lanceway.wire.generic_tables import DIALECTS, POLARIS, GenericDialect

_OWN = (
    Setting("endpoint", "The server's address, without the path of an API: http://localhost:8181.", required=True),
    Setting("dialect", "Which service it is.", default=POLARIS.name, choices=tuple(DIALECTS)),
    Setting("scope", "The scope that is asked for with credential; PRINCIPAL_ROLE:ALL of Polaris if it is not set."),
    Setting(
        "root",
        "The folder or URI below which tables declared without a location are put. If it is not set, Lakekeeper "
        "chooses, and in Polaris it is the location of the namespace.",
    ),
)
_NAMES = frozenset(row.name for row in _OWN)
SETTINGS = (*_OWN, *(row for row in iceberg.SETTINGS if row.name not in _NAMES))
_SCOPES = {POLARIS.name: "PRINCIPAL_ROLE:ALL"}


@dataclass(frozen=True, slots=True)
class PolarisSettings:
    """The settings of one catalog, as `SETTINGS` describes them."""

    dialect: GenericDialect
    iceberg: IcebergSettings
    tables: str  # the address of the generic tables
    root: str | None  # a URI

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError where they do not fit together."""
        dialect, endpoint = DIALECTS[settings["dialect"]], http.checked_uri(settings["endpoint"])
        if endpoint.endswith((dialect.iceberg, dialect.tables)):
            raise InvalidInputError(
                f"{owner}: endpoint ends with the path of an API. Give the server's address without it."
            )
        rest = IcebergSettings.read(owner, {**settings, "endpoint": f"{endpoint}{dialect.iceberg}"})
        scope = settings["scope"] or _SCOPES.get(dialect.name)
        return cls(
            dialect=dialect,
            iceberg=replace(rest, sign_in=replace(rest.sign_in, scope=scope)),
            tables=f"{endpoint}{dialect.tables}",
            root=None if settings["root"] is None else dataset.uri(absolute_path(settings["root"])),
        )
