"""The server under load, beside pylance's RestAdapter: `make bench-server`.

Both serve the same tables, 10, 1,000 and 10,000 of them, at the root and in a child namespace: the adapter from a
folder and its manifest, ours from a lake in SQLite as `lanceway up` makes it, with a token. `wrk` runs beside them
on the same machine with eight connections, one for inserts. For each operation the servers take turns, so that what
disturbs one disturbs the others as well. Ours is measured as one process and as two.

What is shown are requests a second, the median and the 99th percentile in milliseconds, the processor's time for each
request, which a busy machine changes least, and the memory that the server's processes held afterwards. A figure with
an answer that was no success in it is no result: instead of it stands how many there were. At last a large table is
queried whole, see `server_large.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start servers

import numpy as np
import pyarrow as pa
from rich.table import Table
from tests.servers.run import Run

import server_large
from directory import SPACE, names
from server_load import Found, Load, cpu_seconds, memory, press, require_wrk
from server_subjects import ADAPTER, Subject, refuse_failure, servers
from sheet import Sheet

SIZES = (10, 1_000, 10_000)
ARROW = "application/vnd.apache.arrow.stream"
ROWS, INBOX = "rows", "inbox"
WARM_UP = 1.0  # seconds, in which each process of a server loads what it needs

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


# -- measuring -----------------------------------------------------------------------------------


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="How many tables, such as 10 1000.")
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each operation is repeated.")
    parser.add_argument("--only", action="append", default=[], help="Only operations with this word; may be repeated.")
    parser.add_argument("--no-large", action="store_true", help="Leave the large query out.")
    parser.add_argument("--no-sizes", action="store_true", help="Measure the large query alone.")
    options = parser.parse_args()
    require_wrk()
    console, run = Sheet(width=120), Run.begin()
    console.print(f"{os.cpu_count()} processors; load average before: {os.getloadavg()[0]:.1f}")
    try:
        for count in () if options.no_sizes else options.sizes:
            console.print(table_of(count, measure(run, count, options.seconds, options.only)))
        if not options.no_large:
            console.print(server_large.table_of(server_large.measure(run, repeats=5)))
    finally:
        run.end()


if __name__ == "__main__":
    main()
