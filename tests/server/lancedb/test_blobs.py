"""Blobs through the stock client: whole ones, and by ranges of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pyarrow as pa
import pytest
from lance.blob import blob_array, blob_field
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.table import RemoteTable

from lanceway.wire.lance import ARROW_STREAM
from tests.server.server_helpers import stream
from tests.servers.lanceway import Lanceway

LARGE = bytes(range(256)) * 20_000  # more than one piece
BLOBS = [b"small", None, LARGE, b""]


@pytest.fixture(scope="module")
def marked(database: str) -> dict[str, str]:
    return dict(zip(("x-lancedb-database", "x-lancedb-database-prefix"), database.split("/"), strict=True))


@pytest.fixture(scope="module")
def pictures(server: Lanceway, db: RemoteDBConnection, marked: dict[str, str]) -> RemoteTable:
    schema = pa.schema([pa.field("id", pa.int64()), blob_field("picture")])
    data = pa.table([pa.array(range(len(BLOBS))), blob_array(BLOBS)], schema=schema)
    headers = {**marked, "content-type": ARROW_STREAM}
    server.ask("POST", "table/pictures/create/", content=stream(data), headers=headers).raise_for_status()
    table = db.open_table("pictures")
    assert isinstance(table, RemoteTable)
    return table


@pytest.fixture(scope="module")
def ids(pictures: RemoteTable) -> list[int]:
    return [row["_rowid"] for row in pictures.search().select(["id"]).with_row_id(True).to_list()]


@pytest.fixture
def ranged(server: Lanceway, pictures: RemoteTable, marked: dict[str, str]) -> Callable[..., httpx.Response]:
    def ask(row: Any, range_: str | None = None, column: str = "picture", **query: Any) -> httpx.Response:
        headers = marked if range_ is None else {**marked, "range": range_}
        return server.ask("GET", f"table/pictures/blob/{column}/{row}/bytes", headers=headers, params=query)

    return ask


def test_blobs_are_fetched_whole(pictures: RemoteTable, ids: list[int]) -> None:
    assert pictures.blob_columns() == ["picture"]
    order = [2, 0, 1, 3]
    assert pictures.fetch_blobs("picture", [ids[place] for place in order]).to_pylist() == [BLOBS[i] for i in order]


def test_blobs_are_read_like_files(pictures: RemoteTable, ids: list[int]) -> None:
    small, null, large, empty = pictures.fetch_blob_files("picture", ids)
    assert null is None
    assert (small.read(), empty.read()) == (b"small", b"")
    large.seek(1_000)
    assert large.read(300) == LARGE[1_000:1_300]
    large.seek(0)
    assert large.read() == LARGE


def test_ranges_of_bytes(ranged: Callable[..., httpx.Response], ids: list[int]) -> None:
    answer = ranged(ids[0], "bytes=1-2")
    assert (answer.status_code, answer.content, answer.headers["content-range"]) == (206, b"ma", "bytes 1-2/5")
    assert ranged(ids[0], "bytes=3-99").content == b"ll"
    assert ranged(ids[0]).content == b"small"
    assert (ranged(ids[2], "bytes=5-").content, ranged(ids[2], "bytes=5-", version=1).content) == (LARGE[5:], LARGE[5:])
    beyond = ranged(ids[0], "bytes=5-")
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */5")
    assert ranged(ids[1], "bytes=0-0").status_code == 204
    assert ranged(ids[3], "bytes=0-0").headers["content-range"] == "bytes */0"


def test_what_is_no_blob_is_refused(
    server: Lanceway, ranged: Callable[..., httpx.Response], ids: list[int], marked: dict[str, str]
) -> None:
    for answer in (ranged("x"), ranged(2**70), ranged(ids[0], "bytes=a-b"), ranged(ids[0], "bytes=0-1,3-4")):
        assert answer.status_code == 400
    assert ranged(ids[0], version="x").status_code == 400
    assert ranged(ids[0], version=99).status_code == 404
    assert ranged(ids[0], column="none").status_code == 400  # which the client does not take for a missing table
    assert ranged(ids[0], column="id").status_code == 400
    assert ranged(999_999).status_code == 400
    for body in ({"column": "picture"}, {"column": "picture", "row_ids": ["x"]}, {"row_ids": []}):
        assert server.ask("POST", "table/pictures/fetch_blobs/", body, headers=marked).status_code == 400
