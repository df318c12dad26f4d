"""Catalogs from the command line: made, shown, altered, disabled, tested and dropped, and their key replaced."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lanceway.lake.store.database import open_store
from lanceway.lake.tree import metalakes
from tests.cli.conftest import Ended, Run
from tests.processes import lanceway as program
from tests.servers import moto


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    store = open_store(f"sqlite:///{path}/lake.db")
    store.transact(metalakes.create, "lanceway", by="admin")
    store.close()
    return path


@pytest.fixture
def run(bare: Run, home: Path) -> Run:
    return lambda *arguments, **more: bare("catalogs", *arguments, "--home", str(home), **more)


def done(ended: Ended) -> Ended:
    assert ended.code == 0, ended
    return ended


def test_the_life_of_a_catalog(run: Run, tmp_path: Path) -> None:
    folder, other = tmp_path / "one", tmp_path / "two"
    folder.mkdir()
    made = done(
        run(
            "create", "old", "--type", "dir", "--set", f"path={folder}", "--comment", "c", "--property", "a=b", "--json"
        )
    ).json
    assert (made["settings"], made["properties"], made["comment"]) == ({"path": str(folder)}, {"a": "b"}, "c")
    assert [check["name"] for check in made["checks"]] == ["connect", "list"]
    done(run("create", "ours"))
    assert [each["name"] for each in done(run("list", "--json")).json] == ["old", "ours"]
    assert "Disabled catalog old." in done(run("disable", "old")).out
    assert done(run("describe", "old", "--json")).json["enabled"] is False
    done(run("enable", "old"))
    assert all(check["passed"] for check in done(run("test", "old", "--json")).json)
    changed = done(
        run(
            "alter",
            "old",
            "--set",
            f"path={other}",
            "--unset-property",
            "a",
            "--comment",
            "",
            "--rename",
            "new",
            "--json",
        )
    ).json
    assert (changed["name"], changed["settings"], changed["properties"]) == ("new", {"path": str(other)}, {})
    assert "comment" not in changed
    done(run("drop", "new", "--yes"))
    done(run("drop", "ours", "--yes"))
    assert done(run("list", "--json")).json == []
    missing = run("describe", "new")
    assert missing.code == 1
    assert "There is no catalog 'new'" in missing.err


def test_a_secret_is_no_argument(run: Run) -> None:
    ended = run("create", "there", "--type", "rest", "--set", "uri=http://127.0.0.1:9", "--set", "token=sesame")
    assert ended.code == 2
    assert "--secret token" in ended.err


def test_a_catalog_that_does_not_answer(run: Run) -> None:
    settings = ("--type", "rest", "--set", "uri=http://127.0.0.1:9", "--set", "retries=0")
    ended = run("create", "there", *settings)
    assert ended.code == 1
    assert "'list' failed" in ended.err
    done(run("create", "there", *settings, "--no-test"))
    assert run("test", "there").code == 1


def test_what_is_found_of_a_storage_is_told(run: Run) -> None:
    """moto makes credentials and does not hold them to their policy."""
    with moto.serve() as server:
        server.client("s3").create_bucket(Bucket="told")
        settings = {
            "path": "s3://told/tables",
            "storage.aws_region": moto.REGION,
            "storage.aws_endpoint": server.endpoint,
            "storage.allow_http": "true",
            "credentials.role_arn": f"arn:aws:iam::{moto.ACCOUNT}:role/tables",
        }
        given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        secrets = ("--secret", "storage.aws_access_key_id", "--secret", "storage.aws_secret_access_key")
        keys = f"{moto.KEY}\n{moto.SECRET}\n"
        made = done(run("create", "open", "--type", "dir", *given, *secrets, stdin=keys))
        altered = done(run("alter", "open", "--set", "credentials.duration=60"))
    for ended, sentence in ((made, "Created catalog open."), (altered, "Changed catalog open.")):
        *checks, last = ended.out.splitlines()
        assert last == sentence
        assert all(line.startswith("storage: ") for line in checks), "the others must have passed"
        assert "storage: reads: passed" in checks
        assert [line for line in checks if line.startswith("storage: refused outside the table: failed: The storage ")]
        assert "1 check failed, and the catalog is there all the same" in ended.err
        assert moto.SECRET not in ended.out + ended.err


def test_a_catalog_of_the_configuration_is_shown_and_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lanceway.toml").write_text(f'[catalogs.filed]\ntype = "dir"\npath = "{tmp_path}"\n')
    described = done(run("describe", "filed", "--json")).json
    assert (described["source"], described["settings"]) == ("configuration", {"path": str(tmp_path)})
    for arguments in (
        ("create", "filed"),
        ("alter", "filed", "--comment", "mine"),
        ("alter", "filed", "--rename", "other"),
        ("disable", "filed"),
        ("drop", "filed", "--yes"),
    ):
        refused = run(*arguments)
        assert refused.code == 1
        assert "comes from the configuration and is read-only here" in refused.err
    assert done(run("describe", "filed", "--json")).json == described


def test_a_flat_catalog_becomes_nested(run: Run, home: Path) -> None:
    done(run("create", "flat", "--flat"))
    with sqlite3.connect(home / "lake.db") as database:
        row = database.execute("SELECT o.id, o.catalog_id FROM objects o WHERE physical = ''").fetchone()
        columns = "catalog_id, parent_id, kind, name, physical, managed, properties, created_by, created_at"
        values = f"{row[1]}, {row[0]}, 'namespace', 'a:b', 'a:b', 0, '{{}}', 'me', 1, 'me', 1"
        database.execute(f"INSERT INTO objects ({columns}, changed_by, changed_at) VALUES ({values})")
    scan = run("enable-nested", "flat", "--dry-run", "--json")
    assert (scan.code, scan.json["conflicts"]) == (1, [["a:b"]])
    refused = run("enable-nested", "flat")
    assert refused.code == 1
    assert "['a:b']" in refused.err
    with sqlite3.connect(home / "lake.db") as database:
        database.execute("DELETE FROM objects WHERE name = 'a:b'")
    done(run("enable-nested", "flat"))
    assert done(run("describe", "flat", "--json")).json["nested"] is True


def test_the_key_of_secrets(run: Run, bare: Run, home: Path) -> None:
    arguments = ("--type", "rest", "--set", "uri=http://127.0.0.1:9", "--secret", "token", "--no-test", "--json")
    ended = program("catalogs", "create", "there", *arguments, "--home", str(home), stdin="sesame\n")
    assert ended.returncode == 0, ended.stderr
    assert "sesame" not in ended.stdout + ended.stderr
    assert done(run("describe", "there", "--json")).json["secrets"] == ["token"]
    key = home / "secret-key"
    assert key.stat().st_mode & 0o777 == 0o600
    first = key.read_text()
    assert "secrets of 1 catalog are" in done(bare("lake", "rotate-key", "--home", str(home))).out
    second = key.read_text()
    assert (len(second.split()), first == second) == (1, False)
    assert "unavailable" not in done(run("describe", "there", "--json")).json
    key.write_text(first)
    lost = done(run("describe", "there", "--json")).json["unavailable"]
    assert "which this server does not have" in lost
    assert str(key) in lost
    assert run("test", "there").code == 1
    assert bare("lake", "rotate-key", "--home", str(home)).code == 1, "what cannot be read is not thrown away"
    key.write_text(second)
    done(bare("lake", "rotate-key", "--home", str(home)))
    assert "unavailable" not in done(run("describe", "there", "--json")).json
