"""Lakes to look at: filled through the lake, and broken behind its back."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
from sqlalchemy import Connection

from lanceway.identifiers import Identifier, parse
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import ICEBERG_TABLE, VIEW, feed, metadata
from lanceway.lake.tree import locations, lookups, namespaces, tables
from lanceway.lake.versions import checks, versions
from lanceway.lake.versions.versions import VersionClaim
from tests.lake.conftest import Lake

SPACES = 12


def fill(lake: Lake) -> None:
    """Something of every kind, with names that need encoding and a table that has moved to a younger namespace."""
    for number in range(SPACES):
        space = Identifier(["team", f"n{number}", "50 %.é"])
        lake.do(namespaces.create, space, by="me", parents=True, comment="a note", properties={"k": "v\n😀"})
        lake.do(tables.create, space.child("t"), by="me")
    lake.do(tables.create, parse("first"), by="me")
    lake.do(tables.create, parse("team.view"), by="me", kind=VIEW, metadata_pointer="s3://b/v.json")
    lake.do(tables.create, parse("team.ice"), by="me", kind=ICEBERG_TABLE, metadata_pointer="s3://b/i.json")
    lake.do(tables.create, parse("team.plain"), by="me", managed=False, location="/elsewhere/plain")
    lake.do(namespaces.create, parse("young"), by="me")
    lake.do(tables.rename, parse("first"), parse("young.first"), by="you")
    lake.store.transact(_versions, lake.catalog.id)


def _versions(connection: Connection, catalog: int) -> None:
    table = lookups.hold(connection, catalog, parse("young.first"))
    for number in range(1, 6):
        made = versions.claim(connection, table, VersionClaim(number, f"s{number}", f"f{number}"), by="me")
        versions.mark_copied(connection, made)
    versions.claim(connection, table, VersionClaim(4, "b4", "f4", branch="try", metadata={"a": "b"}), by="me")
    checks.record(connection, table.id, "", 9, path="p", kept_path="k")
    locations.record(connection, ["/warehouse/gone"], by="me")


def rows(store: LakeStore) -> dict[str, list[Any]]:
    """Every row of the lake but the events, of which a backup has none; in no order."""

    def read(connection: Connection) -> dict[str, list[Any]]:
        return {
            table.name: sorted(repr(tuple(row)) for row in connection.execute(table.select()))
            for table in metadata.sorted_tables
            if table is not feed
        }

    return store.snapshot(read)


def vandalise(uri: str, *statements: str) -> None:
    """Change rows without the lake, and without foreign keys."""
    if uri.startswith("sqlite"):
        with sqlite3.connect(uri.removeprefix("sqlite:///")) as file:
            for statement in statements:
                file.execute(statement)
        file.close()
        return
    with psycopg.connect(uri) as connection:
        connection.execute("SET session_replication_role = replica")
        for statement in statements:
            connection.execute(statement.encode())
