"""Multipart writes: the stock client's own, and those of an attacker with a valid token."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import httpx
import pyarrow as pa
import pytest
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.table import RemoteTable

from lanceway.wire.lance import ARROW_STREAM
from tests.server.lancedb.conftest import fruit
from tests.server.server_helpers import stream
from tests.servers.lanceway import Lanceway

Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(server: Lanceway, table: RemoteTable, database: str) -> Ask:
    """One request of the client's form about the test's own table, by its verb."""
    catalog, prefix = database.split("/")

    def send(verb: str, content: bytes | None = None, *, token: str | None = None, name: str = "", **query: str) -> Any:
        headers = {"x-lancedb-database": catalog, "x-lancedb-database-prefix": prefix}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if content is not None:
            headers["content-type"] = ARROW_STREAM
        with server.client(headers={**server.headers, **headers}) as client:
            return client.post(f"/lance/v1/table/{name or table.name}/{verb}", content=content, params=query)

    return send


def begin(ask: Ask, **options: str) -> str:
    upload: str = ask("multipart_write/create", **options).raise_for_status().json()["upload_id"]
    return upload


def part(ask: Ask, upload: str, id_: str = "a", **options: str) -> httpx.Response:
    return ask("insert/", stream(fruit(10)), upload_id=upload, upload_part_id=id_, **options)


def files(table: RemoteTable) -> set[Path]:
    folder = Path(urlparse(table.uri).path)
    return {
        path for path in folder.rglob("*") if path.is_file() and (path.suffix == ".lance" or "uploads" in path.parts)
    }


# -- as the client does it -----------------------------------------------------------------------


def test_rows_that_are_sent_at_once_are_one_version(table: RemoteTable) -> None:
    count = 20_000
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([0.0] * (2 * count), pa.float32()), 2)
    rows = pa.table({"id": range(count), "text": ["x" * 100] * count, "vector": vectors})
    added = table.add(rows.to_reader(1_000), write_parallelism=4)
    assert (added.version, table.version, table.count_rows()) == (2, 2, count + 6)
    table.add(rows.to_reader(1_000), mode="overwrite", write_parallelism=4)
    assert (table.version, table.count_rows()) == (3, count)


def test_a_client_that_fails_on_the_way_leaves_nothing(table: RemoteTable) -> None:
    before = files(table)

    def broken() -> Any:
        yield from fruit(*range(2_000)).to_batches(max_chunksize=100)
        raise ValueError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(fruit().schema, broken())
    with pytest.raises(Exception, match="the source is gone"):
        table.add(reader, write_parallelism=2)
    assert (table.version, files(table)) == (1, before)


# -- step by step --------------------------------------------------------------------------------


def test_parts_are_committed_once(ask: Ask, table: RemoteTable) -> None:
    upload = begin(ask)
    with ThreadPoolExecutor(4) as threads:
        assert all(answer.is_success for answer in threads.map(lambda id_: part(ask, upload, id_), "abcd"))
    assert table.count_rows() == 6
    versions = [ask("multipart_write/complete", upload_id=upload).json()["version"] for _ in range(2)]
    assert (versions, table.count_rows()) == ([2, 2], 10)


def test_what_is_given_up_leaves_nothing(ask: Ask, table: RemoteTable) -> None:
    before, upload = files(table), begin(ask)
    part(ask, upload).raise_for_status()
    assert files(table) != before
    ask("multipart_write/abort", upload_id=upload).raise_for_status()
    assert files(table) == before
    for answer in (part(ask, upload), ask("multipart_write/complete", upload_id=upload)):
        assert (answer.status_code, "no such upload" in answer.json()["error"]) == (400, True)
    assert (files(table), table.version) == (before, 1)


def test_a_branch_has_uploads_of_its_own(ask: Ask, table: RemoteTable) -> None:
    branch = table.branches.create("draft")
    upload = begin(ask, branch="draft")
    assert part(ask, upload).status_code == 400  # to the main branch
    part(ask, upload, branch="draft").raise_for_status()
    ask("multipart_write/complete", upload_id=upload, branch="draft").raise_for_status()
    assert (branch.count_rows(), table.count_rows()) == (7, 6)


# -- as an attacker does it ----------------------------------------------------------------------


def test_an_upload_belongs_to_who_began_it(server: Lanceway, ask: Ask, table: RemoteTable) -> None:
    other = server.token_for(f"other-of-{table.name}")
    upload = begin(ask)
    part(ask, upload).raise_for_status()
    before = files(table)
    for answer in (
        part(ask, upload, "b", token=other),
        ask("multipart_write/complete", token=other, upload_id=upload),
        ask("multipart_write/abort", token=other, upload_id=upload),
    ):
        assert (answer.status_code, "not that of an upload of yours" in answer.json()["error"]) == (400, True)
    assert (files(table), table.version) == (before, 1)
    assert ask("multipart_write/complete", upload_id=upload).json() == {"version": 2}


def test_an_upload_belongs_to_its_table(ask: Ask, db: RemoteDBConnection, table: RemoteTable) -> None:
    other = db.create_table(f"{table.name}_other", fruit(1))
    upload = begin(ask)
    part(ask, upload).raise_for_status()
    assert part(ask, upload, "b", name=other.name).status_code == 400
    assert ask("multipart_write/complete", name=other.name, upload_id=upload).status_code == 400
    assert (other.count_rows(), table.count_rows()) == (1, 6)


def test_an_id_that_was_made_up_is_refused(ask: Ask) -> None:
    for upload in ("", "x", "../../..", "A" * 8_000):
        for verb in ("complete", "abort"):
            answer = ask(f"multipart_write/{verb}", upload_id=upload)
            assert (answer.status_code, answer.json()["code"]) == (400, 13)
        assert part(ask, upload).status_code == 400


def test_who_may_only_read_cannot_upload(server: Lanceway, ask: Ask, table: RemoteTable) -> None:
    reader = server.token_for(f"reader-of-{table.name}", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    assert ask("multipart_write/create", token=reader).status_code == 403
    assert part(ask, begin(ask), token=reader).status_code == 403


def test_a_part_needs_an_id_a_mode_and_rows(ask: Ask) -> None:
    upload = begin(ask)
    assert ask("insert/", stream(fruit(1)), upload_id=upload).status_code == 400
    assert part(ask, upload, mode="replace").status_code == 400
    assert ask("insert/", b"no rows", upload_id=upload, upload_part_id="a").status_code == 400
    assert ask("multipart_write/complete", upload_id=upload).json() == {"version": 1}
