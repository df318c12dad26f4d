"""Commits of tables: requirements, updates, several tables at once."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from lanceway.access.privileges import CREATE_SCHEMA, CREATE_TABLE, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

ONE = "/tables/t"
WRITERS, FEWEST, ALL = 16, 48, 500  # commits of the race: few in the suite, all with `--rounds 500`
KILLED_AFTER = 20  # commits that were acknowledged


@pytest.fixture
def loaded(admin: IcebergAsker) -> dict[str, Any]:
    admin.make("ns")
    body: dict[str, Any] = admin.create_table("ns", "t").raise_for_status().json()
    return body


def change(key: str = "k", value: str = "v") -> dict[str, Any]:
    return {"action": "set-properties", "updates": {key: value}}


def commit(admin: IcebergAsker, *updates: Any, requirements: Any = (), **options: Any) -> httpx.Response:
    body = {"requirements": list(requirements), "updates": list(updates)}
    return admin.ask("POST", admin.at("ns", then=ONE), body, **options)


def test_a_commit(admin: IcebergAsker, loaded: dict[str, Any]) -> None:
    uuid_ = {"type": "assert-table-uuid", "uuid": loaded["metadata"]["table-uuid"]}
    answer = commit(admin, change(), requirements=[uuid_])
    assert answer.status_code == 200, answer.text
    assert answer.json()["metadata"]["properties"]["k"] == "v"
    assert answer.json()["metadata-location"] != loaded["metadata-location"]
    assert admin.ask("GET", admin.at("ns", then=ONE)).json()["metadata"] == answer.json()["metadata"]


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        ({"type": "assert-table-uuid", "uuid": str(uuid.uuid4())}, "Requirement failed"),
        ({"type": "assert-create"}, "Requirement failed"),
        ({"type": "assert-current-schema-id", "current-schema-id": 7}, "Requirement failed: current schema changed"),
        ({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 99}, "Requirement failed"),
        ({"type": "assert-default-spec-id", "default-spec-id": 99}, "Requirement failed"),
        ({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 5}, "Requirement failed"),
    ],
)
def test_requirements_that_do_not_hold(
    admin: IcebergAsker, loaded: dict[str, Any], requirement: dict[str, Any], text: str
) -> None:
    answer = commit(admin, change(), requirements=[requirement])
    status, type_ = refused(answer)
    assert (status, type_) in {(409, "CommitFailedException"), (409, "AlreadyExistsException")}
    assert text in answer.json()["error"]["message"] or type_ == "AlreadyExistsException"
    assert admin.ask("GET", admin.at("ns", then=ONE)).json() == loaded


@pytest.mark.parametrize(
    ("updates", "requirements"),
    [
        ([{"action": "no-such-action"}], []),
        ([{}], []),
        ([{"action": 1}], []),
        ([{"action": "set-properties"}], []),
        ([{"action": "set-current-schema", "schema-id": 99}], []),
        ([{"action": "upgrade-format-version", "format-version": 3}], []),
        ([{"action": "add-snapshot", "snapshot": {}}], []),
        ([{"action": "add-encryption-key", "encryption-key": {"key-id": "a"}}], []),
        ([change()], [{"type": "no-such-requirement"}]),
        ([change()], [{}]),
        ([change()], [{"type": "assert-table-uuid"}]),
        ([change()], ["x"]),
        (["x"], []),
    ],
)
def test_what_is_not_known_changes_nothing(
    admin: IcebergAsker, loaded: dict[str, Any], updates: list[Any], requirements: list[Any]
) -> None:
    answer = commit(admin, *updates, requirements=requirements)
    assert refused(answer) == (400, "BadRequestException"), answer.text
    assert admin.ask("GET", admin.at("ns", then=ONE)).json() == loaded


def test_metadata_of_a_foreign_location(admin: IcebergAsker, loaded: dict[str, Any], server: Lanceway) -> None:
    token = server.token_for(f"w{admin.catalog}", USE_CATALOG, CREATE_SCHEMA, CREATE_TABLE)
    with asking(server, token, admin.catalog) as user:
        user.make("mine")
        user.create_table("mine", "t").raise_for_status()
        body = {"requirements": [], "updates": [{"action": "set-location", "location": "file:///etc"}]}
        answer = user.ask("POST", user.at("mine", then=ONE), body)
        assert answer.status_code in (400, 403), answer.text


def test_a_location_that_is_a_web_address(admin: IcebergAsker, loaded: dict[str, Any]) -> None:
    answer = commit(admin, {"action": "set-location", "location": "http://127.0.0.1:1/x"})
    assert refused(answer) == (400, "BadRequestException"), answer.text
    assert admin.ask("GET", admin.at("ns", then=ONE)).json() == loaded


def test_a_body_cut_short(admin: IcebergAsker, loaded: dict[str, Any]) -> None:
    whole = b'{"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}'
    for end in range(0, len(whole), 7):
        path = f"/iceberg/v1/{admin.catalog}{admin.at('ns', then=ONE)}"
        answer = admin.client.post(path, content=whole[:end], headers={"content-type": "application/json"})
        assert refused(answer) == (400, "BadRequestException")
    assert admin.ask("GET", admin.at("ns", then=ONE)).json() == loaded


def test_a_transaction_is_made_whole_or_not_at_all(admin: IcebergAsker, loaded: dict[str, Any]) -> None:
    admin.create_table("ns", "u").raise_for_status()

    def part(name: str, *requirements: Any) -> dict[str, Any]:
        return {
            "identifier": {"namespace": ["ns"], "name": name},
            "requirements": list(requirements),
            "updates": [change()],
        }

    def properties(name: str) -> dict[str, str]:
        found = admin.ask("GET", admin.at("ns", then=f"/tables/{name}")).json()["metadata"].get("properties", {})
        return {key: value for key, value in found.items() if key == "k"}

    stale = {"type": "assert-table-uuid", "uuid": str(uuid.uuid4())}
    answer = admin.ask("POST", "/transactions/commit", {"table-changes": [part("t"), part("u", stale)]})
    assert refused(answer) == (409, "CommitFailedException")
    assert (properties("t"), properties("u")) == ({}, {})
    answer = admin.ask("POST", "/transactions/commit", {"table-changes": [part("t"), part("none")]})
    assert refused(answer) == (404, "NoSuchTableException")
    assert admin.ask("POST", "/transactions/commit", {"table-changes": [part("t"), part("u")]}).status_code == 204
    assert (properties("t"), properties("u")) == ({"k": "v"}, {"k": "v"})
    answer = admin.ask("POST", "/transactions/commit", {"table-changes": [part("u", {"type": "assert-create"})]})
    assert refused(answer) == (409, "AlreadyExistsException")
    assert answer.json()["error"]["message"].startswith("The table ns.u exists already.")
    for wrong in ([], [{"requirements": [], "updates": []}]):
        answer = admin.ask("POST", "/transactions/commit", {"table-changes": wrong})
        assert refused(answer) == (400, "BadRequestException")


def test_commits_at_once_are_made_or_refused(admin: IcebergAsker, loaded: dict[str, Any]) -> None:
    def write(number: int) -> httpx.Response:
        return commit(admin, change(f"k{number}"))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(write, range(24)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    found = admin.ask("GET", admin.at("ns", then=ONE)).json()["metadata"]["properties"]
    assert {key for key in found if key.startswith("k")} == {
        f"k{number}" for number, answer in enumerate(answers) if answer.status_code == 200
    }


def append(writer: IcebergAsker, number: int) -> httpx.Response:
    """Add a snapshot to the table as it is when it is loaded, as clients do."""
    metadata = writer.ask("GET", writer.at("ns", then=ONE)).raise_for_status().json()["metadata"]
    parent = metadata.get("refs", {}).get("main", {}).get("snapshot-id")
    snapshot = {
        "snapshot-id": number,
        "sequence-number": metadata["last-sequence-number"] + 1,
        "timestamp-ms": int(time.time() * 1000),
        "manifest-list": f"{metadata['location']}/metadata/snap-{number}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    } | ({} if parent is None else {"parent-snapshot-id": parent})
    main = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}
    requirement = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": parent}
    return commit(writer, {"action": "add-snapshot", "snapshot": snapshot}, main, requirements=[requirement])


def history(admin: IcebergAsker) -> list[int]:
    """The snapshots from the current one back to the first, each by way of its parent."""
    metadata = admin.ask("GET", admin.at("ns", then=ONE)).raise_for_status().json()["metadata"]
    parents = {row["snapshot-id"]: row.get("parent-snapshot-id") for row in metadata["snapshots"]}
    found: list[int] = []
    each = metadata["current-snapshot-id"]
    while each is not None:
        found.append(each)
        each = parents[each]
    assert sorted(found) == sorted(parents), "no snapshot is beside the history"
    return found


def test_no_commit_of_many_writers_is_lost(
    server: Lanceway, admin: IcebergAsker, loaded: dict[str, Any], rounds: int
) -> None:
    count = min(max(FEWEST, rounds), ALL)

    def write(writer: int) -> int:
        """Commit this writer's share, each again after a conflict; return how many conflicts there were."""
        conflicts = 0
        with asking(server, server.token, admin.catalog) as own:
            for number in range(writer + 1, count + 1, WRITERS):
                while (answer := append(own, number)).status_code != 200:
                    assert refused(answer) == (409, "CommitFailedException"), answer.text
                    conflicts += 1
        return conflicts

    with ThreadPoolExecutor(WRITERS) as pool:
        conflicts = sum(pool.map(write, range(WRITERS)))
    assert sorted(history(admin)) == list(range(1, count + 1))
    assert conflicts, "writers should meet"


def family(keeper: int) -> list[int]:
    """The processes of a server: what its keeper has started, and what that has, the eldest first."""
    children = [int(child) for child in Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()]
    return [*children, *(each for child in children for each in family(child))]


def test_what_was_acknowledged_is_there_after_a_kill(whole_run: Run, rounds: int) -> None:
    home = whole_run.folder / f"iceberg-killed-{uuid.uuid4().hex[:8]}"
    numbers = itertools.count(1)
    acknowledged: set[int] = set()
    unknown: set[int] = set()

    def write(server: Lanceway, enough: int, is_enough: threading.Event) -> None:
        """Commit until the server is gone."""
        with asking(server, server.token, "lake") as own:
            for number in numbers:
                try:
                    answer = append(own, number)
                except httpx.TransportError:
                    unknown.add(number)
                    return
                if answer.status_code == 200:
                    acknowledged.add(number)
                else:
                    assert refused(answer) == (409, "CommitFailedException"), answer.text
                if len(acknowledged) >= enough:
                    is_enough.set()

    server = lanceway_server.start(whole_run, name="iceberg-killed", home=home)
    with asking(server, server.token, "lake") as admin:
        admin.make("ns")
        admin.create_table("ns", "t").raise_for_status()
    for _ in range(max(2, rounds // 100)):
        is_enough = threading.Event()
        assert server.process is not None
        with ThreadPoolExecutor(WRITERS) as pool:
            ends = [pool.submit(write, server, len(acknowledged) + KILLED_AFTER, is_enough) for _ in range(WRITERS)]
            is_enough.wait(120)
            for pid in family(server.process.pid):
                with suppress(ProcessLookupError):  # one ends with the one that started it
                    os.kill(pid, signal.SIGKILL)
            for end in ends:
                end.result()
        assert is_enough.is_set(), "too few commits were made"
        server.process.wait()
        server = lanceway_server.start(whole_run, name="iceberg-killed", home=home)
        with asking(server, server.token, "lake") as admin:
            assert acknowledged <= set(history(admin)) <= acknowledged | unknown
            acknowledged.add(number := next(numbers))
            assert append(admin, number).status_code == 200
    server.stop()


def test_a_reader_commits_nothing(server: Lanceway, admin: IcebergAsker, loaded: dict[str, Any]) -> None:
    token = server.token_for(f"r{admin.catalog}", USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    with asking(server, token, admin.catalog) as reader:
        assert reader.ask("GET", reader.at("ns", then=ONE)).json()["metadata"] == loaded["metadata"]
        assert refused(commit(reader, change())) == (403, "ForbiddenException")
        assert refused(reader.ask("DELETE", reader.at("ns", then=ONE))) == (403, "ForbiddenException")


def test_a_commit_with_a_key_is_made_once(admin: IcebergAsker, loaded: dict[str, Any]) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first = commit(admin, change(), headers=headers)
    again = commit(admin, change(), headers=headers)
    assert first.status_code == 200, first.text
    assert (again.status_code, again.json(), again.headers["etag"]) == (200, first.json(), first.headers["etag"])
    log = admin.ask("GET", admin.at("ns", then=ONE)).json()["metadata"]["metadata-log"]
    assert len(log) == 1, "one commit was made"


def test_a_create_with_a_key_is_made_once(admin: IcebergAsker) -> None:
    admin.make("ns")
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    path = admin.at("ns", then="/tables")
    schema = {"type": "struct", "fields": [{"id": 1, "name": "a", "required": False, "type": "long"}]}
    first = admin.ask("POST", path, {"name": "t", "schema": schema}, headers=headers)
    again = admin.ask("POST", path, {"name": "t", "schema": schema}, headers=headers)
    assert first.status_code == again.status_code == 200, again.text
    assert first.json() == again.json()
