"""LanceDB's remote client on a server beside LanceDB in its own process, on the same folder: `make bench-lancedb`.

A table of the lake is searched through the server and, at the same time in turns, where it is stored. Rows are added to
one table of each. Every figure is the median of several rounds, in milliseconds for one operation; with several clients
each is a thread with a connection of its own, in one process for both. The difference is split by what the server's log
says: its own time for an operation, less what LanceDB takes in its process, and the rest, which is the client's work
and the connection. A ratio of 1 means that the server costs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, IvfFlat
from rich.table import Table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

from sheet import Sheet

ROWS, WIDTH, LARGE = 100_000, 64, 10_000
CLIENTS, ROUNDS, SECONDS = (1, 16), 3, 2.0
WORDS = ("apple", "pear", "plum", "cherry", "quince", "fig", "grape", "lemon")
EMBEDDED, REMOTE = "embedded", "remote"
AIM = 3.0  # milliseconds that a search may take beyond the embedded one
PATIENCE = timedelta(minutes=5)

# A step is called with a table and the number of the call, so that no two calls need be the same.
Step = Callable[[Any, int], object]


def rows(count: int, first: int = 0) -> pa.Table:
    """Rows with a vector and a text; the same number has the same row."""
    random = np.random.default_rng(first)
    vectors = random.random((count, WIDTH), dtype=np.float32).ravel()
    chosen = random.integers(0, len(WORDS), (count, 3))
    return pa.table(
        {
            "id": pa.array(range(first, first + count), pa.int64()),
            "text": [" ".join(WORDS[place] for place in places) for places in chosen],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors), WIDTH),
        }
    )


QUESTIONS = np.random.default_rng(7).random((64, WIDTH), dtype=np.float32)
ONE, MANY = rows(1), rows(LARGE)


def nearest(count: int) -> Step:
    return lambda table, call: table.search(QUESTIONS[call % len(QUESTIONS)]).limit(count).to_arrow()


def words(table: Any, call: int) -> object:
    return table.search(WORDS[call % len(WORDS)], query_type="fts").limit(10).to_arrow()


def filtered(table: Any, call: int) -> object:
    return table.search().where(f"id >= {call * 37 % 1_000} AND id < {call * 37 % 1_000 + 10}").limit(10).to_arrow()


READS: dict[str, Step] = {
    "nearest 10": nearest(10),
    "nearest 100": nearest(100),
    "full text, 10": words,
    "filter, 10": filtered,
}
ADDS: dict[str, Step] = {
    "add 1 row": lambda table, _: table.add(ONE),
    f"add {LARGE:,} rows": lambda table, _: table.add(MANY),
}


# -- the two subjects ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """One way to the tables; each client has a connection of its own."""

    name: str
    connect: Callable[[], Any]

    def tables(self, table: str, clients: int) -> list[Any]:
        return [self.connect().open_table(table) for _ in range(clients)]


def subjects(server: Lanceway, folder: Path) -> tuple[Subject, Subject]:
    def remote() -> Any:
        return lancedb.connect("db://lake", api_key=server.token, host_override=server.uri)

    return Subject(EMBEDDED, lambda: lancedb.connect(folder)), Subject(REMOTE, remote)


def fill(server: Lanceway, folder: Path, count: int) -> None:
    """Make the table that is searched, which the embedded LanceDB finds under its name, and one to add to for each."""
    db = lancedb.connect("db://lake", api_key=server.token, host_override=server.uri)
    table = db.create_table("searched", rows(count))
    partitions = max(1, count // 4_000)
    table.create_index("vector", config=IvfFlat(num_partitions=partitions), wait_timeout=PATIENCE)
    table.create_index("text", config=FTS(), wait_timeout=PATIENCE)
    (folder / "searched.lance").symlink_to(table.uri.removeprefix("file://"))
    db.create_table("added", schema=ONE.schema)
    lancedb.connect(folder).create_table("added", schema=ONE.schema)


# -- measuring -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """What one kind of operation took: the median and the share of it that is the server's own, in milliseconds."""

    p50: float
    rate: float  # operations in a second, by all clients
    server: float = 0.0


def measure(subject: Subject, step: Step, table: str, clients: int, seconds: float, log: Path | None) -> Figure:
    tables = subject.tables(table, clients)
    for opened in tables:
        step(opened, 0)
    before = log.stat().st_size if log else 0
    barrier = Barrier(clients)
    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        took = [
            each
            for times in threads.map(lambda opened: _press(step, opened, barrier, seconds), tables)
            for each in times
        ]
    spent = time.perf_counter() - began
    server = sum(_logged(log, before, len(took))) if log else 0.0
    return Figure(statistics.median(took), len(took) / spent, server)


def _press(step: Step, table: Any, barrier: Barrier, seconds: float) -> list[float]:
    barrier.wait()
    took: list[float] = []
    end = time.perf_counter() + seconds
    while not took or time.perf_counter() < end:
        began = time.perf_counter()
        step(table, len(took))
        took.append((time.perf_counter() - began) * 1000)
    return took


def _logged(log: Path, start: int, operations: int) -> Iterator[float]:
    """The median milliseconds of each kind of request in the server's log, times how many an operation needs."""
    time.sleep(0.2)  # the last line is written after its answer
    kinds: dict[str, list[float]] = {}
    with log.open("rb") as lines:
        lines.seek(start)
        for line in lines:
            if b'"message":"request"' in line and line.endswith(b"\n"):
                request = json.loads(line)
                kinds.setdefault(request["operation"], []).append(request["ms"])
    for milliseconds in kinds.values():
        yield statistics.median(milliseconds) * len(milliseconds) / operations


def check(pair: Sequence[Subject]) -> None:
    """Refuse to compare what does not find the same."""
    for name, step in READS.items():
        one, other = (sorted(step(subject.tables("searched", 1)[0], 3)["id"].to_pylist()) for subject in pair)
        if not one or (one != other and name != "full text, 10"):  # of rows with the same score any may come
            raise SystemExit(f"{name}: the two do not find the same rows; their times cannot be compared.")


def compare(
    pair: Sequence[Subject], step: Step, table: str, clients: int, rounds: int, seconds: float, log: Path
) -> dict[str, Figure]:
    """Measure both in turns, so that what disturbs one disturbs the other as well."""
    turns: dict[str, list[Figure]] = {subject.name: [] for subject in pair}
    for _ in range(rounds):
        for subject in pair:
            place = log if subject.name == REMOTE else None
            turns[subject.name].append(measure(subject, step, table, clients, seconds, place))
    return {
        name: Figure(*(statistics.median(getattr(each, part) for each in turn) for part in ("p50", "rate", "server")))
        for name, turn in turns.items()
    }


# -- the report ----------------------------------------------------------------------------------


def report(count: int) -> Table:
    title = f"LanceDB's remote client, {count:,} rows with {WIDTH} floats: milliseconds for one operation, at p50"
    columns = ("operation", "clients", EMBEDDED, REMOTE, "ratio", "more ms", "of it server", "client, connection")
    table = Table(*columns, f"{EMBEDDED}/s", f"{REMOTE}/s", title=title)
    for place in range(1, 10):
        table.columns[place].justify = "right"
    return table


def add_row(table: Table, name: str, clients: int, figures: dict[str, Figure]) -> float:
    """Add what was measured, and return by how many milliseconds the remote one is slower."""
    embedded, remote = figures[EMBEDDED], figures[REMOTE]
    more = remote.p50 - embedded.p50
    outside = remote.p50 - remote.server
    table.add_row(
        *(name, str(clients), f"{embedded.p50:.2f}", f"{remote.p50:.2f}", f"{remote.p50 / embedded.p50:.2f}"),
        *(f"{more:.2f}", f"{more - outside:.2f}", f"{outside:.2f}", f"{embedded.rate:.0f}", f"{remote.rate:.0f}"),
    )
    return more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="How many rows are searched.")
    parser.add_argument("--clients", type=int, nargs="*", default=CLIENTS, help="How many clients, such as 1 16.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="How often each is measured.")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="How long each time.")
    options = parser.parse_args()
    run = Run.begin()
    try:
        folder = run.folder / "embedded"
        folder.mkdir()
        server = lanceway.start(run, arguments=("--no-worker",))
        fill(server, folder, options.rows)
        pair = subjects(server, folder)
        check(pair)
        table, slower = report(options.rows), 0.0
        for clients in options.clients:
            for name, step in {**READS, **ADDS}.items():
                place = "searched" if name in READS else "added"
                figures = compare(pair, step, place, clients, options.rounds, options.seconds, server.log)
                more = add_row(table, name, clients, figures)
                slower = max(slower, more) if clients == 1 and name in READS else slower
            table.add_section()
        server.stop()
    finally:
        run.end()
    Sheet(width=140).print(table)
    verdict = "reached" if slower <= AIM else "missed"
    sys.stdout.write(
        f"One client's searches take at most {slower:.2f} ms longer; the aim of {AIM:.0f} ms is {verdict}.\n"
    )


if __name__ == "__main__":
    main()
