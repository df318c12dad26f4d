"""Iceberg REST under load, beside Iceberg's own reference server: `make bench-iceberg`.

Both have 1,000 Iceberg tables, a hundred in each namespace, made over REST; then ours alone gets as many more as the
next size asks for, as rows with a metadata file for each. The reference server keeps its rows in SQLite and waits for
no disk; ours keeps them in SQLite as `lanceway up` makes it, which does, and asks for a token and its rights. `wrk`
runs beside the server on the same machine with eight connections. A table is loaded, a namespace is listed, a page of a
hundred tables at a time, and a commit sets a property of a table, which writes a metadata file. Tables that are loaded
or changed are taken in turn from all that there are.

Shown are requests a second, the median and the 99th percentile in milliseconds, the processor's time for each request,
which a busy machine changes least, how much longer that is than with the fewest tables, and how often ours does what
the reference server does once in the same time and in the same processor's time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start servers

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, func, select
from tests.servers import iceberg, lanceway
from tests.servers.run import Run

from gravitino import check, shown
from lake_filling import audit, insert_rows
from lanceway.lake.store.database import open_store
from lanceway.lake.store.schema import ICEBERG_TABLE, NAMESPACE, objects
from server_load import Found, Load, children, cpu_seconds, memory, press, require_wrk
from server_subjects import Subject, refuse_failure
from sheet import Sheet

SIZES = (1_000, 100_000)
MADE = 1_000  # over REST; more are made as rows and files
MOST_PATHS = 20_000  # that are asked for in turn: `wrk` holds them all
IN_NAMESPACE = 100
WARM_UP = 1.0  # seconds
REFERENCE, REFERENCE_VERSION = "reference", "1.11.0"
PROCESSES = (1, 2)
LOAD, LIST, COMMIT = "load table", "list a page of 100", "commit"
SCHEMA = {
    "type": "struct",
    "fields": [{"id": number, "name": f"c{number}", "required": False, "type": "string"} for number in range(1, 11)],
}

Results = dict[tuple[str, str], Found]


def namespaces(count: int) -> list[str]:
    return [f"s{number:05}" for number in range(count // IN_NAMESPACE)]


def tables(count: int) -> list[str]:
    """The paths of tables below a prefix."""
    names = [f"t{number:03}" for number in range(IN_NAMESPACE)]
    return [f"/namespaces/{namespace}/tables/{name}" for namespace in namespaces(count) for name in names]


def loads(count: int) -> dict[str, Load]:
    every = tables(count)
    chosen = every[:: max(1, len(every) // MOST_PATHS)]
    change = {"action": "set-properties", "updates": {"touched": "<new>"}}
    body = json.dumps({"requirements": [], "updates": [change]}).encode()
    lists = [f"/namespaces/{namespace}/tables?pageToken=&pageSize={IN_NAMESPACE}" for namespace in namespaces(count)]
    return {LOAD: Load("GET", chosen), LIST: Load("GET", lists), COMMIT: Load("POST", chosen, body)}


def make(subject: Subject, count: int) -> None:
    """So many tables, over REST."""
    with subject.client() as client:

        def create(path: str) -> None:
            place, _, name = path.rpartition("/")
            answer = client.post(place, json={"name": name, "schema": SCHEMA, "properties": {"owner": "bench"}})
            refuse_failure(subject, path, answer)

        for namespace in namespaces(count):
            answer = client.post("/namespaces", json={"namespace": [namespace], "properties": {}})
            refuse_failure(subject, namespace, answer)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(create, tables(count)))


def add(connection: Connection, count: int) -> None:
    """More namespaces with tables, as rows and as metadata files like that of the first table."""
    top = connection.execute(select(objects.c.id, objects.c.catalog_id).where(objects.c.physical == "")).one()
    number = connection.execute(select(func.max(objects.c.id))).scalar_one()
    known = set(connection.scalars(select(objects.c.name).where(objects.c.kind == NAMESPACE)))
    of_a_table = select(objects.c.location, objects.c.metadata_pointer).where(objects.c.kind == ICEBERG_TABLE)
    first = connection.execute(of_a_table.order_by(objects.c.id).limit(1)).one()
    text = local(first.metadata_pointer).read_text()
    first_uuid = json.loads(text)["table-uuid"]
    root = first.location.rpartition("/")[0]
    common = {"catalog_id": top.catalog_id, "properties": {}, "comment": None, "managed": False, **audit()}
    rows = []
    for name in namespaces(count):
        if name in known:
            continue
        number += 1
        parent = number
        place = {"id": parent, "parent_id": top.id, "kind": NAMESPACE, "name": name, "physical": name}
        rows.append({**common, **place, "location": None, "metadata_pointer": None})
        for inside in range(IN_NAMESPACE):
            number += 1
            table = {"id": number, "parent_id": parent, "kind": ICEBERG_TABLE, "name": f"t{inside:03}"}
            location = f"{root}/{name}-t{inside:03}"
            pointer = first.metadata_pointer.replace(first.location, location)
            local(pointer).parent.mkdir(parents=True)
            local(pointer).write_text(text.replace(first.location, location).replace(first_uuid, str(uuid.uuid4())))
            rows.append({**common, **table, "physical": None, "location": location, "metadata_pointer": pointer})
    if rows:
        insert_rows(connection, objects, rows)


def local(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def reference(run: Run) -> Subject:
    server, process = iceberg.begin(run, REFERENCE_VERSION)
    (pid,) = children(process.pid)  # below its keeper
    return Subject(REFERENCE, f"{server.endpoint}/v1", pid)


@contextmanager
def ours(run: Run, home: Path) -> Iterator[list[Subject]]:
    with ExitStack() as closing:
        subjects = []
        for number in PROCESSES:
            server = lanceway.start(run, home=home, workers=number)
            closing.callback(server.stop)
            assert server.process is not None
            (pid,) = children(server.process.pid)
            with server.client() as client:
                config = client.get("/iceberg/v1/config", params={"warehouse": "lake"}).raise_for_status().json()
            prefix = {**config["defaults"], **config["overrides"]}["prefix"]
            uri = f"{server.address}/iceberg/v1/{prefix}"
            subjects.append(Subject(f"lanceway, {number} proc.", uri, pid, server.token))
        yield subjects


def measure(subjects: list[Subject], loads: dict[str, Load], seconds: float, only: list[str]) -> Results:
    results: Results = {}
    for operation, load in loads.items():
        if only and not any(word in operation for word in only):
            continue
        for subject in subjects:
            check(subject, load)
            press(subject.uri, subject.token, load, WARM_UP)
            before = cpu_seconds(subject.pid)
            pressed = press(subject.uri, subject.token, load, seconds)
            spent = cpu_seconds(subject.pid) - before
            results[operation, subject.name] = replace(pressed, memory=memory(subject.pid), cpu=spent)
    return results


def ask_once(console: Console, subjects: list[Subject], loads: dict[str, Load], count: int) -> None:
    for operation, load in loads.items():
        for subject in subjects:
            check(subject, load)
            console.print(f"{count} tables: {subject.name} answers: {operation}")


def each(found: Found) -> float:
    return found.cpu / found.requests


def table_of(count: int, results: Results, fewest: Results) -> Table:
    heads = ("operation", "server", "requests/s", "p50 / p99 ms", "CPU µs", "growth", "ratio", "ratio by CPU")
    table = Table(*heads, title=f"{count:,} tables, {IN_NAMESPACE} in each namespace")
    for (operation, server), found in results.items():
        before, peer = fewest[operation, server], fewest.get((operation, REFERENCE))
        growth = f"{each(found) / each(before):.2f}" if results is not fewest and found.counts else ""
        ratios = ["", ""]
        if peer and server != REFERENCE and found.counts and peer.counts:
            ratios = [f"{found.rate / peer.rate:.1f}", f"{each(peer) / each(found):.1f}"]
        table.add_row(operation, server, *shown(found), growth, *ratios)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="How many tables, such as 1000 100000.")
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each operation is repeated.")
    parser.add_argument("--only", action="append", default=[], help="Only operations with this word; may be repeated.")
    parser.add_argument("--once", action="store_true", help="Only ask for each operation once, to see that it works.")
    options = parser.parse_args()
    if not options.once:
        require_wrk()
    console, run = Sheet(width=120), Run.begin()
    console.print(f"{os.cpu_count()} processors; load average before: {os.getloadavg()[0]:.1f}")
    home = run.folder / "home"
    try:
        with ours(run, home) as subjects:
            first = min(options.sizes[0], MADE)
            peer = reference(run)
            for subject in (peer, subjects[0]):
                make(subject, first)
            fewest: Results | None = None
            for count in options.sizes:
                store = open_store(f"sqlite:///{home}/lake.db")
                store.transact(add, count)
                store.close()
                compared = subjects if fewest or count > first else [peer, *subjects]
                if options.once:
                    ask_once(console, compared, loads(count), count)
                    continue
                results = measure(compared, loads(count), options.seconds, options.only)
                fewest = fewest or results
                console.print(table_of(count, results, fewest))
    finally:
        run.end()


if __name__ == "__main__":
    main()
