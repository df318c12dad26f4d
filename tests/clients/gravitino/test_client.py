"""The stock `apache-gravitino` client, unchanged, against a server: each scenario of `program.py`, as several users."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.gravitino import environment
from tests.paths import REPOSITORY
from tests.servers import lanceway as lanceway_server
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
def results(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    server = lanceway_server.start(whole_run, name="gravitino")
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        tokens = {"admin": server.token}
        for user in ("bob", "dora"):
            tokens[user] = client.post("/tokens", json={"user": user}).raise_for_status().json()["token"]
    example = re.search(r"```text\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert example
    folder = str(tmp_path_factory.mktemp("folder"))
    told = json.dumps({"uri": server.address, "tokens": tokens, "guide": example[1], "folder": folder})
    command = [environment.python(), str(PROGRAM)]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    yield json.loads(done.stdout)
    server.stop()


@pytest.mark.parametrize("scenario", scenarios())
def test_the_stock_client(results: Results, scenario: str) -> None:
    assert results[scenario] is None, results[scenario]
