"""The lake with ever more tables, beside pylance's manifest namespace: `make bench-lake`.

A lake of 100, 10,000 and 1,000,000 tables in up to 10,000 namespaces, up to 8 deep, on SQLite and on PostgreSQL
(which forgets nothing: fsync is on). Half of the tables lie in one namespace, whose pages are listed. Each operation is
repeated for a while on tables chosen at random; what is shown is the median and the 99th percentile in
milliseconds, and how much the median has grown from the smallest lake to the largest. Then pylance's directory
namespace with its manifest does the same where it can, and at last many writers commit versions to
PostgreSQL at once, each to tables of its own: as processes, and as threads of one. Without sizes (`--no-sizes`) only
they are measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start PostgreSQL

from rich.console import Console
from rich.table import Table
from tests.servers import postgres
from tests.servers.run import Run

from lake_filling import fill, fill_manifest
from lake_work import PAGE, Committer, Subject, ask
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.lake.store.database import open_store
from sheet import Sheet

SIZES = (100, 10_000, 1_000_000)
PEER_SIZES = (100, 10_000)
FEWEST, MOST = 20, 2_000  # repetitions

Ready = Barrier | threading.Barrier
Times = list[float]
Report = dict[str, dict[int, Times]]


# -- measuring -----------------------------------------------------------------------------------


def measure(work: Callable[[], object], seconds: float, most: int = MOST) -> Times:
    """How long each repetition took, in milliseconds."""
    taken: Times = []
    until = time.perf_counter() + seconds
    while len(taken) < FEWEST or (time.perf_counter() < until and len(taken) < most):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def measure_all(subject: Subject, seconds: float, *, rename: bool = True) -> dict[str, Times]:
    found = {
        "describe": measure(subject.describe, seconds),
        "exists": measure(subject.exists, seconds),
        f"list {PAGE}, first": measure(subject.first_page, seconds),
        f"list {PAGE}, last": measure(subject.last_page, seconds),
        "create": measure(subject.create, seconds),
    }
    if rename:
        found["rename"] = measure(subject.rename, seconds)
    return found | {"drop": measure(subject.drop, seconds, most=len(subject.new))}


def measure_lake(uri: str, folder: Path, count: int, seconds: float) -> dict[str, Times]:
    root = str(folder / "warehouse")
    catalog = LakeCatalog(uri=uri, root=root, user="bench")
    store = open_store(uri)
    paths = fill(store, root, count)
    store.close()
    found = measure_all(Subject(catalog, paths), seconds)
    found["commit a version"] = measure(Committer(catalog, random.Random(3).sample(paths, 20)), seconds)
    catalog.close()
    return found


def measure_peer(folder: Path, count: int, seconds: float) -> dict[str, Times]:
    """pylance's directory namespace with the same tables, in its manifest alone."""
    from lance.namespace import DirectoryNamespace  # not at the top: the writers need not load it

    peer = DirectoryNamespace(root=str(folder), dir_listing_enabled="false")
    ask(peer, "create_namespace", id=["first"])  # which makes the manifest
    return measure_all(Subject(peer, fill_manifest(folder, count)), seconds, rename=False)


# -- many writers --------------------------------------------------------------------------------


def write(catalog: LakeCatalog, paths: list[list[str]], seconds: float, ready: Ready) -> int:
    """Commit until the time is over, once all are ready; how many commits were answered."""
    commit = Committer(catalog, paths)
    commit()
    ready.wait()
    done, until = 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        commit()
        done += 1
    return done


def write_alone(uri: str, root: str, paths: list[list[str]], seconds: float, ready: Ready, answers: Queue[int]) -> None:
    """The same, as a process with a catalog of its own."""
    with LakeCatalog(uri=uri, root=root, user="bench") as catalog:
        answers.put(write(catalog, paths, seconds, ready))


def measure_processes(uri: str, root: str, shares: list[list[list[str]]], seconds: float) -> float:
    """Commits a second by as many processes as there are shares."""
    context = multiprocessing.get_context("spawn")
    ready, answers = context.Barrier(len(shares)), context.Queue()
    given = [(uri, root, share, seconds, ready, answers) for share in shares]
    processes = [context.Process(target=write_alone, args=each) for each in given]
    for process in processes:
        process.start()
    total = sum(answers.get() for _ in processes)
    for process in processes:
        process.join()
    return total / seconds


def measure_threads(uri: str, root: str, shares: list[list[list[str]]], seconds: float) -> float:
    """Commits a second by as many threads of one process, which share a catalog as those of a server do."""
    ready = threading.Barrier(len(shares))
    with LakeCatalog(uri=uri, root=root, user="bench") as catalog, ThreadPoolExecutor(len(shares)) as pool:
        work = [pool.submit(write, catalog, share, seconds, ready) for share in shares]
        return sum(each.result() for each in work) / seconds


def measure_writers(uri: str, folder: Path, writers: int, seconds: float) -> dict[str, float]:
    """Commits a second by so many writers together, each to tables of its own."""
    root, half = str(folder / "warehouse"), writers * 20
    LakeCatalog(uri=uri, root=root, user="bench").close()
    store = open_store(uri)
    paths = fill(store, root, 2 * half)
    store.close()
    shares = [paths[number::writers] for number in range(writers)]
    return {
        "processes": measure_processes(uri, root, [share[: len(share) // 2] for share in shares], seconds),
        "threads of one process": measure_threads(uri, root, [share[len(share) // 2 :] for share in shares], seconds),
    }


# -- showing -------------------------------------------------------------------------------------


def shown(times: Times) -> str:
    return f"{statistics.median(times):.2f} / {percentile(times):.2f}"


def percentile(times: Times) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def table_of(title: str, report: Report, sizes: list[int]) -> Table:
    table = Table("operation", *(f"{size:,}" for size in sizes), "growth", title=f"{title}: p50 / p99 in ms")
    for name, by_size in report.items():
        medians = [statistics.median(by_size[size]) for size in sizes]
        table.add_row(name, *(shown(by_size[size]) for size in sizes), f"{medians[-1] / medians[0]:.2f}")
    return table


def ratios(peer: Report, ours: dict[str, Report], sizes: list[int]) -> Table:
    columns = [f"{size:,} {name}" for size in sizes for name in ours]
    table = Table("operation", *columns, title="How many times slower pylance's manifest namespace is (medians)")
    for name, by_size in peer.items():
        cells = [
            f"{statistics.median(by_size[size]) / statistics.median(report[name][size]):.1f}"
            for size in sizes
            for report in ours.values()
        ]
        table.add_row(name, *cells)
    return table


def collect(sizes: list[int], work: Callable[[int], dict[str, Times]]) -> Report:
    report: Report = {}
    for size in sizes:
        began = time.perf_counter()
        for name, times in work(size).items():
            report.setdefault(name, {})[size] = times
        print(f"  {size:,} tables: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return report


@contextmanager
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="lanceway-bench-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="How many tables, such as 100 10000.")
    parser.add_argument("--no-sizes", action="store_true", help="Measure the writers alone.")
    parser.add_argument("--databases", nargs="*", default=["sqlite", "postgresql"], help="Which databases.")
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each operation is repeated.")
    parser.add_argument("--writers", type=int, default=16, help="How many commit at once; 0 for none.")
    parser.add_argument("--no-peer", action="store_true", help="Leave pylance out.")
    options = parser.parse_args()
    options.sizes = [] if options.no_sizes else options.sizes
    console, run = Sheet(width=120), Run.begin()
    try:
        server = postgres.start(run, settings=()) if "postgresql" in options.databases else None
        show(options, console, server)
    finally:
        run.end()


def show(options: argparse.Namespace, console: Console, server: postgres.Postgres | None) -> None:
    ours: dict[str, Report] = {}
    for name in options.databases if options.sizes else ():

        def work(size: int, name: str = name) -> dict[str, Times]:
            with folder() as place:
                uri = (
                    f"sqlite:///{place}/lake.db" if server is None or name == "sqlite" else server.uri(server.schema())
                )
                return measure_lake(uri, place, size, options.seconds)

        ours[name] = collect(options.sizes, work)
        console.print(table_of(name, ours[name], options.sizes))
    sizes = [size for size in options.sizes if size in PEER_SIZES]
    if sizes and not options.no_peer:
        peer = collect(sizes, lambda size: peer_work(size, options.seconds))
        console.print(table_of("pylance", peer, sizes))
        console.print(ratios(peer, ours, sizes))
    if server is not None and options.writers:
        with folder() as place:
            rates = measure_writers(server.uri(server.schema()), place, options.writers, options.seconds)
        for kind, rate in rates.items():
            console.print(f"{options.writers} writers as {kind}, PostgreSQL: {rate:,.0f} version commits a second")


def peer_work(size: int, seconds: float) -> dict[str, Times]:
    with folder() as place:
        return measure_peer(place, size, seconds)


if __name__ == "__main__":
    main()
