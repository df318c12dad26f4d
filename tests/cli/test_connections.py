"""Log in, log out, choose: which server a command works with, and that no token is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_program import Terminal
from tests.servers.lanceway import Lanceway


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "no-configuration" / "lanceway" / "connections.json"


def test_log_in_work_and_log_out(bare: Run, server: Lanceway, file: Path) -> None:
    ended = bare("login", server.address, "--name", "prod", stdin=f"{server.token}\n")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"Logged in to {server.uri} as prod, which is used from now on.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "lake" in bare("namespaces", "list").out.split()
    assert "lake" in bare("namespaces", "list", "--in", "prod").out.split()
    listed = bare("connections", "--json")
    assert listed.json == [{"name": "prod", "uri": server.uri, "in_use": True}]
    assert server.token not in ended.out + listed.out + bare("connections").out
    assert bare("logout").out == f"Logged out of {server.uri}.\n"
    assert server.token not in file.read_text()
    assert bare("namespaces", "list").code == 2


def test_a_token_of_a_file(bare: Run, server: Lanceway) -> None:
    ended = bare("login", server.uri, "--token-file", str(server.home / "admin-token"), "--json")
    assert ended.json == {"name": "127.0.0.1", "uri": server.uri}
    assert "lake" in bare("namespaces", "list").out.split()


@pytest.mark.parametrize("token", ["lw_wrong", ""])
def test_a_token_that_is_refused_is_not_saved(bare: Run, server: Lanceway, file: Path, token: str) -> None:
    ended = bare("login", server.address, stdin=f"{token}\n")
    assert (ended.code, ended.out) == (1, "")
    assert "Unauthenticated" in ended.err
    assert ("Pass --token-file FILE" in ended.err) == (not token)
    assert not file.exists()


@pytest.mark.parametrize("url", ["ftp://example.com", "http://me:hunter2-hunter2@127.0.0.1:9", "nonsense"])
def test_an_address_that_is_none_is_refused(bare: Run, file: Path, url: str) -> None:
    ended = bare("login", url, stdin="\n")
    assert (ended.code, ended.out) == (1, "")
    assert "hunter2" not in ended.err
    assert not file.exists()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("127.0.0.1:8400", "http://127.0.0.1:8400"),
        ("localhost", "http://localhost"),
        ("a.example", "https://a.example"),
    ],
)
def test_a_host_alone_is_refused_with_the_address_it_may_be(bare: Run, file: Path, url: str, address: str) -> None:
    ended = bare("login", url, stdin="lw_secret\n")
    assert (ended.code, ended.out) == (2, "")
    assert f"Did you mean {address}?" in ended.err
    assert not file.exists()


def test_use_another_one(bare: Run, server: Lanceway) -> None:
    for name in ("one", "two"):
        assert bare("login", server.address, "--name", name, stdin=server.token).code == 0
    assert bare("use", "one").out == f"Using one at {server.uri} from now on.\n"
    assert [row["in_use"] for row in bare("connections", "--json").json] == [True, False]
    ended = bare("use", "three")
    assert (ended.code, ended.out) == (1, "")
    assert "There are: one, two." in ended.err
    assert "Did you mean 'two'?" in bare("use", "twoo").err
    bare("logout", "one")
    ended = bare("logout")
    assert ended.code == 2
    assert "No connection is in use." in ended.err


def test_the_token_is_asked_for_on_a_terminal_and_not_shown(server: Lanceway, bare: Run) -> None:
    terminal = Terminal("login", server.address)
    # The space at its end is written after the echo is off; what is typed before that is thrown away.
    terminal.until(f"Token for {server.uri}: ")
    terminal.type(f"{server.token}\n")
    assert terminal.end() == 0
    assert "Logged in to" in terminal.seen
    assert server.token not in terminal.seen


def test_an_address_on_the_command_line_and_in_the_environment(
    bare: Run, server: Lanceway, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bare("namespaces", "list", "--url", server.address).code == 1
    monkeypatch.setenv("LANCEWAY_TOKEN", server.token)
    assert "lake" in bare("namespaces", "list", "--url", server.address).out.split()
    monkeypatch.setenv("LANCEWAY_URI", server.address)
    assert "lake" in bare("namespaces", "list").out.split()


def test_what_wins(bare: Run, server: Lanceway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option; the environment; the file here; the connection in use; the user's own file."""
    here, users = tmp_path / "lanceway.toml", tmp_path / "no-configuration" / "lanceway" / "lanceway.toml"
    users.parent.mkdir(parents=True)
    for name, file in (("here", here), ("users", users)):
        (tmp_path / name / f"of-{name}.lance").mkdir(parents=True)
        file.write_text(f'[namespaces.{name}]\ntype = "dir"\npath = "{tmp_path / name}"\nlayout = "directory"\n')
    here.rename(tmp_path / "away.toml")

    def root() -> str:
        return bare("namespaces", "list", "--json").out

    with monkeypatch.context() as context:
        assert '"lake"' not in root()  # the user's own file
        assert bare("login", server.address, stdin=server.token).code == 0
        assert '"lake"' in root()  # the connection in use
        (tmp_path / "away.toml").rename(here)
        assert '"lake"' not in root()  # the file here
        context.setenv("LANCEWAY_URI", server.address)
        context.setenv("LANCEWAY_TOKEN", server.token)
        assert '"lake"' in root()  # the environment
        assert bare("namespaces", "list", "--path", str(tmp_path / "here")).out == ""


def test_several_namespaces_here_need_a_choice_whatever_is_in_use(bare: Run, server: Lanceway, tmp_path: Path) -> None:
    assert bare("login", server.address, stdin=server.token).code == 0
    sections = (f'[namespaces.{name}]\ntype = "dir"\npath = "."\n' for name in ("one", "two"))
    (tmp_path / "lanceway.toml").write_text("".join(sections))
    ended = bare("tables", "list")
    assert (ended.code, ended.out) == (2, "")
    assert "one, two are configured" in ended.err


def test_the_server_of_this_machine_is_found(
    bare: Run, server: Lanceway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert bare("namespaces", "list").code == 2
    monkeypatch.setenv("LANCEWAY_SERVER__HOME", str(server.home))
    assert "lake" in bare("namespaces", "list").out.split()
    assert "lake" in bare("namespaces", "list", "--url", server.address).out.split()
