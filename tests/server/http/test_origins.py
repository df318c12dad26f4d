"""What a web page can have its visitor's browser send: nothing of it may reach a table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx
import pytest

from lanceway.wire.lance import ARROW_FILE, ARROW_STREAM, JSON
from tests.server.server_helpers import count, created, path, refused, stream, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

FOREIGN, FRIEND = "https://evil.example", "https://pages.example"


@pytest.fixture(scope="module")
def open_(whole_run: Run) -> Iterator[Lanceway]:
    """A server that needs no credentials, and lets the pages of one origin ask."""
    server = lanceway.start(whole_run, arguments=("--anonymous",), settings=f'[server]\ncors_origins = ["{FRIEND}"]\n')
    yield server
    assert server.stop() == 0


def post(server: Lanceway, where: str, headers: dict[str, str], **options: object) -> httpx.Response:
    with server.client(headers=headers) as client:
        return client.post(f"/lance/v1/{where}", **options)  # type: ignore[arg-type]


def create(server: Lanceway, headers: dict[str, str]) -> httpx.Response:
    return post(server, path("namespace", ["lake", f"n{uuid.uuid4().hex}"], "create"), headers, json={})


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": FOREIGN},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": FOREIGN, "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": f"{FRIEND}.evil.example"},
    ],
)
def test_pages_of_other_origins_change_nothing(open_: Lanceway, headers: dict[str, str]) -> None:
    id_ = created(open_, 1)
    answer = post(open_, path("table", id_, "drop"), headers)
    assert refused(answer) == (403, 15)
    assert "cors_origins" in answer.json()["error"]
    assert refused(create(open_, headers)) == (403, 15)
    with open_.client(headers=headers) as client:
        assert refused(client.get("/lance/v1/namespace/%24/list")) == (403, 15)
        assert refused(client.get("/lanceway/v1/me")) == (403, 15)
        assert client.get("/health").status_code == 200
    assert count(open_, id_) == 1


def test_pages_of_the_server_itself_and_of_a_named_origin_may_ask(open_: Lanceway) -> None:
    own = {"origin": open_.address, "sec-fetch-site": "same-origin"}
    for headers in ({}, own, {"sec-fetch-site": "none"}, {"origin": FRIEND, "sec-fetch-site": "cross-site"}):
        assert create(open_, headers).status_code == 200, headers


def test_a_token_is_no_page_s_to_send(server: Lanceway) -> None:
    """A browser adds no token by itself, so where one is needed the origin says nothing."""
    assert create(server, {**server.headers, "origin": FOREIGN}).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
def test_json_is_taken_as_json_alone(server: Lanceway, kind: str | None) -> None:
    """What a form or a page may send without asking first is not read, with whatever credentials."""
    headers = server.headers | ({} if kind is None else {"content-type": kind})
    name = f"n{uuid.uuid4().hex}"
    answer = post(server, path("namespace", ["lake", name], "create"), headers, content=b"{}")
    assert refused(answer) == (415, 13)
    assert JSON in answer.json()["error"]
    assert post(server, path("namespace", ["lake", name], "exists"), server.headers).status_code == 404
    with server.client(headers=headers) as client:
        assert refused(client.post("/lanceway/v1/tokens", content=b'{"name":"x"}')) == (415, 13)


@pytest.mark.parametrize("kind", [JSON, "Application/JSON; charset=utf-8"])
def test_json_by_its_name_is_read(server: Lanceway, kind: str) -> None:
    where = path("namespace", ["lake", f"n{uuid.uuid4().hex}"], "create")
    assert post(server, where, {**server.headers, "content-type": kind}, content=b"{}").status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", JSON, "application/octet-stream", None])
def test_arrow_is_taken_as_arrow_alone(server: Lanceway, kind: str | None) -> None:
    id_ = created(server, 1)
    headers = server.headers | ({} if kind is None else {"content-type": kind})
    answer = post(server, path("table", id_, "insert"), headers, content=stream(table(2)))
    assert refused(answer) == (415, 13)
    assert ARROW_STREAM in answer.json()["error"]
    assert (kind or "The body has no Content-Type.") in answer.json()["error"]
    assert count(server, id_) == 1


@pytest.mark.parametrize("kind", [ARROW_STREAM, ARROW_FILE])
def test_arrow_by_either_name_is_read(server: Lanceway, kind: str) -> None:
    id_ = created(server, 1)
    headers = {**server.headers, "content-type": kind}
    assert post(server, path("table", id_, "insert"), headers, content=stream(table(2))).status_code == 200
    assert count(server, id_) == 2
