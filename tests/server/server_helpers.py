"""Requests and data that the tests of the server share."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow as pa

from tests.servers.lanceway import Lanceway

Id = list[str]


def space(server: Lanceway) -> Id:
    """A new namespace in the lake that nobody else uses."""
    id_ = ["lake", f"s{uuid.uuid4().hex[:12]}"]
    assert ask(server, "namespace", id_, "create").status_code == 200
    return id_


def path(kind: str, id_: Id, verb: str, delimiter: str = "$") -> str:
    return f"{kind}/{quote(delimiter.join(id_) or delimiter, safe='')}/{verb}"


def ask(server: Lanceway, kind: str, id_: Id, verb: str, body: Any = None, **options: Any) -> httpx.Response:
    method = "GET" if kind == "namespace" and verb.endswith("list") else "POST"
    return server.ask(method, path(kind, id_, verb), body, **options)


def table(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": pa.array([f"n{i}" for i in ids])})


def stream(data: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return bytes(sink.getvalue())


def created(server: Lanceway, *ids: int) -> Id:
    """A new table with these ids."""
    id_ = [*space(server), "t"]
    answer = ask(server, "table", id_, "create", content=stream(table(*ids)))
    assert answer.status_code == 200, answer.text
    return id_


def count(server: Lanceway, id_: Id) -> int:
    answer = ask(server, "table", id_, "count_rows", {})
    assert answer.status_code == 200, answer.text
    return int(answer.json())


def refused(answer: httpx.Response) -> tuple[int, int]:
    """Status and code of an error, whose envelope is checked on the way."""
    body = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert body["instance"] == answer.headers["x-request-id"]
    assert body["error"]
    assert "Traceback" not in answer.text
    return answer.status_code, body["code"]


def batches(count: int, rows: int = 16_384, width: int = 16) -> Iterator[pa.RecordBatch]:
    """Batches of `width` doubles a row: with the defaults, 2 MiB each."""
    import numpy as np

    names = [f"c{column}" for column in range(width)]
    batch = pa.record_batch([np.random.default_rng(column).random(rows) for column in range(width)], names=names)
    return itertools.repeat(batch, count)


def sent(found: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """The bytes of an IPC stream, as they are made."""
    from lanceway.tables.read import ipc

    first = next(found)

    def all_of_them() -> Iterator[pa.RecordBatch]:
        yield first
        yield from found

    yield from ipc.stream_chunks(pa.RecordBatchReader.from_batches(first.schema, all_of_them()), file_format=False)


def serving(server: Lanceway) -> int:
    """The process that serves; the one that started it listens at the address too, but only looks after it."""
    port = int(server.address.rpartition(":")[2])
    inode = next(
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    )
    listening = {int(folder.parent.name) for folder in Path("/proc").glob("[0-9]*/fd") if _holds(folder, inode)}
    return next(pid for pid in listening if _parent(pid) in listening)


def _holds(folder: Path, inode: str) -> bool:
    try:
        return any(os.readlink(file) == f"socket:[{inode}]" for file in folder.iterdir())
    except OSError:
        return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
