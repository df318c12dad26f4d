"""`lanceway events`: from the server's database, and from a server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from lanceway.identifiers import parse
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.tree import catalogs, namespaces
from tests.cli.conftest import Run
from tests.servers.lanceway import Lanceway


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/lake.db"


def make(store: LakeStore, name: str) -> None:
    catalog = store.read(catalogs.load, "lanceway", "lake").id
    store.transact(namespaces.create, catalog, parse(name), by="ada")


def test_events_are_printed_filtered_and_deleted(bare: Run, uri: str, tmp_path: Path) -> None:
    assert bare("lake", "create", "--uri", uri, "--root", str(tmp_path / "warehouse")).code == 0
    store = open_store(uri)
    for name in ("team", "team.deep", "other"):
        make(store, name)
    store.close()
    text = bare("events", "--type", "namespace", "--uri", uri).out.splitlines()
    assert [line.split("  ")[1:4] for line in text] == [
        ["namespace.created", f"lake${name}", "by ada"] for name in ("team", "team$deep", "other")
    ]
    found = [
        json.loads(line) for line in bare("--json", "events", "--under", "lake.team", "--uri", uri).out.splitlines()
    ]
    assert [event["subject"] for event in found] == ["lake$team", "lake$team$deep"]
    rest = bare("--json", "events", "--after", found[-1]["id"], "--uri", uri).out.splitlines()
    assert [json.loads(line)["subject"] for line in rest] == ["lake$other"]
    assert bare("events", "--after", "latest", "--uri", uri).out == ""
    assert "table.created" in bare("events", "--type", "nothing", "--uri", uri).err
    assert bare("--json", "lake", "purge-events", "--older-than", "1h", "--uri", uri).json["deleted"] == 0


def test_a_follower_of_a_server_prints_what_comes(server: Lanceway) -> None:
    name = f"n{uuid.uuid4().hex[:12]}"
    settings = (f"uri={server.uri}", f"header.x-api-key={server.token}")
    options = ["--type", "rest", *(word for setting in settings for word in ("--set", setting))]
    command = [sys.executable, "-m", "lanceway", *options, "--json", "events", "--follow", "--under", f"lake.{name}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        for step in (name, f"{name}$in"):
            assert server.ask("POST", f"namespace/lake${step}/create", {}).is_success
            assert json.loads(follower.stdout.readline())["subject"] == f"lake${step}"
        follower.send_signal(signal.SIGINT)
        assert follower.stdout.read() == ""
    assert follower.returncode == 130
