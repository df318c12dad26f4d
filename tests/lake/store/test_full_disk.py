"""A full disk, a real one: what cannot be written is refused with what to do, and nothing of it is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lanceway.errors import ErrorCode
from tests.paths import REPOSITORY

pytestmark = pytest.mark.slow

MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'


def on_a_small_disk(size: str, folder: Path, scenario: str, uri: str, root: Path) -> Any:
    """Run `full.py` where the folder is a disk of that size, which only that process sees and which ends with it."""
    folder.mkdir()
    program = [sys.executable, "-m", "tests.lake.store.full_disk_program", scenario, str(folder), uri, str(root)]
    # As root of a namespace of its own, whoever runs the suite.
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh", size, str(folder), *program]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
def test_the_disk_of_the_database_is_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    told = on_a_small_disk("3m", disk, "database", f"sqlite:///{disk}/lake.db", tmp_path / "warehouse")
    for refused in told["refused"]:
        assert refused["code"] == ErrorCode.SERVICE_UNAVAILABLE
        assert "the disk is full; free some space" in refused["message"]
    assert told["more than acknowledged"] == {"namespaces": 0, "versions": 0}
    assert told["after"] == {"namespaces": 1, "findings": []}


def test_the_disk_of_the_tables_is_full(tmp_path: Path, uri: str) -> None:
    disk = tmp_path / "disk"
    told = on_a_small_disk("1m", disk, "storage", uri, disk / "warehouse")
    assert told["refused"]["code"] == ErrorCode.SERVICE_UNAVAILABLE
    assert "No space left on device. Free some space" in told["refused"]["message"]
    assert told["files"] == 4  # versions 1 and 2, what is staged for version 3, and the stray: no half of it
    assert told["versions"] == [1, 2, 3]
    assert told["texts"] == ["2", "3"]
    assert told["findings"] == ["stray"]


@pytest.mark.slow
def test_the_disk_of_the_tables_is_full_while_rows_are_written(tmp_path: Path, uri: str) -> None:
    disk = tmp_path / "disk"
    told = on_a_small_disk("1m", disk, "data", uri, disk / "warehouse")
    for refused in told["refused"]:
        assert refused["code"] == ErrorCode.SERVICE_UNAVAILABLE
        assert "Free space" in refused["message"]
    assert told["kept"] == {"rows": 1000, "tables": ["t"]}
    assert told["counts"] == [2000, 1000]
    assert told["findings"] == []
