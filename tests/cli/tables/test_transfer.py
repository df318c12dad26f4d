"""Whole tables from and to Parquet files: which of the two kinds an argument means, and options of the other kind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def _rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pq.write_table(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), tmp_path / "rows.parquet")


@pytest.mark.parametrize("source", ["rows.parquet", "./rows.parquet"])
def test_parquet_files_become_a_table_and_files_again(done: Run, tmp_path: Path, source: str) -> None:
    assert done("tables", "import", source, "rows").out.startswith("Imported 3 rows ")
    done("tables", "import", source, "rows")
    assert done("tables", "count", "rows").out == "6\n"
    done("tables", "import", source, "rows", "--mode", "overwrite", "--threads", "2")
    sentence = done("tables", "export", "rows", "./out", "--column", "name", "--where", "id > 1").out
    assert sentence.startswith("Exported 2 rows of version 3 of rows ")
    assert pq.read_table(tmp_path / "out").to_pydict() == {"name": ["b", "c"]}


def test_a_table_that_exists_is_kept(done: Run, cli: Run) -> None:
    done("tables", "import", "rows.parquet", "rows", "--mode", "create")
    ended = cli("tables", "import", "rows.parquet", "rows", "--mode", "create")
    assert ended.code == 1
    assert done("tables", "count", "rows").out == "3\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("import", "./rows.parquet", "t", "--snapshot", "1"), "for an Iceberg table, which ./rows.parquet is not."),
        (("export", "t", "./out", "--property", "a=b"), "it is for an Iceberg table, which ./out is not."),
        (("import", "rows", "t", "--threads", "2"), "which rows is not. Write ./rows for a folder."),
        (("export", "t", "out", "--column", "a"), "it is for Parquet files, which out is not. Write ./out for a"),
        (("export", "t", "./out", "--to", "x", "--column", "a"), "it is for Parquet files, which ./out is not."),
    ],
)
def test_options_of_the_other_kind_are_wrong_use(cli: Run, arguments: tuple[str, ...], sentence: str) -> None:
    ended = cli("tables", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert sentence in " ".join(ended.err.split())


def test_the_old_spellings_work_and_say_the_new_one(done: Run, tmp_path: Path) -> None:
    ended = done("jobs", "import", "rows", "rows.parquet")
    assert ended.out.startswith("Imported 3 rows ")
    hint = "lanceway: 'lanceway jobs import' is now 'lanceway tables import SOURCE TABLE'; the old name ends with the"
    assert ended.err == f"{hint} next version.\n"
    ended = done("jobs", "export", "rows", str(tmp_path / "out"), "--json")
    assert (ended.json["rows"], ended.err) == (3, "")


OLD = (
    "crawl",
    "sync",
    "migrate",
    "compact",
    "clean",
    "index",
    "refresh-index",
    "backfill",
    "dedupe",
    "export",
    "import",
)


@pytest.mark.parametrize("verb", OLD)
def test_old_spellings_are_hidden_but_known(bare: Run, verb: str) -> None:
    assert bare("jobs", verb, "--help").code == 0
    assert f" {verb} " not in bare("jobs", "--help").out
