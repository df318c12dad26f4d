"""Lance beside Parquet in one Spark session: `make bench-spark`.

The same rows are written by Spark to both: some with a vector of 64 floats each, more without. They are read back
through `format("lance")` (the data source), through the SQL catalog, and from Parquet. Each figure is the best of
several, in seconds, and a ratio below 1 means that Lance takes less time. The parts:

  write      all rows as a new table               scan       full scan, one column, filter, count, group by
  append     many small batches                    lookup     one row by its id, without and with an index
  merge      one key in a hundred changed          gaps       what a scan's time is made of
  stream     all rows through a stream             fragments  the same rows in up to 10,000 fragments
  peer       the JVM connector for Lance, on the version of Spark that it runs on

Some of them alone, and what they read kept for the next time: `--only scan,lookup --home FOLDER`. Smaller:
`--rows 200000 --narrow 1000000 --appends 50 --fragments 1 100`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")

from rich.console import Console

import lanceway.spark
import spark_fragments
import spark_peer
import spark_reading
import spark_writing
from sheet import Sheet
from spark_tables import CATALOG, Pair

PARTS = ("write", "append", "merge", "stream", "scan", "lookup", "gaps", "fragments", "peer")
FRAGMENTS = (1, 10, 100, 1_000, 10_000)


def main() -> None:
    given = arguments()
    console = Sheet(width=120)
    with folder(given.home) as home:
        (home / "warehouse").mkdir(parents=True, exist_ok=True)
        catalogs = {CATALOG: {"type": "dir", "path": str(home / "warehouse")}}
        conf = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        spark = lanceway.spark.session(conf=conf, catalogs=catalogs)
        spark.sparkContext.setLogLevel("ERROR")
        wide = Pair(spark, home, f"wide_{given.rows}", given.rows, wide=True)
        narrow = Pair(spark, home, f"narrow_{given.narrow}", given.narrow, wide=False)
        pairs = [pair for pair in (wide, narrow) if pair.rows]
        on_each: dict[str, Callable[[Pair, Console], None]] = {
            "write": spark_writing.write,
            "merge": spark_writing.merge,
            "stream": spark_writing.stream,
            "scan": spark_reading.scan,
            "lookup": spark_reading.lookup,
            "gaps": spark_reading.gaps,
        }
        for part in given.only:
            if part == "append":
                spark_writing.append(narrow, console, given.appends)
            elif part == "fragments":
                spark_fragments.fragments(spark, home, given.fragments, console)
            elif part == "peer":
                spark_peer.peer(wide, console)
            else:
                for pair in pairs:
                    if part != "write":
                        pair.fill()
                    on_each[part](pair, console)
        spark.stop()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=parts, default=PARTS, metavar="PART,…", help="these parts, in this order")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows with vectors; 0 leaves them out")
    parser.add_argument("--narrow", type=int, default=20_000_000, help="rows without; 0 leaves them out")
    parser.add_argument("--appends", type=int, default=1_000)
    parser.add_argument("--fragments", type=int, nargs="*", default=list(FRAGMENTS))
    parser.add_argument("--home", type=Path, help="where tables are kept, and found the next time")
    return parser.parse_args()


def parts(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no part {unknown[0]!r}, but: {', '.join(PARTS)}")
    return chosen


@contextmanager
def folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given.absolute()
        return
    made = Path(tempfile.mkdtemp(prefix="lanceway-bench-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    main()
