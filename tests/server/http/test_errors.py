"""Errors on the wire: the protocol's table, one envelope, and nothing of the inside."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from lanceway import errors
from lanceway.errors import ErrorCode, InternalError, PermissionDeniedError, ServiceUnavailableError, ThrottlingError
from lanceway.server.http.concealment import Concealment
from lanceway.server.http.errors import render
from lanceway.server.http.log import Metrics
from lanceway.server.http.middleware import RequestMiddleware
from lanceway.wire import lance
from tests.server.server_helpers import Id, ask, created, refused, space
from tests.servers.lanceway import Lanceway

SECRET = "the-secret-inside"
CLASSES = [
    found
    for found in (getattr(errors, name) for name in errors.__all__)
    if isinstance(found, type) and issubclass(found, errors.LanceNamespaceError)
]


@pytest.fixture(scope="module")
def made(server: Lanceway) -> Id:
    return created(server, 1, 2)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_class_has_its_status_and_code(kind: type[errors.LanceNamespaceError]) -> None:
    rendered = render(kind("what, why, what to do"), "id-1")
    body = json.loads(rendered.body)
    assert body == {"error": "what, why, what to do", "code": kind.code.value, "instance": "id-1"}
    assert rendered.status == lance.STATUS[kind.code.value]


def test_a_class_that_refines_another_is_rendered_as_that() -> None:
    class OtherCodeError(PermissionDeniedError):
        code = ErrorCode.UNAUTHENTICATED

    rendered = render(OtherCodeError("no"), "id-1")
    assert (rendered.status, json.loads(rendered.body)["code"]) == (403, 15)


@pytest.mark.parametrize(
    ("kind", "wanted"), [(ServiceUnavailableError, True), (ThrottlingError, True), (InternalError, False)]
)
def test_who_is_to_come_back_is_told_when(kind: type[errors.LanceNamespaceError], wanted: bool) -> None:
    assert (b"retry-after" in dict(render(kind("x"), "1").headers)) is wanted


def test_a_message_that_is_no_unicode_is_sent_all_the_same() -> None:
    assert json.loads(render(errors.InvalidInputError("half \ud800"), "1").body)["error"] == "half ?"


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/nothing", 404, None),
        ("GET", "/lance", 404, None),
        ("GET", "/lance/v1/nothing", 404, None),
        ("POST", "/lance/v2/table/x/describe", 404, None),
        ("GET", "/lance/v1/table/x/describe", 405, "POST"),
        ("DELETE", "/lance/v1/namespace/x/list", 405, "GET"),
        ("POST", "/health", 405, "GET, HEAD"),
    ],
)
def test_paths_and_methods_that_there_are_not(
    server: Lanceway, method: str, path: str, status: int, allowed: str | None
) -> None:
    with server.client() as client:
        answer = client.request(method, path)
    assert refused(answer) == (status, 0)
    assert answer.headers.get("allow") == allowed


def test_the_codes_of_the_protocol(server: Lanceway, made: Id) -> None:
    here, missing = made[:-1], [*made[:-1], "missing"]
    cases: list[tuple[tuple[Any, ...], tuple[int, int]]] = [
        (("namespace", [*here, "x"], "describe"), (404, 1)),
        (("namespace", here, "create", {}), (409, 2)),
        (("namespace", here, "drop", {}), (409, 3)),
        (("table", missing, "describe"), (404, 4)),
        (("table", made, "declare"), (409, 5)),
        (("table", made, "index/none/stats"), (404, 6)),
        (("table", made, "tags/version", {"tag": "none"}), (404, 8)),
        (("transaction", [*made, "999"], "describe"), (404, 10)),
        (("table", made, "describe", {"version": 999}), (404, 11)),
        (("table", made, "drop_columns", {"columns": ["none"]}), (404, 12)),
        (("namespace", [*here, "y"], "create", {"mode": "sometimes"}), (400, 13)),
        (("table", made, "branches/delete", {"name": "none"}), (404, 22)),
        (("table", made, "backfill_column", {"column": "id"}), (400, 13)),
        (("namespace", ["nowhere"], "describe"), (404, 1)),
    ]
    for asked, expected in cases:
        assert refused(ask(server, *asked)) == expected, asked


def test_a_declared_table_holds_nothing_to_query(server: Lanceway) -> None:
    id_ = [*space(server), "declared"]
    ask(server, "table", id_, "declare")
    answer = ask(server, "table", id_, "query", {"k": 1, "vector": {}})
    assert refused(answer) == (409, 19)


def test_who_asks_must_be_known(server: Lanceway, made: Id) -> None:
    with server.client(headers={}) as client:
        answer = client.post("/lance/v1/table/lake/describe")
    assert refused(answer) == (401, 16)
    assert answer.headers["www-authenticate"].startswith("Bearer")


# -- what is not expected ------------------------------------------------------------------------


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError(SECRET)


async def breaking_off(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})
    raise InternalError(SECRET)


def test_a_failure_of_our_own_shows_nothing_of_itself(caplog: pytest.LogCaptureFixture) -> None:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(RequestMiddleware(failing, Metrics(), Concealment()))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get("/anything")

    answer = asyncio.run(asked())
    assert refused(answer) == (500, 18)
    assert SECRET not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["error"]
    (record,) = (record for record in caplog.records if record.levelname == "ERROR")
    assert record.exc_info is not None
    assert record.facts["request_id"] == answer.headers["x-request-id"]  # type: ignore[attr-defined]


def test_a_long_message_is_searched_once() -> None:
    """It is, in the event loop: from each of its words it was searched to its end, which took many minutes for this."""
    text = "a." * 400_000
    assert Concealment()(f"{text} http://10.0.0.7:9000/x", 500) == f"{text} …"


def test_an_answer_that_has_begun_is_not_ended_well() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "headers": [], "raw_path": b"/", "method": "GET"}
    asyncio.run(RequestMiddleware(breaking_off, Metrics(), Concealment())(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[-1]["more_body"]
