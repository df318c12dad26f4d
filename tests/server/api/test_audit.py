"""`/lanceway/v1/audit`: changes before and after, denials, one's own, and everybody's for an admin."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.server.api.test_tokens import Caller, name
from tests.server.api.test_tokens import admin as admin
from tests.server.api.test_tokens import user as user
from tests.servers import lanceway as lanceway_server
from tests.servers.run import Run

AUDIT, TABLES = "/lanceway/v1/audit", "/lance/v1/table"


@pytest.fixture
def namespace(admin: Caller) -> str:
    made = f"n{uuid.uuid4().hex[:12]}"
    assert admin.ask("POST", f"/lance/v1/namespace/lake${made}/create", json={}).is_success
    return made


def events(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    answer = caller.ask("GET", AUDIT, params=query)
    assert answer.status_code == 200, answer.text
    listed: list[dict[str, Any]] = answer.json()["events"]
    return listed


def ended(caller: Caller, count: int, **query: Any) -> list[dict[str, Any]]:
    """Return the events, once there are so many: an end is written a moment after its answer."""
    for _ in range(200):
        listed = events(caller, **query)
        if len(listed) >= count:
            return listed
    raise AssertionError(f"{len(events(caller, **query))} events instead of {count}")


def test_a_change_is_recorded_before_and_after(admin: Caller, user: Caller, namespace: str) -> None:
    table = f"lake${namespace}$t"
    admin.server.token_for(name(user))  # with rights
    answer = user.ask("POST", f"{TABLES}/{table}/declare", json={})
    assert answer.is_success
    done, attempted = ended(admin, 2, object=table)
    request = answer.headers["x-request-id"]
    for event in (done, attempted):
        assert (event["operation"], event["request_id"], event["via"]) == ("declare_table", request, "Lance REST")
        assert json.loads(event["object"]) == ["lake", namespace, "t"]
        assert event["agent"].startswith("python-httpx")
        assert event["client"] == "127.0.0.1"
    assert (attempted["outcome"], done["outcome"]) == ("attempted", "done")
    assert attempted["id"] < done["id"]


def test_a_change_that_fails_says_why(admin: Caller, namespace: str) -> None:
    assert not admin.ask("POST", f"{TABLES}/lake${namespace}$missing/drop").is_success
    failed, _ = ended(admin, 2, object=f"lake${namespace}$missing")
    assert (failed["outcome"], failed["code"]) == ("failed", 4)
    assert "missing" in failed["reason"]


def test_both_names_of_a_rename_and_all_of_a_batch_are_there(admin: Caller, namespace: str) -> None:
    for table in ("a", "b"):
        assert admin.ask("POST", f"{TABLES}/lake${namespace}${table}/declare", json={}).is_success
    assert admin.ask("POST", f"{TABLES}/lake${namespace}$a/rename", json={"new_table_name": "c"}).is_success
    renamed = ended(admin, 4, object=f"lake${namespace}", operation="rename_table")
    assert {json.loads(event["object"])[-1] for event in renamed} == {"a", "c"}
    batch = {"operations": [{"deregister_table": {"id": ["lake", namespace, table]}} for table in ("b", "c")]}
    admin.ask("POST", f"{TABLES}/batch-commit", json=batch)
    both = ended(admin, 4, object=f"lake${namespace}", operation="batch_commit_tables")
    assert {json.loads(event["object"])[-1] for event in both} == {"b", "c"}


def test_reads_are_not_recorded(admin: Caller, namespace: str) -> None:
    assert admin.ask("POST", f"/lance/v1/namespace/lake${namespace}/describe", json={}).is_success
    assert {event["operation"] for event in ended(admin, 2, object=f"lake${namespace}")} == {"create_namespace"}


def test_a_denial_is_recorded_with_whom_it_was_about(admin: Caller, user: Caller) -> None:
    assert user.ask("POST", json={"user": "admin"}).status_code == 403
    denied, attempted = ended(admin, 2, user=name(user), operation="create_token")
    assert (denied["outcome"], denied["code"], denied["object"]) == ("denied", 15, "/tokens?user=admin")
    assert attempted["outcome"] == "attempted"
    assert user.ask("GET", params={"user": "admin"}).status_code == 403  # a read that is refused
    assert ended(admin, 1, user=name(user), operation="list_tokens")[0]["outcome"] == "denied"


def test_users_read_their_own_and_admins_all(admin: Caller, user: Caller, namespace: str) -> None:
    admin.server.token_for(name(user))  # with rights
    assert user.ask("POST", f"{TABLES}/lake${namespace}$mine/declare", json={}).is_success
    ended(admin, 2, object=f"lake${namespace}$mine")
    assert {event["user"] for event in events(user)} == {name(user)}
    assert events(user, object=f"lake${namespace}", operation="create_namespace") == []
    assert user.ask("GET", AUDIT, params={"user": "admin"}).status_code == 403
    assert {event["user"] for event in events(admin, object=f"lake${namespace}")} == {"admin", name(user)}


def test_no_secret_is_recorded(admin: Caller) -> None:
    made = admin.make(user=f"user-{uuid.uuid4().hex[:8]}")
    recorded = json.dumps(events(admin, operation="create_token", limit=50))
    assert made["token"] not in recorded
    assert admin.server.token not in recorded


def test_the_trail_can_be_lines(whole_run: Run, tmp_path: Path) -> None:
    settings = '[server]\naudit = "both"\n'
    server = lanceway_server.start(whole_run, name="audited", home=tmp_path / "home", settings=settings)
    try:
        caller = Caller(server, server.token)
        assert caller.ask("POST", "/lance/v1/namespace/lake$team/create", json={}).is_success
        ended(caller, 2, object="lake$team")
    finally:
        server.stop()
    lines = [json.loads(line) for line in (server.home / "audit.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines if "team" in line["object"]] == ["attempted", "done"]
