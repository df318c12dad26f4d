"""Stock pyiceberg with s3fs, whose requests the server signs: each scenario of `program.py`, without STS."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanceway.access.privileges import CREATE_TABLE, MODIFY_TABLE, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from tests.clients.signing import environment
from tests.servers import lanceway as lanceway_server
from tests.servers.run import Run
from tests.servers.seaweedfs import S3, SECRET

PROGRAM = Path(__file__).with_name("program.py")
Results = dict[str, str | None]
_ENTER = (USE_CATALOG, USE_SCHEMA)


def scenarios() -> list[str]:
    """The names in SCENARIOS; the program itself can be imported in its own environment alone."""
    for statement in ast.parse(PROGRAM.read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "SCENARIOS":
            assert isinstance(statement.value, ast.Tuple)
            return [ast.unparse(element) for element in statement.value.elts]
    raise AssertionError("the program has no scenarios")


@pytest.fixture(scope="module")
def results(whole_run: Run, s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    lines = ["[server]", f'warehouse = "{s3.prefix()}"']
    lines += [f'storage.{key} = "{value}"' for key, value in s3.storage_options.items()]
    server = lanceway_server.start(whole_run, name="signing", settings="\n".join(lines))
    server.ask("POST", "namespace/lake$signed/create", {}).raise_for_status()
    tokens = {
        "owner": server.token_for("owner", *_ENTER, CREATE_TABLE),
        "writer": server.token_for("writer", *_ENTER, SELECT_TABLE, MODIFY_TABLE),
        "reader": server.token_for("reader", *_ENTER, SELECT_TABLE),
    }
    # Without what this machine may know of keys.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    variables |= {"HOME": str(tmp_path_factory.mktemp("home")), "AWS_EC2_METADATA_DISABLED": "true"}
    # Threads share one client, from which each takes the signer for a moment: docs/guide/credentials.md.
    variables["PYICEBERG_MAX_WORKERS"] = "1"
    done = subprocess.run(
        [environment.python(), str(PROGRAM)],
        input=json.dumps({"uri": f"{server.address}/iceberg", "tokens": tokens}),
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert SECRET not in done.stdout + done.stderr + server.lines()
    yield json.loads(done.stdout)
    server.stop()


@pytest.mark.parametrize("scenario", scenarios())
def test_the_stock_client(results: Results, scenario: str) -> None:
    assert results[scenario] is None, results[scenario]
