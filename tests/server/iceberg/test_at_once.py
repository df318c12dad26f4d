"""What the event loop answers itself is what the catalog would have answered on a thread."""

from __future__ import annotations

from typing import Any

import httpx

from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, refused

TABLES, ONE = "/tables", "/tables/t"
# Names that are not ASCII are read on a thread.
PLAIN, OTHER = "plain", "schön"


def same(first: httpx.Response, second: httpx.Response) -> None:
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert first.headers.get("etag") == second.headers.get("etag")
    assert first.headers.get("content-type") == second.headers.get("content-type")


def test_a_load_from_memory_is_the_first_one(admin: IcebergAsker) -> None:
    admin.make("ns")
    created = admin.create_table("ns", "t").raise_for_status()
    first = admin.ask("GET", admin.at("ns", then=ONE))  # reads the file
    second = admin.ask("GET", admin.at("ns", then=ONE))
    same(first, second)
    assert second.json() == created.json()
    known = {"If-None-Match": second.headers["etag"]}
    assert admin.ask("GET", admin.at("ns", then=ONE), headers=known).status_code == 304
    # What the event loop does not answer: a wrong parameter, and a subset of the snapshots.
    assert refused(admin.ask("GET", admin.at("ns", then=ONE), params={"snapshots": "some"})) == (
        400,
        "BadRequestException",
    )
    assert admin.ask("GET", admin.at("ns", then=ONE), params={"snapshots": "refs"}).status_code == 200


def test_a_commit_counts_at_once(admin: IcebergAsker) -> None:
    admin.make("ns")
    admin.create_table("ns", "t").raise_for_status()
    for number in range(3):
        assert admin.ask("GET", admin.at("ns", then=ONE)).status_code == 200
        change: dict[str, Any] = {"action": "set-properties", "updates": {"number": str(number)}}
        body = {"requirements": [], "updates": [change]}
        committed = admin.ask("POST", admin.at("ns", then=ONE), body).raise_for_status().json()
        loaded = admin.ask("GET", admin.at("ns", then=ONE)).json()
        assert loaded["metadata"] == committed["metadata"]
        assert loaded["metadata-location"] == committed["metadata-location"]
    assert admin.ask("DELETE", admin.at("ns", then=ONE)).status_code == 204
    assert refused(admin.ask("GET", admin.at("ns", then=ONE))) == (404, "NoSuchTableException")
    assert admin.ask("HEAD", admin.at("ns", then=ONE)).status_code == 404


def test_names_that_are_read_on_a_thread_answer_alike(admin: IcebergAsker) -> None:
    for namespace in (PLAIN, OTHER):
        admin.make(namespace)
        for name in ("b", "a", "c"):
            admin.create_table(namespace, name).raise_for_status()
        assert listed(admin, namespace) == (["a", "b", "c"], False)
        first, more = listed(admin, namespace, pageToken="", pageSize=2)
        assert (first, more) == (["a", "b"], True)
        for name in ("a", "b", "c"):
            assert admin.ask("HEAD", admin.at(namespace, then=f"{TABLES}/{name}")).status_code == 204


def listed(admin: IcebergAsker, namespace: str, **query: Any) -> tuple[list[str], bool]:
    body = admin.ask("GET", admin.at(namespace, then=TABLES), params=query).raise_for_status().json()
    return [row["name"] for row in body["identifiers"]], "next-page-token" in body


def test_short_and_long_pages_follow_each_other(admin: IcebergAsker) -> None:
    """Short pages come from the event loop, long ones from a thread, and their tokens fit each other."""
    admin.make("ns")
    names = [f"t{number}" for number in range(7)]
    for name in names:
        admin.create_table("ns", name).raise_for_status()
    for sizes in ((2, 1000), (3, 2, 2), (500,), (1, 1000)):
        read: list[str] = []
        token: str | None = ""
        for size in sizes:
            body = admin.ask("GET", admin.at("ns", then=TABLES), params={"pageToken": token, "pageSize": size}).json()
            read += [row["name"] for row in body["identifiers"]]
            token = body.get("next-page-token")
        assert (read, token) == (names, None), sizes
