"""A large table queried whole: bytes a second through each server, beside those of reading its files directly.

Between the two stands what any server on this machine can reach at most: a process that reads the same files in the
same way and writes them to a socket, without HTTP and without anything else. Client and server share the processors
here, and the network's copies are theirs too. Each rate is the best of some tries.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import lance
import numpy as np
import pyarrow as pa
from rich.table import Table
from tests.servers.run import Run

from server_load import Load, take
from server_subjects import Subject, refuse_failure, servers

LARGE = "large"
ROWS, WIDTH = 2_000_000, 16  # doubles
BYTES = ROWS * WIDTH * 8
FILES, BARE = "its files", "a bare socket"


def measure(run: Run, repeats: int) -> dict[str, float]:
    """Bytes a second, by where they come from."""
    found: dict[str, float] = {}
    with servers(run, 0, [1]) as subjects:
        place = make_table(run.folder / "tables-0" / f"{LARGE}.lance")
        ours = next(subject for subject in subjects if subject.top)
        copy = place.with_name("copy.lance")  # a location is one table's alone
        shutil.copytree(place, copy, copy_function=os.link)
        register(ours, copy)
        with bare_sender(place) as uri:
            for _ in range(repeats):
                rates = {FILES: read_files(place), BARE: rate(BARE, uri, {})}
                rates |= {subject.name: read_through(subject) for subject in subjects}
                found = {name: max(found.get(name, 0), value) for name, value in rates.items()}
    return found


def make_table(place: Path) -> Path:
    chance = np.random.default_rng(3)
    table = pa.table({f"c{number}": chance.random(ROWS) for number in range(WIDTH)})
    lance.write_dataset(table, str(place))
    return place


def register(subject: Subject, place: Path) -> None:
    path = f"/v1/table/{subject.id(LARGE)}/register"
    with subject.client() as client:
        refuse_failure(subject, path, client.post(path, json={"location": str(place)}))


def read_files(place: Path) -> float:
    began = time.perf_counter()
    size = sum(batch.nbytes for batch in lance.dataset(str(place)).to_batches())
    return size / (time.perf_counter() - began)


def query(subject: Subject) -> Load:
    """All rows, for one client."""
    body = json.dumps({"k": ROWS, "vector": {}}).encode()
    return Load("POST", [f"/v1/table/{subject.id(LARGE)}/query"], body, connections=1)


def read_through(subject: Subject) -> float:
    headers = {"Authorization": f"Bearer {subject.token}"} if subject.token else {}
    asked = query(subject)
    return rate(subject.name, f"{subject.uri}{asked.paths[0]}", headers, asked.body or b"")


def rate(name: str, url: str, headers: dict[str, str], body: bytes = b"") -> float:
    """Rows are counted, and not what they travel in."""
    status, size, seconds = take(url, {"Content-Type": "application/json", **headers}, body)
    if status != httpx.codes.OK or size < BYTES:
        raise SystemExit(f"{name} answers a large query with {status} and {size} bytes.")
    return BYTES / seconds


# -- what any server can reach -------------------------------------------------------------------


@contextmanager
def bare_sender(place: Path) -> Iterator[str]:
    """The address of a process that sends the table to whoever connects."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=send_to_all, args=(str(place), there), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}/"
    finally:
        process.terminate()
        process.join()


def send_to_all(place: str, there: Connection) -> None:
    dataset = lance.dataset(place)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        there.send(listening.getsockname()[1])
        while True:
            connection, _ = listening.accept()
            with connection, connection.makefile("wb", buffering=0) as file:
                connection.recv(2**16)
                file.write(b"HTTP/1.1 200 OK\r\n\r\n")
                reader = dataset.scanner(limit=ROWS).to_reader()
                with pa.ipc.new_stream(pa.PythonFile(file, "w"), reader.schema) as writer:
                    for batch in reader:
                        writer.write_batch(batch)


# -- showing -------------------------------------------------------------------------------------


def table_of(found: dict[str, float]) -> Table:
    table = Table("from", "MB/s", "of its files", title=f"A query of {BYTES / 1e6:,.0f} MB")
    for name, value in found.items():
        table.add_row(name, f"{value / 1e6:,.0f}", f"{value / found[FILES]:.0%}")
    return table
