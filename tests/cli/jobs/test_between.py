"""Work between two catalogs: plans for people, summaries for programs, and an end that says how to resume."""

from __future__ import annotations

import signal
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from tests.cli.conftest import Run
from tests.cli.test_program import Terminal

CONFIGURATION = """
[namespaces.local]
type = "dir"
path = "./warehouse"
layout = "manifest"

[namespaces.flat]
type = "dir"
path = "./flat"

[namespaces.lake]
type = "lake"
uri = "sqlite:///lake.db"
root = "./lake"
"""


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lanceway.toml").write_text(CONFIGURATION)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows(path: Path, *ids: int) -> None:
    lance.write_dataset(pa.table({"id": ids}), str(path))


def test_a_crawl_registers_and_says_so(bare: Run, tmp_path: Path) -> None:
    rows(tmp_path / "bucket" / "team" / "orders.lance", 1, 2)
    plan = bare("catalogs", "crawl", "./bucket", "--into", "lake", "--dry-run")
    assert plan.code == 0
    assert plan.out.splitlines() == [
        f"+ team/orders.lance as team.orders at {tmp_path}/bucket/team/orders.lance",
        "Planned: 1 to register. Nothing was changed; leave --dry-run out to do it.",
    ]
    assert bare("--in", "lake", "catalogs", "crawl", "./bucket").out.startswith("Crawl: 1 registered in ")
    assert bare("--in", "lake", "tables", "count", "team.orders").out.strip() == "2"
    again = bare("catalogs", "crawl", "./bucket", "--into", "lake", "--json").json
    assert (again["known"], again["new"], again["ok"]) == (1, 0, True)


def test_a_sync_shows_a_plan_and_carries_it_out(bare: Run, tmp_path: Path, table: str) -> None:
    assert (
        bare("catalogs", "sync", "local", "lake", "--dry-run")
        .out.splitlines()[-1]
        .startswith("Planned: 1 to register.")
    )
    assert bare("catalogs", "sync", "local", "lake").out.startswith("Sync: 1 registered in ")
    bare("--in", "local", "tables", "drop", table, "--yes")
    plan = bare("catalogs", "sync", "local", "lake", "--dry-run", "--delete", "--json").json
    assert (plan["dry_run"], plan["gone"]) == (True, 1)
    assert plan["plan"][0] | {"location": ""} == {"state": "gone", "table": table, "target": table, "location": ""}
    assert bare("catalogs", "sync", "local", "lake").out.startswith("Sync: 1 gone from the source in ")
    assert bare("catalogs", "sync", "local", "lake", "--delete").out.startswith("Sync: 1 deregistered in ")
    assert bare("--in", "lake", "tables", "list", "team", "--json").json == []


def test_a_migration_is_verified_and_refusals_are_told_with_what_would_do(bare: Run, table: str) -> None:
    done = bare("catalogs", "migrate", "local", "lake:copies", "--only", "team.*")
    assert done.code == 0
    assert done.out.startswith("Migrate: 1 copied in ")
    assert "3 rows" in done.out
    refused = bare("catalogs", "migrate", "local", "flat")
    assert refused.code == 1
    assert "! team.people: refused: " in refused.out
    assert "With --flatten _ it becomes team_people" in refused.out
    assert bare("catalogs", "migrate", "local", "flat", "--flatten", "_").code == 0
    failed = bare("catalogs", "migrate", "local", "flat", "--json")
    assert failed.code == 1
    assert failed.json["problems"][0]["state"] == "refused"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("sync", "local", "nowhere"), 1, "No namespace is called 'nowhere'"),
        (("sync", "local", "local"), 1, "Source and target are the same"),
        (("migrate", "local", "lake", "--data", "move"), 1, "data is 'move', but must be copy or keep"),
        (("crawl", "lake", "--into", "lake"), 2, "is of type lake, and only a folder can be crawled"),
        (("crawl", "./missing", "--into", "lake"), 1, "There is nothing at ./missing"),
        (("sync", "local", "lake", "--threads", "0"), 2, "--threads"),
    ],
)
def test_bad_input_ends_in_one_sentence(bare: Run, arguments: tuple[str, ...], code: int, sentence: str) -> None:
    ended = bare("jobs", *arguments)
    assert ended.code == code
    assert sentence in " ".join(ended.err.replace("│", " ").split())


@pytest.mark.slow
def test_progress_is_drawn_and_ctrl_c_stops_cleanly_and_says_how_to_go_on(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    for number in range(5):
        lance.write_dataset(pa.table({"id": range(400_000)}), str(tmp_path / f"warehouse/t{number}.lance"))
    terminal = Terminal("catalogs", "migrate", "./warehouse", "lake", "--threads", "1")
    terminal.until("rows/s")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Migrate" in terminal.seen
    assert "lanceway: stopped; the same command resumes where it left off" in terminal.seen
    again = bare("catalogs", "migrate", "./warehouse", "lake", "--json")
    assert again.code == 0, again
    assert again.json["new"] + again.json["known"] == 5
    assert again.json["new"] > 0
