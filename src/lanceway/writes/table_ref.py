"""Which table is meant, and where a write to it goes, in a form that driver, Python worker and executor can use."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lance_namespace import DeclareTableRequest, DescribeTableRequest

from lanceway import config
from lanceway.catalogs.connect import connect
from lanceway.catalogs.contract import create
from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.config.settings import as_text
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableVersionNotFoundError,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables import bases, dataset
from lanceway.tables.dataset import RESERVED, StoredTable
from lanceway.tables.errors import translated
from lanceway.tables.storage.store import EXPIRES
from lanceway.tables.versions import manager
from lanceway.writes.options import OWNER, SECRET_TARGET, parse

if TYPE_CHECKING:
    import lance
    from lance_namespace import DeclareTableResponse, DescribeTableResponse, LanceNamespace

    from lanceway.catalogs.federated.locations import AllowedBasePaths

# Catalogs whose tables a lake may hold for reading alone: one itself, or a server that has one.
_OF_LAKES = frozenset({"lake", "rest"})
# Beside a reference that is sent, to what base paths are confined where it comes from.
_CONFINED = "confined"


@dataclass(frozen=True)
class TableRef:
    """A reference to one table: by its identifier in a catalog, or by its path.

    Picklable. It says which table is meant, not where it is: every method asks the catalog as things are then.

    A process that confines base paths confines the one that it sends a reference to, pickled or as options.
    """

    type: str | None
    settings: Mapping[str, str] = field(repr=False)  # may hold secrets
    id: tuple[str, ...] = ()
    path: str | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets

    @classmethod
    def of(cls, options: Mapping[str, str]) -> TableRef:
        """Read a reference from the options of a data source.

        Names from `lanceway.toml` are looked up here, and relative paths are made absolute.
        """
        values = parse(options)
        if values[SECRET_TARGET]:
            return cls._from_json(values[SECRET_TARGET])
        if (values["path"] is None) == (values["table"] is None):
            raise InvalidInputError(
                f"{OWNER} needs the location of a table, as path or in load(), or the identifier of one, as "
                "table with namespace or namespace.type; one of the two and not both."
            )
        if values["path"] is not None:
            if values["namespace"] or values["settings"]:
                raise InvalidInputError(f"{OWNER}: a table by its path needs no namespace. Give table instead.")
            return cls(None, {}, (), StoredTable("", values["path"]).path, values["storage"])
        id_ = _identifier(values["table"], values["delimiter"])
        type_, settings = _root(values["namespace"], dict(values["settings"]))
        return cls(type_, _portable(type_, settings), id_, None, values["storage"])

    @classmethod
    def _from_json(cls, text: str) -> TableRef:
        fields = json.loads(text)
        roots = fields.pop(_CONFINED)
        ref = cls(**{**fields, "id": tuple(fields["id"])})
        ref._receive(roots)
        return ref

    def to_options(self) -> dict[str, str]:
        """Return options that mean this table again. Their value is hidden wherever Spark shows options."""
        return {SECRET_TARGET: json.dumps({**asdict(self), _CONFINED: _confined()})}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, _CONFINED: _confined()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update({key: value for key, value in state.items() if key != _CONFINED})
        self._receive(state[_CONFINED])

    def _receive(self, roots: Sequence[str] | None) -> None:
        """Confine base paths here as where the reference comes from. A lake's clones are looked up in the lake."""
        lake = self.settings.get("uri") if self.type == "lake" else None
        bases.receive(None if roots is None else _policy(tuple(roots), lake))

    @property
    def name(self) -> str:
        """Return the table's name for messages; it holds no secret."""
        return str(Identifier(self.id)) if self.id else str(self.path)

    def catalog(self) -> LanceNamespace:
        """Return the catalog that has the table, one for each process. Raises InvalidInputError for a bare path."""
        if self.type is None:
            raise InvalidInputError(f"{self.name} is a path and belongs to no catalog.")
        return _catalog(self.type, tuple(sorted(self.settings.items())))

    # -- reading -----------------------------------------------------------------------------------

    def table(self) -> StoredTable:
        """Return the table's location and how to reach it now. Raises TableNotFoundError and what its catalog does."""
        if self.path is not None:
            return StoredTable(self.path, self.path, dict(self.storage_options) or None)
        catalog = self.catalog()
        description = catalog.describe_table(DescribeTableRequest(id=list(self.id)))
        storage = self._storage(description)
        location = description.location or ""
        # Credentials that end are renewed by a dataset that was opened through the catalog, and by no other.
        if description.managed_versioning or EXPIRES in storage:
            return StoredTable(self.name, location, storage or None, client=catalog, id=self.id)
        return StoredTable(self.name, location, storage or None)

    def _storage(self, response: DescribeTableResponse | DeclareTableResponse) -> dict[str, str]:
        # What the catalog says wins, as it does where pylance opens a table by its catalog.
        return {**self.storage_options, **(response.storage_options or {})}

    def open(
        self,
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
        asof: datetime | None = None,
    ) -> lance.LanceDataset:
        """Open the table's data, at its latest version unless another is asked for.

        Raises what `lanceway.tables.dataset.open_at` raises, and what the catalog does.
        """
        table = self.table()
        try:
            if asof is not None:
                latest = dataset.open_at(table, branch=branch)
                version = _version_asof(table, latest, asof)
            return dataset.open_at(table, version=version, tag=tag, branch=branch)
        except InvalidTableStateError:
            if self.path is None or dataset.has_data(table):
                raise
            raise table_not_found(
                f"There is no Lance table at {self.path}. Give the folder that holds the table's _versions."
            ) from None

    def tag_branch(self, tag: str) -> str | None:
        """Return the branch of the version that a tag names, None for the main one. Raises TableTagNotFoundError."""
        return dataset.tag_branch(self.table(), tag)

    def exists(self) -> bool:
        """Return whether the table is there and has a version: a name that is only declared has none."""
        try:
            return dataset.has_data(self.table())
        except (NamespaceNotFoundError, TableNotFoundError):
            return False

    # -- writing -----------------------------------------------------------------------------------

    def destination(self) -> Destination | None:
        """Look up where a write to the table goes; None where its catalog has no table of that name."""
        if self.path is not None:
            return Destination(self, self.path, dict(self.storage_options) or None)
        try:
            request = DescribeTableRequest(id=list(self.id), vend_credentials=True)
            return self._destination(self.catalog().describe_table(request))
        except TableNotFoundError:
            return None

    def declare(self) -> Destination:
        """Declare the name of a table that is to be written. A declaration by another writer serves as well."""
        request = DeclareTableRequest(id=list(self.id), properties={}, vend_credentials=True)
        try:
            destination = self._destination(self.catalog().declare_table(request))
            return replace(destination, declared=True, claim=create.claim_of(self.catalog(), self.id))
        except TableAlreadyExistsError:
            existing = self.destination()
            if existing is None:
                raise
            return existing

    def _destination(self, response: DescribeTableResponse | DeclareTableResponse) -> Destination:
        storage = self._storage(response)
        return Destination(self, response.location or "", storage or None, bool(response.managed_versioning))


@dataclass(frozen=True)
class Destination:
    """Where a write goes: the place that a table had when the write was planned. Picklable, since tasks write to it.

    A `TableRef` follows its table wherever the catalog says it is. A destination stays at one location with one set of
    credentials, so that all tasks of a write use the same folder, and the commit can see that the table was moved or
    dropped meanwhile.

    `declared` says that the name was declared for this write, and has to go again if the write fails; `claim` tells
    that declaration from others, where the catalog can.
    """

    ref: TableRef
    location: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    managed: bool = False
    declared: bool = False
    claim: str | None = None

    @property
    def table(self) -> StoredTable:
        """Return the table; its versions are claimed through the catalog where that manages them."""
        if not self.managed:
            return StoredTable(self.ref.name, self.location, self.storage_options)
        return StoredTable(self.ref.name, self.location, self.storage_options, self.ref.catalog(), self.ref.id)

    @property
    def reading(self) -> StoredTable:
        """Return the table for long reads: where credentials expire, its catalog renews them."""
        if self.managed or not self._expires:
            return self.table
        return StoredTable(self.ref.name, self.location, self.storage_options, self.ref.catalog(), self.ref.id)

    @property
    def _expires(self) -> bool:
        return EXPIRES in (self.storage_options or {})

    def current(self) -> Destination:
        """Return this destination with fresh credentials, if those of the plan expire."""
        if not self._expires:
            return self
        latest = self.ref.destination()
        if latest is None or latest.location != self.location:
            return self  # dropped or moved: using it says so
        return replace(self, storage_options=latest.storage_options)

    @property
    def renewal(self) -> dict[str, Any]:
        """Return the arguments by which pylance renews credentials that expire while files are written."""
        if self.ref.type is None:
            return {}
        return {"namespace_client": self.ref.catalog(), "table_id": list(self.ref.id)}

    def has_data(self) -> bool:
        """Return whether any version was ever written there."""
        return dataset.has_data(self.table)

    def require_writable(self) -> None:
        """Refuse to write to a table of a lake that another lake manages: that one would never show it."""
        if self.ref.type in _OF_LAKES and not self.managed:
            manager.refuse_write(self.ref.name, self.location, self.table.store())

    def stands(self) -> bool:
        """Return whether the table is still where it was when the write was planned."""
        latest = self.ref.destination()
        return latest is not None and latest.location == self.location

    def withdraw(self) -> None:
        """Undo the declaration, unless another writer has filled the name meanwhile."""
        self.table.store().remove_empty_folders(unless=RESERVED)
        if self.declared:
            create.undeclare(self.ref.catalog(), self.ref.id, self.location, self.claim)


TableName = str | os.PathLike[str] | Mapping[str, str] | TableRef


def resolve(name: TableName) -> TableRef:
    """Return the table that a caller names.

    A text with a slash is a path or a URI. Any other is a name such as `lake.sales.orders`, whose first part is a
    root namespace of `lanceway.toml`. A mapping has the options of `format("lance")`.
    """
    if isinstance(name, TableRef):
        return name
    if isinstance(name, Mapping):
        return TableRef.of(name)
    text = os.fspath(name)
    if "/" in text or os.sep in text:
        return TableRef.of({"path": text})
    names = Identifier.parse(text, ".")
    if names.depth < 2:
        raise InvalidInputError(
            f"{text!r} names no table: give its path, or its name with the root namespace that has it, such as "
            "lake.sales.orders."
        )
    return TableRef.of({"namespace": names[0], "table": json.dumps(list(names[1:]))})


def _identifier(text: str, delimiter: str) -> tuple[str, ...]:
    if text.lstrip().startswith("["):
        try:
            names = json.loads(text)
        except ValueError as error:
            raise InvalidInputError(f"{OWNER}: table is {text!r}, which is not valid JSON: {error}.") from error
        identifier = Identifier(names)
    else:
        identifier = Identifier.parse(text, delimiter)
    if identifier.is_root:
        raise InvalidInputError(f"{OWNER}: table is empty; it must name a table, such as sales.orders.")
    return tuple(identifier)


def _root(name: str | None, settings: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return the type and the settings of the root namespace; settings given as options win over the file's."""
    type_ = settings.pop("type", None)
    if name and type_:
        raise InvalidInputError(f"{OWNER}: give namespace ({name!r}) or namespace.type ({type_!r}), not both.")
    if name:
        root = config.namespace(name)
        at = {"at": root.at} if root.at else {}
        return root.type, {**root.settings, **at, **settings}
    if not type_:
        raise InvalidInputError(
            f"{OWNER}: a table by its identifier needs its root namespace: namespace, a name in "
            f"{config.FILE_NAME}, or namespace.type with the settings of that type as namespace.SETTING."
        )
    return type_, settings


def _portable(type_: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as another process needs them, where the working folder and the user may differ."""
    at = {"at": settings["at"]} if "at" in settings else {}
    catalog = connect(type_, settings={key: value for key, value in settings.items() if key != "at"})
    if not isinstance(catalog, CatalogHooks):
        return dict(settings)
    with catalog:
        return {**{key: as_text(value) for key, value in catalog.portable_settings().items()}, **at}


def _confined() -> Sequence[str] | None:
    """Return the roots to which base paths are confined here, None where they are not."""
    policy = bases.policy()
    return None if policy is None else policy.roots


@lru_cache(maxsize=32)
def _policy(roots: tuple[str, ...], lake: str | None) -> AllowedBasePaths:
    from lanceway.catalogs.federated.locations import AllowedBasePaths

    if lake is None:
        return AllowedBasePaths(roots)
    from lanceway.lake.store.database import LakeStore

    return AllowedBasePaths(roots, LakeStore(lake))


@lru_cache(maxsize=32)
def _catalog(type_: str, settings: tuple[tuple[str, str], ...]) -> LanceNamespace:
    return connect(type_, settings=dict(settings))


def _version_asof(table: StoredTable, latest: Any, asof: datetime) -> int:
    with translated(table, "Looking for a version by its time"):
        # pylance gives the local time of this machine where it names no zone.
        times = [(version["timestamp"].astimezone(UTC), version["version"]) for version in latest.versions()]
    earlier = [version for time, version in times if time <= asof]
    if not earlier:
        first = f" Its first is of {min(times)[0].isoformat()}." if times else ""
        raise TableVersionNotFoundError(f"{table.name} had no version at {asof.isoformat()}.{first}")
    return int(max(earlier))
