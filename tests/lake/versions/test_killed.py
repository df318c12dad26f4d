"""A batch is all or nothing wherever its process is killed: before each of its statements in turn."""

from __future__ import annotations

import signal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lanceway.catalogs.lake import repair
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.errors import TableNotFoundError
from lanceway.lake.store.database import open_store
from lanceway.lake.versions import checks
from tests.lake.store import crash_program as drill
from tests.lake.versions import killed_program as killed
from tests.processes import WARM

Operation = dict[str, Any]
ROWS = pa.table({"id": [1]})


def commit(lake: LakeCatalog, table: list[str], version: int) -> None:
    lake.create_table_version({"id": table, **drill.stage(lake, table, version, f"version {version}")})


def prepared(lake: LakeCatalog, number: int) -> tuple[list[list[str]], list[Operation]]:
    """Tables with three versions each, and a batch that changes all of them, each in its own way."""
    tables = [[f"{name}{number}"] for name in ("one", "other", "trimmed", "gone", "new")]
    one, other, trimmed, gone, new = tables
    for table in (one, other, gone):
        lake.declare_table({"id": table})
        for version in (1, 2, 3):
            commit(lake, table, version)
    lake.create_table_stream({"id": trimmed}, ROWS.to_reader())
    for _ in range(2):
        lake.insert_into_table_stream({"id": trimmed}, ROWS.to_reader())
    ranges = [{"start_version": 1, "end_version": 3}]
    return tables, [
        {"declare_table": {"id": new}},
        {"create_table_version": {"id": one, **drill.stage(lake, one, 4, "version 4")}},
        {"create_table_version": {"id": other, **drill.stage(lake, other, 4, "version 4")}},
        {"delete_table_versions": {"id": trimmed, "ranges": ranges}},
        {"deregister_table": {"id": gone}},
    ]


def versions(lake: LakeCatalog, table: list[str]) -> list[int]:
    return sorted(version.version for version in lake.list_table_versions({"id": table}).versions)


def exists(lake: LakeCatalog, table: list[str]) -> bool:
    try:
        lake.table_exists({"id": table})
    except TableNotFoundError:
        return False
    return True


def changes(lake: LakeCatalog, tables: list[list[str]]) -> list[bool]:
    """For each table of a batch, whether it is changed; it is as before if not."""
    one, other, trimmed, gone, new = tables
    found = [versions(lake, table) for table in (one, other, trimmed)]
    assert all(each in ([1, 2, 3], [1, 2, 3, 4], [3]) for each in found)
    return [
        found[0] == [1, 2, 3, 4],
        found[1] == [1, 2, 3, 4],
        found[2] == [3],
        not exists(lake, gone),
        exists(lake, new),
    ]


@pytest.mark.slow
def test_a_batch_is_all_or_nothing_before_whichever_statement_its_process_is_killed(uri: str, tmp_path: Path) -> None:
    root, outcomes = str(tmp_path / "warehouse"), list[bool]()
    with drill.connect(uri, root) as lake:
        for number in count(1):
            tables, operations = prepared(lake, number)
            lake.close()  # its marks are written now, so that each process has the same statements before it
            process = WARM.Process(target=killed.commit, args=(uri, root, operations, number))
            process.start()
            process.join()
            done = set(changes(lake, tables))
            assert len(done) == 1, (number, changes(lake, tables))
            outcomes += done
            if outcomes[-1] is False:
                lake.batch_commit_tables({"operations": operations})  # what was staged is still there to be claimed
                assert set(changes(lake, tables)) == {True}
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL
    # Nothing until the COMMIT, and everything from there on.
    assert outcomes == sorted(outcomes)
    assert outcomes.count(False) >= 10
    assert outcomes.count(True) >= 3  # the copies follow: killed in between, and not at all
    store = open_store(uri)
    found = [*store.snapshot(checks.check), *repair.check(store, {}, root)]
    store.close()
    assert not [finding for finding in found if finding.wrong]
    # What is deregistered keeps its folder; and manifests of deleted versions may be left by who was to delete them.
    assert {finding.kind for finding in found} == {"folder", "stray"}
