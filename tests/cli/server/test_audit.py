"""`lanceway audit`: the trail of a server, from its database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lanceway.access.records.audit import object_path
from lanceway.lake.access.audit import DENIED, DONE, AuditEvent, write
from lanceway.lake.store.database import open_store
from tests.cli.conftest import Ended, Run

EVENT = AuditEvent("r1", "ada", "Lance REST", "drop_table", object_path(["lake", "team", "orders"]), DONE)
HOUR = 3_600_000


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    store = open_store(f"sqlite:///{folder}/lake.db")
    denied = replace(EVENT, request_id="r2", user="bob", outcome=DENIED, code=15, reason="no grant")
    store.transact(write, [(EVENT, 0), (denied, 3 * HOUR), (replace(EVENT, object=None), 48 * HOUR)])
    yield folder
    store.close()


@pytest.fixture
def audit(bare: Run, home: Path) -> Run:
    def run(*arguments: str, stdin: str | None = None) -> Ended:
        return bare("--json", "audit", *arguments, "--home", str(home), stdin=stdin)

    return run


def test_a_list_has_the_newest_first(audit: Run, bare: Run, home: Path) -> None:
    assert [(event["user"], event["outcome"]) for event in audit("list").json] == [
        ("ada", "done"),
        ("bob", "denied"),
        ("ada", "done"),
    ]
    shown = bare("audit", "list", "--home", str(home)).out
    assert "drop_table" in shown


@pytest.mark.parametrize(
    ("options", "users"),
    [
        (["--user", "bob"], ["bob"]),
        (["--outcome", "denied"], ["bob"]),
        (["--object", "lake.team"], ["ada", "bob"]),
        (["--object", "lake.other"], []),
        (["--since", "1h"], ["ada"]),
        (["--since", "1d", "--until", "1h"], ["bob"]),
        (["--until", "2020-01-01"], []),
        (["--request", "r2"], ["bob"]),
        (["--operation", "create_table"], []),
    ],
)
def test_filters(audit: Run, options: list[str], users: list[str]) -> None:
    assert [event["user"] for event in audit("list", *options).json] == users


def test_pages(audit: Run) -> None:
    first = audit("list", "--limit", "2").json
    assert len(first["events"]) == 2
    rest = audit("list", "--limit", "2", "--page-token", first["page_token"]).json
    assert [event.get("object") for event in rest["events"]] == [None]


def test_mistakes_are_explained(bare: Run, home: Path, audit: Run) -> None:
    assert "30d" in bare("audit", "list", "--since", "yesterday", "--home", str(home)).err
    assert "attempted, done, denied, failed" in bare("audit", "list", "--outcome", "lost", "--home", str(home)).err


def test_old_rows_can_be_deleted(audit: Run) -> None:
    assert audit("purge", "--older-than", "1d").json["deleted"] == 1
    assert len(audit("list").json) == 2
