"""What a lake does on a full disk: `full.py SCENARIO DISK URI ROOT`, run where DISK is a small one of its own.

It prints what happened as JSON; `test_full_disk.py` says what should have.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import count, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lanceway.catalogs.lake import repair
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.errors import LanceNamespaceError
from lanceway.lake.store.database import open_store
from lanceway.lake.versions import checks
from lanceway.tables.versions import manifests
from tests.lake.store import crash_program as drill

TABLE = ["t"]
BLOCK = b"\0" * 4096


class Disk:
    """A disk that can be filled to the last byte, and freed."""

    def __init__(self, folder: Path) -> None:
        self.ballast = folder / "ballast"

    def fill(self) -> None:
        with self.ballast.open("ab", buffering=0) as file, pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            file.writelines(repeat(BLOCK))

    def free(self) -> None:
        self.ballast.unlink()


def refusal(action: Callable[[], Any]) -> dict[str, Any]:
    """How an action is refused."""
    try:
        action()
    except LanceNamespaceError as error:
        return {"code": int(error.code), "message": str(error)}
    return {}


def versions(lake: LakeCatalog, table: list[str] = TABLE) -> list[int]:
    return sorted(version.version for version in lake.list_table_versions({"id": table}).versions)


def findings(lake: LakeCatalog, uri: str) -> list[str]:
    lake.close()  # its marks are written now
    store = open_store(uri)
    found = [*store.snapshot(checks.check), *repair.check(store, {}, None)]
    store.close()
    return [finding.kind for finding in found]


def commit(lake: LakeCatalog, version: int) -> None:
    lake.create_table_version({"id": TABLE, **drill.stage(lake, TABLE, version, str(version))})


def until_refused(action: Callable[[int], Any]) -> tuple[int, dict[str, Any]]:
    """Repeat until it is refused: how often it was done, and how it was refused."""
    for number in count(1):
        if refused := refusal(partial(action, number)):
            return number - 1, refused
    raise AssertionError


def database(lake: LakeCatalog, disk: Disk, uri: str) -> dict[str, Any]:
    """The disk of the database is full: it takes names and versions until there is no room, and not a half more."""
    lake.declare_table({"id": TABLE})
    disk.fill()
    # What a checkpoint has left in the log is free to be written again: a few go in, whatever the disk.
    made, names_refused = until_refused(lambda number: lake.create_namespaces([f"n{number:05}", "x", "y"]))
    claimed, refused = until_refused(lambda number: commit(lake, number))
    full = {"namespaces": len(lake.list_namespaces({"id": []}).namespaces) - made}
    disk.free()
    full["versions"] = len(versions(lake)) - claimed
    lake.create_namespaces([f"n{made + 1:05}", "x", "y"])
    commit(lake, claimed + 1)
    left = {"namespaces": len(lake.list_namespaces({"id": []}).namespaces) - made, "findings": findings(lake, uri)}
    return {"refused": [names_refused, refused], "more than acknowledged": full, "after": left}


def storage(lake: LakeCatalog, disk: Disk, uri: str) -> dict[str, Any]:
    """The disk of the tables is full: a claim needs no room, unless a stray in its place has to be kept.

    Then it stands, and is copied when there is room.
    """
    lake.declare_table({"id": TABLE})
    commit(lake, 1)
    claims = [drill.stage(lake, TABLE, number, str(number)) for number in (2, 3)]
    folder = Path(str(lake.describe_table({"id": TABLE}).location))
    (folder / manifests.key(3)).write_text("a stray")
    disk.fill()
    for claim in claims:
        lake.create_table_version({"id": TABLE, **claim})
    refused = refusal(lambda: versions(lake))
    files = sorted(path.name for path in (folder / manifests.FOLDER).iterdir())
    disk.free()
    found = versions(lake)
    texts = [(folder / manifests.key(number)).read_text() for number in (2, 3)]
    return {"refused": refused, "files": len(files), "versions": found, "texts": texts, "findings": findings(lake, uri)}


def data(lake: LakeCatalog, disk: Disk, uri: str) -> dict[str, Any]:
    """The disk is full while rows are written: there are none of them, and the table is as it was."""
    rows = pa.table({"id": list(range(1000))})
    lake.create_table_stream({"id": TABLE}, rows.to_reader())
    disk.fill()
    refused = [
        refusal(lambda: lake.insert_into_table_stream({"id": TABLE}, rows.to_reader())),
        refusal(lambda: lake.create_table_stream({"id": ["new"]}, rows.to_reader())),
    ]
    kept = {"rows": lake.count_table_rows({"id": TABLE}).count, "tables": list(lake.list_tables({"id": []}).tables)}
    disk.free()
    lake.insert_into_table_stream({"id": TABLE}, rows.to_reader())
    lake.create_table_stream({"id": ["new"]}, rows.to_reader())
    counts = [lake.count_table_rows({"id": table}).count for table in (TABLE, ["new"])]
    return {"refused": refused, "kept": kept, "counts": counts, "findings": findings(lake, uri)}


def main(scenario: str, disk: str, uri: str, root: str) -> None:
    with drill.connect(uri, root) as lake:
        answer = {"database": database, "storage": storage, "data": data}[scenario](lake, Disk(Path(disk)), uri)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
