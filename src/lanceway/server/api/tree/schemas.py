"""`/lanceway/v1/schemas`: namespaces by logical paths, after the name of their catalog.

    GET  /lanceway/v1/schemas               ?parent=lake.team: the namespaces directly inside; all catalogs without it
    POST /lanceway/v1/schemas               {name, properties, comment}: make lake.team:sales and what is missing above
    POST /lanceway/v1/schemas/alter         {name, set, unset}: change properties
    POST /lanceway/v1/schemas/drop          {name}: drop an empty one

A name is a text such as `lake.team:sales`, or a list of names, the catalog's first.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from lanceway.catalogs.contract.schemas import first
from lanceway.catalogs.federated.catalog import canonical
from lanceway.server.api.endpoints import Call, endpoint

SchemaName = str | list[str]


class SchemaQuery(Struct):
    parent: Annotated[str, Meta(description="A namespace, such as lake.team:sales.")] | None = None


class Schemas(Struct):
    """Namespaces, each as its catalog and its logical path: lake.team:sales."""

    schemas: list[str]


class NewSchema(Struct):
    """A namespace to make, with what is missing above it."""

    name: SchemaName
    properties: dict[str, str] | None = None
    comment: str | None = None


class SchemaChange(Struct):
    """Properties to set, and those to take away."""

    name: SchemaName
    set: dict[str, str] | None = None
    unset: list[str] = []


class NamedSchema(Struct):
    """A namespace by its name."""

    name: SchemaName


class SchemaId(Struct):
    """A namespace by its names, the catalog's first."""

    id: list[str]


class SchemaProperties(Struct):
    """All properties of a namespace."""

    properties: dict[str, str]


def _mount(name: SchemaName) -> str:
    return canonical(first(name)[0])


@endpoint("GET", "/schemas", Schemas)
async def list_schemas(call: Call, query: SchemaQuery) -> Schemas:
    """List the namespaces directly inside one, or all catalogs."""
    mount = _mount(query.parent) if query.parent else None
    return Schemas(await call.threads.run(mount, call.guard.list_schemas, query.parent))


@endpoint("POST", "/schemas", SchemaId, status=201)
async def create_schema(call: Call, body: NewSchema) -> SchemaId:
    """Make a namespace and what is missing above it: all of it, or nothing."""
    create = partial(call.guard.create_namespaces, body.name, body.properties, comment=body.comment)
    return SchemaId(list(await call.threads.run(_mount(body.name), create)))


@endpoint("POST", "/schemas/alter", SchemaProperties)
async def alter_schema(call: Call, body: SchemaChange) -> SchemaProperties:
    """Change properties of a namespace, or of a catalog of the lake."""
    alter = partial(call.guard.alter_namespace, body.name, body.set, unset=body.unset)
    return SchemaProperties(await call.threads.run(_mount(body.name), alter))


@endpoint("POST", "/schemas/drop", NamedSchema)
async def drop_schema(call: Call, body: NamedSchema) -> NamedSchema:
    """Drop an empty namespace."""
    await call.threads.run(_mount(body.name), call.guard.drop_schema, body.name)
    return body


ENDPOINTS = (list_schemas, create_schema, alter_schema, drop_schema)
