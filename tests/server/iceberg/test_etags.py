"""ETags: a client that has the current state of a table gets nothing."""

from __future__ import annotations

from typing import Any

import httpx

from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, refused

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
