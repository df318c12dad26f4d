"""Large bodies, slow clients and clients that go away."""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pytest

from tests.server.server_helpers import (
    Id,
    ask,
    batches,
    count,
    created,
    path,
    refused,
    sent,
    serving,
    space,
    stream,
    table,
)
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway, content_type
from tests.servers.run import Run

MIB = 2**20
BATCHES = 200  # of 2 MiB each
ROWS = BATCHES * 16_384
# Well below what is sent, whatever its size. pylance alone holds some 100 MiB while it writes or reads.
BOUND = 256 * MIB


@pytest.fixture(scope="module")
def own(whole_run: Run) -> Iterator[Lanceway]:
    """A server whose memory is nobody else's."""
    server = lanceway.start(whole_run, name="streaming")
    yield server
    assert server.stop() == 0


def resident(pid: int, what: str) -> int:
    """Bytes: `VmRSS` now, `VmHWM` at most since it was last set back."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def grown(pid: int, before: int) -> int:
    return resident(pid, "VmHWM") - before


def settled(pid: int) -> int:
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return resident(pid, "VmRSS")


def test_what_is_large_is_never_held_whole(own: Lanceway, tmp_path: Path) -> None:
    pid, id_ = serving(own), [*space(own), "large"]
    # Once before, so that what is loaded only once does not count.
    assert ask(own, "table", [*id_[:-1], "small"], "create", content=sent(batches(2))).status_code == 200
    before = settled(pid)
    answer = ask(own, "table", id_, "create", content=sent(batches(BATCHES)))
    assert answer.status_code == 200, answer.text
    assert grown(pid, before) < BOUND
    assert count(own, id_) == ROWS
    before = settled(pid)
    assert received(own, id_, tmp_path / "answer") == ROWS
    assert grown(pid, before) < BOUND


def received(server: Lanceway, id_: Id, file: Path) -> int:
    """Rows of the whole table, written to a file as they come."""
    where = f"/lance/v1/{path('table', id_, 'query')}"
    with (
        server.client() as client,
        client.stream("POST", where, json={"k": 0, "vector": {}}) as answer,
        file.open("wb") as out,
    ):
        assert answer.status_code == 200
        assert answer.headers["transfer-encoding"] == "chunked"
        for part in answer.iter_bytes():
            out.write(part)
    with pa.memory_map(str(file)) as mapped:
        opened = pa.ipc.open_file(mapped)
        return sum(opened.get_batch(number).num_rows for number in range(opened.num_record_batches))


@pytest.mark.parametrize("width", [1, 16, 200], ids=["many small batches", "some", "few large ones"])
def test_a_long_answer_is_what_was_written(server: Lanceway, width: int) -> None:
    """Values of all sizes, from bits to vectors that are larger than what is sent at once."""
    numbers = np.arange(40_000)
    vectors = np.arange(len(numbers) * width, dtype=np.float32)
    data = pa.table(
        {
            "even": pa.array(numbers % 2 == 0),
            "name": pa.array([None if number % 7 == 0 else f"n{number}" for number in numbers], pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors), width),
        }
    )
    id_ = [*space(server), "kinds"]
    assert ask(server, "table", id_, "create", content=stream(data)).status_code == 200
    answer = ask(server, "table", id_, "query", {"k": 0, "vector": {}})
    assert answer.headers["transfer-encoding"] == "chunked"
    assert pa.ipc.open_file(io.BytesIO(answer.content)).read_all().equals(data)


@pytest.fixture(scope="module")
def large(own: Lanceway) -> Id:
    id_ = [*space(own), "large"]
    assert ask(own, "table", id_, "create", content=sent(batches(BATCHES))).status_code == 200
    return id_


def test_a_slow_reader_holds_nobody_up(own: Lanceway, large: Id) -> None:
    """Others are served, and the server's memory does not grow by what the reader has not taken."""
    pid, id_ = serving(own), large
    before = settled(pid)
    with own.client() as client:
        request = client.build_request("POST", f"/lance/v1/{path('table', id_, 'query')}", json={"k": 0, "vector": {}})
        answer = client.send(request, stream=True)
        assert answer.status_code == 200
        for _ in range(20):
            assert count(own, id_) == ROWS
        assert grown(pid, before) < BOUND
        answer.close()
    assert own.logged(answer.headers["x-request-id"])["bytes"] < BATCHES * 2 * MIB


def test_a_small_answer_has_a_length(server: Lanceway) -> None:
    answer = ask(server, "table", created(server, 1, 2), "query", {"k": 1, "vector": {}})
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_an_answer_without_rows_has_its_schema(server: Lanceway) -> None:
    answer = ask(server, "table", created(server, 1), "query", {"k": 1, "vector": {}, "filter": "id > 5"})
    found = pa.ipc.open_file(io.BytesIO(answer.content)).read_all()
    assert (found.num_rows, found.schema.names) == (0, ["id", "name"])


def test_an_error_comes_before_the_status(server: Lanceway) -> None:
    id_ = created(server, 1, 2)
    for body in ({"k": 1, "vector": {}, "filter": "nonsense ("}, {"k": 1, "vector": {}, "filter": "other > 1"}):
        assert refused(ask(server, "table", id_, "query", body))[0] in (400, 404)


# -- clients that go away ------------------------------------------------------------------------


def connected(server: Lanceway) -> socket.socket:
    url = httpx.URL(server.address)
    return socket.create_connection((str(url.host), url.port or 0), timeout=60)


def head(server: Lanceway, where: str, request_id: str, length: int | None) -> bytes:
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (
        f"POST /lance/v1/{where} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: {content_type('POST', where)}\r\nx-request-id: {request_id}\r\n{framing}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("verb", ["insert", "merge_insert?on=id&when_not_matched_insert_all=true", "create"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999], ids=["nothing", "half", "nearly all"])
def test_a_client_that_goes_in_the_middle_leaves_nothing(
    server: Lanceway, verb: str, chunked: bool, share: float
) -> None:
    existing = created(server, 1, 2)
    id_ = existing if verb != "create" else [*existing[:-1], "new"]
    location = Path(ask(server, "table", existing, "describe").json()["location"])
    before = {file for file in location.rglob("*") if file.is_file()}
    # Several batches: what was sent holds whole ones.
    body = b"".join(sent(iter(table(*range(5000)).to_batches(max_chunksize=500))))
    part = body[: int(len(body) * share)]
    request_id = f"gone-{time.monotonic_ns()}"
    with connected(server) as connection:
        connection.sendall(head(server, path("table", id_, verb), request_id, None if chunked else len(body)))
        if part:
            connection.sendall(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
    assert server.logged(request_id)["status"] == 499
    assert count(server, existing) == 2
    assert len(ask(server, "table", existing, "version/list").json()["versions"]) == 1
    if verb == "create":
        assert refused(ask(server, "table", id_, "exists")) == (404, 4)
    else:
        assert {file for file in location.rglob("*") if file.is_file()} == before


def test_a_client_that_goes_before_the_answer_ends_it(own: Lanceway, large: Id) -> None:
    """A query of many batches stops at the next one."""
    request_id, body = f"gone-{time.monotonic_ns()}", json.dumps({"k": 0, "vector": {}}).encode()
    with connected(own) as connection:
        connection.sendall(head(own, path("table", large, "query"), request_id, len(body)) + body)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert own.logged(request_id)["bytes"] < BATCHES * 2 * MIB


def test_a_wrong_table_is_told_before_all_is_sent(server: Lanceway) -> None:
    """The answer does not wait for a body that nobody will read."""
    with connected(server) as connection:
        connection.sendall(head(server, path("table", ["lake", "no", "such"], "insert"), "early", 10**9))
        connection.sendall(stream(table(1)))
        assert connection.recv(1000).startswith(b"HTTP/1.1 404 ")


# -- JSON ----------------------------------------------------------------------------------------

AS_JSON = {"accept": "application/json"}


def test_rows_as_json_for_a_browser(server: Lanceway) -> None:
    answer = ask(server, "table", created(server, 1, 2), "query", {"k": 5, "vector": {}}, headers=AS_JSON)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["rows"] == [{"id": 1, "name": "n1"}, {"id": 2, "name": "n2"}]
    assert [field["name"] for field in answer.json()["schema"]["fields"]] == ["id", "name"]


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "*/*"},
        {"accept": "application/vnd.apache.arrow.file, application/json"},
        {**AS_JSON, "user-agent": "OpenAPI-Generator/1.0.0/python"},
    ],
)
def test_arrow_for_all_others(server: Lanceway, headers: dict[str, str]) -> None:
    answer = ask(server, "table", created(server, 1), "query", {"k": 5, "vector": {}}, headers=headers)
    assert answer.content.startswith(b"ARROW1")


def test_the_generated_client_gets_what_it_reads(server: Lanceway) -> None:
    """It asks for JSON, and takes Arrow."""
    from lance_namespace_urllib3_client import ApiClient, Configuration, QueryTableRequest, QueryTableRequestVector
    from lance_namespace_urllib3_client.api.data_api import DataApi

    id_ = created(server, 1, 2)
    with ApiClient(Configuration(host=server.uri, access_token=server.token)) as client:
        client.default_headers["Authorization"] = server.headers["Authorization"]
        asked = QueryTableRequest(k=5, vector=QueryTableRequestVector())
        found = DataApi(client).query_table("$".join(id_), asked)
    assert pa.ipc.open_file(io.BytesIO(found)).read_all().num_rows == 2


def test_rows_as_json_are_bounded(server: Lanceway) -> None:
    id_ = created(server, *range(10_001))
    answer = ask(server, "table", id_, "query", {"k": 0, "vector": {}}, headers=AS_JSON)
    assert refused(answer) == (400, 13)
    assert (
        len(ask(server, "table", id_, "query", {"k": 10_000, "vector": {}}, headers=AS_JSON).json()["rows"]) == 10_000
    )


def test_every_kind_of_value_as_json(server: Lanceway) -> None:
    from datetime import UTC, datetime
    from decimal import Decimal

    data = pa.table(
        {
            "bytes": pa.array([b"\x00\xff"]),
            "nan": pa.array([float("nan")]),
            "decimal": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
            "moment": pa.array([datetime(2026, 1, 2, tzinfo=UTC)], pa.timestamp("us", "UTC")),
            "exact": pa.array([1], pa.timestamp("ns")),
            "vector": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)),
            "nothing": pa.array([None], pa.string()),
        }
    )
    id_ = [*space(server), "kinds"]
    assert ask(server, "table", id_, "create", content=stream(data)).status_code == 200
    (row,) = ask(server, "table", id_, "query", {"k": 1, "vector": {}}, headers=AS_JSON).json()["rows"]
    assert row == {
        "bytes": "AP8=",
        "nan": None,
        "decimal": "1.50",
        "moment": "2026-01-02T00:00:00Z",
        "exact": "1970-01-01 00:00:00.000000001",
        "vector": [1.0, 2.0],
        "nothing": None,
    }
