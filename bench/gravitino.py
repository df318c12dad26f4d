"""Gravitino REST under load: `make bench-gravitino`.

A lake in SQLite, as `lanceway up` makes it, has 1,000 and then 100,000 tables, a hundred in each schema; a hundred of
them are written, so that they can be loaded with their columns. `wrk` runs beside the server on the same machine with
eight connections and a token. Shown are requests a second, the median and the 99th percentile in milliseconds, the
processor's time for each request, which a busy machine changes least, and how much longer that is with more tables.

Gravitino's own Lance REST server, with 1,000 tables on a machine of two processors, was measured at 340 to 440 loads
of a table, 22 lists and 59 new namespaces a second. The last column is how often ours does that.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start servers

import lance
import pyarrow as pa
from rich.table import Table
from sqlalchemy import Connection, select
from tests.servers import lanceway
from tests.servers.run import Run

from lake_filling import audit, insert_rows, version_row
from lanceway.identifiers import HierarchicalName
from lanceway.lake.store.database import open_store
from lanceway.lake.store.schema import NAMESPACE, TABLE, objects, versions
from server_load import Found, Load, children, cpu_seconds, memory, press, require_wrk
from server_subjects import Subject, refuse_failure
from sheet import Sheet

SIZES = (1_000, 100_000)
IN_SCHEMA = 100
PROCESSES = (1, 2)
WARM_UP = 1.0  # seconds
PATH = "/metalakes/lanceway/catalogs/lake/schemas"
LOAD, LIST, CREATE = "load table", "list a page of 100", "create schema"
# What Gravitino's own Lance REST server does in a second, the better figure of two.
PEER = {LOAD: 440, LIST: 22, CREATE: 59}

Results = dict[tuple[str, str], Found]


def loads(count: int) -> dict[str, Load]:
    schemas = [f"{PATH}/team%3As{number:05}" for number in range(count // IN_SCHEMA)]
    return {
        "load schema": Load("GET", schemas),
        LOAD: Load("GET", [f"{schemas[0]}/tables/t{number:03}" for number in range(IN_SCHEMA)]),
        LIST: Load("GET", [f"{schema}/tables" for schema in schemas]),
        CREATE: Load("POST", [PATH], json.dumps({"name": "new:<new>", "comment": "", "properties": {}}).encode()),
    }


def fill(connection: Connection, folder: Path, count: int) -> None:
    top = connection.execute(select(objects.c.id, objects.c.catalog_id).where(objects.c.physical == "")).one()
    common = {"catalog_id": top.catalog_id, "properties": {}, "comment": None, **audit()}
    space = {"kind": NAMESPACE, "managed": False, "location": None}
    team = {**common, **space, "id": top.id + 1, "parent_id": top.id, "name": "team", "physical": "team"}
    rows, number = [team], top.id + 1
    for index in range(count // IN_SCHEMA):
        number += 1
        parent, name = number, f"s{index:05}"
        path = HierarchicalName(["team", name]).physical
        rows.append({**common, **space, "id": parent, "parent_id": top.id + 1, "name": name, "physical": path})
        for inside in range(IN_SCHEMA):
            number += 1
            location = str(folder / name / f"t{inside:03}.lance")
            place = {"id": number, "parent_id": parent, "kind": TABLE, "managed": True, "physical": None}
            rows.append({**common, **place, "name": f"t{inside:03}", "location": location})
    insert_rows(connection, objects, rows)
    insert_rows(connection, versions, [version_row(row["id"]) for row in rows if row["kind"] == TABLE])


def write(folder: Path) -> None:
    """The tables of the first schema, all alike."""
    data = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    first = folder / "s00000" / "t000.lance"
    lance.write_dataset(data, str(first), enable_v2_manifest_paths=True)
    for number in range(1, IN_SCHEMA):
        shutil.copytree(first, folder / "s00000" / f"t{number:03}.lance")


@contextmanager
def servers(run: Run, count: int) -> Iterator[list[Subject]]:
    folder, home = run.folder / f"tables-{count}", run.folder / f"home-{count}"
    write(folder)
    found, stops = [], []
    for number in PROCESSES:
        ours = lanceway.start(run, home=home, workers=number)
        stops.append(ours.stop)
        assert ours.process is not None
        (pid,) = children(ours.process.pid)  # below its keeper
        found.append(Subject(f"{number} proc.", f"{ours.address}/api", pid, ours.token))
        if number == PROCESSES[0]:
            store = open_store(f"sqlite:///{home}/lake.db")
            store.transact(fill, folder, count)
            store.close()
    try:
        yield found
    finally:
        for stop in stops:
            stop()


def measure(run: Run, count: int, seconds: float, only: list[str]) -> Results:
    found: Results = {}
    with servers(run, count) as subjects:
        for operation, load in loads(count).items():
            if only and not any(word in operation for word in only):
                continue
            for subject in subjects:
                check(subject, load)
                press(subject.uri, subject.token, load, WARM_UP)
                before = cpu_seconds(subject.pid)
                pressed = press(subject.uri, subject.token, load, seconds)
                spent = cpu_seconds(subject.pid) - before
                found[operation, subject.name] = replace(pressed, memory=memory(subject.pid), cpu=spent)
    return found


def check(subject: Subject, load: Load) -> None:
    """One request, which must be a success."""
    body = None if load.body is None else load.body.replace(b"<new>", f"first_{os.urandom(6).hex()}".encode())
    with subject.client() as client:
        answer = client.request(load.method, load.paths[-1], content=body, headers={"Content-Type": load.media_type})
        refuse_failure(subject, load.paths[-1], answer)


def shown(found: Found) -> tuple[str, ...]:
    if not found.counts:
        return (f"[red]{found.refused} refused, {found.broken} broken of {found.requests}[/red]", "", "")
    return f"{found.rate:,.0f}", f"{found.p50:.2f} / {found.p99:.2f}", f"{found.cpu / found.requests * 1e6:,.0f}"


def table_of(count: int, results: Results, fewest: Results | None) -> Table:
    heads = ("operation", "server", "requests/s", "p50 / p99 ms", "CPU µs", "growth", "ratio")
    table = Table(*heads, title=f"{count:,} tables, {IN_SCHEMA} in each schema")
    for (operation, server), found in results.items():
        before = (fewest or {}).get((operation, server))
        growth = found.cpu / found.requests / (before.cpu / before.requests) if before and found.counts else None
        peer = PEER.get(operation)
        ratio = f"{found.rate / peer:.1f}" if peer and found.counts else ""
        table.add_row(operation, server, *shown(found), "" if growth is None else f"{growth:.2f}", ratio)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="How many tables, such as 1000 100000.")
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each operation is repeated.")
    parser.add_argument("--only", action="append", default=[], help="Only operations with this word; may be repeated.")
    options = parser.parse_args()
    require_wrk()
    console, run = Sheet(width=120), Run.begin()
    console.print(f"{os.cpu_count()} processors; load average before: {os.getloadavg()[0]:.1f}")
    fewest: Results | None = None
    try:
        for count in options.sizes:
            results = measure(run, count, options.seconds, options.only)
            console.print(table_of(count, results, fewest))
            fewest = fewest or results
    finally:
        run.end()


if __name__ == "__main__":
    main()
