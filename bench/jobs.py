"""How fast jobs between catalogs are, and what memory they need: 10,000 tables found, made known, compared and copied.

    python bench/jobs.py                                   every job, with 10,000 tables
    python bench/jobs.py --only migrate --tables 10000     one of them alone

Each job runs in a process of its own, so that its peak of memory is its own; the tables are copies of one small table.
Memory is set beside that of the same job with a tenth of the tables. What a job builds on is done before it, untimed.
Where every job is measured, those that take long (a copy of each table, a commit to a manifest for each) get a tenth of
the tables; with --only they get all.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

import lanceway
from lanceway import jobs

TABLES = 10_000
NAMESPACES = 100
# A directory's manifest takes one commit for each table, and copies are the disk's to time.
FEWER = 10


def fill(folder: Path, count: int) -> None:
    one = folder / "one.lance"
    lance.write_dataset(pa.table({"id": [1, 2, 3]}), str(one))
    for number in range(count):
        shutil.copytree(one, folder / "bucket" / f"n{number % NAMESPACES:03}" / f"t{number:06}.lance")


def lake(folder: Path, name: str) -> Any:
    return lanceway.connect("lake", uri=f"sqlite:///{folder}/{name}.db", root=str(folder / name))


def crawl(folder: Path, only: Sequence[str]) -> jobs.JobReport:
    return jobs.crawl(str(folder / "bucket"), lake(folder, "first"))


def sync(folder: Path, only: Sequence[str]) -> jobs.JobReport:
    return jobs.sync(lake(folder, "first"), lake(folder, "second"))


def migrate(folder: Path, only: Sequence[str]) -> jobs.JobReport:
    return jobs.migrate(lake(folder, "first"), lake(folder, "third"), only=only, state=folder / "journal")


def sync_into_manifest(folder: Path, only: Sequence[str]) -> jobs.JobReport:
    manifest = lanceway.connect("dir", path=str(folder), layout="manifest")
    return jobs.sync(lake(folder, "first"), manifest, only=only)


# Each with those that it builds on; the second time, a job finds all done.
JOBS: dict[str, tuple[Callable[[Path, Sequence[str]], jobs.JobReport], tuple[str, ...]]] = {
    "crawl": (crawl, ()),
    "crawl again": (crawl, ("crawl",)),
    "sync": (sync, ("crawl",)),
    "sync again": (sync, ("crawl", "sync")),
    "migrate": (migrate, ("crawl",)),
    "migrate again": (migrate, ("crawl", "migrate")),
    "sync into a manifest": (sync_into_manifest, ("crawl",)),
}


def measured(folder: Path, job: str, *, whole: bool) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", job, "--folder", str(folder), *(["--whole"] if whole else [])]
    found: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return found


def main(count: int, only: Sequence[str] | None) -> None:
    with tempfile.TemporaryDirectory() as large, tempfile.TemporaryDirectory() as small:
        fill(Path(large), count)
        fill(Path(small), count // 10)
        print(f"{'job':<22}{'tables':>8}{'seconds':>9}{'tables/s':>10}{'peak MB':>9}{'at a tenth':>12}")
        done: set[str] = set()
        for job in only or JOBS:
            for needed in (each for each in JOBS[job][1] if each not in done):
                for folder in (small, large):  # not here: a process begins with the peak of the one that starts it
                    measured(Path(folder), needed, whole=bool(only))
            little, found = (measured(Path(folder), job, whole=bool(only)) for folder in (small, large))
            done |= {job, *JOBS[job][1]}
            show(job, little, found)


def show(job: str, little: dict[str, float], found: dict[str, float]) -> None:
    rate = found["tables"] / found["seconds"]
    print(
        f"{job:<22}{found['tables']:>8,.0f}{found['seconds']:>9.1f}{rate:>10,.0f}"
        f"{found['peak']:>9,.0f}{little['peak']:>12,.0f}",
        flush=True,
    )


def one(folder: Path, job: str, *, whole: bool) -> None:
    some = [] if whole else [f"n{number:03}.*" for number in range(NAMESPACES // FEWER)]
    report = JOBS[job][0](folder, some)
    assert report.ok, report.problems[:3]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"tables": report.tables, "seconds": report.seconds, "peak": peak}))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=TABLES, help="How many tables there are.")
    parser.add_argument("--only", nargs="+", choices=JOBS, metavar="JOB", help=f"Only some: {', '.join(JOBS)}.")
    # How each job is begun in a process of its own.
    for name in ("--one", "--folder"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--whole", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    if given.one is not None:
        one(Path(given.folder), given.one, whole=given.whole)
    else:
        main(given.tables, given.only)
