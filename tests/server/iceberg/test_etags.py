"""ETags: a client that has the current state of a table gets nothing."""

from __future__ import annotations

from typing import Any

import httpx

from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, refused
from tests.server.iceberg.test_commits import append

PLACE = "/tables/t"


def load(admin: IcebergAsker, tag: str | None = None, **query: Any) -> httpx.Response:
    headers = {} if tag is None else {"If-None-Match": tag}
    return admin.ask("GET", admin.at("ns", then=PLACE), params=query, headers=headers)


def test_a_state_that_is_known_is_not_sent(admin: IcebergAsker) -> None:
    admin.make("ns")
    created = admin.create_table("ns", "t").raise_for_status()
    tag = created.headers["etag"]
    first = load(admin)
    assert first.headers["etag"] == tag
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        again = load(admin, known)
        assert (again.status_code, again.content) == (304, b"")
    assert load(admin, '"x"').status_code == 200
    body = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"k": "v"}}]}
    committed = admin.ask("POST", admin.at("ns", then=PLACE), body)
    after = load(admin, tag)
    assert after.status_code == 200
    assert after.headers["etag"] == committed.headers["etag"] != tag


def test_the_tag_depends_on_the_snapshots_that_are_wanted(admin: IcebergAsker) -> None:
    admin.make("ns")
    admin.create_table("ns", "t").raise_for_status()
    refs, every = load(admin, snapshots="refs"), load(admin, snapshots="all")
    assert refs.headers["etag"] != every.headers["etag"] == load(admin).headers["etag"]
    assert load(admin, every.headers["etag"], snapshots="refs").status_code == 200
    assert load(admin, refs.headers["etag"], snapshots="refs").status_code == 304
    assert refused(load(admin, snapshots="some")) == (400, "BadRequestException")


def test_a_load_of_references_leaves_other_snapshots_out(admin: IcebergAsker) -> None:
    admin.make("ns")
    admin.create_table("ns", "t").raise_for_status()
    for number in (1, 2, 3):
        append(admin, number).raise_for_status()
    tag = {"action": "set-snapshot-ref", "ref-name": "kept", "type": "tag", "snapshot-id": 1}
    body = {"requirements": [], "updates": [tag]}
    admin.ask("POST", admin.at("ns", then=PLACE), body).raise_for_status()
    every, refs = load(admin).json(), load(admin, snapshots="refs").json()
    snapshots = {row["snapshot-id"]: row for row in every["metadata"].pop("snapshots")}
    assert list(snapshots) == [1, 2, 3]
    assert refs["metadata"].pop("snapshots") == [snapshots[1], snapshots[3]]
    assert refs == every, "all else is the same"
