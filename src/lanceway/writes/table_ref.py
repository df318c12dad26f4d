"""Which table is meant, in a form that any process can reach it from: driver, Python worker, executor."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lance_namespace import DescribeTableRequest

from lanceway import config
from lanceway.catalogs.connect import connect
from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.config.settings import as_text
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import Table
from lanceway.tables.errors import translated
from lanceway.tables.storage.store import EXPIRES
from lanceway.writes import options as known

if TYPE_CHECKING:
    import lance
    from lance_namespace import LanceNamespace


@dataclass(frozen=True)
class TableRef:
    """One table: by its identifier in a catalog, or by its path. Picklable; relative paths are made absolute."""

    type: str | None
    settings: Mapping[str, str] = field(repr=False)  # may hold secrets
    id: tuple[str, ...] = ()
    path: str | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets

    @classmethod
    def of(cls, options: Mapping[str, str]) -> TableRef:
        """The table that the options of a data source mean. Names from `lanceway.toml` are looked up here."""
        values = known.read(options)
        if values[known.SECRET_TARGET]:
            return cls._from_json(values[known.SECRET_TARGET])
        if (values["path"] is None) == (values["table"] is None):
            raise InvalidInputError(
                f"{known.OWNER} needs the location of a table, as path or in load(), or the identifier of one, as "
                "table with namespace or namespace.type; one of the two and not both."
            )
        if values["path"] is not None:
            if values["namespace"] or values["settings"]:
                raise InvalidInputError(f"{known.OWNER}: a table by its path needs no namespace. Give table instead.")
            return cls(None, {}, (), Table("", values["path"]).path, values["storage"])
        id_ = _identifier(values["table"], values["delimiter"])
        type_, settings = _root(values["namespace"], dict(values["settings"]))
        return cls(type_, _portable(type_, settings), id_, None, values["storage"])

    @classmethod
    def _from_json(cls, text: str) -> TableRef:
        fields = json.loads(text)
        return cls(**{**fields, "id": tuple(fields["id"])})

    def to_options(self) -> dict[str, str]:
        """Options that mean this table again. All of it is hidden wherever Spark shows options."""
        return {known.SECRET_TARGET: json.dumps(asdict(self))}

    @property
    def name(self) -> str:
        """For messages; it holds no secret."""
        return str(Identifier(self.id)) if self.id else str(self.path)

    def catalog(self) -> LanceNamespace:
        """The catalog that knows the table: one for each process. Raises InvalidInputError for a bare path."""
        if self.type is None:
            raise InvalidInputError(f"{self.name} is a path and belongs to no catalog.")
        return _catalog(self.type, tuple(sorted(self.settings.items())))

    def table(self) -> Table:
        """Where the table lies now. Raises TableNotFoundError and whatever else its catalog does."""
        if self.path is not None:
            return Table(self.path, self.path, dict(self.storage_options) or None)
        catalog = self.catalog()
        found = catalog.describe_table(DescribeTableRequest(id=list(self.id)))
        # What the catalog says wins, as it does where pylance opens a table by its catalog.
        storage = {**self.storage_options, **(found.storage_options or {})}
        location = found.location or ""
        # Credentials that end are renewed by a dataset that was opened through the catalog, and by no other.
        if found.managed_versioning or EXPIRES in storage:
            return Table(self.name, location, storage or None, client=catalog, id=self.id)
        return Table(self.name, location, storage or None)

    def open(
        self,
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
        asof: datetime | None = None,
    ) -> lance.LanceDataset:
        """The table's data, at its latest version unless another is asked for.

        Raises what `lanceway.tables.dataset.open_at` raises, and what the catalog does.
        """
        table = self.table()
        try:
            if asof is not None:
                latest = dataset.open_at(table, branch=branch)
                version = _as_of(table, latest, asof)
            return dataset.open_at(table, version=version, tag=tag, branch=branch)
        except InvalidTableStateError:
            if self.path is None or dataset.has_data(table):
                raise
            raise TableNotFoundError(
                f"There is no Lance table at {self.path}. Give the folder that holds the table's _versions."
            ) from None

    def exists(self) -> bool:
        """Whether the table is there and has a version: a name that is only declared has none."""
        try:
            return dataset.has_data(self.table())
        except (NamespaceNotFoundError, TableNotFoundError):
            return False


def _identifier(text: str, delimiter: str) -> tuple[str, ...]:
    if text.lstrip().startswith("["):
        try:
            names = json.loads(text)
        except ValueError as error:
            raise InvalidInputError(f"{known.OWNER}: table is {text!r}, which is no valid JSON: {error}.") from error
        identifier = Identifier(names)
    else:
        identifier = Identifier.parse(text, delimiter)
    if identifier.is_root:
        raise InvalidInputError(f"{known.OWNER}: table is empty; it must name a table, such as sales.orders.")
    return tuple(identifier)


def _root(name: str | None, settings: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The type and the settings of the root namespace; settings given as options win over the file's."""
    type_ = settings.pop("type", None)
    if name and type_:
        raise InvalidInputError(f"{known.OWNER}: give namespace ({name!r}) or namespace.type ({type_!r}), not both.")
    if name:
        root = config.namespace(name)
        at = {"at": root.at} if root.at else {}
        return root.type, {**root.settings, **at, **settings}
    if not type_:
        raise InvalidInputError(
            f"{known.OWNER}: a table by its identifier needs its root namespace: namespace, a name in "
            f"{config.FILE_NAME}, or namespace.type with the settings of that type as namespace.SETTING."
        )
    return type_, settings


def _portable(type_: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings as another process needs them, where relative paths and the user may be others."""
    at = {"at": settings["at"]} if "at" in settings else {}
    catalog = connect(type_, settings={key: value for key, value in settings.items() if key != "at"})
    if not isinstance(catalog, CatalogHooks):
        return dict(settings)
    with catalog:
        _, (_, given) = catalog.__reduce__()
    return {**{key: as_text(value) for key, value in given.items()}, **at}


@lru_cache(maxsize=32)
def _catalog(type_: str, settings: tuple[tuple[str, str], ...]) -> LanceNamespace:
    return connect(type_, settings=dict(settings))


def _as_of(table: Table, latest: Any, asof: datetime) -> int:
    with translated(table, "Looking for a version by its time"):
        versions = [(_utc(version["timestamp"]), version["version"]) for version in latest.versions()]
    found = [version for at, version in versions if at <= asof]
    if not found:
        first = f" Its first is of {min(versions)[0].isoformat()}." if versions else ""
        raise TableVersionNotFoundError(f"{table.name} had no version at {asof.isoformat()}.{first}")
    return int(max(found))


def _utc(moment: datetime) -> datetime:
    # pylance gives the local time of this machine where it names no zone.
    return moment.astimezone(UTC)


TableName = str | os.PathLike[str] | Mapping[str, str] | TableRef


def target(named: TableName) -> TableRef:
    """The table that is meant.

    A text with a slash is a path or a URI. Any other is a name such as `lake.sales.orders`, whose first part is a
    root namespace of `lanceway.toml`. A mapping has the options of `format("lance")`.
    """
    if isinstance(named, TableRef):
        return named
    if isinstance(named, Mapping):
        return TableRef.of(named)
    text = os.fspath(named)
    if "/" in text or os.sep in text:
        return TableRef.of({"path": text})
    names = Identifier.parse(text, ".")
    if names.depth < 2:
        raise InvalidInputError(
            f"{text!r} names no table: give its path, or its name with the root namespace that has it, such as "
            "lake.sales.orders."
        )
    return TableRef.of({"namespace": names[0], "table": json.dumps(list(names[1:]))})
