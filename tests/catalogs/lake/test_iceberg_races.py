"""Races for Iceberg tables, and processes that die on the way: no commit is lost, none is half made."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import LoadedIceberg
from lanceway.catalogs.lake.iceberg import orphans
from lanceway.errors import ErrorCode
from lanceway.tables.storage.store import local_path
from lanceway.testing.behaviours.concurrency import race
from tests.catalogs.lake import iceberg_program as drill
from tests.catalogs.lake.iceberg_helpers import TABLE, VIEW, commit, create, document, files, set_properties, uuid_is
from tests.catalogs.lake.lake_helpers import connect
from tests.catalogs.lake.lake_helpers import create as create_lance
from tests.drilling import DrillProgress
from tests.processes import WARM

pytestmark = pytest.mark.slow


def test_many_writers_lose_no_commit(uri: str, tmp_path: Path, rounds: int) -> None:
    """In full (--rounds 100), 16 writers make more than 500 commits on one table."""
    writers, commits = (4, 4) if rounds < 100 else (16, 32)
    with connect(uri, tmp_path) as lake:
        made = create(lake)
        arguments = (uri, str(tmp_path / "warehouse"), lake._catalog.name, TABLE)
        processes = [WARM.Process(target=drill.commit_many, args=(*arguments, n, commits)) for n in range(writers)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * writers
        last = lake.load_iceberg_table(TABLE)
        expected = {f"{writer}-{number}" for writer in range(writers) for number in range(commits)}
        assert set(document(last)["properties"]) == expected
        number = int(str(last.metadata_location).rpartition("/")[2].partition("-")[0])
        assert number == writers * commits
        # What lost a race has left no file: there is one for each commit, and the first.
        assert len(files(made)) == number + 1


def test_one_of_two_that_require_the_same_state_wins(lake: LakeCatalog, rounds: int) -> None:
    create(lake)
    schema = document(lake.load_iceberg_table(TABLE))["schemas"][0]

    def widen(number: int) -> None:
        current = lake.load_iceberg_table(TABLE)
        last = document(current)["last-column-id"]
        field = {"id": last + 1, "name": f"c{last + 1}", "required": False, "type": "int"}
        commit(
            lake,
            {"action": "add-schema", "schema": {**schema, "fields": [*schema["fields"], field]}},
            {"action": "set-current-schema", "schema-id": -1},
            requirements=[{"type": "assert-last-assigned-field-id", "last-assigned-field-id": last}, uuid_is(current)],
        )

    for _ in range(rounds):
        before = document(lake.load_iceberg_table(TABLE))["last-column-id"]
        results = race(widen, 4)
        assert set(results) <= {None, ErrorCode.CONCURRENT_MODIFICATION}
        assert document(lake.load_iceberg_table(TABLE))["last-column-id"] - before == results.count(None) >= 1


def test_one_name_has_one_winner(lake: LakeCatalog, tmp_path: Path, rounds: int) -> None:
    lake.create_namespace({"id": ["a"]})  # type: ignore[arg-type]
    for number in range(rounds):
        name = ["a", f"t{number}"]
        results = race(lambda n, name=name: create_lance(lake, *name) if n % 2 else create(lake, name), 6)  # type: ignore[misc]
        # A Lance writer that loses to an Iceberg table is told what has the name.
        assert set(results) <= {None, ErrorCode.TABLE_ALREADY_EXISTS, ErrorCode.INVALID_INPUT}
        assert results.count(None) == 1
    assert len([path for path in (tmp_path / "warehouse").iterdir() if any(path.rglob("*"))]) == rounds


def test_dropping_and_committing_leaves_a_whole_table_or_none(lake: LakeCatalog, rounds: int) -> None:
    for _ in range(rounds):
        create(lake)

        def work(number: int) -> None:
            if number == 0:
                lake.drop_iceberg_table(TABLE, purge=True)
            else:
                commit(lake, set_properties(**{str(number): "x"}))

        results = race(work, 4)
        assert results[0] is None
        assert set(results) <= {None, ErrorCode.TABLE_NOT_FOUND, ErrorCode.INVALID_TABLE_STATE}
        assert not lake.iceberg_table_exists(TABLE)


Program = Callable[[str, str, str, int], None]


@pytest.mark.parametrize("program", [drill.commit_once, drill.create_once])
def test_a_process_that_dies_anywhere_leaves_all_or_nothing(
    uri: str, tmp_path: Path, program: Program, rounds: int, progress: DrillProgress
) -> None:
    """In full (--rounds 100), killed before each statement and each file in turn; else before some of them."""
    outcomes = list[bool]()
    for number in count(1, 1 if rounds >= 100 else 8):
        folder = tmp_path / str(number)
        with connect(uri, folder) as lake:
            before = [create(lake, table) for table in (drill.ONE, drill.OTHER)]
            lake.close()
            arguments = (uri, str(folder / "warehouse"), lake._catalog.name, number)
            process = WARM.Process(target=program, args=arguments)
            process.start()
            process.join()
            done = [lake.iceberg_table_exists(drill.NEW)]
            if program is drill.commit_once:
                tables = [lake.load_iceberg_table(table) for table in (drill.ONE, drill.OTHER)]
                done += ["changed" in document(table)["properties"] for table in tables]
                assert done[1] or tables == before
            assert len(set(done)) == 1, (number, done)
            outcomes.append(done[0])
            if done[0]:
                lake.load_iceberg_table(drill.NEW)
            # What is left of it is found, and only what is old enough goes.
            assert lake.clean_iceberg(older_than=3600) == []
            lake.clean_iceberg(older_than=0)
            expected = {
                str(lake.load_iceberg_table(["a", name]).metadata_location) for name in lake.list_iceberg_tables(["a"])
            }
            expected |= {str(table.metadata_location) for table in before}
            stored = {f"file://{path}" for path in (folder / "warehouse").rglob("*.metadata.json")}
            assert stored == expected
            # The next one finds nothing in its way.
            if not done[0]:
                lake.commit_iceberg_tables(drill.transaction(lake))
        progress.step("processes that died")
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
    # Nothing until the COMMIT, and everything from there on.
    assert outcomes == sorted(outcomes)
    assert outcomes.count(False) >= 2
    assert outcomes[-1]


def seen(lake: LakeCatalog) -> dict[str, tuple[str, object]]:
    """What a catalog shows: each table and view, with the number of its metadata file and what is in it."""
    loaded = {name: lake.load_iceberg_table(["a", name]) for name in lake.list_iceberg_tables(["a"])}
    loaded |= {name: lake.load_iceberg_view(["a", name]) for name in lake.list_iceberg_views(["a"])}
    names = ("properties", "current-version-id")
    return {
        name: (Path(str(one.metadata_location)).name[:5], [document(one).get(key) for key in names])
        for name, one in loaded.items()
    }


def metadata_files(folder: Path) -> set[Path]:
    return set((folder / "warehouse").rglob("*.metadata.json"))


@pytest.mark.parametrize("step", drill.STEPS)
def test_a_process_that_dies_anywhere_in_another_step_leaves_all_or_nothing(
    uri: str, tmp_path: Path, step: str, rounds: int, progress: DrillProgress
) -> None:
    """In full (--rounds 100), killed before each statement and each file in turn; else before some of them."""
    outcomes, afters = list[bool](), list[object]()
    for number in count(1, 1 if rounds >= 100 else 4):
        folder = tmp_path / str(number)
        with connect(uri, folder) as lake:
            drill.prepare(lake)
            lake.close()
            before, written = seen(lake), metadata_files(folder)
            table, view = lake.load_iceberg_table(drill.ONE), lake.load_iceberg_view(VIEW)
            deleted = {"purge": table, "drop view": view}.get(step)
            arguments = (uri, str(folder / "warehouse"), lake._catalog.name, number, step)
            process = WARM.Process(target=drill.step_once, args=arguments)
            process.start()
            process.join()
            after = seen(lake)
            is_done = after != before
            outcomes.append(is_done)
            # What is left of it is found, and nothing that a row has, had or may have again.
            assert lake.clean_iceberg(older_than=3600) == []
            lake.finish_removals()
            lake.clean_iceberg(older_than=0)
            assert seen(lake) == after
            stored = metadata_files(folder)
            assert stored & written == {
                file for file in written if not (is_done and deleted and is_below(file, deleted))
            }
            assert len(stored - written) == (is_done and step == "replace view")
            # The next one finds nothing in its way.
            if not is_done:
                drill.STEPS[step](lake)
            afters.append(seen(lake))
            assert afters[0] == afters[-1] != before
        progress.step("processes that died")
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
    # Nothing until the COMMIT, and everything from there on.
    assert outcomes == sorted(outcomes)
    assert not outcomes[0]
    assert outcomes[-1]


def is_below(file: Path, loaded: LoadedIceberg) -> bool:
    return file.is_relative_to(str(local_path(loaded.location)))


def test_orphans_are_reported_and_deleted_when_they_are_old(lake: LakeCatalog, tmp_path: Path) -> None:
    made = create(lake)
    last = commit(lake, set_properties(k="v"))
    folder = Path(made.location.removeprefix("file://")) / "metadata"
    orphan = folder / "00002-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
    foreign = folder / "v1.metadata.json"
    unmade = (
        tmp_path / "warehouse" / ("0" * 32) / "metadata" / "00000-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
    )
    unmade.parent.mkdir(parents=True)
    for file in (orphan, foreign, unmade):
        file.write_bytes(made.metadata)
    create(lake, ["a", "kept"])
    lake.drop_iceberg_table(["a", "kept"])
    assert lake.clean_iceberg() == []
    for file in (orphan, foreign, unmade):
        os.utime(file, (0, 0))
    assert lake.clean_iceberg() == [str(orphan), str(unmade)]
    assert foreign.exists()
    assert not unmade.parent.parent.exists()
    assert len(list((tmp_path / "warehouse").rglob("*.metadata.json"))) == 4
    assert lake.load_iceberg_table(TABLE) == last
    assert lake.finish_removals() == []


def _aged(folder: Path, name: str, content: bytes) -> Path:
    """An old file that no row and no log has, with the name of one that a commit writes."""
    file = folder / "metadata" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    for each in file.parent.iterdir():
        os.utime(each, (0, 0))
    return file


def _moved(lake: LakeCatalog, target: Path, table: Sequence[str] = TABLE) -> tuple[LoadedIceberg, Path]:
    """Make a table and move it; return it and the folder that it was in, in which it has left two files."""
    made = create(lake, table)
    commit(lake, set_properties(k="v"), table=table)
    move = {"action": "set-location", "location": target.as_uri()}
    return commit(lake, move, table=table), Path(str(local_path(made.location)))


def test_orphans_where_a_table_was_before_it_moved(lake: LakeCatalog, tmp_path: Path) -> None:
    moved, former = _moved(lake, tmp_path / "moved")
    last = commit(lake, set_properties(k="w"))
    orphan = _aged(former, "00002-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json", moved.metadata)
    own = _aged(tmp_path / "moved", "00003-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json", moved.metadata)
    strange = _aged(former, "00003-0c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json", b"no metadata")
    found = [finding.message for finding in orphans.check(lake._lake, None, None) if finding.kind == "orphan metadata"]
    assert [text.partition(" ")[0] for text in found] == ["2"]
    assert sorted(lake.clean_iceberg()) == sorted([str(orphan), str(own)])
    assert strange.exists()
    assert len(list(former.rglob("*.metadata.json"))) == 3
    assert lake.load_iceberg_table(TABLE) == last


def test_the_first_file_of_a_table_that_moved_is_kept(lake: LakeCatalog, tmp_path: Path) -> None:
    made = create(lake)
    commit(lake, {"action": "set-location", "location": (tmp_path / "moved").as_uri()})
    file = Path(str(local_path(str(made.metadata_location))))
    os.utime(file, (0, 0))
    assert lake.clean_iceberg() == []
    assert file.exists()


def test_a_forged_log_leads_to_no_orphans_of_others(lake: LakeCatalog, tmp_path: Path) -> None:
    """Who registers a metadata file writes its log, and may name where another table's files are kept."""
    other = create(lake, ["a", "other"])
    commit(lake, set_properties(k="v"), table=["a", "other"])
    kept = Path(str(local_path(other.location)))
    lake.drop_iceberg_table(["a", "other"])  # without purge: its files stay
    document_of = document(other)
    place = tmp_path / "warehouse" / "mine"
    first = f"file://{kept}/metadata/00000-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
    log = [{"timestamp-ms": 1, "metadata-file": first}]
    file = place / "metadata" / "00001-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({**document_of, "location": place.as_uri(), "metadata-log": log}))
    lake.register_iceberg_table(TABLE, file.as_uri())
    for stored in kept.rglob("*.json"):
        os.utime(stored, (0, 0))
    assert lake.clean_iceberg() == []
    assert len(list(kept.rglob("*.metadata.json"))) == 2
