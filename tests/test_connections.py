"""Saved connections and the server of this machine: who can read them, and to whom a token is sent."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lanceway
from lanceway import config
from lanceway.config import connections
from lanceway.config.connections import Connection
from lanceway.errors import InvalidInputError

SECRET = "hunter2-hunter2"
PROD = Connection("prod", "https://lance.example.com/lance", SECRET)


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    for name in ("LANCEWAY_CONFIG", "LANCEWAY_URI", "LANCEWAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "admin-token").write_text(f"{SECRET}\n")
    return tmp_path / "home"


# -- saved -----------------------------------------------------------------------------------------


def test_they_are_saved_used_and_forgotten() -> None:
    assert (connections.saved(), connections.in_use()) == ({}, None)
    connections.save(PROD)
    connections.save(Connection("dev", "http://127.0.0.1:8400/lance"))
    assert connections.saved()["prod"] == PROD
    assert connections.in_use() == Connection("dev", "http://127.0.0.1:8400/lance")
    connections.use("prod")
    assert connections.in_use() == PROD
    assert connections.forget("prod") == PROD
    assert (list(connections.saved()), connections.in_use()) == (["dev"], None)


def test_the_owner_alone_can_read_them(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        connections.save(PROD)
        connections.use("prod")
    finally:
        os.umask(umask)
    folder = tmp_path / "configuration" / "lanceway"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [(file.name, file.stat().st_mode & 0o777) for file in folder.iterdir()] == [("connections.json", 0o600)]


def test_no_representation_and_no_message_has_the_token(tmp_path: Path) -> None:
    assert SECRET not in repr(PROD)
    connections.save(PROD)
    with pytest.raises(InvalidInputError, match=r"No connection is called 'x'. There are: prod.") as refusal:
        connections.use("x")
    assert SECRET not in str(refusal.value)
    assert SECRET not in repr(config.namespace("prod"))


@pytest.mark.parametrize("text", [SECRET, "[]", '{"connections": {"a": {}}}', '{"connections": {"a": 1}}', "\xff"])
def test_a_file_that_cannot_be_read_says_what_to_do(tmp_path: Path, text: str) -> None:
    file = tmp_path / "configuration" / "lanceway" / "connections.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(InvalidInputError, match="Delete it and log in again") as refusal:
        connections.saved()
    assert SECRET not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_python_connects_by_their_names() -> None:
    connections.save(PROD)
    assert "https://lance.example.com/lance" in repr(lanceway.connect("prod"))
    assert "https://lance.example.com/lance" in repr(lanceway.connect(name="prod"))
    with pytest.raises(InvalidInputError, match=r"Did you mean 'prod'.* Saved connections: prod"):
        lanceway.connect(name="prd")


def test_a_name_of_the_file_wins(tmp_path: Path) -> None:
    connections.save(PROD)
    Path("lanceway.toml").write_text('[namespaces.prod]\ntype = "dir"\npath = "."\n')
    assert config.namespace("prod").type == "dir"


# -- of the environment ----------------------------------------------------------------------------


def test_the_environment_names_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCEWAY_TOKEN", SECRET)
    assert connections.of_environment() is None
    monkeypatch.setenv("LANCEWAY_URI", "http://127.0.0.1:8400")
    server = connections.of_environment()
    assert server is not None
    assert server.settings == {"uri": "http://127.0.0.1:8400/lance", "token": SECRET}


def test_a_token_goes_only_where_it_is_meant_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connections.save(PROD)
    assert connections.to("https://lance.example.com", home).token == SECRET
    for other in ("https://lance.example.com:444", "http://lance.example.com", "https://lance.example.com/lance2"):
        assert connections.to(other, home).token is None
    monkeypatch.setenv("LANCEWAY_TOKEN", "of-the-environment")
    assert connections.to("http://other", home).token == "of-the-environment"
    monkeypatch.setenv("LANCEWAY_URI", "http://named")
    assert connections.to("http://other", home).token is None
    assert connections.to("http://named", home).token == "of-the-environment"
    assert connections.to("https://lance.example.com", home).token == SECRET


# -- of this machine -------------------------------------------------------------------------------


def test_a_running_server_is_found_and_no_longer_when_it_ends(home: Path) -> None:
    with connections.running(home, "http://127.0.0.1:8400", home / "admin-token"):
        server = connections.of_this_machine(home)
        assert (home / "server.json").stat().st_mode & 0o777 == 0o600
        assert SECRET not in (home / "server.json").read_text()
    assert server is not None
    assert server.settings == {"uri": "http://127.0.0.1:8400/lance", "token_file": str(home / "admin-token")}
    assert connections.of_this_machine(home) is None
    assert [file.name for file in home.iterdir()] == ["admin-token"]


def test_a_server_that_began_later_keeps_its_record(home: Path) -> None:
    with connections.running(home, "http://127.0.0.1:1", home / "admin-token"):
        later = connections.running(home, "http://127.0.0.1:2", home / "admin-token")
        later.__enter__()
    server = connections.of_this_machine(home)
    assert server is not None
    assert server.uri == "http://127.0.0.1:2/lance"
    later.__exit__(None, None, None)


def test_what_a_killed_server_left_is_not_believed(home: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from lanceway.config import connections\n"
        "with connections.running(Path(sys.argv[1]), 'http://127.0.0.1:8400', Path('t')):\n"
        "    print('up', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert connections.of_this_machine(home) is not None
        process.send_signal(signal.SIGKILL)
    assert (home / "server.json").exists()
    assert connections.of_this_machine(home) is None


@pytest.mark.parametrize(
    "change",
    [
        {"address": "http://192.0.2.1:8400"},
        {"address": "http://example.com:8400"},
        {"host": f"not-{platform.node()}"},
        {"address": None},
    ],
    ids=str,
)
def test_only_a_server_on_loopback_of_this_machine_is_believed(home: Path, change: dict[str, str]) -> None:
    with connections.running(home, "http://127.0.0.1:8400", home / "admin-token"):
        record = json.loads((home / "server.json").read_text())
        (home / "server.json").write_text(json.dumps({**record, **change}))
        assert connections.of_this_machine(home) is None


def test_a_record_that_others_may_write_or_that_is_a_link_is_not_believed(home: Path, tmp_path: Path) -> None:
    with connections.running(home, "http://127.0.0.1:8400", home / "admin-token"):
        (home / "server.json").chmod(0o666)
        assert connections.of_this_machine(home) is None
        (home / "server.json").chmod(0o600)
        (home / "server.json").rename(tmp_path / "elsewhere")
        (home / "server.json").symlink_to(tmp_path / "elsewhere")
        assert connections.of_this_machine(home) is None
