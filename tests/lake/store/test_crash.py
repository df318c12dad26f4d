"""The crash drill: processes are killed at any moment and started again; nothing acknowledged is lost."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs.lake import repair
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.errors import TableNotFoundError
from lanceway.lake.store.database import open_store
from lanceway.lake.versions import checks
from lanceway.lake.versions.checks import Finding
from lanceway.tables.versions import manifests
from tests.lake.store import crash_program as drill
from tests.processes import WARM

pytestmark = pytest.mark.slow

PROCESSES = 3
PER_ROUND, FEWEST = 5, 150  # operations
FEWEST_DEATHS = 8
MOST_NOTED = 6_000  # bytes, which is some twenty operations
LAST_MOMENTS = 0.03  # seconds

Note = dict[str, Any]


@dataclass
class Life:
    """A process, and how much it may note before it dies; the moment after that is anybody's guess."""

    process: BaseProcess
    log: Path
    allowed: int  # bytes

    def is_over(self) -> bool:
        return self.allowed == 0 or (self.log.exists() and self.log.stat().st_size >= self.allowed)

    def end(self) -> None:
        time.sleep(random.uniform(0, LAST_MOMENTS))
        assert self.process.exitcode is None, f"a process ended by itself: {self.log.read_text()[-1000:]}"
        self.process.kill()
        self.process.join()

    def answered(self) -> int:
        return self.log.read_bytes().count(b'{"done"') if self.log.exists() else 0


class Drill:
    """The processes of a drill, and what they noted."""

    def __init__(self, uri: str, folder: Path, *, data: bool) -> None:
        self.uri, self.root, self.data = uri, str(folder / "warehouse"), data
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.deaths = 0

    def start(self) -> Life:
        """A process with names of its own and notes of its own."""
        seed = self.deaths = self.deaths + 1
        log = self.logs / f"{seed:06}"
        given = (self.uri, self.root, str(log), seed, self.data)
        process = WARM.Process(target=drill.run, args=given, daemon=True)
        process.start()
        # Some die before they have begun, while they connect.
        return Life(process, log, random.choice((0, *(random.randint(1, MOST_NOTED) for _ in range(5)))))

    def until(self, operations: int) -> None:
        """Kill and start again until so many operations are answered, and some processes have died."""
        living, answered = [self.start() for _ in range(PROCESSES)], 0
        while answered + sum(life.answered() for life in living) < operations or self.deaths < FEWEST_DEATHS:
            time.sleep(0.01)
            for life in [life for life in living if life.is_over()]:
                life.end()
                answered += life.answered()
                living.remove(life)
                living.append(self.start())
        for life in living:
            life.end()

    def failures(self) -> list[Note]:
        return [note for notes in self.notes() for note in notes if "failed" in note]

    def notes(self) -> Iterator[list[Note]]:
        """What each process noted, in order."""
        for file in sorted(self.logs.iterdir()):
            yield [json.loads(line) for line in file.read_text().splitlines()]


class Expected:
    """What the lake must hold after what one process noted."""

    def __init__(self, notes: list[Note]) -> None:
        self.namespaces: list[list[str]] = []
        self.versions: dict[tuple[str, ...], dict[int, str]] = {}
        self.rows: dict[tuple[str, ...], int] = {}
        self.gone: set[tuple[str, ...]] = set()
        self.doubtful: Note | None = None
        for note in notes:
            self.doubtful = note if "begun" in note else None
            if "done" in note:
                getattr(self, f"_{note['done']}")(note)

    def _chain(self, note: Note) -> None:
        self.namespaces.append(note["path"])

    def _declare(self, note: Note) -> None:
        self.versions[tuple(note["table"])] = {}

    def _fill(self, note: Note) -> None:
        self.rows[tuple(note["table"])] = note["rows"]

    def _append(self, note: Note) -> None:
        self.rows[tuple(note["table"])] += note["rows"]

    def _commit(self, note: Note) -> None:
        self.versions.setdefault(tuple(note["table"]), {})[note["version"]] = note["token"]

    def _batch(self, note: Note) -> None:
        for table, version in zip(note["tables"], note["versions"], strict=True):
            self.versions[tuple(table)][version] = note["token"]

    def _rename(self, note: Note) -> None:
        self.versions[tuple(note["target"])] = self.versions.pop(tuple(note["table"]))
        self.gone.add(tuple(note["table"]))

    def _drop(self, note: Note) -> None:
        del self.versions[tuple(note["table"])]
        self.gone.add(tuple(note["table"]))


def check_process(lake: LakeCatalog, expected: Expected) -> None:
    doubt = expected.doubtful or {}
    # Dropped or renamed in the last moment: it may be there or not.
    unknown = {tuple(doubt["table"])} if doubt.get("begun") in ("drop", "rename") else set()
    for path in expected.namespaces:
        for depth in range(1, len(path) + 1):
            lake.namespace_exists({"id": path[:depth]})
    for table in expected.versions.keys() - unknown:
        check_versions(lake, list(table), expected.versions[table])
    for table, rows in expected.rows.items():
        found = lake.count_table_rows({"id": list(table)}).count
        more = doubt["rows"] if doubt.get("begun") == "append" and tuple(doubt["table"]) == table else 0
        assert found in (rows, rows + more), table
    for table in expected.gone - unknown:
        with pytest.raises(TableNotFoundError):
            lake.table_exists({"id": list(table)})
    if doubt.get("begun") == "batch":
        assert len({has_token(lake, t, v, doubt["token"]) for t, v in pairs(doubt)}) == 1, doubt


def pairs(note: Note) -> Iterator[tuple[list[str], int]]:
    return zip(note["tables"], note["versions"], strict=True)


def check_versions(lake: LakeCatalog, table: list[str], tokens: dict[int, str]) -> None:
    """Each acknowledged version is there with what its writer wrote."""
    folder = Path(str(lake.describe_table({"id": table}).location))
    found = {version.version for version in lake.list_table_versions({"id": table}).versions}
    assert tokens.keys() <= found, table
    for version, token in tokens.items():
        assert (folder / manifests.key(version)).read_text() == token, (table, version)


def has_token(lake: LakeCatalog, table: list[str], version: int, token: str) -> bool:
    folder = Path(str(lake.describe_table({"id": table}).location))
    found = {each.version for each in lake.list_table_versions({"id": table}).versions}
    return version in found and (folder / manifests.key(version)).read_text() == token


def check_all(uri: str, kinds: set[str]) -> None:
    """What the shipped checker says: nothing wrong, no gap, and nothing to note but what is allowed."""
    store = open_store(uri)
    found: list[Finding] = [*store.snapshot(checks.check), *repair.check(store, {}, None)]
    store.close()
    assert [finding for finding in found if finding.wrong or finding.kind not in kinds] == []


def settle(lake: LakeCatalog, uri: str) -> None:
    """Look at every table, which finishes what the dead began, and delete what they dropped."""
    store = open_store(uri)
    for holder in store.read(checks.holders, limit=10**6):
        lake.list_table_versions({"id": list(holder.identifier)})
    store.close()
    lake.finish_removals()
    lake.close()


@pytest.mark.parametrize("data", [False, True], ids=["metadata", "data"])
def test_nothing_acknowledged_is_lost(uri: str, tmp_path: Path, rounds: int, data: bool) -> None:
    # A process that writes data loads pylance first, so it gets less done in its life.
    operations = max(FEWEST, PER_ROUND * rounds) // (5 if data else 1)
    crash = Drill(uri, tmp_path, data=data)
    drill.prepare(uri, crash.root)
    crash.until(operations)
    assert crash.failures() == []
    check_all(uri, {"uncopied", "removal"})
    lake = drill.connect(uri, crash.root)
    for notes in crash.notes():
        check_process(lake, Expected(notes))
    settle(lake, uri)
    check_all(uri, set())
