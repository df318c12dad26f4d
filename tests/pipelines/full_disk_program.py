"""What a pipeline does on a full disk: `full_disk.py DISK ROOT`, run where DISK is a small one of its own.

It prints what happened as JSON; `test_full_disk.py` says what should have.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import lanceway.spark
from lanceway import pipelines
from lanceway.pipelines import model
from tests.lake.store.full_disk_program import Disk

ROOM = 200_000  # bytes that are left: enough to begin with a write, and not to end it
CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
PIPELINE = """\
pipeline: full
sources:
  raw: {files: data, format: json, schema: "id BIGINT, text STRING"}
outputs:
  roomy: {from: raw, table: roomy.added}
  added: {from: raw, table: small.added}
"""


def data(name: str, start: int, count: int, width: int) -> None:
    """Rows whose texts cannot be made shorter."""
    rows = ({"id": id_, "text": os.urandom(width).hex()} for id_ in range(start, start + count))
    Path("data", name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def files(disk: Path) -> set[str]:
    return {str(file.relative_to(disk)) for file in disk.rglob("*") if file.is_file()}


def main(disk: Path, root: Path) -> None:
    os.chdir(root)
    Path("data").mkdir()
    Path("full.yaml").write_text(PIPELINE)
    config = root / "lanceway.toml"
    config.write_text(
        f'[namespaces.roomy]\ntype = "dir"\npath = "{root}/roomy"\n'
        f'[namespaces.small]\ntype = "dir"\npath = "{disk}/small"\n'
    )
    (disk / "small").mkdir()
    options: dict[str, Any] = {"state": f"sqlite:///{root}/state.db", "config": config, "threads": 1}
    options["spark"] = lanceway.spark.session("local[1]", conf=CONF, config=config)
    options["spark"].sparkContext.setLogLevel("OFF")
    data("1.json", 0, 10, 10)
    assert pipelines.run("full.yaml", **options).ok
    data("2.json", 10, 4000, 200)
    before, full = files(disk), Disk(disk)
    full.fill()
    os.truncate(full.ballast, full.ballast.stat().st_size - ROOM)
    failed = pipelines.run("full.yaml", **options)
    leftover = files(disk) - before - {full.ballast.name}
    full.free()
    again = pipelines.run("full.yaml", **options)
    result = {
        "states": {step.name: step.state for step in failed.steps},
        "why": failed.run.error,
        "left": sorted(leftover),
        "again": [again.ok, again.run.number, again.run.attempts],
        "versions": {step.name: step.version for step in again.steps},
        "rows": model.find("small.added", config).open().count_rows(),
    }
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
