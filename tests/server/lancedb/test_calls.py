"""What the stock client asks for besides Lance REST, served or refused with a sentence."""

from __future__ import annotations

import pyarrow as pa
import pytest
from lancedb.index import BTree
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.errors import HttpError
from lancedb.remote.table import RemoteTable

from lanceway.server.lancedb.routes import ROUTES
from tests.server.lancedb.conftest import connect, fruit
from tests.servers.lanceway import Lanceway


def test_a_table_is_cloned(db: RemoteDBConnection, table: RemoteTable, database: str) -> None:
    table.add(fruit(7))
    clone = db.clone_table("copy", f"db://{database}/{table.name}", source_version=1)
    assert (clone.count_rows(), table.count_rows()) == (6, 7)
    with pytest.raises(HttpError, match="not by a location"):
        db.clone_table("other", table.uri)
    with pytest.raises(HttpError, match="share the files"):
        db.clone_table("other", f"db://{database}/{table.name}", is_shallow=False)


# A field of each operation, and what it must not be.
BAD = {
    ("clone", "source_version"): (1.5, True, "1", [], {}),
    ("clone", "source_tag"): (1, True, [], {}),
    ("rename", "new_namespace"): (1, True, "abc", {"a": 1}, [1], [None]),
}


def test_a_field_of_another_type_is_refused(server: Lanceway, database: str, table: RemoteTable) -> None:
    headers = dict(zip(("x-lancedb-database", "x-lancedb-database-prefix"), database.split("/"), strict=True))
    for (verb, field), values in BAD.items():
        for value in values:
            body = {"source_location": f"db://{database}/{table.name}", "new_table_name": "other", field: value}
            answer = server.ask("POST", f"table/{table.name}/{verb}/", body, headers=headers)
            assert answer.status_code == 400, (field, value, answer.text)
            assert field in answer.json()["error"]
    assert table.count_rows() == 6


def test_empty_columns_are_added_by_their_types(table: RemoteTable) -> None:
    table.add_columns([pa.field("place", pa.struct([("city", pa.string())]))])
    assert table.schema.field("place").type == pa.struct([("city", pa.string())])
    assert table.search().where("place IS NULL").to_arrow().num_rows == 6
    with pytest.raises(HttpError, match="the name is taken"):
        table.add_columns([pa.field("id", pa.int64())])
    with pytest.raises(HttpError, match="must be nullable"):
        table.add_columns([pa.field("sure", pa.int64(), nullable=False)])


def test_prewarming_does_nothing_to_what_is_there(table: RemoteTable) -> None:
    table.create_index("id", config=BTree())
    table.prewarm_index("id_idx")
    table.prewarm_data(["id"])
    with pytest.raises(RuntimeError, match="not found"):
        table.prewarm_index("none")


def test_no_table_has_an_lsm_write_path(table: RemoteTable) -> None:
    assert table.get_lsm_stats() is None
    assert table.get_lsm_write_spec() is None
    with pytest.raises(HttpError, match="has no LSM write path"):
        table.flush_lsm()


def test_every_refusal_says_what_to_know(server: Lanceway) -> None:
    refused = [route for route in ROUTES if route.refusal]
    for route in refused:
        path = route.path.removeprefix("/v1/").format(id="t")
        answer = server.ask("POST", path, {"value": "secret"}, headers={"x-lancedb-database": "lake"})
        assert (answer.status_code, answer.json()["error"]) == (406, route.refusal), route.path
        assert "secret" not in answer.text.replace("secrets", "")


def test_a_path_that_nobody_has_is_not_found(server: Lanceway) -> None:
    assert server.ask("POST", "table/t/none", {}, headers={"x-lancedb-database": "lake"}).status_code == 404


def test_jobs_are_listed_described_and_cancelled(
    server: Lanceway, db: RemoteDBConnection, table: RemoteTable, database: str
) -> None:
    created = {"new_columns": [{"name": "later", "computed": "id + 1"}]}
    name = table.name
    headers = dict(zip(("x-lancedb-database", "x-lancedb-database-prefix"), database.split("/"), strict=True))
    server.ask("POST", f"table/{name}/add_columns/", created, headers=headers).raise_for_status()
    job = table.refresh_column_async("later")
    assert job.status() == "running"
    listed = [row for row in db.list_jobs() if row.table == name]
    assert [(row.job_type, row.state) for row in listed] == [("backfill", "running")]
    described = db.open_job(listed[0].job_id)
    assert described.status() == "running"
    described.cancel()
    assert db.open_job(listed[0].job_id).status() == "cancelled"
    assert db.cancel_job("job-00000000000000000000") is False


def test_jobs_of_other_users_and_databases_are_not_there(
    server: Lanceway, db: RemoteDBConnection, table: RemoteTable, database: str
) -> None:
    headers = dict(zip(("x-lancedb-database", "x-lancedb-database-prefix"), database.split("/"), strict=True))
    created = {"new_columns": [{"name": "later", "computed": "id + 1"}]}
    server.ask("POST", f"table/{table.name}/add_columns/", created, headers=headers).raise_for_status()
    table.refresh_column_async("later")
    job = next(row.job_id for row in db.list_jobs() if row.table == table.name)
    other = connect(server, database, server.token_for("no-owner-of-jobs"))
    assert job not in [row.job_id for row in other.list_jobs()]
    assert other.cancel_job(job) is False
    elsewhere = connect(server, f"{database}/elsewhere")
    assert elsewhere.list_jobs() == []
    assert elsewhere.cancel_job(job) is False
    assert db.cancel_job(job) is True
