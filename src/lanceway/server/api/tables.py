"""`/lanceway/v1/tables`: what the dialects do not have for tables.

    POST /lanceway/v1/tables/clone      {source, target, version, tag, branch, delimiter}: make a shallow clone
    GET  /lanceway/v1/tables/recent     those of the lake that changed last, of those that one may see
    GET  /lanceway/v1/tables/history    ?table=lake$orders, ?branch=NAME: versions, newest first, with what each brought

A table is named by a list of names, the catalog's first, or by a text in which the delimiter joins them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import lance_namespace as ln
from msgspec import Meta, Struct
from sqlalchemy import Connection

from lanceway.access.records.feed import MANAGE_USERS
from lanceway.access.records.recent import recent_tables
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import catalogs, lookups
from lanceway.lake.versions import versions
from lanceway.server.api.endpoints import LARGEST_NUMBER, Call, PageQuery, actor_of, endpoint, page_type
from lanceway.server.home import METALAKE
from lanceway.tables.dataset import is_main
from lanceway.tables.versions import history
from lanceway.tables.versions.history import VersionFacts
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


# -- recent --------------------------------------------------------------------------------------

_MOST_RECENT = 50


class RecentQuery(Struct):
    limit: Annotated[int, Meta(ge=1, le=LARGEST_NUMBER, description=f"The most tables; never over {_MOST_RECENT}.")] = (
        10
    )


class ChangedTable(Struct):
    """A table: its names, the catalog's first, and when it changed last, in milliseconds since 1970."""

    id: list[str]
    changed_at: int


class RecentTables(Struct):
    """Tables of the lake, the one that changed last first."""

    tables: list[ChangedTable]


@endpoint("GET", "/tables/recent", RecentTables)
async def list_recent_tables(call: Call, query: RecentQuery) -> RecentTables:
    """List the tables of the lake that changed last, of those that the caller may see."""
    recent = await call.run(recent_tables, call.store, actor_of(call), min(query.limit, _MOST_RECENT))
    return RecentTables([ChangedTable(list(table.names), table.changed_at) for table in recent])


# -- history -------------------------------------------------------------------------------------

_MOST_VERSIONS = 50
# What a pipeline writes into the commits of its outputs.
_MARK = "lanceway.pipeline"


class HistoryQuery(PageQuery):
    table: Annotated[str, Meta(min_length=1, description="The table; the delimiter joins its names.")] = ""
    delimiter: Annotated[str, Meta(min_length=1, description="What joins the names; $ without it.")] = DELIMITER
    branch: Annotated[str, Meta(description="The main one without it.")] | None = None


class PastVersionInfo(Struct):
    """A version: when it was made, by which operation, and its rows; null where that is not known.

    `added` and `removed` are rows that came and went: a row that was updated is both. `by` is for those who may manage
    users, and for oneself. `pipeline` and `run` are of the pipeline that wrote it.
    """

    version: int
    at: int | None
    operation: str | None
    rows: int | None
    added: int | None
    removed: int | None
    by: str | None
    pipeline: str | None
    run: str | None


@endpoint("GET", "/tables/history", page_type("TableHistory", "versions", PastVersionInfo))
async def list_history(call: Call, query: HistoryQuery) -> object:
    """List the versions of a table, the newest first, with what each of them brought."""
    names = _names(query.table, query.delimiter)
    return await call.threads.run(canonical(names[0]), partial(_history, call, names, query))


def _history(call: Call, names: list[str], query: HistoryQuery) -> dict[str, Any]:
    branch = None if is_main(query.branch) else query.branch
    request = ln.ListTableVersionsRequest(
        id=names, branch=branch, descending=True, limit=min(query.size, _MOST_VERSIONS), page_token=query.page_token
    )
    page = call.guard.list_table_versions(request)
    numbers = [version.version for version in page.versions]
    facts = _facts(call, names, numbers, branch)
    authors = _authors(call, names, numbers, branch) if facts else {}
    listed = []
    for version in page.versions:
        known, mark = facts.get(version.version, VersionFacts()), _mark(facts.get(version.version))
        listed.append(
            PastVersionInfo(
                version.version,
                version.timestamp_millis,
                known.operation,
                known.rows,
                known.added,
                known.removed,
                authors.get(version.version),
                mark.get("pipeline"),
                mark.get("run"),
            )
        )
    return {"versions": listed, "page_token": page.page_token}


def _facts(call: Call, names: list[str], numbers: list[int], branch: str | None) -> Mapping[int, VersionFacts]:
    """Read what storage says; of a table that another service keeps, nothing is."""
    try:
        return history.read(call.guard.stored_table(names, "list_table_versions"), numbers, branch)
    except UnsupportedOperationError:
        return {}


def _authors(call: Call, names: list[str], numbers: list[int], branch: str | None) -> Mapping[int, str]:
    """Return who made each version that the lake has a row of, as far as the caller may know."""
    actor, me = actor_of(call), call.principal.name

    def work(connection: Connection) -> Mapping[int, str]:
        catalog = catalogs.load(connection, METALAKE, names[0])
        table = lookups.find(connection, catalog.id, Identifier(names[1:]))
        rows = versions.page(
            connection,
            table,
            branch=branch or versions.MAIN,
            after=max(numbers) + 1,
            limit=len(numbers),
            descending=True,
        )
        sees_all = call.principal.admin or actor.may(connection, MANAGE_USERS)
        return {row.version: row.created_by for row in rows if sees_all or row.created_by == me}

    return call.store.snapshot(work)


def _mark(facts: VersionFacts | None) -> Mapping[str, str]:
    """Return which pipeline and which run a commit names: anyone may write one, so nothing of it is trusted."""
    try:
        mark = json.loads((facts.properties if facts else {}).get(_MARK, ""))
        return {key: mark[key] for key in ("pipeline", "run") if isinstance(mark.get(key), str)}
    except (ValueError, AttributeError):
        return {}


ENDPOINTS = (clone_table, list_recent_tables, list_history)
