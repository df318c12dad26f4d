"""Answers in files: every format can be read back, and a failure leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import typer

from lanceway.cli import files
from lanceway.errors import InternalError, InvalidInputError

TABLE = pa.table({"id": [1, 2], "name": ["a", None]})


@pytest.mark.parametrize("ending", files.ENDINGS)
def test_what_is_written_is_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    files.check(path, overwrite=False)
    files.write(path, TABLE.schema, iter(TABLE.to_batches()))
    rows = files.read([str(path)])
    written = pa.Table.from_batches(rows.batches, schema=rows.schema).to_pylist()
    assert [{**row, "name": row["name"] or None} for row in written] == TABLE.to_pylist()
    assert list(tmp_path.iterdir()) == [path]


def test_no_rows(tmp_path: Path) -> None:
    files.write(tmp_path / "none.json", TABLE.schema, iter(()))
    files.write(tmp_path / "none.parquet", TABLE.schema, iter(()))
    assert json.loads((tmp_path / "none.json").read_text()) == []
    assert files.read([str(tmp_path / "none.parquet")]).schema == TABLE.schema


def test_csv_holds_no_vectors(tmp_path: Path) -> None:
    vectors = pa.table({"v": pa.array([[1.0, 2.0]])})
    with pytest.raises(InvalidInputError, match=r"out\.csv cannot hold these rows: .*\.parquet"):
        files.write(tmp_path / "out.csv", vectors.schema, iter(vectors.to_batches()))
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_old_file(tmp_path: Path) -> None:
    def breaking() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        raise InternalError("the service went away")

    path = tmp_path / "out.parquet"
    path.write_text("old")
    with pytest.raises(InternalError):
        files.write(path, TABLE.schema, breaking())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["out.xlsx", "out", "missing/out.csv"])
def test_a_name_that_tells_nothing_is_wrong_use(tmp_path: Path, name: str) -> None:
    with pytest.raises(typer.BadParameter):
        files.check(tmp_path / name, overwrite=False)
