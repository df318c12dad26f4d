"""The REST catalog: what it sends, what it makes of answers, and rows that stream both ways."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import lance_namespace
import pyarrow as pa
import pytest

import lanceway
from lanceway.catalogs import RestCatalog
from lanceway.catalogs.contract.hooks import OPERATIONS, WITH_DATA
from lanceway.catalogs.rest.messages import refuse
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableNotFoundError,
    UnsupportedOperationError,
    from_error_code,
)
from lanceway.tables.read import ipc
from lanceway.testing.requests import ask
from lanceway.testing.sandbox import fresh, rows, stream
from lanceway.wire import lance as protocol
from lanceway.wire.http import HttpAnswer, Request
from lanceway.wire.lance import BY_OPERATION, Body
from tests.servers import faults as fake
from tests.servers import seaweedfs_lance
from tests.servers.faults import Faults, answer
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run
from tests.servers.seaweedfs_lance import SeaweedLance

TOKEN = "open-sesame"
QUERY = {"id": ["t"], "k": 10, "vector": {}}
TABLE = rows(*range(1000))


@pytest.fixture
def faults() -> Iterator[Faults]:
    with fake.faults() as server:
        yield server


@pytest.fixture
def catalog(faults: Faults) -> Iterator[Any]:
    """Untyped: requests are given as dictionaries."""
    with RestCatalog(uri=f"{faults.uri}/lance/", token=TOKEN, retries=0) as client:
        yield client


# -- what is sent --------------------------------------------------------------------------------


def test_a_table_instead_of_bytes_is_refused_before_anything_is_sent() -> None:
    rows: Any = pa.table({"id": [1]})
    with RestCatalog(uri="http://127.0.0.1:1/lance") as catalog, pytest.raises(InvalidInputError, match="_stream"):
        catalog.create_table({"id": ["t"]}, rows)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "create_empty_table"])
def test_every_operation_goes_its_route(catalog: Any, faults: Faults, operation: str) -> None:
    faults.will(answer(404, {"error": "gone", "code": 10}))
    with pytest.raises(LanceNamespaceError, match="gone"):
        ask(catalog, operation, ["a", "b"])
    sent, route = faults.seen[0], BY_OPERATION[operation]
    assert sent.method == route.method
    assert protocol.match(sent.path.removeprefix("/lance")).methods[sent.method] is route
    assert ("delimiter", "$") in sent.query
    assert sent.headers["authorization"] == f"Bearer {TOKEN}"
    if route.has_id:
        assert "/a%24b/" in sent.path
    if route.body is Body.MODEL and "id" in sent.json:
        assert sent.json["id"] == ["a", "b"]
    if route.body is Body.NONE:
        assert sent.body == b""
    if operation in WITH_DATA:
        assert sent.body == stream(rows(1))
        assert sent.headers["content-type"] == "application/vnd.apache.arrow.stream"


def test_an_empty_table_is_a_declared_one(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, {"location": "/x"}))
    assert catalog.create_empty_table({"id": ["t"]}).location == "/x"
    assert faults.seen[0].path == "/lance/v1/table/t/declare"


def test_fields_travel_in_the_query_and_in_the_body(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, {}), answer(200, {}), answer(200, {"a": "b"}))
    catalog.describe_table({"id": ["t"], "with_table_uri": True, "version": 3})
    assert ("with_table_uri", "true") in faults.seen[0].query
    sent = faults.seen[0].json
    assert (sent["id"], sent["with_table_uri"], sent["version"]) == (["t"], True, 3)
    catalog.create_table({"id": ["t"], "properties": {"a": "b c"}, "mode": "overwrite"}, stream(rows(1)))
    assert dict(faults.seen[1].query)["properties"] == '{"a": "b c"}'
    catalog.update_table_schema_metadata({"id": ["t"], "branch": "x", "metadata": {"a": "b"}})
    assert faults.seen[2].json == {"a": "b"}
    assert ("branch", "x") in faults.seen[2].query


def test_who_asks_may_be_said_by_the_request(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, {}), answer(200, {}))
    catalog.describe_table({"id": ["t"], "identity": {"auth_token": "mine"}})
    catalog.describe_table({"id": ["t"], "identity": {"api_key": "mine"}})
    assert faults.seen[0].headers["authorization"] == "Bearer mine"
    assert faults.seen[1].headers["x-api-key"] == "mine"
    assert "authorization" not in faults.seen[1].headers
    assert not any(b"mine" in seen.body for seen in faults.seen)


def test_context_becomes_headers_and_headers_become_context(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, {"context": {"own": "1"}}, {"X-Request-Id": "abc", "Set-Cookie": "a=b"}))
    described = catalog.describe_table({"id": ["t"], "context": {"header.X-Trace": "1", "other": "2"}})
    assert faults.seen[0].headers["x-trace"] == "1"
    assert faults.seen[0].json["context"] == {"other": "2"}
    assert described.context["own"] == "1"
    assert described.context["header.x-request-id"] == "abc"
    assert "header.set-cookie" not in described.context


@pytest.mark.parametrize(
    "wrong",
    [
        {"header.X": "a\r\nAuthorization: Bearer other"},
        {"header.X: 1\r\nY": "a"},
        {"header.": "a"},
        {"header.Host": "elsewhere"},
        {"header.Content-Length": "0"},
        {"header.Transfer-Encoding": "chunked"},
        {"header.Authorization": "Bearer other"},
        {"header.x-api-key": "other"},
    ],
    ids=str,
)
def test_context_cannot_break_the_request_nor_change_who_asks(
    catalog: Any, faults: Faults, wrong: dict[str, str]
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        catalog.describe_table({"id": ["t"], "context": wrong})
    assert "other" not in str(refused.value)
    assert faults.seen == []


def test_context_says_who_asks_where_nobody_else_does(faults: Faults) -> None:
    faults.will(answer(200, {}))
    with RestCatalog(uri=faults.uri) as catalog:
        catalog.describe_table({"id": ["t"], "context": {"header.Authorization": "Bearer mine"}})  # type: ignore[arg-type]
    assert faults.seen[0].headers["authorization"] == "Bearer mine"


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("describe_table", {"id": []}),
        ("describe_table", {"id": ["a$b"]}),
        ("describe_table", {"id": [".."]}),
        ("drop_table", {"id": ["."]}),
        ("drop_table_index", {"id": ["t"], "index_name": ".."}),
        ("drop_table_index", {"id": ["t"], "index_name": ""}),
        ("describe_table_index_stats", {"id": ["t"]}),
        ("describe_transaction", {}),
        ("query_table", {"id": ["t"], "k": 1, "vector": {"single_vector": [float("nan")]}}),
        ("query_table", {"id": ["t"], "k": 1, "vector": {"single_vector": [float("inf")]}}),
        ("describe_table", {"id": ["t"], "identity": {"auth_token": "a\nb"}}),
    ],
    ids=str,
)
def test_what_would_become_something_else_is_not_sent(
    catalog: Any, faults: Faults, operation: str, request_: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        getattr(catalog, operation)(request_)
    assert faults.seen == []


def test_strange_names_arrive_whole(catalog: Any, faults: Faults) -> None:
    names = ["a/b", "ü ?#%2F", "..a"]
    faults.will(answer(200, {}))
    catalog.describe_table({"id": names})
    path = faults.seen[0].path.removeprefix("/lance")
    assert protocol.read_id(protocol.match(path).id or "") == tuple(names)


def test_another_delimiter(faults: Faults) -> None:
    faults.will(answer(200, {"namespaces": ["b"]}))
    with RestCatalog(uri=faults.uri, delimiter="~") as catalog:
        catalog.list_namespaces({})  # type: ignore[arg-type]
    assert faults.seen[0].path == "/v1/namespace/~/list"
    assert faults.seen[0].query == [("delimiter", "~")]


# -- what is made of answers ---------------------------------------------------------------------


def test_bare_answers_are_read(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, 7), answer(200, "a plan"), answer(200, {"plan": "another"}), answer(200, {"a": "b"}))
    assert catalog.count_table_rows({"id": ["t"]}).count == 7
    explained = {"id": ["t"], "query": {"k": 1, "vector": {}}}
    assert [catalog.explain_table_query_plan(explained) for _ in range(2)] == ["a plan", "another"]
    assert catalog.update_table_schema_metadata({"id": ["t"], "metadata": {"a": "b"}}).metadata == {"a": "b"}


def test_no_body_is_an_empty_one(catalog: Any, faults: Faults) -> None:
    faults.will(answer(204), answer(200))
    assert catalog.drop_namespace({"id": ["n"], "mode": "skip"}).properties is None
    catalog.table_exists({"id": ["t"]})


UNREADABLE = {
    "garbage": answer(200, b"\x00\xff"),
    "a page": answer(200, b"<html>Please log in</html>", {"Content-Type": "text/html"}),
    "a list": answer(200, [1]),
    "wrong fields": answer(200, {"location": 7}),
    "deep": answer(200, b"[" * 100_000),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_answer_that_cannot_be_read_is_internal(catalog: Any, faults: Faults, kind: str) -> None:
    faults.will(UNREADABLE[kind])
    with pytest.raises(InternalError, match="describe_table of t: the answer cannot be read"):
        catalog.describe_table({"id": ["t"]})


def test_what_cannot_be_read_is_not_repeated(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, {"storage_options": ["hush-hush"]}))
    with pytest.raises(InternalError) as refused:
        catalog.describe_table({"id": ["t"]})
    assert "hush" not in str(refused.value)
    assert refused.value.__cause__ is None


def refused(status: int, content: bytes | object, *, path: str = "/v1/table/t/describe", **headers: str) -> Any:
    settings = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return refuse(Request("describe_table of t", "POST", path), HttpAnswer(status, settings, body))


@pytest.mark.parametrize("code", sorted(protocol.STATUS))
def test_a_code_becomes_its_class_whatever_the_status(code: int) -> None:
    for status in (protocol.STATUS[code], 500, 404):
        error = refused(status, {"error": "no", "code": code, "instance": "id-1"})
        assert type(error) is type(from_error_code(code, ""))
        assert error.code == code
        assert error.request_id == "id-1"
        assert "no" in str(error)
        assert "id-1" in str(error)


@pytest.mark.parametrize(
    ("status", "content", "code"),
    [
        (400, b"", 13),
        (401, b"who?", 16),
        (403, {"message": "no"}, 15),
        (404, b"<html>", 18),
        (404, {"code": "4"}, 18),
        (404, {"code": 99}, 18),
        (404, {"code": True}, 18),
        (404, {"code": -1}, 18),
        (404, b"[" * 100_000, 18),
        (405, b"", 0),
        (413, b"length limit exceeded", 13),
        (429, b"", 21),
        (500, b"", 18),
        (502, b"<html>Bad gateway", 17),
        (503, b"", 17),
        (504, b"", 17),
        (599, b"", 18),
    ],
)
def test_without_a_code_the_status_counts(status: int, content: bytes | object, code: int) -> None:
    error = refused(status, content, content_type="text/html", x_request_id="id-2")
    assert error.code == code
    assert error.request_id == "id-2"
    assert str(status) in str(error)
    assert "<html>" not in str(error)


def test_a_bare_404_answers_whether_something_is_there() -> None:
    assert refused(404, b"", path="/v1/table/t/exists").code == 4
    assert refused(404, b"", path="/v1/namespace/t/exists").code == 1
    assert refused(404, b"", path="/v1/table/t/describe").code == 18


def test_words_of_a_server_are_shown_in_one_line_and_bounded() -> None:
    error = refused(404, {"error": "no\n\x1b[31mtable " + "x" * 9000, "code": 4})
    assert str(error).isprintable()
    assert len(str(error)) < 3000
    text = refused(413, b"too\nlarge", content_type="text/plain")
    assert "too large" in str(text)


def test_errors_can_be_pickled_with_their_request_id() -> None:
    error = refused(404, {"error": "no", "code": 4, "instance": "id-1"})
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.request_id) == (TableNotFoundError, "id-1")


def test_whole_identifiers_in_a_list_become_names(catalog: Any, faults: Faults) -> None:
    for listed in (["a$b$x", "a$b$y"], ["x", "y"], ["a$b$x", "y"], []):
        faults.will(answer(200, {"tables": listed}))
    pages = [catalog.list_tables({"id": ["a", "b"]}).tables for _ in range(4)]
    assert pages == [["x", "y"], ["x", "y"], ["a$b$x", "y"], []]


def test_tables_below_a_namespace_are_chosen_from_all(catalog: Any, faults: Faults) -> None:
    there = answer(200)
    faults.will(answer(200, {"tables": ["b$x"], "page_token": "1"}), there, answer(200, {"tables": ["a$x", "ab"]}))
    response = catalog.list_all_tables({"id": ["a"]})
    assert (response.tables, response.page_token) == (["a$x"], None)
    assert ("page_token", "1") in faults.seen[2].query


# -- rows ----------------------------------------------------------------------------------------


def file_of(table: pa.Table, padding: int = 0) -> bytes:
    """An IPC file; `padding` more bytes after the magic word, as arrow-rs writes them."""
    content = ipc.write_file(table.to_reader(max_chunksize=100))
    return content[:8] + b"\x00" * padding + content[8:]


ENCODED = pa.table({"word": pa.array(["a", "b", "a"]).dictionary_encode()})


@pytest.mark.parametrize("table", [TABLE, TABLE.slice(0, 0), ENCODED], ids=["rows", "none", "dictionary"])
@pytest.mark.parametrize("padding", [0, 56])
def test_an_answer_is_read_as_it_comes(catalog: Any, faults: Faults, table: pa.Table, padding: int) -> None:
    faults.will(answer(200, file_of(table, padding)))
    with catalog.query_table_stream(QUERY) as reader:
        assert reader.read_all() == table


def test_a_stream_is_read_where_a_file_should_be(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, stream(TABLE)))
    assert catalog.query_table_stream(QUERY).read_all() == TABLE


def test_a_whole_answer_is_an_ipc_file(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, file_of(TABLE)), answer(200, stream(TABLE)))
    for _ in range(2):
        assert pa.ipc.open_file(io.BytesIO(catalog.query_table(QUERY).data)).read_all() == TABLE


def cuts(content: bytes) -> list[int]:
    """Lengths at which a file may be cut off: in every part of it, and between its messages."""
    ends = {content.rfind(b"\xff\xff\xff\xff\x00\x00\x00\x00") + extra for extra in (0, 4, 8)}
    return sorted({1, 6, 8, 12, 100, len(content) // 2, len(content) - 11, len(content) - 10, len(content) - 1} | ends)


@pytest.mark.parametrize("length", cuts(file_of(TABLE)))
def test_an_answer_that_was_cut_off_is_never_taken_for_the_whole(catalog: Any, faults: Faults, length: int) -> None:
    """Cut off by somebody who then ends it as if nothing had happened."""
    cut = answer(200, file_of(TABLE)[:length])
    faults.will(cut, cut)
    with pytest.raises(InternalError):
        catalog.query_table_stream(QUERY).read_all()
    with pytest.raises(InternalError):
        catalog.query_table(QUERY)


def test_a_stream_without_its_end_is_cut_off(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, stream(TABLE)[:-8]))
    with pytest.raises(InternalError):
        catalog.query_table_stream(QUERY).read_all()


def test_an_answer_that_breaks_off_is_unavailable(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, file_of(TABLE), missing=200))
    with pytest.raises(ServiceUnavailableError):
        catalog.query_table_stream(QUERY).read_all()


@pytest.mark.parametrize(
    "content", [b"", b"no Arrow at all, sorry", b"ARROW1\x00\x00", b"ARROW1\x00\x00" + b"\x00" * 64]
)
def test_what_is_no_arrow_is_internal(catalog: Any, faults: Faults, content: bytes) -> None:
    faults.will(answer(200, content), answer(200, content))
    for query in (catalog.query_table_stream, catalog.query_table):
        with pytest.raises(InternalError, match="query_table of t"):
            query(QUERY)


def test_values_that_cannot_be_are_refused(catalog: Any, faults: Faults) -> None:
    offsets = pa.py_buffer((0).to_bytes(4, "little") + (1).to_bytes(4, "little"))
    no_text = pa.Array.from_buffers(pa.utf8(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    faults.will(answer(200, file_of(pa.table({"a": no_text}))))
    with pytest.raises(InternalError):
        catalog.query_table_stream(QUERY).read_all()


def test_rows_stream_in(catalog: Any, faults: Faults) -> None:
    faults.will(answer(200, {"version": 2}), answer(200, {"version": 3}))
    assert catalog.insert_into_table_stream({"id": ["t"]}, TABLE.to_reader()).version == 2
    assert faults.seen[0].headers["transfer-encoding"] == "chunked"
    # A file is turned into the stream that servers expect.
    catalog.insert_into_table({"id": ["t"]}, file_of(TABLE))
    for request in faults.seen:
        assert pa.ipc.open_stream(request.body).read_all() == TABLE


def test_rows_that_cannot_be_read_are_never_ended(catalog: Any, faults: Faults) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        raise OSError("the disk is gone")

    faults.will(answer(200, {"version": 2}))
    with pytest.raises(InvalidInputError, match="the disk is gone"):
        catalog.insert_into_table_stream({"id": ["t"]}, pa.RecordBatchReader.from_batches(TABLE.schema, batches()))
    assert not any(seen.whole for seen in faults.seen)


@pytest.mark.parametrize("status", [429, 502, 503])
def test_rows_are_never_sent_twice(faults: Faults, status: int) -> None:
    faults.will(*[answer(status, headers={"Retry-After": "0"})] * 2)
    with RestCatalog(uri=faults.uri) as catalog:
        for send in (
            lambda: catalog.insert_into_table({"id": ["t"]}, stream(TABLE)),  # type: ignore[arg-type]
            lambda: catalog.insert_into_table_stream({"id": ["t"]}, TABLE.to_reader()),  # type: ignore[arg-type]
        ):
            with pytest.raises(LanceNamespaceError):
                send()
    assert len(faults.seen) == 2


# -- settings ------------------------------------------------------------------------------------


def test_secrets_are_shown_nowhere_and_make_another_identity() -> None:
    secrets = {
        "token": "hush-1",
        "api_key": "hush-2",
        "header.X-Team": "hush-3",
        "storage.secret_access_key": "hush-4",
    }
    catalogs = [RestCatalog(uri="http://host", **{name: secret}) for name, secret in secrets.items()]
    catalogs += [RestCatalog(uri="http://host"), RestCatalog(uri="http://host", credential="me:hush-5")]
    assert "hush" not in repr(catalogs) + "".join(catalog.namespace_id() for catalog in catalogs)
    assert len({catalog.namespace_id() for catalog in catalogs}) == len(catalogs)
    assert RestCatalog(uri="http://host/").namespace_id() == RestCatalog(uri="http://host").namespace_id()


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"uri": "host:8400"},
        {"uri": "http://h", "token": "a", "token_file": "b"},
        {"uri": "http://h", "token": "a", "header.Authorization": "b"},
        {"uri": "http://h", "token": "two\nlines"},
        {"uri": "http://h", "credential": "without-secret"},
        {"uri": "http://h", "credential": "a:b", "token_uri": "ftp://x"},
        {"uri": "http://h", "token_uri": "/x"},
        {"uri": "http://h", "delimiter": "."},
        {"uri": "http://h", "delimiter": ""},
        {"uri": "http://h", "data": "elsewhere"},
        {"uri": "http://h", "tokn": "a"},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        lanceway.connect("rest", **wrong)


def test_tokens_are_fetched_from_the_server_unless_told(faults: Faults) -> None:
    there = answer(200)
    faults.will(answer(200, {"access_token": "fetched"}), there, there)
    with RestCatalog(uri=f"{faults.uri}/lance", credential="me:secret", api_key="key") as catalog:
        for _ in range(2):
            catalog.table_exists({"id": ["t"]})  # type: ignore[arg-type]
    assert [seen.path for seen in faults.seen] == ["/oauth/token", *["/lance/v1/table/t/exists"] * 2]
    assert faults.seen[2].headers["authorization"] == "Bearer fetched"
    assert faults.seen[2].headers["x-api-key"] == "key"


def test_all_that_is_asked_of_jobs_goes_through_one_client(faults: Faults) -> None:
    job = {"id": "job-1", "kind": "backfill", "table": ["t"], "request": {}, "requested_by": "bob", "created_at": 1}
    token = answer(200, {"access_token": "fresh", "expires_in": 3600})
    running, done = (answer(200, {**job, "state": state}) for state in ("running", "done"))
    faults.will(token, running, done, token, done, token, done)
    catalog = RestCatalog(uri=f"{faults.uri}/lance", credential="id:secret", retries=0)
    assert catalog.wait_for_job("job-1").state == "done"
    catalog.close()
    assert catalog.describe_job("job-1").state == "done", "it opens again"
    with pickle.loads(pickle.dumps(catalog)) as copy:
        assert copy.describe_job("job-1").state == "done"
    catalog.close()
    fetched, asked = "/oauth/token", "/lanceway/v1/jobs/job-1"
    assert [seen.path for seen in faults.seen] == [fetched, asked, asked, fetched, asked, fetched, asked]


def test_a_token_file_means_the_same_file_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = RestCatalog(uri="http://host", token_file="token")
    monkeypatch.chdir("/")
    copy = pickle.loads(pickle.dumps(catalog))
    assert copy == catalog
    assert str(tmp_path / "token") in repr(copy)


def test_the_ecosystems_own_way_in() -> None:
    connected = lance_namespace.connect("lanceway.catalogs.RestCatalog", {"uri": "http://host", "token": "x"})
    assert connected == lanceway.connect("rest", uri="http://host", token="x")


# -- a server of ours ----------------------------------------------------------------------------


@pytest.fixture
def remote(server: Lanceway) -> Iterator[Any]:
    with RestCatalog(uri=server.uri, token=server.token) as catalog:
        yield catalog


def test_an_error_has_the_request_id_of_the_servers_log(remote: Any, server: Lanceway) -> None:
    with pytest.raises(TableNotFoundError) as missing:
        remote.describe_table({"id": ["lake", fresh("none")]})
    request_id: str = missing.value.request_id  # type: ignore[attr-defined]
    assert request_id
    assert server.logged(request_id)["status"] == 404


def test_stock_pylance_commits_to_a_managed_table_through_the_catalog(remote: Any) -> None:
    table = ["lake", fresh("t")]
    lance.write_dataset(rows(1), namespace_client=remote, table_id=table, mode="create")
    lance.write_dataset(rows(2), namespace_client=remote, table_id=table, mode="append")
    opened = lance.dataset(namespace_client=remote, table_id=table)
    opened.delete("id = 1")
    assert lance.dataset(namespace_client=remote, table_id=table).to_table()["id"].to_pylist() == [2]
    assert remote.describe_table({"id": table}).managed_versioning is True
    assert [found.version for found in remote.list_table_versions({"id": table}).versions] == [1, 2, 3]
    assert remote.count_table_rows({"id": table}).count == 1
    remote.drop_table({"id": table})


def test_a_namespace_of_the_server_becomes_the_root(remote: Any, server: Lanceway) -> None:
    inside = fresh("n")
    remote.create_namespace({"id": ["lake", inside]})
    remote.create_table({"id": ["lake", inside, "t"]}, stream(rows(1)))
    with lanceway.connect("rest", uri=server.uri, token=server.token, at=f"lake.{inside}") as below:  # type: ignore[attr-defined]
        assert below.list_tables({}).tables == ["t"]
        assert below.list_all_tables({}).tables == ["t"]
    remote.drop_namespace({"id": ["lake", inside], "behavior": "cascade"})


# Runs in a process of its own, whose memory nobody else uses.
_STREAM = """
import resource, sys
import pyarrow as pa
import lanceway
from lanceway.testing.sandbox import fresh
uri, token = sys.stdin.read().split()
batch = pa.record_batch({"v": pa.array(range(131072), pa.int64())})
def there_and_back(number):
    table = ["lake", fresh("large")]
    rows = pa.RecordBatchReader.from_batches(batch.schema, (batch for _ in range(number)))
    ns.create_table_stream({"id": table}, rows)
    answer = ns.query_table_stream({"id": table, "k": 10**9, "vector": {}})
    assert sum(found.num_rows for found in answer) == number * len(batch)
    ns.drop_table({"id": table})
with lanceway.connect("rest", uri=uri, token=token) as ns:
    there_and_back(4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    there_and_back(128)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_what_is_large_is_never_held_whole(server: Lanceway) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STREAM],
        input=f"{server.uri} {server.token}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # 128 MiB went either way.
    assert int(done.stdout) < 32 * 1024


# -- a server of somebody else's, which keeps names alone ----------------------------------------


@pytest.fixture(scope="session")
def seaweed(whole_run: Run) -> SeaweedLance:
    return seaweedfs_lance.start(whole_run)


@pytest.fixture
def names(seaweed: SeaweedLance) -> Iterator[Any]:
    with RestCatalog(uri=seaweed.uri) as catalog:
        yield catalog


@pytest.fixture
def whole(seaweed: SeaweedLance) -> Iterator[Any]:
    with lanceway.connect(  # type: ignore[attr-defined]
        "rest", uri=seaweed.uri, data="storage", storage_options=seaweed.storage_options
    ) as catalog:
        yield catalog


@pytest.fixture
def home(names: Any, seaweed: SeaweedLance) -> list[str]:
    namespace = [seaweed.bucket, fresh("n")]
    names.create_namespace({"id": namespace})
    return namespace


@pytest.mark.s3
def test_seaweedfs_keeps_names(names: Any, home: list[str], seaweed: SeaweedLance) -> None:
    for table in ("a", "b"):
        names.declare_table({"id": [*home, table]})
    assert names.list_tables({"id": home}).tables == ["a", "b"]
    assert home[1] in names.list_namespaces({"id": [seaweed.bucket]}).namespaces
    assert names.list_all_tables({"id": home}).tables == ["$".join([*home, table]) for table in ("a", "b")]
    with pytest.raises(TableNotFoundError):
        names.table_exists({"id": [*home, "c"]})
    with pytest.raises(UnsupportedOperationError, match="data=storage"):
        names.count_table_rows({"id": [*home, "a"]})


@pytest.mark.s3
def test_seaweedfs_refuses_in_the_words_of_the_protocol(names: Any, home: list[str], seaweed: SeaweedLance) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        names.create_namespace({"id": home})
    names.create_namespace({"id": home, "mode": "exist_ok"})
    with pytest.raises(NamespaceNotFoundError):
        names.describe_namespace({"id": [seaweed.bucket, fresh("none")]})
    names.declare_table({"id": [*home, "a"]})
    with pytest.raises(NamespaceNotEmptyError):
        names.drop_namespace({"id": home})
    names.drop_table({"id": [*home, "a"]})
    with pytest.raises(TableNotFoundError):
        names.table_exists({"id": [*home, "a"]})


@pytest.mark.s3
def test_pages_of_seaweedfs_follow_each_other(names: Any, home: list[str]) -> None:
    for table in "abcde":
        names.declare_table({"id": [*home, table]})
    page = names.list_tables({"id": home, "limit": 2})
    found = list(page.tables)
    while page.page_token:
        page = names.list_tables({"id": home, "limit": 2, "page_token": page.page_token})
        found += page.tables
    assert found == list("abcde")


@pytest.mark.s3
def test_writers_at_once_on_seaweedfs_lose_nothing(whole: Any, home: list[str]) -> None:
    table = [*home, "t"]
    whole.create_table({"id": table}, stream(rows(0)))

    def append(number: int) -> None:
        lance.write_dataset(rows(number), namespace_client=whole, table_id=table, mode="append")

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(append, range(1, 9)))
    result = whole.query_table_stream({"id": table, "k": 0, "vector": {}}).read_all()
    assert sorted(result["id"].to_pylist()) == list(range(9))
    assert [version.version for version in whole.list_table_versions({"id": table}).versions] == list(range(1, 10))


@pytest.mark.s3
def test_stock_pylance_works_with_seaweedfs_through_the_catalog(whole: Any, home: list[str]) -> None:
    table = [*home, "t"]
    whole.declare_table({"id": table})
    # The keys come from the catalog's settings, the rest from the server.
    for number in (1, 2):
        lance.write_dataset(rows(number), namespace_client=whole, table_id=table, mode="append")
    assert lance.dataset(namespace_client=whole, table_id=table).count_rows() == 2


@pytest.mark.s3
def test_every_kind_of_work_is_done_on_the_storage_of_seaweedfs(whole: Any, home: list[str]) -> None:
    table = [*home, "t"]
    whole.create_table_stream({"id": table}, rows(1, 2, 3).to_reader())
    whole.insert_into_table({"id": table}, stream(rows(4)))
    whole.delete_from_table({"id": table, "predicate": "id = 1"})
    whole.create_table_scalar_index({"id": table, "column": "id", "index_type": "BTREE"})
    whole.create_table_tag({"id": table, "tag": "first", "version": 1})
    result = whole.query_table_stream({"id": table, "k": 10, "vector": {}, "filter": "id > 2"}).read_all()
    assert sorted(result["id"].to_pylist()) == [3, 4]
    assert [result.version for result in whole.list_table_versions({"id": table}).versions] == [1, 2, 3, 4]
    assert whole.describe_table({"id": table, "load_detailed_metadata": True, "tag": "first"}).version == 1
    assert [index.index_name for index in whole.list_table_indices({"id": table}).indexes]
    with pytest.raises(InvalidInputError):
        whole.create_table({"id": [*home, "u"]}, b"no Arrow")
    assert whole.list_tables({"id": home}).tables == ["t"]
