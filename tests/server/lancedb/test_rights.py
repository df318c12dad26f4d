"""LanceDB's own client under access control: what its user may do is done, the rest is refused and recorded."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.errors import HttpError
from lancedb.remote.table import RemoteTable

from tests.server.lancedb.conftest import connect, fruit
from tests.servers.lanceway import Lanceway


def recorded(server: Lanceway, user: str, operation: str, outcome: str) -> dict[str, Any]:
    """The newest record of a user's operation: an end is written a moment after its answer."""
    with server.client(base_url=f"{server.address}/lanceway/v1") as admin:
        for _ in range(200):
            events = admin.get("/audit", params={"user": user}).raise_for_status().json()["events"]
            chosen = [event for event in events if (event["operation"], event["outcome"]) == (operation, outcome)]
            if chosen:
                return dict(chosen[0])
            time.sleep(0.05)
    raise AssertionError(events)


def test_a_user_who_may_read_reads_and_changes_nothing(
    server: Lanceway, db: RemoteDBConnection, table: RemoteTable, database: str
) -> None:
    user = f"reader-{uuid.uuid4().hex[:8]}"
    reader = connect(server, database, server.token_for(user, "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"))
    assert reader.list_tables().tables == db.list_tables().tables
    own = reader.open_table(table.name)
    assert own.search([1.0, 0.0]).limit(1).to_list()[0]["id"] == 1
    for change in (
        lambda: own.add(fruit(7)),
        lambda: own.update(where="id = 1", values={"text": "x"}),
        lambda: own.delete("id = 1"),
        lambda: own.merge_insert("id").when_not_matched_insert_all().execute(fruit(8)),
        lambda: own.add_columns({"twice": "id * 2"}),
        lambda: own.tags.create("mine", 1),
        lambda: reader.create_table("mine", fruit(1)),
        lambda: reader.drop_table(table.name),
    ):
        with pytest.raises((HttpError, RuntimeError), match="may not"):
            change()
    assert table.count_rows() == 6
    denied = recorded(server, user, "delete_from_table", "denied")
    assert (denied["via"], json.loads(denied["object"])) == ("LanceDB", [*database.split("/"), table.name])


def test_what_a_user_may_not_see_is_not_there(server: Lanceway, table: RemoteTable, database: str) -> None:
    stranger = connect(
        server, database, server.token_for(f"stranger-{uuid.uuid4().hex[:8]}", "USE_CATALOG", "USE_SCHEMA")
    )
    assert stranger.list_tables().tables == []
    texts = []
    for name in (table.name, "t_that_is_not_there"):
        with pytest.raises((HttpError, RuntimeError, ValueError)) as refusal:
            stranger.open_table(name).count_rows()
        texts.append(str(refusal.value).replace(name, "NAME"))
    assert texts[0].partition("request")[0] == texts[1].partition("request")[0]


def test_a_change_is_recorded_with_its_user(server: Lanceway, database: str, table: RemoteTable) -> None:
    user = f"writer-{uuid.uuid4().hex[:8]}"
    writer = connect(server, database, server.token_for(user))
    writer.open_table(table.name).add(fruit(7))
    done = recorded(server, user, "insert_into_table", "done")
    assert (done["via"], json.loads(done["object"])) == ("LanceDB", [*database.split("/"), table.name])
