"""Iceberg's own client with its S3FileIO, which has no keys: by signed requests, and by credentials."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.servers import jvm, seaweedfs
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

STEPS = {
    "appended": "1",
    "read": "ello",
    "listed": "1",
    "in parts": "true",
    "deleted": "true",
    "staged": "true",
}


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    s3 = seaweedfs.start_sts(whole_run)
    lines = ["[server]", f'warehouse = "{s3.prefix()}"', f'credentials.role_arn = "{seaweedfs.ROLE}"']
    lines += [f'storage.{key} = "{value}"' for key, value in s3.storage_options.items()]
    server = lanceway_server.start(whole_run, name="java-storage", settings="\n".join(lines))
    server.ask("POST", "namespace/lake$team/create", {}).raise_for_status()
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("delegation", "by_list"),
    [("vended-credentials", "true"), ("remote-signing", "false")],  # a list of keys is not signed
)
def test_the_clients_files_are_written_read_and_deleted(server: Lanceway, delegation: str, by_list: str) -> None:
    # Without what this machine may know of keys.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        jvm.STORAGE_CLIENT.command(f"{server.address}/iceberg", server.token, delegation),
        env={**variables, "AWS_EC2_METADATA_DISABLED": "true"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    steps = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert steps == {**STEPS, "deleted by a list": by_list}
