"""What looks after a server: health, readiness, metrics, its description, its log."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis

from lanceway.wire.lance import ROUTES
from tests.server.server_helpers import Id, ask, created, refused, serving, space
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.postgres import Postgres
from tests.servers.run import Run

OWN = "/openapi-lanceway.json"


@pytest.fixture(scope="module")
def made(server: Lanceway) -> Id:
    return created(server, 1, 2)


@pytest.mark.parametrize("page", ["/health", "/ready", "/metrics", "/openapi.json", OWN])
def test_these_need_no_credentials_and_tell_of_no_table(server: Lanceway, made: Id, page: str) -> None:
    with server.client(headers={}) as client:
        answer = client.get(page)
        assert answer.status_code == 200
        assert made[1] not in answer.text
        assert client.head(page).status_code == 200
        assert client.head(page).content == b""


@pytest.fixture(scope="module")
def fresh(whole_run: Run) -> Iterator[Lanceway]:
    """A server that nobody has asked anything yet but whether it is ready."""
    server = lanceway.start(whole_run)
    yield server
    assert server.stop() == 0


def test_a_server_that_is_ready_has_loaded_what_queries_need(fresh: Lanceway) -> None:
    """To import pylance takes seconds, which no client's first query is to wait for."""
    assert "/lance/lance." in Path(f"/proc/{serving(fresh)}/maps").read_text()


def test_a_server_without_its_database_is_alive_and_not_ready(whole_run: Run, postgres: Postgres) -> None:
    database = f"d{uuid.uuid4().hex}"
    postgres.execute(f"CREATE DATABASE {database}")
    server = lanceway.start(whole_run, environment={"LANCEWAY_DATABASE": postgres.uri(database=database)})
    with server.client() as client:
        assert client.get("/ready").status_code == 200
        postgres.execute(f"ALTER DATABASE {database} CONNECTION LIMIT 0")
        postgres.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        assert refused(client.get("/ready")) == (503, 17)
        assert client.get("/health").status_code == 200
        assert refused(client.post("/lance/v1/namespace/lake/describe")) == (503, 17)
        postgres.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true CONNECTION LIMIT -1")
        assert client.get("/ready").status_code == 200
        assert client.post("/lance/v1/namespace/lake/describe").status_code == 200
    assert server.stop() == 0


# -- metrics -------------------------------------------------------------------------------------


def test_requests_are_counted(fresh: Lanceway) -> None:
    id_ = created(fresh, 1)
    answers = [ask(fresh, "table", id_, "describe") for _ in range(3)]
    answers.append(ask(fresh, "table", [*id_, "x"], "describe"))
    for answer in answers:  # a request is counted before it has its line
        fresh.logged(answer.headers["x-request-id"])
    numbers = metrics(fresh)
    assert numbers['lanceway_requests_total{operation="describe_table",status="200"}'] == 3
    assert numbers['lanceway_requests_total{operation="describe_table",status="404"}'] == 1
    assert numbers['lanceway_request_seconds_count{operation="describe_table"}'] == 4
    assert numbers['lanceway_request_seconds_bucket{le="+Inf",operation="describe_table"}'] == 4
    assert numbers['lanceway_response_bytes_total{operation="describe_table"}'] > 100
    assert numbers["lanceway_requests_in_flight"] == 1, "the one that asks"


def metrics(server: Lanceway) -> dict[str, float]:
    with server.client() as client:
        lines = client.get("/metrics").text.splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


# -- the description -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def description(server: Lanceway) -> dict[str, Any]:
    with server.client() as client:
        found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def test_every_operation_is_described(description: dict[str, Any]) -> None:
    described = {(path, method) for path, methods in description["paths"].items() for method in methods}
    assert described == {(route.path, route.method.lower()) for route in ROUTES}
    assert description["servers"] == [{"url": "/lance"}]


def test_every_reference_leads_somewhere(description: dict[str, Any]) -> None:
    references = re.findall(r'"\$ref": ?"#/components/schemas/([^"]+)"', json.dumps(description))
    assert len(references) > 100
    assert set(references) <= set(description["components"]["schemas"])


@pytest.mark.parametrize(("page", "count"), [("/openapi.json", 54), (OWN, 78)])
def test_the_description_is_one(server: Lanceway, page: str, count: int) -> None:
    with server.client(headers={}) as client:
        schema = schemathesis.openapi.from_dict(client.get(page).json())
    schema.validate()
    found = list(schema.get_all_operations())
    assert len(found) == count
    assert all(not isinstance(operation, Exception) for operation in found)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/me", None),
        ("GET", "/v1/tokens", None),
        ("POST", "/v1/tokens", {"label": "x", "expires_in": 9}),
        ("GET", "/v1/pipelines", None),
        ("GET", "/v1/runs", None),
        ("POST", "/v1/leases/release", {"pipeline": "none", "key": "k" * 40}),
    ],
)
def test_what_is_our_own_answers_as_described(server: Lanceway, method: str, path: str, body: Any) -> None:
    with server.client() as client:
        schema = schemathesis.openapi.from_dict(client.get(OWN).json())
        answer = client.request(method, f"/lanceway{path}", json=body)
    assert answer.is_success
    schema[path][method].validate_response(answer)


# -- the log -------------------------------------------------------------------------------------


def test_every_request_has_its_line(server: Lanceway, made: Id) -> None:
    answer = ask(server, "table", made, "describe", params={"with_table_uri": "true"})
    line = server.logged(answer.headers["x-request-id"])
    assert line | {"time": "", "ms": 0, "client": ""} == {
        "time": "",
        "level": "info",
        "message": "request",
        "method": "POST",
        "path": f"/lance/v1/table/{'%24'.join(made)}/describe",
        "operation": "describe_table",
        "status": 200,
        "ms": 0,
        "bytes": len(answer.content),
        "user": "admin",
        "request_id": answer.headers["x-request-id"],
        "client": "",
    }
    assert line["ms"] > 0


def test_no_line_has_a_credential(server: Lanceway) -> None:
    id_, options = [*space(server), "t"], '{"aws_secret_access_key":"hunter2secret"}'
    secrets = ["hunter2secret", "lw_000000000000_" + "0" * 64, server.token]
    for headers in ({}, {"authorization": f"Bearer {secrets[1]}"}, {"x-api-key": secrets[1]}):
        ask(server, "table", id_, "create", content=b"x", params={"storage_options": options}, headers=headers)
        answer = ask(server, "table", id_, "describe", {"identity": {"auth_token": "hunter2secret"}}, headers=headers)
    server.logged(answer.headers["x-request-id"])
    assert not any(secret in server.lines() for secret in secrets)


def test_every_line_is_json(server: Lanceway, made: Id) -> None:
    answer = ask(server, "table", made, "describe")
    server.logged(answer.headers["x-request-id"])
    lines = server.lines().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("{"))
    assert all(json.loads(line)["time"] for line in lines[first:])


# -- storage options -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_s3(whole_run: Run, s3: Any) -> Iterator[Lanceway]:
    options = "".join(f'storage.{key} = "{value}"\n' for key, value in s3.storage_options.items())
    server = lanceway.start(whole_run, settings=f'[server]\nwarehouse = "{s3.prefix()}"\n{options}')
    yield server
    server.stop()


def test_keys_of_the_storage_stay_in_the_server(on_s3: Lanceway) -> None:
    id_ = created(on_s3, 1, 2)
    assert ask(on_s3, "table", id_, "count_rows").json() == 2
    answers = [
        ask(on_s3, "table", id_, "describe", {"vend_credentials": True}),
        ask(on_s3, "table", [*id_[:-1], "d"], "declare", {}),
        ask(on_s3, "table", [*id_[:-1], "c"], "create", content=(on_s3.home / "none").name.encode()),
    ]
    for answer in answers[:2]:
        told = answer.json()["storage_options"]
        assert set(told) == {"aws_region", "aws_endpoint", "allow_http"}
    assert all("secret" not in answer.text for answer in answers)
