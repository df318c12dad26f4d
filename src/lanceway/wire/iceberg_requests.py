"""Bodies of requests of Iceberg REST, as a server reads them.

Schemas, partition specs, updates and requirements stay JSON here: Iceberg's own library reads them.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

Names = list[str]
Json = dict[str, Any]
StringMap = dict[str, str]

# The largest number of changes that one request may have.
_MOST = Meta(max_length=10_000)


class NamespaceCreation(Struct):
    """A namespace to make, with what is missing above it."""

    namespace: Names
    properties: StringMap | None = None


class PropertiesUpdate(Struct):
    """Properties of a namespace to remove and to set."""

    removals: list[str] | None = None
    updates: StringMap | None = None


class IcebergName(Struct):
    """A table or a view by its namespace and its name."""

    namespace: Names
    name: str


class IcebergTableCreation(Struct, rename="kebab"):
    """A table to make, or to stage for a commit that makes it."""

    name: str
    schema: Json
    location: str | None = None
    partition_spec: Json | None = None
    write_order: Json | None = None
    stage_create: bool | None = None
    properties: StringMap | None = None


class TableRegistration(Struct, rename="kebab"):
    """A table to make from a metadata file that exists."""

    name: str
    metadata_location: str
    overwrite: bool | None = None


class TableCommit(Struct):
    """Changes of a table, and what must hold for them."""

    requirements: Annotated[list[Json], _MOST]
    updates: Annotated[list[Json], _MOST]
    identifier: IcebergName | None = None


class TransactionCommit(Struct):
    """Changes of several tables, of which all are made or none."""

    changes: Annotated[list[TableCommit], Meta(min_length=1, max_length=1000)] = field(name="table-changes")


class NameChange(Struct):
    """A table or a view, and the name that it gets."""

    source: IcebergName
    destination: IcebergName


class ViewCreation(Struct, rename="kebab"):
    """A view to make."""

    name: str
    schema: Json
    view_version: Json
    location: str | None = None
    properties: StringMap | None = None


class ViewRegistration(Struct, rename="kebab"):
    """A view to make from a metadata file that exists."""

    name: str
    metadata_location: str


class ViewCommit(Struct):
    """Changes of a view, and what must hold for them."""

    updates: Annotated[list[Json], _MOST]
    requirements: Annotated[list[Json], _MOST] = field(default_factory=list)
    identifier: IcebergName | None = None


class MetricsReport(Struct, rename="kebab"):
    """What a client measured when it read a table or committed to it."""

    report_type: str
    table_name: str
    snapshot_id: int
    metrics: Json
    # Of a scan.
    filter: Any = None
    schema_id: int | None = None
    projected_field_ids: list[int] | None = None
    projected_field_names: list[str] | None = None
    # Of a commit.
    sequence_number: int | None = None
    operation: str | None = None
    metadata: StringMap | None = None


class SigningRequest(Struct):
    """A request to a storage that is to be signed."""

    region: str
    uri: str
    method: str
    headers: dict[str, list[str]] = field(default_factory=dict)
    properties: StringMap | None = None
    body: str | None = None
    provider: str | None = None
