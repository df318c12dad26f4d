"""A small table with a column of each kind that the tests ask about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from lanceway.tables.dataset import StoredTable
from lanceway.tables.write import create

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        pa.field("place", pa.struct([("city", pa.string()), ("zip.code", pa.string())])),
        ("vector", pa.list_(pa.float32(), 4)),
        ("words", pa.list_(pa.string())),
    ]
)
NAMES = ("amber lamp", "blue lamp", "copper kettle", "dusty book", "ebony chair")


def rows(first: int = 0, count: int = 10) -> pa.Table:
    """Rows whose vectors lie on a line, so that neighbours are known."""
    ids = range(first, first + count)
    return pa.table(
        {
            "id": list(ids),
            "name": [NAMES[i % len(NAMES)] for i in ids],
            "place": [{"city": f"c{i}", "zip.code": str(i)} for i in ids],
            "vector": [[float(i), 1.0, 0.0, 0.0] for i in ids],
            "words": [["a", "b"] for _ in ids],
        },
        schema=SCHEMA,
    )


def make(folder: Path, data: pa.Table | None = None, name: str = "things") -> StoredTable:
    table = StoredTable(name, str(folder / name))
    create.create(table, (rows() if data is None else data).to_reader(), None)
    return table


def breaking(data: pa.Table) -> pa.RecordBatchReader:
    """A reader of these rows that fails at their end."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from data.to_batches()
        raise ValueError("the line went dead")

    return pa.RecordBatchReader.from_batches(data.schema, batches())


def stream(data: pa.Table, batch: int = 4) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data, batch)
    return bytes(sink.getvalue())


def files(folder: str | Path) -> list[str]:
    """Every file below a folder, relative to it."""
    root = Path(folder)
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
