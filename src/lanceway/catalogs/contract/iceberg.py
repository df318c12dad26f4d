"""Iceberg tables and views that a catalog keeps beside its Lance tables, as a protocol.

A namespace holds both worlds, and one name is one thing. An Iceberg client sees a Lance table as a companion: an
Iceberg table without data whose property `table_type` is `lance`. Companions are made, renamed and dropped like other
tables, and refuse commits. Identifiers are those of the catalog; metadata is JSON, as Iceberg's format has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from lanceway.errors import ServiceUnavailableError


class CommitStateUnknownError(ServiceUnavailableError):
    """A commit was carried out or not, and the catalog cannot say which: look before it is repeated."""


@dataclass(frozen=True, slots=True)
class LoadedIceberg:
    """A table or a view as an Iceberg client loads it. `metadata` is JSON text, passed on without being read again."""

    metadata: bytes
    metadata_location: str | None  # None for a companion, and for a table that is staged and not yet made
    location: str
    is_companion: bool = False
    # The catalog's own for the location, as pylance takes them. For programs in this process; no server sends them.
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NewIcebergTable:
    """What a client asks a new table to be; schema, partition spec and sort order are JSON of the protocol."""

    schema: Mapping[str, Any]
    location: str | None = None
    partition_spec: Mapping[str, Any] | None = None
    sort_order: Mapping[str, Any] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    staged: bool = False  # answer what the table would be, and make nothing: a commit makes it


@dataclass(frozen=True, slots=True)
class NewIcebergView:
    """What a client asks a new view to be, as JSON of the protocol."""

    schema: Mapping[str, Any]
    version: Mapping[str, Any]
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IcebergCommit:
    """Changes of one table or view, and what must hold for them to be made; both are JSON of the protocol."""

    id: Sequence[str]
    requirements: Sequence[Mapping[str, Any]]
    updates: Sequence[Mapping[str, Any]]

    @property
    def creates(self) -> bool:
        """Return whether the commit makes a table that was staged."""
        return any(row.get("type") == "assert-create" for row in self.requirements)


@runtime_checkable
class KeepsIceberg(Protocol):
    """A catalog that keeps Iceberg tables and views.

    Every method raises NamespaceNotFoundError and TableNotFoundError for what is missing, of views too;
    TableAlreadyExistsError for a name that anything has; ConcurrentModificationError for a requirement that does not
    hold; InvalidInputError for a body that Iceberg's format does not allow; UnsupportedOperationError for a companion
    that a client wants to change.
    """

    def list_iceberg_tables(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        """Return a page of the names of Iceberg tables and Lance tables in a namespace, in order."""

    def create_iceberg_table(self, id_: Sequence[str], table: NewIcebergTable) -> LoadedIceberg:
        """Make a table. With the property `table_type` = `lance`, declare a Lance table whose versions storage has."""

    def load_iceberg_table(self, id_: Sequence[str]) -> LoadedIceberg:
        """Return a table by its current metadata, or the companion of a Lance table."""

    def iceberg_table_exists(self, id_: Sequence[str]) -> bool:
        """Return whether there is a table, without reading its metadata."""

    def commit_iceberg_tables(self, commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        """Carry out the commits of one or several tables: all of them, or none."""

    def register_iceberg_table(
        self, id_: Sequence[str], metadata_location: str, *, overwrite: bool = False
    ) -> LoadedIceberg:
        """Make a table from a metadata file that exists; `overwrite` the pointer of one that has the name."""

    def rename_iceberg_table(self, id_: Sequence[str], target: Sequence[str]) -> None:
        """Give a table another name, in another namespace of the catalog too. Companions rename their Lance table."""

    def drop_iceberg_table(self, id_: Sequence[str], *, purge: bool = False, expected: str | None = None) -> None:
        """Drop a table and keep its files; `purge` removes them too. A Lance table is deregistered, or dropped.

        Raises ConcurrentModificationError for an Iceberg table that has other metadata than the file `expected`.
        """

    def list_iceberg_views(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        """Return a page of the names of views in a namespace, in order."""

    def create_iceberg_view(self, id_: Sequence[str], view: NewIcebergView) -> LoadedIceberg:
        """Make a view."""

    def load_iceberg_view(self, id_: Sequence[str]) -> LoadedIceberg:
        """Return a view by its current metadata."""

    def iceberg_view_exists(self, id_: Sequence[str]) -> bool:
        """Return whether there is a view, without reading its metadata."""

    def replace_iceberg_view(self, commit: IcebergCommit) -> LoadedIceberg:
        """Carry out the updates of a view."""

    def register_iceberg_view(self, id_: Sequence[str], metadata_location: str) -> LoadedIceberg:
        """Make a view from a metadata file that exists."""

    def rename_iceberg_view(self, id_: Sequence[str], target: Sequence[str]) -> None:
        """Give a view another name, in another namespace of the catalog too."""

    def drop_iceberg_view(self, id_: Sequence[str]) -> None:
        """Drop a view."""


@runtime_checkable
class ConfinesIceberg(KeepsIceberg, Protocol):
    """A catalog that keeps Iceberg tables, and can confine where clients have their files."""

    def confined_to(self, check: Callable[[str], None]) -> KeepsIceberg:
        """Return the catalog for a user whose locations `check` allows, or refuses by raising an error."""
