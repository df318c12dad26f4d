"""The stock `apache-gravitino` client, unchanged, against a server: each scenario of `program.py`, as several users."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest

from tests.clients.gravitino import environment
from tests.paths import REPOSITORY
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

PROGRAM = Path(__file__).with_name("program.py")
GUIDE = REPOSITORY / "docs" / "guide" / "gravitino.md"
Results = dict[str, str | None]


def scenarios() -> list[str]:
    """The names in SCENARIOS; the program itself can be imported with the client alone."""
    for statement in ast.parse(PROGRAM.read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "SCENARIOS":
            assert isinstance(statement.value, ast.Tuple)
            return [ast.unparse(element) for element in statement.value.elts]
    raise AssertionError("the program has no scenarios")


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    started = lanceway_server.start(whole_run, name="gravitino")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def results(whole_run: Run, server: Lanceway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        tokens = {"admin": server.token}
        for user in ("bob", "dora"):
            tokens[user] = client.post("/tokens", json={"user": user}).raise_for_status().json()["token"]
    believing = lanceway_server.start(whole_run, name="believing", settings="[server]\nsimple_auth = true\n")
    with believing.client(base_url=f"{believing.address}/lanceway/v1") as client:
        client.post("/tokens", json={"user": "bob"}).raise_for_status()
    example = re.search(r"```text\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert example
    folder = str(tmp_path_factory.mktemp("folder"))
    told = json.dumps(
        {"uri": server.address, "tokens": tokens, "guide": example[1], "folder": folder, "simple": believing.address}
    )
    command = [environment.python(), str(PROGRAM)]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    yield json.loads(done.stdout)
    believing.stop()


@pytest.mark.parametrize("scenario", scenarios())
def test_the_stock_client(results: Results, scenario: str) -> None:
    assert results[scenario] is None, results[scenario]


def test_a_table_of_the_stock_client_is_filled_and_read_by_others(results: Results, server: Lanceway) -> None:
    """`orders` with a column of vectors, which the scenario of tables left there."""
    assert results["tables"] is None, results["tables"]
    place, properties = ["lake", "shop", "fruit"], {"uri": server.uri, "header.Authorization": f"Bearer {server.token}"}
    database = lancedb.connect_namespace("rest", properties)
    vectors = pa.array([[0.0, 1.0], [1.0, 0.0]], pa.list_(pa.float32(), 2))
    database.open_table("orders", namespace_path=place).add(pa.table({"v": vectors}))
    nearest = database.open_table("orders", namespace_path=place).search([1.0, 0.1]).limit(1).to_arrow()
    assert nearest["v"].to_pylist() == [[1.0, 0.0]]
    namespace = lance_namespace.connect("rest", properties)
    assert lance.dataset(namespace_client=namespace, table_id=[*place, "orders"]).to_table()["v"].to_pylist() == (
        vectors.to_pylist()
    )
    with server.client() as client:
        seen = client.get("/iceberg/v1/lake/namespaces/shop%1Ffruit/tables").raise_for_status().json()["identifiers"]
    assert {"namespace": ["shop", "fruit"], "name": "orders"} in seen
