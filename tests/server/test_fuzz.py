"""Requests that nobody would think of, made from the server's own description.

Whatever arrives, the answer is one of the protocol's: no 5xx but 501, 503 and 504, and nothing of the inside.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.core.result import Ok

from lanceway.server.api import routes as openapi_lanceway
from lanceway.server.lance import openapi
from lanceway.wire.lance import ARROW_STREAM, ROUTES
from tests.server.server_helpers import created, stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

GOOD = stream(table(3))


def _damaged(place: int, part: bytes) -> bytes:
    place %= len(GOOD)
    return GOOD[:place] + part + GOOD[place + len(part) :]


schemathesis.serializer.alias(ARROW_STREAM, "application/octet-stream")
schemathesis.openapi.media_type(
    ARROW_STREAM,
    st.one_of(
        st.just(GOOD),
        st.binary(max_size=200),
        st.integers(0, len(GOOD)).map(lambda length: GOOD[:length]),
        st.builds(_damaged, st.integers(0, len(GOOD)), st.binary(min_size=1, max_size=8)),
    ),
)
# Each description with what stands before its paths.
DESCRIPTIONS = {"/lance": openapi.document(""), "/lanceway": openapi_lanceway.document("")}
OPERATIONS = {
    found.ok().definition.raw["operationId"]: (base, found.ok())
    for base, document in DESCRIPTIONS.items()
    for found in schemathesis.openapi.from_dict(json.loads(document)).get_all_operations()
    if isinstance(found, Ok)
}
FINE = {501, 503, 504}
# Requests for each operation at least: `make test` sends some thousand in all, `make drill` a hundred thousand.
FEWEST = 50


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    """A server of this module's own: some of the operations switch access control on and off."""
    started = lanceway_server.start(whole_run, name="fuzz")
    yield started
    started.stop()


def test_every_operation_is_tried() -> None:
    tried = Counter(base for base, _ in OPERATIONS.values())
    assert tried == {"/lance": len(ROUTES), "/lanceway": 78}


@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_that_is_sent_breaks_the_server(server: Lanceway, rounds: int, name: str) -> None:
    base, operation = OPERATIONS[name]
    known = [created(server, 1, 2) for _ in range(2)]
    ids = ["$", "lake", "$".join(known[0][:-1]), "$".join(known[0]), "$".join(known[1]), "$".join([*known[0], "1"])]

    @settings(
        max_examples=max(FEWEST, rounds),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), id_=st.sampled_from([None, *ids, *ids]))
    def attempt(case: Any, id_: str | None) -> None:
        if id_ is not None and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = id_
        kept = case.as_transport_kwargs(base_url=f"{server.address}{base}")
        answer = client.request(
            kept["method"],
            kept["url"],
            params=kept.get("params"),
            headers={**dict(kept.get("headers") or {}), **server.headers},
            **({"json": kept["json"]} if "json" in kept else {"content": kept.get("data")}),
        )
        check(answer)

    with server.client() as client:
        attempt()


def check(answer: httpx.Response) -> None:
    assert answer.status_code < 500 or answer.status_code in FINE, answer.text
    assert "x-request-id" in answer.headers
    assert b"Traceback" not in answer.content
    if answer.is_error:
        body = answer.json()
        assert body["instance"] == answer.headers["x-request-id"]
        assert isinstance(body["code"], int)
