"""Jobs on one table beside one process that does the same with pylance alone: seconds, and how many times faster.

`python bench/maintenance.py [ROWS] [--spark MASTER]`. Rows have an id, a text and a vector of 64 numbers, in 40
fragments. What is compared: a job with as many threads as the machine has cores, or Spark's workers.

To see where it pays to distribute work: more rows in more fragments, and those jobs that cost most.

    python bench/maintenance.py 2000000 --fragments 200 --spark 'local[*]' --only compact 'index IVF_PQ' backfill
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lanceway import jobs

ROWS, FRAGMENTS, SIZE = 200_000, 40, 64
WORDS = [f"word{number}" for number in range(1000)]


def rows(start: int, count: int, ids: int) -> pa.Table:
    rng = np.random.default_rng(start)
    return pa.table(
        {
            "id": np.arange(start, start + count) % ids,
            "text": [" ".join(WORDS[at] for at in ten) for ten in rng.integers(0, len(WORDS), (count, 10))],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(count * SIZE, "f4")), SIZE),
        }
    )


def fill(path: Path, count: int, fragments: int) -> None:
    """One row in ten has the id of another."""
    each = count // fragments
    for number in range(fragments):
        some = rows(number * each, each, max(1, count * 9 // 10))
        lance.write_dataset(some, path, mode="append" if number else "create")


def embed(batch: pa.RecordBatch) -> np.ndarray[Any, Any]:
    """As slow as a small model: some work in Python for each row."""
    digests = (
        [hashlib.sha256(word.encode()).digest()[0] for word in text.split()] for text in batch["text"].to_pylist()
    )
    return np.array(list(digests), "f4")


def embedded(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"embedding": pa.FixedSizeListArray.from_arrays(pa.array(embed(batch).ravel()), 10)})


def dedupe_alone(path: Path) -> None:
    """Every row but the last of each id, as one would write it: in pandas, and by the address of rows."""
    opened = lance.dataset(path)
    found = opened.to_table(columns=["id"], with_row_address=True).to_pandas()
    gone = found["_rowaddr"][found.duplicated("id", keep="last")]
    for start in range(0, len(gone), 1000):
        opened.delete(f"_rowaddr IN ({', '.join(map(str, gone[start : start + 1000]))})")


def pairs(spark: Any, threads: int, count: int) -> dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]]:
    """By the name of each job: the job, and what one process does without it."""
    how: dict[str, Any] = {"threads": threads, "spark": spark}
    partitions = max(4, math.isqrt(count) // 4)
    vector = {"num_partitions": partitions, "num_sub_vectors": 8, "max_iterations": 10}
    return {
        "compact": (
            lambda path: jobs.compact(path, target_rows=100_000, **how),
            lambda path: lance.dataset(path).optimize.compact_files(target_rows_per_fragment=100_000),
        ),
        "index BTREE": (
            lambda path: jobs.index(path, "id", "BTREE", **how),
            lambda path: lance.dataset(path).create_scalar_index("id", "BTREE"),
        ),
        "index FTS": (
            lambda path: jobs.index(path, "text", "FTS", **how),
            lambda path: lance.dataset(path).create_scalar_index("text", "INVERTED"),
        ),
        "index IVF_PQ": (
            lambda path: jobs.index(path, "vector", "IVF_PQ", options=vector, **how),
            lambda path: lance.dataset(path).create_index(
                "vector", "IVF_PQ", num_partitions=partitions, num_sub_vectors=8, max_iters=10
            ),
        ),
        "backfill": (
            lambda path: jobs.backfill(path, "embedding", embed, inputs=["text"], **how),
            lambda path: lance.dataset(path).add_columns(embedded, read_columns=["text"]),
        ),
        "dedupe": (lambda path: jobs.dedupe(path, "id", **how), dedupe_alone),
        "export": (
            lambda path: jobs.export(path, str(path.with_suffix(".out")), **how),
            lambda path: pq.write_table(
                lance.dataset(path).to_table(), path.with_suffix(".parquet"), compression="zstd"
            ),
        ),
        "import": (
            lambda path: jobs.import_(path.with_suffix(".new"), str(path.parent / "files"), **how),
            lambda path: lance.write_dataset(
                pq.ParquetFile(path.parent / "one.parquet").iter_batches(),
                path.with_suffix(".new"),
                schema=pq.read_schema(path.parent / "one.parquet"),
            ),
        ),
        "clean": (
            lambda path: jobs.clean(path, older_than=timedelta(0)),
            lambda path: lance.dataset(path).cleanup_old_versions(timedelta(0), error_if_tagged_old_versions=False),
        ),
    }


def timed(run: Callable[[Path], object], original: Path) -> float:
    """Seconds for a fresh copy of the table."""
    path = original.parent / "copy" / "table.lance"
    shutil.copytree(original, path)
    for name in ("files", "one.parquet"):
        (path.parent / name).symlink_to(original.parent / name)
    began = time.perf_counter()
    run(path)
    seconds = time.perf_counter() - began
    shutil.rmtree(path.parent)
    return seconds


def main(count: int, fragments: int, master: str | None, rounds: int, only: list[str] | None) -> None:
    spark = None
    if master:
        import lanceway.spark

        spark = lanceway.spark.session(master, conf={"spark.ui.enabled": "false"})
    with tempfile.TemporaryDirectory() as folder:
        original = Path(folder) / "table.lance"
        fill(original, count, fragments)
        jobs.export(original, str(original.parent / "files"))
        pq.write_table(lance.dataset(original).to_table(), original.parent / "one.parquet")
        threads = os.cpu_count() or 1
        print(f"{count:,} rows in {fragments} fragments; {master or f'{threads} threads'}")
        print(f"{'job':<14}{'job, s':>10}{'alone, s':>10}{'times':>8}")
        for name, (job, alone) in pairs(spark, threads, count).items():
            if only and name not in only:
                continue
            ours = min(timed(job, original) for _ in range(rounds))
            theirs = min(timed(alone, original) for _ in range(rounds))
            print(f"{name:<14}{ours:>10.2f}{theirs:>10.2f}{theirs / ours:>8.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=int, default=ROWS)
    parser.add_argument("--fragments", type=int, default=FRAGMENTS)
    parser.add_argument("--only", nargs="+", metavar="JOB")
    parser.add_argument("--spark", metavar="MASTER")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    main(given.rows, given.fragments, given.spark, given.rounds, given.only)
