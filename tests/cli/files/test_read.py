"""Files of every kind become the same rows, batch by batch."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import typer

from lanceway.cli import files
from lanceway.cli.files import FileRows
from lanceway.errors import InvalidInputError, TableSchemaValidationError

TABLE = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", None]})


def ipc_file(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)


def ipc_stream(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)


def ndjson() -> str:
    return "".join(f"{json.dumps(row)}\n" for row in TABLE.to_pylist())


def csv(separator: str = ",") -> str:
    return f"id{separator}name\n1{separator}a\n2{separator}b\n3{separator}\n"


WRITERS: dict[str, Callable[[Path], object]] = {
    "t.parquet": lambda path: pa.parquet.write_table(TABLE, path),
    "t.pq": lambda path: pa.parquet.write_table(TABLE, path),
    "t.arrow": ipc_file,
    "t.arrows": ipc_stream,
    "t.ipc": ipc_stream,
    "t.feather": lambda path: pa.feather.write_feather(TABLE, str(path)),
    "t.csv": lambda path: path.write_text(csv()),
    "t.tsv": lambda path: path.write_text(csv("\t")),
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(csv().encode())),
    "t.json": lambda path: path.write_text(json.dumps(TABLE.to_pylist(), indent=1)),
    "lines.json": lambda path: path.write_text(ndjson()),
    "t.ndjson": lambda path: path.write_text(ndjson()),
    "t.JSONL": lambda path: path.write_text(ndjson()),
    "t.ndjson.gz": lambda path: path.write_bytes(gzip.compress(ndjson().encode())),
}


def whole(rows: FileRows) -> pa.Table:
    return pa.Table.from_batches(rows.batches, schema=rows.schema)


def values(rows: FileRows) -> list[dict[str, object]]:
    # CSV knows no null in text: nothing is the empty text there.
    return [{**row, "name": row["name"] or None} for row in whole(rows).to_pylist()]


@pytest.mark.parametrize("name", WRITERS)
def test_every_format(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    rows = files.read([str(tmp_path / name)])
    assert rows.schema.field("id").type == pa.int64()
    assert values(rows) == TABLE.to_pylist()


def test_the_format_may_be_said(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text(csv())
    assert values(files.read([str(tmp_path / "data.txt")], "csv")) == TABLE.to_pylist()


@pytest.mark.parametrize(
    ("format_", "name"),
    [("ndjson", "t.ndjson"), ("csv", "t.csv"), ("arrow", "t.arrows"), ("parquet", "t.parquet")],
)
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, name: str) -> None:
    WRITERS[name](tmp_path / name)
    with (tmp_path / name).open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert values(files.read(["-"], format_)) == TABLE.to_pylist()


def test_the_rows_of_a_parquet_file_are_counted_beforehand(tmp_path: Path) -> None:
    WRITERS["t.parquet"](tmp_path / "t.parquet")
    assert files.read([str(tmp_path / "t.parquet")]).total == 3


def test_globs_and_many_files_in_order(tmp_path: Path) -> None:
    for number, name in enumerate(("b.csv", "a.csv", "c.csv")):
        (tmp_path / name).write_text(f"id\n{number}\n")
    rows = files.read([str(tmp_path / "c.csv"), str(tmp_path / "[ab].csv")])
    assert whole(rows)["id"].to_pylist() == [2, 1, 0]


def test_a_later_file_takes_the_types_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x,name\n1.5,a\n")
    (tmp_path / "2.csv").write_text("name,x\nb,2\n")
    rows = files.read([str(tmp_path / "1.csv"), str(tmp_path / "2.csv")])
    assert whole(rows).to_pylist() == [{"x": 1.5, "name": "a"}, {"x": 2.0, "name": "b"}]


def test_a_later_file_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x\n1\n")
    (tmp_path / "2.csv").write_text("x\nword\n")
    with pytest.raises(TableSchemaValidationError, match=r"'x' does not fit .*2\.csv"):
        whole(files.read([str(tmp_path / "1.csv"), str(tmp_path / "2.csv")]))


def test_a_later_file_with_other_columns_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x\n1\n")
    (tmp_path / "2.csv").write_text("y\n1\n")
    with pytest.raises(InvalidInputError, match=r"2\.csv has the columns y, but .*1\.csv has x"):
        whole(files.read([str(tmp_path / "1.csv"), str(tmp_path / "2.csv")]))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.parquet", b"no parquet at all"),
        ("t.arrow", b"ARROW1 but no more"),
        ("t.arrows", b"nothing of the kind"),
        ("t.json", b"[1, 2]"),
        ("t.json", b"[{]"),
        ("t.ndjson", b'{"a": 1}\n{"a": \n'),
        ("t.csv", b""),
        ("t.csv.gz", b"not compressed"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"{name} cannot be read: .*--format"):
        whole(files.read([str(tmp_path / name)]))


def test_a_file_that_breaks_later_is_named(tmp_path: Path) -> None:
    line = b'{"a": 1}\n'
    (tmp_path / "t.ndjson").write_bytes(line * (files._BLOCK // len(line) + 10) + b'{"a": "word"}\n')
    rows = files.read([str(tmp_path / "t.ndjson")])
    assert next(rows.batches).num_rows > 0
    with pytest.raises(InvalidInputError, match=r"t\.ndjson cannot be read"):
        list(rows.batches)


def test_a_large_file_is_not_held_whole(tmp_path: Path) -> None:
    with pa.parquet.ParquetWriter(tmp_path / "t.parquet", pa.schema([("x", pa.int64())])) as writer:
        for _ in range(20):
            writer.write_table(pa.table({"x": range(100_000)}))
    before = pa.total_allocated_bytes()
    rows = files.read([str(tmp_path / "t.parquet")])
    peak = max(pa.total_allocated_bytes() - before for _ in rows.batches)
    assert peak < 20 * 100_000 * 8 / 2


@pytest.mark.parametrize("name", ["missing.csv", "nothing-*.csv"])
def test_a_missing_file_is_wrong_use(tmp_path: Path, name: str) -> None:
    with pytest.raises(typer.BadParameter, match="there is no file"):
        files.read([str(tmp_path / name)])


def test_what_is_no_file_of_this_machine_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match=r"not read from ftp://, but from this machine and s3://") as refusal:
        files.read(["ftp://host/fruit.parquet?signature=hunter2"])
    assert "hunter2" not in str(refusal.value)
    with pytest.raises(typer.BadParameter, match=r"is a folder\. Name its files, such as '.*/\*\.parquet'"):
        files.read([f"{tmp_path}/"])


@pytest.mark.parametrize(("name", "format_"), [("data.txt", None), ("data", None), ("t.csv", "excel")])
def test_an_unknown_format_is_wrong_use(tmp_path: Path, name: str, format_: str | None) -> None:
    (tmp_path / name).write_text("x\n1\n")
    with pytest.raises(typer.BadParameter, match="choose one of arrow, csv, json, ndjson, parquet, tsv"):
        files.read([str(tmp_path / name)], format_)
