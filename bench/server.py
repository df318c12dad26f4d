"""The server under load, beside pylance's RestAdapter: `make bench-server`.

Both serve the same tables, 10, 1,000 and 10,000 of them, at the root and in a child namespace: the adapter from a
folder and its manifest, ours from a lake in SQLite as `lanceway up` makes it, with a token. `wrk` runs beside them
on the same machine with eight connections, one for inserts. For each operation the servers take turns, so that what
disturbs one disturbs the others as well. Ours is measured as one process and as two.

What is shown are requests a second, the median and the 99th percentile in milliseconds, the processor's time for each
request, which a busy machine changes least, and the memory that the server's processes held afterwards. A figure with
an answer that was no success in it is no result: instead of it stands how many there were. At last a large table is
queried whole, and the bytes a second are set beside those of reading it from its files directly.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start servers

import httpx
import lance
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from tests.servers import lanceway, restadapter
from tests.servers.run import Run

from lanceway.lake.store import open_store
from server_filling import SPACE, fill_folder, fill_lake, names
from server_load import Found, Load, children, cpu_seconds, memory, press, require_wrk

SIZES = (10, 1_000, 10_000)
ARROW = "application/vnd.apache.arrow.stream"
ROWS, LARGE, INBOX = "rows", "large", "inbox"
ADAPTER = "RestAdapter"
PROCESSES = (1, 2)
WARM_UP = 1.0  # seconds, in which each process of a server loads what it needs
LARGE_ROWS, LARGE_WIDTH = 2_000_000, 16  # doubles


@dataclass(frozen=True)
class Subject:
    """A server. `top` is what its identifiers begin with."""

    name: str
    uri: str
    pid: int
    token: str | None = None
    top: tuple[str, ...] = ()

    def id(self, *path: str) -> str:
        return "$".join((*self.top, *path)) or "$"

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=self.uri, headers=headers, timeout=120, trust_env=False)


# By place and operation, then by server.
Results = dict[tuple[str, str], dict[str, Found]]


# -- what is asked -------------------------------------------------------------------------------


def loads(subject: Subject, space: tuple[str, ...], count: int) -> dict[str, Load]:
    tables = [subject.id(*space, name) for name in names(count)]
    empty, query = b"{}", json.dumps({"k": 10, "vector": {}}).encode()
    rows, inbox = subject.id(*space, ROWS), subject.id(*space, INBOX)
    return {
        "describe": Load("POST", [f"/v1/table/{id_}/describe" for id_ in tables], empty),
        "exists": Load("POST", [f"/v1/table/{id_}/exists" for id_ in tables], empty),
        "list a page of 100": Load("GET", [f"/v1/namespace/{subject.id(*space)}/table/list?limit=100"]),
        "create namespace": Load("POST", [f"/v1/namespace/{subject.id(*space, '{}')}/create"], empty),
        "query 10 rows": Load("POST", [f"/v1/table/{rows}/query"], query),
        "insert 1,000 rows": Load("POST", [f"/v1/table/{inbox}/insert?mode=append"], stream(1_000), ARROW, 1),
    }


def stream(rows: int) -> bytes:
    data = pa.table({"id": np.arange(rows), "value": np.random.default_rng(1).random(rows)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return bytes(sink.getvalue())


def prepare(subject: Subject, space: tuple[str, ...]) -> None:
    """Make the tables that are read and written, through the server itself."""
    with subject.client() as client:
        for name, rows in ((ROWS, 10_000), (INBOX, 1_000)):
            path = f"/v1/table/{subject.id(*space, name)}/create"
            answer = client.post(path, content=stream(rows), headers={"Content-Type": ARROW})
            refuse_failure(subject, path, answer)


def check(subject: Subject, load: Load) -> None:
    """One request, which must be a success; it also has the server warm."""
    with subject.client() as client:
        path = load.paths[-1].replace("{}", f"first_{time.time_ns()}")
        answer = client.request(load.method, path, content=load.body, headers={"Content-Type": load.media_type})
        refuse_failure(subject, path, answer)


def refuse_failure(subject: Subject, path: str, answer: httpx.Response) -> None:
    if answer.status_code != httpx.codes.OK:
        raise SystemExit(f"{subject.name} answers {path} with {answer.status_code}: {answer.text[:500]}")


# -- measuring -----------------------------------------------------------------------------------


@contextmanager
def servers(run: Run, count: int, processes: Iterable[int] = PROCESSES) -> Iterator[list[Subject]]:
    """All that are compared, over the same tables."""
    folder = run.folder / f"tables-{count}"
    folder.mkdir()
    fill_folder(folder, count)
    home = run.folder / f"home-{count}"
    with ExitStack() as closing:
        adapter = closing.enter_context(restadapter.adapters())
        found = [Subject(ADAPTER, adapter.serve(folder), adapter.pid)]
        for number in processes:
            ours = lanceway.start(run, home=home, workers=number)
            closing.callback(ours.stop)
            assert ours.process is not None
            (pid,) = children(ours.process.pid)  # below its keeper
            found.append(Subject(f"lanceway, {number} proc.", ours.uri, pid, ours.token, ("lake",)))
        store = open_store(f"sqlite:///{home}/lake.db")
        closing.callback(store.close)
        fill_lake(store, folder, count)
        yield found


def measure(run: Run, count: int, seconds: float, only: list[str]) -> Results:
    found: Results = {}
    with servers(run, count) as subjects:
        for place, space in (("child", (SPACE,)), ("root", ())):
            for subject in subjects[:2]:  # the others share their lake
                prepare(subject, space)
            asked = {subject.name: loads(subject, space, count) for subject in subjects}
            for operation in next(iter(asked.values())):
                if only and not any(word in operation for word in only):
                    continue
                here = found.setdefault((place, operation), {})
                for subject in subjects:
                    load = asked[subject.name][operation]
                    check(subject, load)
                    press(subject.uri, subject.token, load, WARM_UP)
                    before = cpu_seconds(subject.pid)
                    pressed = press(subject.uri, subject.token, load, seconds)
                    spent = cpu_seconds(subject.pid) - before
                    here[subject.name] = replace(pressed, memory=memory(subject.pid), cpu=spent)
    return found


# -- a large query -------------------------------------------------------------------------------


def measure_large(run: Run, repeats: int) -> dict[str, float]:
    """Bytes a second of a whole table: read from its files, and through each server. The best of some tries."""
    found: dict[str, float] = {}
    with servers(run, 0, [1]) as subjects:
        place = make_large(run.folder / "tables-0" / f"{LARGE}.lance")
        ours = next(subject for subject in subjects if subject.top)
        copy = place.with_name("copy.lance")  # a location is one table's alone
        shutil.copytree(place, copy, copy_function=os.link)
        with ours.client() as client:
            path = f"/v1/table/{ours.id(LARGE)}/register"
            refuse_failure(ours, path, client.post(path, json={"location": str(copy)}))
        for _ in range(repeats):
            found["its files"] = max(found.get("its files", 0), read_files(place))
            for subject in subjects:
                found[subject.name] = max(found.get(subject.name, 0), read_through(subject))
    return found


def make_large(place: Path) -> Path:
    chance = np.random.default_rng(3)
    table = pa.table({f"c{number}": chance.random(LARGE_ROWS) for number in range(LARGE_WIDTH)})
    lance.write_dataset(table, str(place))
    return place


def read_files(place: Path) -> float:
    began = time.perf_counter()
    size = sum(batch.nbytes for batch in lance.dataset(str(place)).to_batches())
    return size / (time.perf_counter() - began)


def read_through(subject: Subject) -> float:
    """With curl, which takes bytes as fast as anybody does. The token is not among its arguments."""
    body = json.dumps({"k": LARGE_ROWS, "vector": {}})
    url = f"{subject.uri}/v1/table/{subject.id(LARGE)}/query"
    headers = ["Content-Type: application/json", *([f"Authorization: Bearer {subject.token}"] if subject.token else [])]
    told = "\n".join(f'header = "{header}"' for header in headers)
    command = [
        "curl",
        "-s",
        "-K",
        "-",
        "-d",
        body,
        "-o",
        os.devnull,
        "-w",
        "%{http_code} %{size_download} %{time_total}",
    ]
    done = subprocess.run([*command, url], input=told, capture_output=True, text=True, check=True)
    status, size, seconds = done.stdout.split()
    if int(status) != httpx.codes.OK or int(size) < LARGE_ROWS * LARGE_WIDTH * 8:
        raise SystemExit(f"{subject.name} answers a large query with {status} and {size} bytes.")
    return int(size) / float(seconds)


# -- showing -------------------------------------------------------------------------------------


def shown(found: Found) -> tuple[str, str, str, str]:
    if not found.counts:
        return f"[red]{found.refused} refused, {found.broken} broken of {found.requests}[/red]", "", "", ""
    each = f"{found.cpu / found.requests * 1e6:,.0f}"
    return f"{found.rate:,.0f}", f"{found.p50:.2f} / {found.p99:.2f}", each, f"{found.memory / 2**20:,.0f}"


def table_of(count: int, results: Results) -> Table:
    table = Table(
        "where",
        "operation",
        "server",
        "requests/s",
        "p50 / p99 ms",
        "CPU µs",
        "MiB",
        "ratio",
        title=f"{count:,} tables in each",
    )
    for (place, operation), by_server in results.items():
        peer = by_server[ADAPTER]
        for name, found in by_server.items():
            comparable = name != ADAPTER and found.counts and peer.counts
            table.add_row(place, operation, name, *shown(found), f"{found.rate / peer.rate:.2f}" if comparable else "")
        table.add_section()
    return table


def large_table(found: dict[str, float]) -> Table:
    table = Table("from", "MB/s", "of its files", title=f"A query of {LARGE_ROWS * LARGE_WIDTH * 8 / 1e6:,.0f} MB")
    for name, rate in found.items():
        table.add_row(name, f"{rate / 1e6:,.0f}", f"{rate / found['its files']:.0%}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="How many tables, such as 10 1000.")
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each operation is repeated.")
    parser.add_argument("--only", action="append", default=[], help="Only operations with this word; may be repeated.")
    parser.add_argument("--no-large", action="store_true", help="Leave the large query out.")
    parser.add_argument("--no-sizes", action="store_true", help="Measure the large query alone.")
    options = parser.parse_args()
    require_wrk()
    console, run = Console(width=120), Run.begin()
    console.print(f"{os.cpu_count()} processors; load average before: {os.getloadavg()[0]:.1f}")
    try:
        for count in () if options.no_sizes else options.sizes:
            console.print(table_of(count, measure(run, count, options.seconds, options.only)))
        if not options.no_large:
            console.print(large_table(measure_large(run, repeats=5)))
    finally:
        run.end()


if __name__ == "__main__":
    main()
