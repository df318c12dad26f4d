"""What stands behind the server: it gets nothing of a client's that was not meant for it, and is named to none."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.server.server_helpers import ask, created, refused
from tests.servers import lanceway
from tests.servers.faults import Faults, faults
from tests.servers.lanceway import Lanceway
from tests.servers.postgres import Postgres
from tests.servers.run import Run

UPSTREAM_TOKEN = "token-of-the-mount"
CLAIMS = {"x-remote-user": "root", "x-auth-request-user": "superuser", "x-forwarded-user": "root", "x-tenant": "blue"}


@dataclass(frozen=True)
class Behind:
    server: Lanceway
    upstream: Faults

    @property
    def last(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.upstream.seen[-1].headers.items()}


@pytest.fixture(scope="module", params=["", "X-Tenant, Authorization"], ids=["none", "one"])
def behind(whole_run: Run, request: pytest.FixtureRequest) -> Iterator[Behind]:
    """A server with a mounted service, which lets no header through, or one besides the client's token."""
    with faults() as upstream:
        mount = f'[catalogs.far]\ntype = "rest"\nuri = "{upstream.uri}"\ntoken = "{UPSTREAM_TOKEN}"\nretries = 0\n'
        server = lanceway.start(whole_run, settings=f'[server]\nforwarded_headers = "{request.param}"\n{mount}')
        yield Behind(server, upstream)
        server.stop()


def test_headers_reach_a_mounted_service_by_name_alone(behind: Behind, request: pytest.FixtureRequest) -> None:
    is_one = request.node.callspec.id == "one"
    body = {"context": {f"header.{name}": "said" for name in CLAIMS} | {"HEADER.X-Remote-User": "said"}}
    behind.upstream.will(_ok(b"{}"))
    answer = ask(behind.server, "namespace", ["far", "n"], "describe", body, headers=CLAIMS)
    assert answer.status_code == 200, answer.text
    assert behind.last["authorization"] == f"Bearer {UPSTREAM_TOKEN}"
    assert {name: behind.last[name] for name in CLAIMS if name in behind.last} == (
        {"x-tenant": "blue"} if is_one else {}
    )
    assert b"said" not in behind.upstream.seen[-1].body


def test_an_identity_inside_a_batch_or_a_query_is_dropped(behind: Behind) -> None:
    identity = {"identity": {"auth_token": "mine"}, "context": {"header.x-remote-user": "root", "kept": "yes"}}
    operations = [{"deregister_table": {"id": ["far", "n", "t"], **identity}}]
    behind.upstream.will(_ok(b'{"results":[]}'))
    behind.server.ask("POST", "table/batch-commit", {"operations": operations})
    behind.upstream.will(_ok(b'"plan"'))
    query = {"k": 1, "vector": {}, **identity}
    ask(behind.server, "table", ["far", "n", "t"], "explain_plan", {"query": query})
    assert behind.upstream.seen
    for seen in behind.upstream.seen:
        assert b"auth_token" not in seen.body
        assert b"x-remote-user" not in seen.body


def test_no_answer_names_the_service(behind: Behind) -> None:
    address = behind.upstream.uri.removeprefix("http://")
    for answer in (_answer(401, b'{"error":"no","code":16}'), _answer(500, b"oh"), b""):
        behind.upstream.will(answer)
        refusal = ask(behind.server, "namespace", ["far", "n"], "describe")
        assert refusal.is_error
        assert address not in refusal.text, refusal.text
        assert behind.upstream.uri not in refusal.text


def _ok(content: bytes) -> bytes:
    return _answer(200, content)


def _answer(status: int, content: bytes) -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def test_a_database_that_is_gone_is_named_in_the_log_alone(whole_run: Run, postgres: Postgres) -> None:
    database = f"d{uuid.uuid4().hex}"
    postgres.execute(f"CREATE DATABASE {database}")
    uri = postgres.uri(database=database)
    server = lanceway.start(whole_run, environment={"LANCEWAY_DATABASE": uri}, arguments=("--anonymous",))
    postgres.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
    postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
    for headers in ({}, server.headers):  # a request for the lake, and one whose token cannot be looked up
        with server.client(headers=headers) as client:
            answer = client.post("/lance/v1/namespace/lake/describe")
        assert refused(answer) == (503, 17)
        for secret in (database, "postgresql", "127.0.0.1", "localhost"):
            assert secret not in answer.text
        server.logged(answer.headers["x-request-id"])
        lines = [json.loads(line) for line in server.lines().splitlines() if answer.headers["x-request-id"] in line]
        assert any(database in line.get("error", "") + line.get("cause", "") for line in lines), lines
    server.stop()


@pytest.mark.parametrize(
    "body",
    [
        {"k": 10**9, "vector": {"single_vector": [1.0]}},
        {"k": 10**30, "vector": {}},
        {"k": 1, "vector": {}, "offset": 10**30},
        {"k": 1, "vector": {}, "nprobes": 10**9},
        {"k": 1, "vector": {}, "refine_factor": 10**9},
        {"k": 1, "vector": {}, "ef": 10**9},
    ],
)
def test_numbers_have_upper_bounds(server: Lanceway, body: dict[str, object]) -> None:
    assert refused(ask(server, "table", created(server, 1), "query", body)) == (400, 13)


def test_a_plain_query_may_ask_for_all_rows(server: Lanceway) -> None:
    id_ = created(server, 1, 2)
    assert ask(server, "table", id_, "query", {"k": 2**63 - 1, "vector": {}}).status_code == 200
    listed = ask(server, "namespace", id_[:-1], "table/list", params={"limit": str(10**30)})
    assert listed.json()["tables"] == ["t"]
