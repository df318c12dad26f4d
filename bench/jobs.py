"""How fast jobs between catalogs are, and what memory they need: 10,000 tables found, made known, compared and copied.

`python bench/jobs.py [TABLES]`. Each job runs in a process of its own, so that its peak of memory is its own; the
tables are copies of one small table. Memory is set beside that of the same job with a tenth of the tables.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import lance
import pyarrow as pa

import lanceway
from lanceway.spark import jobs

TABLES = 10_000
NAMESPACES = 100
# A directory's manifest takes one commit for each table, and copies are the disk's to time.
FEWER = 10


def fill(folder: Path, count: int) -> None:
    one = folder / "one.lance"
    lance.write_dataset(pa.table({"id": [1, 2, 3]}), str(one))
    for number in range(count):
        shutil.copytree(one, folder / "bucket" / f"n{number % NAMESPACES:03}" / f"t{number:06}.lance")


def lake(folder: Path, name: str) -> object:
    return lanceway.connect("lake", uri=f"sqlite:///{folder}/{name}.db", root=str(folder / name))


def work(folder: Path, job: str) -> jobs.Report:
    """One job by its name; they build on each other."""
    first, second = lake(folder, "first"), lake(folder, "second")
    some = [f"n{number:03}.*" for number in range(NAMESPACES // FEWER)]
    if job in ("crawl", "crawl again"):
        return jobs.crawl(str(folder / "bucket"), first)
    if job in ("sync", "sync again"):
        return jobs.sync(first, second)
    if job == "sync into a manifest":
        return jobs.sync(first, lanceway.connect("dir", path=str(folder), layout="manifest"), only=some)
    return jobs.migrate(first, lake(folder, "third"), only=some, state=folder / "journal")


JOBS = ("crawl", "crawl again", "sync", "sync again", "migrate", "migrate again", "sync into a manifest")


def measured(folder: Path, job: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, str(folder), job], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as large, tempfile.TemporaryDirectory() as small:
        fill(Path(large), count)
        fill(Path(small), count // 10)
        print(f"{'job':<22}{'tables':>8}{'seconds':>9}{'tables/s':>10}{'peak MB':>9}{'at a tenth':>12}")
        for job in JOBS:
            little, found = measured(Path(small), job), measured(Path(large), job)
            rate = found["tables"] / found["seconds"]
            print(
                f"{job:<22}{found['tables']:>8,.0f}{found['seconds']:>9.1f}{rate:>10,.0f}"
                f"{found['peak']:>9,.0f}{little['peak']:>12,.0f}",
                flush=True,
            )


def one(folder: Path, job: str) -> None:
    report = work(folder, job)
    assert report.ok, report.problems[:3]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"tables": report.tables, "seconds": report.seconds, "peak": peak}))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        one(Path(sys.argv[1]), sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TABLES)
