"""A full disk, a real one, while a step writes: it says so, leaves nothing behind, and goes on when there is room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.lake.store.test_full_disk import MOUNT
from tests.paths import REPOSITORY


def test_the_disk_of_some_tables_is_full(tmp_path: Path) -> None:
    disk, root = tmp_path / "disk", tmp_path / "root"
    disk.mkdir()
    root.mkdir()
    program = [sys.executable, "-m", "tests.pipelines.full_disk_program", str(disk), str(root)]
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh", "8m", str(disk), *program]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["states"] == {"roomy": "done", "added": "failed"}
    assert result["why"] == (
        "'added': Writing rows on added failed: the storage cannot be reached, is out of order or full. Free space, or "
        "try again later. Committed: roomy.added version 2. Run it again to resume from there."
    )
    assert result["left"] == []
    assert result["again"] == [True, 2, 2]
    assert result["versions"] == {"roomy": 2, "added": 2}
    assert result["rows"] == 4010
