"""`/lanceway/v1/events`: in order, as CloudEvents, waiting for what other processes do, over restarts."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lanceway.catalogs.rest.catalog import RestCatalog
from lanceway.server.feed.events import BATCH
from tests.server.api.test_tokens import Caller, refused
from tests.server.api.test_tokens import admin as admin
from tests.server.api.test_tokens import user as user
from tests.server.conftest import Cluster
from tests.server.server_helpers import serving
from tests.servers import lanceway as lanceway_server
from tests.servers.postgres import Postgres
from tests.servers.run import Run

EVENTS = "/lanceway/v1/events"
IN_FLIGHT = "lanceway_requests_in_flight"


def page(caller: Caller, **query: Any) -> dict[str, Any]:
    answer = caller.ask("GET", EVENTS, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def latest(caller: Caller) -> str:
    return str(page(caller, after="latest")["cursor"])


def make(caller: Caller, name: str | None = None) -> str:
    name = name or f"n{uuid.uuid4().hex[:12]}"
    assert caller.ask("POST", f"/lance/v1/namespace/lake${name}/create", json={}).is_success
    return name


def test_events_are_cloud_events_in_order(admin: Caller) -> None:
    after, name = latest(admin), make(admin)
    assert admin.ask("POST", f"/lance/v1/table/lake${name}$t/declare", json={}).is_success
    found = page(admin, after=after, under=f"lake${name}")
    created, declared = found["events"]
    assert {key: created[key] for key in ("specversion", "type", "subject", "datacontenttype", "data")} == {
        "specversion": "1.0",
        "type": "io.lanceway.namespace.created",
        "subject": f"lake${name}",
        "datacontenttype": "application/json",
        "data": {"kind": "namespace", "object": ["lake", name], "actor": "admin"},
    }
    assert uuid.UUID(created["source"])
    assert created["time"].endswith("Z")
    assert declared["type"] == "io.lanceway.table.created"
    # The id of an event is where to go on.
    assert page(admin, after=created["id"], under=f"lake${name}")["events"] == [declared]
    assert page(admin, after=found["cursor"], under=f"lake${name}")["events"] == []
    assert page(admin, after=after, types="table", under=f"lake${name}")["events"] == [declared]
    assert page(admin, after=after, under=f"lake${name}", limit=1)["events"] == [created]


def test_what_is_hidden_is_passed(admin: Caller, user: Caller) -> None:
    after, name = latest(user), make(admin)
    found = page(user, after=after, under=f"lake${name}")
    assert (found["events"], found["more"]) == ([], False)
    assert name not in str(page(user, after=after))


@pytest.mark.parametrize("after", ["x", "0.1", "A" * 80, "Zm9yZ2Vk"])
def test_a_position_that_was_not_given_out_is_refused(admin: Caller, after: str) -> None:
    assert refused(admin.ask("GET", EVENTS, params={"after": after})) == (400, 13)


def test_a_page_token_of_another_list_is_no_position(admin: Caller) -> None:
    admin.make(user="one-more")
    token = admin.list(limit=1)["page_token"]
    assert refused(admin.ask("GET", EVENTS, params={"after": token})) == (400, 13)
    assert refused(admin.ask("GET", "/lanceway/v1/tokens", params={"page_token": latest(admin)})) == (400, 13)


@pytest.mark.parametrize("query", [{"types": "nothing"}, {"wait": "-1"}, {"limit": "0"}])
def test_mistakes_are_explained(admin: Caller, query: dict[str, str]) -> None:
    assert refused(admin.ask("GET", EVENTS, params=query)) == (400, 13)


def test_a_wait_ends_without_an_event(admin: Caller) -> None:
    name = make(admin)
    found = page(admin, after=latest(admin), under=f"lake${name}", wait=0.6)
    assert found["events"] == []
    assert page(admin, after=found["cursor"], under=f"lake${name}")["events"] == []


def test_many_wait_at_once_and_the_server_goes_on(admin: Caller) -> None:
    """More requests wait than the lake has threads: if each held one, the namespace could not be made."""
    after, name = latest(admin), f"n{uuid.uuid4().hex[:12]}"
    with ThreadPoolExecutor(40) as pool:
        waiting = [
            pool.submit(page, admin, after=after, types="namespace", under=f"lake${name}", wait=30) for _ in range(40)
        ]
        make(admin, name)
        assert all(one.result()["events"][0]["subject"] == f"lake${name}" for one in waiting)


def test_a_client_that_goes_away_does_no_harm(admin: Caller) -> None:
    headers = {"x-api-key": admin.token}
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(
            f"{admin.server.address}{EVENTS}",
            params={"after": latest(admin), "types": "group", "wait": 30},
            headers=headers,
            timeout=0.5,
            trust_env=False,
        )
    assert page(admin, limit=1)["events"]


def test_the_client_of_the_library_reads_them(admin: Caller) -> None:
    after, name = latest(admin), make(admin)
    settings = {"uri": admin.server.uri, "header.x-api-key": admin.token}
    with RestCatalog(**settings) as catalog:
        found = catalog.list_events(after=after, under=["lake", name], types=["namespace"])
    assert [event["subject"] for event in found["events"]] == [f"lake${name}"]


@pytest.mark.parametrize("accept", [BATCH, f"application/json;q=0.5, {BATCH}; charset=utf-8"])
def test_a_batch_has_the_events_alone_and_the_rest_in_headers(admin: Caller, user: Caller, accept: str) -> None:
    after, name = latest(admin), make(admin)
    make(admin, f"{name}2")
    query = {"after": after, "types": "namespace", "limit": 1}

    def batch(caller: Caller, **query: Any) -> httpx.Response:
        return caller.ask("GET", EVENTS, params=query, headers={"accept": accept}).raise_for_status()

    answer = batch(admin, **query)
    assert answer.headers["content-type"] == BATCH
    assert answer.json() == page(admin, **query)["events"]
    assert [event["subject"] for event in answer.json()] == [f"lake${name}"]
    rest = batch(admin, after=answer.headers["lanceway-cursor"], types="namespace", under=f"lake${name}2")
    assert [event["subject"] for event in rest.json()] == [f"lake${name}2"]
    assert rest.headers["lanceway-more"] == "false"
    hidden = batch(user, after=after, types="namespace", under=f"lake${name}")
    assert hidden.json() == [], "who may not see what happened gets an empty batch"
    assert hidden.headers["lanceway-cursor"] != after, "and a position behind it"
    with admin.server.client() as client:
        described = client.get("/openapi-lanceway.json").json()["paths"]["/v1/events"]["get"]
    assert BATCH in described["responses"]["200"]["content"]


def in_flight(caller: Caller) -> float:
    """How many requests the server is at, this one included."""
    (line,) = (row for row in caller.ask("GET", "/metrics").text.splitlines() if row.startswith(f"{IN_FLIGHT} "))
    return float(line.rpartition(" ")[2])


def test_requests_that_wait_are_answered_at_once_when_the_server_stops(whole_run: Run, tmp_path: Path) -> None:
    server = lanceway_server.start(whole_run, name="stopping", home=tmp_path / "home")
    caller = Caller(server, server.token)
    after = latest(caller)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(page, caller, after=after, types="group", wait=30) for _ in range(3)]
        while in_flight(caller) < 1 + len(waiting):
            pass
        assert server.process is not None
        server.process.terminate()
        assert server.process.wait(timeout=20) == 0, "sooner than the wait of 30 seconds would have ended"
        assert [one.result()["events"] for one in waiting] == [[], [], []]


def test_nothing_is_lost_or_repeated_over_a_restart_and_late_readers_are_told(whole_run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    server = lanceway_server.start(whole_run, name="feed", home=home)
    before = Caller(server, server.token)
    start = latest(before)
    names = [make(before) for _ in range(3)]
    first = page(before, after=start, types="namespace", limit=2)
    os.kill(serving(server), signal.SIGKILL)  # another process takes its place
    names += [make(before) for _ in range(2)]
    rest = page(before, after=first["cursor"], types="namespace")
    seen = [event["data"]["object"][1] for found in (first, rest) for event in found["events"]]
    assert seen == names
    assert server.stop() == 0
    with sqlite3.connect(home / "lake.db") as database:
        database.execute("UPDATE feed SET at = 0")
    database.close()
    server = lanceway_server.start(whole_run, name="feed", home=home)  # which deletes what is old
    late = Caller(server, server.token)
    answer = late.ask("GET", EVENTS, params={"after": start})
    while answer.status_code == 200:
        answer = late.ask("GET", EVENTS, params={"after": start})
    assert refused(answer) == (410, 13)
    assert "after=latest" in answer.json()["error"]
    assert server.stop() == 0


def test_a_feed_in_postgresql_goes_on_over_a_restart(whole_run: Run, postgres: Postgres, tmp_path: Path) -> None:
    """A reader keeps its position while the server is killed, stopped, and started again on the same database."""
    schema = postgres.schema()
    told = {"LANCEWAY_DATABASE": postgres.uri(schema), "LANCEWAY_WAREHOUSE": str(tmp_path / "warehouse")}
    names: list[str] = []
    seen: list[str] = []
    after: str | None = None
    try:
        for turn in range(3):
            server = lanceway_server.start(
                whole_run, name="feed", home=tmp_path / "home", environment=told, arguments=("--no-worker",)
            )
            caller = Caller(server, server.token)
            after = after or latest(caller)
            names += [make(caller) for _ in range(3)]
            first = page(caller, after=after, types="namespace", limit=2)
            if turn == 1:
                os.kill(serving(server), signal.SIGKILL)  # another process takes its place
            names += [make(caller) for _ in range(2)]
            rest = page(caller, after=first["cursor"], types="namespace", limit=2)
            seen += [event["data"]["object"][1] for found in (first, rest) for event in found["events"]]
            after = rest["cursor"]
            assert server.stop() == 0
        assert seen == names[: len(seen)]
        server = lanceway_server.start(whole_run, name="feed", home=tmp_path / "home", environment=told)
        found = page(Caller(server, server.token), after=after, types="namespace")
        seen += [event["data"]["object"][1] for event in found["events"]]
        assert seen == names
        assert server.stop() == 0
    finally:
        postgres.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.mark.slow
def test_a_wait_ends_when_another_server_makes_the_change(cluster: Cluster) -> None:
    """Four servers on PostgreSQL: each of them is asked to wait, and one makes the change."""
    begun = threading.Barrier(len(cluster.clients) + 1)
    name = f"n{uuid.uuid4().hex}"

    def wait(client: httpx.Client) -> list[str]:
        after = client.get(EVENTS, params={"after": "latest"}).raise_for_status().json()["cursor"]
        begun.wait()
        query = {"after": after, "types": "namespace.created", "under": f"lake${name}", "wait": 30}
        found = client.get(EVENTS, params=query, timeout=60).raise_for_status().json()
        return [event["subject"] for event in found["events"]]

    with ThreadPoolExecutor(len(cluster.clients)) as pool:
        waiting = [pool.submit(wait, client) for client in cluster.clients]
        begun.wait()
        cluster.lake.create_namespace({"id": [name]})  # in the process of this test
        assert [one.result() for one in waiting] == [[f"lake${name}"]] * len(waiting)
