"""What clients send, well-meant and not."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow as pa
import pytest

from lanceway.wire.lance import ARROW_FILE, ARROW_STREAM
from tests.server.server_helpers import Id, ask, count, created, path, refused, serving, space, stream, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


@pytest.fixture(scope="module")
def made(server: Lanceway) -> Id:
    return created(server, 1, 2)


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"id": null}', b'{"newer": [1, {"a": 2}]}'])
def test_a_body_may_say_nothing(server: Lanceway, made: Id, body: bytes) -> None:
    for verb in ("describe", "exists", "version/list", "tags/list", "stats"):
        assert server.ask("POST", path("table", made, verb), content=body).status_code == 200, verb


def test_the_id_in_the_body_is_the_one_in_the_path(server: Lanceway, made: Id) -> None:
    for same in (made, ["$".join(made)], ["$".join(made[:2]), made[2]]):
        assert ask(server, "table", made, "describe", {"id": same}).status_code == 200
    for other in (made[:-1], [*made, "x"], [], "x", [1], {"a": 1}):
        assert refused(ask(server, "table", made, "describe", {"id": other})) == (400, 13)


def test_the_root_in_a_body(server: Lanceway) -> None:
    for same in ([], ["$"], None):
        assert ask(server, "namespace", [], "describe", {"id": same}).status_code == 200
    assert refused(ask(server, "namespace", [], "describe", {"id": ["lake"]})) == (400, 13)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"1",
        b'"x"',
        b"true",
        b"\xff\xfe",
        b'{"id":["\\ud800"]}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"NaN",
    ],
    ids=lambda body: body[:12].decode("latin-1"),
)
def test_a_body_that_is_no_object(server: Lanceway, made: Id, body: bytes) -> None:
    assert refused(server.ask("POST", path("table", made, "describe"), content=body)) == (400, 13)


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("query", {}),
        ("query", {"k": -1, "vector": {}}),
        ("query", {"k": "secret-value", "vector": {}}),
        ("create_index", {"column": 1}),
        ("describe", {"version": "secret-value"}),
        ("describe", {"context": "secret-value"}),
        ("describe", {"context": {"a": 1}}),
        ("schema_metadata/update", {"a": 1}),
        ("update", {"updates": "secret-value"}),
    ],
)
def test_what_is_not_valid_is_refused_and_not_repeated(server: Lanceway, made: Id, verb: str, body: Any) -> None:
    answer = ask(server, "table", made, verb, body)
    assert refused(answer) == (400, 13)
    assert "secret-value" not in answer.text


def test_the_query_beats_the_body(server: Lanceway, made: Id) -> None:
    told = ask(server, "table", made, "describe", {"with_table_uri": False}, params={"with_table_uri": "true"})
    assert told.json()["table_uri"].startswith("file://")
    assert "table_uri" not in ask(server, "table", made, "describe", {}).json()


@pytest.mark.parametrize(
    "query",
    [
        "limit=ten",
        "limit=0",
        "limit=-1",
        "limit=--5",
        f"limit={'9' * 5000}",
        "include_declared=perhaps",
        "limit=%FF",
        "limit=é",
    ],
    ids=lambda query: query[:20],
)
def test_a_query_that_cannot_be_read(server: Lanceway, query: str) -> None:
    assert refused(server.ask("GET", f"namespace/lake/table/list?{query}")) == (400, 13)


@pytest.mark.parametrize("limit", [2**63 - 1, 2**64, 10**40])
def test_a_page_may_be_larger_than_any_list(server: Lanceway, made: Id, limit: int) -> None:
    for where, kind in (([], "list"), (made[:1], "list"), (made[:-1], "table/list")):
        answer = ask(server, "namespace", where, kind, params={"limit": limit})
        assert answer.status_code == 200, answer.text
        assert "page_token" not in answer.json()


def test_a_delimiter_of_ones_own(server: Lanceway, made: Id) -> None:
    for delimiter in (".", "::", "/", "🙂"):
        where = path("table", made, "describe", delimiter)
        assert server.ask("POST", where, params={"delimiter": delimiter}).status_code == 200, delimiter
    assert refused(server.ask("POST", path("table", made, "describe"), params={"delimiter": ""})) == (400, 13)
    # With another one than was meant, the text is one name.
    assert refused(server.ask("POST", path("table", made, "describe"), params={"delimiter": "."}))[0] == 404
    catalogs = ask(server, "namespace", [], "list").json()["namespaces"]  # other tests leave some
    assert "lake" in catalogs
    assert server.ask("GET", "namespace/~/list", params={"delimiter": "~"}).json()["namespaces"] == catalogs


@pytest.mark.parametrize("id_", ["lake$", "$lake", "lake$$t", "%FF", "lake$%ED%A0%80", "lake%24" + "n" * 10_000])
def test_identifiers_that_are_none(server: Lanceway, id_: str) -> None:
    status, code = refused(server.ask("POST", f"table/{id_}/describe"))
    assert (status, code) in ((400, 13), (404, 4))
    assert (status, code) == (400, 13) or id_.endswith("nnn")


def test_names_may_hold_anything_that_the_catalog_allows(server: Lanceway) -> None:
    id_ = [*space(server), "a/b ü%? #"]
    assert ask(server, "table", id_, "create", content=stream(table(1))).status_code == 200
    assert ask(server, "namespace", id_[:-1], "table/list").json()["tables"] == ["a/b ü%? #"]
    assert count(server, id_) == 1


# -- Arrow ---------------------------------------------------------------------------------------

GOOD = stream(table(3, 4, 5))


def as_file(data: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, data.schema) as writer:
        writer.write_table(data)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("kind", [ARROW_STREAM, ARROW_FILE])
def test_a_stream_and_a_file_are_told_apart_by_themselves(server: Lanceway, kind: str) -> None:
    headers = {"content-type": kind}
    id_ = created(server, 1)
    for number, body in enumerate((GOOD, as_file(table(3, 4, 5))), 1):
        assert ask(server, "table", id_, "insert", content=body, headers=headers).status_code == 200
        assert count(server, id_) == 1 + 3 * number


@pytest.mark.parametrize("kind", ["lz4", "zstd"])
def test_arrow_that_unfolds_fills_no_memory(server: Lanceway, kind: str) -> None:
    """Half a gibibyte of zeros is some kilobytes on the wire, and stays that."""
    id_, count_ = created(server, 1), 2**26
    values = pa.Array.from_buffers(pa.int64(), count_, [None, pa.py_buffer(bytes(8 * count_))])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=kind)
    with pa.ipc.new_stream(sink, pa.schema([("id", pa.int64())]), options=options) as writer:
        writer.write_batch(pa.record_batch([values], names=["id"]))
    process = Path(f"/proc/{serving(server)}")
    (process / "clear_refs").write_text("5")  # the peak begins again
    before = _peak(process)
    answer = ask(server, "table", id_, "insert", content=bytes(sink.getvalue()))
    assert refused(answer) == (413, 13)
    assert "max_batch_bytes" in answer.json()["error"]
    assert _peak(process) - before < 128 * 2**10, "kibibytes"
    assert count(server, id_) == 1


def _peak(process: Path) -> int:
    return int(next(line for line in (process / "status").read_text().splitlines() if "VmHWM" in line).split()[1])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"x",
        b"no arrow at all, but long enough to be read as a length",
        b"ARROW1",
        b"{}",
        GOOD[:-40],
        GOOD[: len(GOOD) // 2],
        GOOD[:100],
        b"\xff\xff\xff\xff\xff\xff\xff\x7f" + b"x" * 100,
        b"\xff" * 1000,
    ],
    ids=range(10),
)
def test_arrow_that_is_broken_changes_nothing(server: Lanceway, made: Id, body: bytes) -> None:
    before = ask(server, "table", made, "version/list").json()["versions"]
    for verb in ("insert", "merge_insert?on=id"):
        assert refused(ask(server, "table", made, verb, content=body)) == (400, 13)
    assert ask(server, "table", made, "version/list").json()["versions"] == before
    new = [*made[:-1], "new"]
    assert refused(ask(server, "table", new, "create", content=body)) == (400, 13)
    assert refused(ask(server, "table", new, "exists")) == (404, 4)


def test_arrow_of_another_schema(server: Lanceway, made: Id) -> None:
    body = stream(pa.table({"other": ["x"]}))
    assert refused(ask(server, "table", made, "insert", content=body)) == (400, 20)
    assert count(server, made) == 2


def test_a_compressed_stream(server: Lanceway) -> None:
    id_, sink = created(server, 1), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table(1).schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table(2, 3))
    assert ask(server, "table", id_, "insert", content=bytes(sink.getvalue())).status_code == 200
    assert count(server, id_) == 3


# -- limits --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow(whole_run: Run) -> Iterator[Lanceway]:
    """A server that takes few bytes."""
    server = lanceway.start(whole_run, settings="[server]\nmax_body_bytes = 10000\n")
    yield server
    assert server.stop() == 0


def test_a_body_that_is_too_large(narrow: Lanceway) -> None:
    id_, large = created(narrow, 1), stream(table(*range(2000)))
    assert refused(ask(narrow, "table", id_, "insert", content=large)) == (413, 13)

    def in_parts() -> Iterator[bytes]:
        yield from (large[start : start + 1000] for start in range(0, len(large), 1000))

    assert refused(ask(narrow, "table", id_, "insert", content=in_parts())) == (413, 13)
    assert refused(ask(narrow, "table", id_, "describe", {"context": {"a": "x" * 20_000}})) == (413, 13)
    assert count(narrow, id_) == 1


def test_a_client_that_says_so_is_refused_before_it_sends(narrow: Lanceway) -> None:
    """With `Expect: 100-continue` nothing of a body that is too large travels."""
    url = httpx.URL(narrow.address)
    with socket.create_connection((str(url.host), url.port or 0), timeout=30) as connection:
        head = (
            f"POST /lance/v1/table/{quote('lake$t')}/insert HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n"
            f"Authorization: Bearer {narrow.token}\r\nContent-Type: {ARROW_STREAM}\r\nExpect: 100-continue\r\n\r\n"
        )
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


# -- headers and context -------------------------------------------------------------------------


def test_a_request_id_of_the_callers(server: Lanceway, made: Id) -> None:
    for given in ("abc-123", "a" * 128):
        answer = ask(server, "table", made, "describe", headers={"x-request-id": given})
        assert answer.headers["x-request-id"] == given
    for bad in ("a b", "a" * 129, '"', ""):
        answer = ask(server, "table", made, "describe", headers={"x-request-id": bad})
        assert answer.headers["x-request-id"] not in (bad, "")
    answer = ask(server, "table", [*made, "x"], "describe", headers={"x-request-id": "mine"})
    assert json.loads(answer.text)["instance"] == "mine"


def test_unknown_context_is_no_reason_to_refuse(server: Lanceway, made: Id) -> None:
    body = {"context": {"header.x-other": "1", "reservation": "abc"}, "identity": {"auth_token": "nobody's"}}
    headers = {"x-lancedb-min-timestamp": "1", "x-other": "2"}
    assert ask(server, "table", made, "describe", body, headers=headers).status_code == 200
