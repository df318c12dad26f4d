"""The stock client of LanceDB, connected to a database that is a namespace of its own."""

from __future__ import annotations

from typing import Any

import lancedb
import pyarrow as pa
import pytest
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.table import RemoteTable

from tests.server.server_helpers import space
from tests.servers.lanceway import Lanceway

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.utf8()), ("vector", pa.list_(pa.float32(), 2))])


def fruit(*ids: int) -> pa.Table:
    """Rows whose vectors are in the order of their ids; odd ones are apples, even ones pears."""
    rows = [{"id": id_, "text": f"{'apple' if id_ % 2 else 'pear'} {id_}", "vector": [id_, 0.0]} for id_ in ids]
    return pa.Table.from_pylist(rows, SCHEMA)


def connect(server: Lanceway, database: str, token: str | None = None, **options: Any) -> RemoteDBConnection:
    connection = lancedb.connect(f"db://{database}", api_key=token or server.token, host_override=server.uri, **options)
    assert isinstance(connection, RemoteDBConnection)
    return connection


@pytest.fixture(scope="module")
def database(server: Lanceway) -> str:
    """A database that the tests of a module share."""
    return "/".join(space(server))


@pytest.fixture(scope="module")
def db(server: Lanceway, database: str) -> RemoteDBConnection:
    return connect(server, database)


@pytest.fixture
def table(db: RemoteDBConnection, request: pytest.FixtureRequest) -> RemoteTable:
    """A table of six rows, named after its test."""
    table = db.create_table(request.node.name.partition("[")[0], fruit(*range(1, 7)))
    assert isinstance(table, RemoteTable)
    return table
