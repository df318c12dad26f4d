"""Long work on one table: what a person reads, what a program reads, and an end that says how to go on."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from tests.cli.conftest import Run
from tests.cli.test_program import Terminal


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Four fragments with the same ten rows each, of another day."""
    path = tmp_path / "warehouse" / "people.lance"
    for day in range(4):
        rows = pa.table({"id": range(10), "name": [f"n{i}" for i in range(10)], "day": [day] * 10})
        lance.write_dataset(rows, str(path), mode="append" if day else "create")
    return path


@pytest.fixture
def jobs(bare: Run, tmp_path: Path, people: Path) -> Run:
    return lambda *arguments: bare("--path", str(tmp_path / "warehouse"), "tables", *arguments)


def test_compact_and_clean_tell_first_and_then_do_it(jobs: Run, people: Path) -> None:
    plan = jobs("compact", "people", "--dry-run").out
    assert plan.startswith("Planned: rewrite 4 fragments of people in 1 group (40 rows, ")
    assert plan.endswith("Nothing was changed; leave --dry-run out to do it.\n")
    done = jobs("compact", "people")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("4 fragments of people became 1 (40 rows, ")
    assert done.out.endswith("people is at version 6.\n")
    assert jobs("compact", "people").out.startswith("Nothing to compact in people in ")
    assert (
        "remove 5 versions of people (1, 2, 3, 4, 5)" in jobs("clean", "people", "--older-than", "0s", "--dry-run").out
    )
    assert jobs("clean", "people", "--older-than", "1d").out.startswith("Removed 0 versions of people")
    found = jobs("clean", "people", "--keep", "2", "--json").json
    assert (found["job"], found["versions"], found["ok"]) == ("clean", [1, 2, 3, 4], True)
    assert len(lance.dataset(str(people)).versions()) == 2


def test_a_pattern_means_one_table_after_the_other(jobs: Run, people: Path) -> None:
    rows = pa.table({"id": [1, 2]})
    for name in ("pets", "broken", "other"):
        for mode in ("create", "append"):
            lance.write_dataset(rows, str(people.with_name(f"{name}.lance")), mode=mode)
    for file in (people.with_name("broken.lance") / "data").iterdir():
        file.unlink()
    done = jobs("compact", "p*")
    assert (done.code, done.out.count(" became 1 ")) == (0, 2)
    assert done.out.endswith("2 of 2 tables done.\n")
    failed = jobs("compact", "*")
    assert failed.code == 1
    assert "! broken: Compacting fragments on broken failed" in failed.out
    assert failed.out.endswith("3 of 4 tables done.\n")
    found = jobs("clean", "*", "--older-than", "0s", "--dry-run", "--json").json
    assert (found["ok"], [one["table"] for one in found["tables"]]) == (True, ["broken", "other", "people", "pets"])


def test_an_index_is_built_and_refreshed(jobs: Run, people: Path) -> None:
    plan = jobs("index", "people", "id", "--type", "btree", "--segments", "2", "--dry-run").out
    assert plan.startswith("Planned: build the BTREE index id_idx on id of people from 2 segments (40 rows).")
    assert jobs("index", "people", "id", "--type", "btree", "--segments", "2").out.startswith("Built the BTREE index")
    text = jobs(
        "index", "people", "name", "--type", "FTS", "--option", "with_position=true", "--name", "n", "--json"
    ).json
    assert (text["index"], text["segments"], text["rows"]) == ("n", 4, 40)
    assert jobs("indices", "refresh", "people").out.startswith("Nothing to add to the indices of people")
    lance.write_dataset(pa.table({"id": [99], "name": ["new"], "day": [9]}), str(people), mode="append")
    assert "add 1 row to id_idx" in jobs("indices", "refresh", "people", "id_idx", "--dry-run").out
    assert jobs("indices", "refresh", "people", "id_idx").out.startswith("Added 1 row to id_idx of people in ")
    again = jobs("index", "people", "id", "--type", "BTREE")
    assert (again.code, again.out) == (1, "")
    assert "already has an index 'id_idx'" in again.err


def test_a_function_beside_the_command_fills_a_column(jobs: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "maintenance_features.py").write_text("def size(batch):\n    return [[1.0, 2.0]] * batch.num_rows\n")
    options = ("people", "vector", "maintenance_features:size", "--input", "name", "--type", "float32[2]")
    assert jobs("backfill", *options, "--dry-run").out.startswith(
        "Planned: add vector (fixed_size_list<item: float>[2]) to people, for 40 rows, by maintenance_features:size."
    )
    assert jobs("backfill", *options).out.startswith("Added vector (fixed_size_list<item: float>[2]) to people")
    assert lance.dataset(str(people)).schema.field("vector").type == pa.list_(pa.float32(), 2)
    lance.write_dataset(pa.table({"id": [99], "name": ["new"], "day": [9]}), str(people), mode="append")
    assert jobs("backfill", *options, "--update").out.startswith("Filled vector (")
    kind = json.dumps({"type": "int8"})
    assert jobs("backfill", "people", "one", "maintenance_features:nothing", "--type", kind).code == 1


def test_doubles_go(jobs: Run, people: Path) -> None:
    plan = jobs("dedupe", "people", "--on", "id", "--order", "day", "--dry-run").out
    assert plan.startswith("Planned: delete 30 of 40 rows of people, the same by id.")
    assert (
        jobs("dedupe", "people", "--on", "id,name", "--order", "day", "--keep", "FIRST", "--json").json["deleted"] == 30
    )
    assert lance.dataset(str(people)).to_table()["day"].to_pylist() == [0] * 10


def test_a_table_goes_out_and_comes_back(jobs: Run, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert jobs("export", "people", out, "--where", "day = 1", "--dry-run").out.startswith(
        f"Planned: export 10 rows of version 4 of people to {out} in 4 parts."
    )
    done = jobs("export", "people", out, "--where", "day < 2", "--column", "id,day").out
    assert done.startswith("Exported 20 rows of version 4 of people in 4 files at ")
    assert jobs("export", "people", out, "--where", "day < 2", "--column", "id,day").out.startswith(
        "Found exported before: 20 rows"
    )
    assert jobs("import", out, "back", "--dry-run").out.startswith("Planned: import 20 rows of 4 files (")
    assert jobs("import", out, "back").out.startswith("Imported 20 rows of 4 files (")
    assert jobs("import", out, "back", "--mode", "CREATE").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("compact", "nowhere"), 1, "There is no table nowhere"),
        (("compact", "people", "--target-rows", "0"), 2, "--target-rows"),
        (("clean", "people", "--older-than", "soon"), 2, "'soon' is not an age; write a number and s, m, h, d or w"),
        (("index", "people", "nope", "--type", "BTREE"), 1, "people has no column nope"),
        (("backfill", "people", "x", "json:dumps", "--type", "{"), 2, "'{' is not JSON"),
        (("backfill", "people", "x", "json:dumps", "--type", "word"), 2, "is not a data type"),
        (("dedupe", "people", "--on", "nope"), 1, "people has no column 'nope'"),
        (("import", "./nothing", "people"), 1, "There is no Parquet file at"),
    ],
)
def test_bad_input_ends_in_one_sentence(jobs: Run, arguments: tuple[str, ...], code: int, sentence: str) -> None:
    ended = jobs(*arguments)
    assert (ended.code, ended.out) == (code, "")
    assert sentence in " ".join(ended.err.replace("│", " ").split())


@pytest.mark.slow
def test_progress_is_drawn_and_ctrl_c_stops_cleanly_and_says_how_to_go_on(
    jobs: Run, people: Path, tmp_path: Path
) -> None:
    # Each fragment waits until the test lets it go on, so that Ctrl-C comes while the second one is computed.
    (tmp_path / "maintenance_slow.py").write_text(
        "import pathlib, time\n"
        "def slow(batch):\n"
        "    day = batch['day'][0].as_py()\n"
        "    while day == 1 and not pathlib.Path('go').exists():\n"
        "        time.sleep(0.01)\n"
        "    return [day] * batch.num_rows\n"
    )
    command = ("backfill", "people", "again", "maintenance_slow:slow", "--type", "int64", "--threads", "1")
    terminal = Terminal("--path", str(tmp_path / "warehouse"), "jobs", *command)
    terminal.until("1 parts")
    terminal.process.send_signal(signal.SIGINT)
    terminal.until("stopping; Ctrl-C again ends at once")
    (tmp_path / "go").touch()
    assert terminal.end() == 130
    assert "rows/s" in terminal.seen
    assert "Stopped: 2 of 4 parts of people are done." in terminal.seen
    assert "lanceway: stopped; the same command resumes where it left off" in terminal.seen
    again = jobs(*command, "--json").json
    assert (again["computed"], again["parts"]) == (2, 4)
