"""`/lanceway/v1/tables`: what the dialects do not have for tables.

    POST /lanceway/v1/tables/clone    {source, target, version, tag, branch, delimiter}: make a shallow clone

A table is named by a list of names, the catalog's first, or by a text in which the delimiter joins them.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.server.api.endpoints import Call, endpoint
from lanceway.wire.lance import DELIMITER

TableName = str | list[str]


class CloneBody(Struct):
    """A table that is to share the files of a version of another one, the latest unless another is given."""

    source: TableName
    target: TableName
    version: Annotated[int, Meta(ge=1)] | None = None
    tag: str | None = None
    branch: Annotated[str, Meta(description="The main one: no other can be cloned.")] | None = None
    delimiter: Annotated[str, Meta(min_length=1, description="What joins names in a text; $ without it.")] = DELIMITER

    @property
    def audited(self) -> list[dict[str, object]]:
        return [{"table": _text(self.target), "source": _text(self.source)}]


class ClonedTable(Struct):
    """A new clone: its names, the catalog's first, and where its own files will be."""

    id: list[str]
    location: str | None


def _text(name: TableName) -> str:
    return name if isinstance(name, str) else DELIMITER.join(name)


def _names(name: TableName, delimiter: str) -> list[str]:
    names = list(Identifier.parse(name, delimiter) if isinstance(name, str) else Identifier(name))
    if not names:
        raise InvalidInputError("A table is named by its catalog, its namespaces and its name, and a name is empty.")
    return names


@endpoint("POST", "/tables/clone", ClonedTable, status=201)
async def clone_table(call: Call, body: CloneBody) -> ClonedTable:
    """Make a shallow clone of a table of the lake, for who may read the whole table."""
    source, target = _names(body.source, body.delimiter), _names(body.target, body.delimiter)
    clone = partial(call.guard.clone_table, source, target, version=body.version, tag=body.tag, branch=body.branch)
    made = await call.threads.run(canonical(target[0]), clone)
    return ClonedTable(target, made.location)


ENDPOINTS = (clone_table,)
