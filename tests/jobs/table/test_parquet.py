"""Tables as Parquet files and back: the same rows, once, whatever happens on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lanceway import jobs
from lanceway.errors import InvalidInputError, TableAlreadyExistsError, TableNotFoundError, TableSchemaValidationError
from lanceway.jobs.state import Checkpoint as Notes
from lanceway.jobs.table.parquet_files import Files
from tests.jobs import move_helpers as moves
from tests.jobs import upkeep_helpers as upkeep
from tests.jobs.upkeep_helpers import Kept, Watched
from tests.servers.seaweedfs import S3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(lakes: Path) -> Kept:
    return upkeep.make(lakes)


def test_rows_of_every_kind_come_back_as_they_were(table: Kept, tmp_path: Path) -> None:
    moves.make(table.catalog, "motley", moves.motley())
    done = jobs.export(table.named("motley").options, str(tmp_path / "out"))
    assert (done.rows, done.facts["files"], done.version) == (50, 1, 1)
    jobs.import_(table.named("copy").options, str(tmp_path / "out"))
    original, copy = (table.named(name).open().to_table() for name in ("motley", "copy"))
    for name in ("id", "text", "tags", "point", "kind", "price", "at", "yes"):
        assert copy[name].to_pylist() == original[name].to_pylist(), name
    assert copy.schema.field("vector").type == pa.list_(pa.float32(), 4)
    blobs = pq.read_table(tmp_path / "out")["blob"].to_pylist()
    assert blobs == moves.motley()["blob"].to_pylist()


def test_an_export_has_the_rows_and_columns_that_were_asked_for(table: Kept, tmp_path: Path) -> None:
    done = jobs.export(table.options, str(tmp_path / "out"), columns=["id"], where="id < 60", version=2)
    assert (done.rows, done.version) == (60, 2)
    found = pq.read_table(tmp_path / "out")
    assert (found.schema.names, sorted(found["id"].to_pylist())) == (["id"], list(range(60)))
    planned = jobs.export(table.options, str(tmp_path / "more"), where="id >= 250", dry_run=True)
    assert planned.rows == 50
    assert not (tmp_path / "more").exists()


def test_a_stopped_export_goes_on_with_the_version_that_it_began_with(table: Kept, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    stopped = jobs.export(table.options, out, threads=1, stop=upkeep.stopping(2))
    assert (stopped.stopped, stopped.done, stopped.parts) == (True, 2, 6)
    before = {file: file.stat().st_mtime_ns for file in Path(out).glob("*.parquet")}
    table.append(300, 10)
    watched = Watched()
    done = jobs.export(table.options, out, watch=watched)
    assert (done.rows, done.version, watched[0].done) == (300, 6, 2)
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert sorted(pq.read_table(out)["id"].to_pylist()) == list(range(300))
    assert {file.name for file in Path(out).iterdir() if file.suffix != ".parquet"} == {"_lanceway.json"}
    again = jobs.export(table.options, out)
    assert (again.changed, again.rows) == (False, 300)


def test_a_folder_that_holds_something_else_is_refused(table: Kept, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="is not empty, and holds no export"):
        jobs.export(table.options, str(out))
    (out / "mine.txt").unlink()
    jobs.export(table.options, str(out))
    with pytest.raises(InvalidInputError, match="holds an export of version 6 of table, of other rows"):
        jobs.export(table.options, str(out), where="id = 1")
    next(out.glob("*.parquet")).unlink()
    with pytest.raises(InvalidInputError, match="is missing or was changed"):
        jobs.export(table.options, str(out))


def test_files_are_closed_before_they_are_too_large(tmp_path: Path) -> None:
    rows = upkeep.rows(0, 3000)
    made = Files.at(str(tmp_path)).write("part", rows.schema, iter(rows.to_batches(100)), largest=20_000)
    assert len(made) > 1
    assert sum(file["rows"] for file in made) == pq.read_table(tmp_path).num_rows == 3000


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(4):
        pq.write_table(upkeep.rows(number * 50, 50), folder / f"{number}.parquet")
    (folder / "_notes.parquet").write_text("no rows")
    return folder


def test_files_become_one_version_or_are_added(table: Kept, files: Path) -> None:
    new = table.named("new")
    planned = jobs.import_(new.options, str(files), dry_run=True)
    assert (planned.parts, planned.rows) == (4, 200)
    assert moves.names(table.catalog) == {"table"}
    done = jobs.import_(new.options, str(files))
    assert (done.rows, done.version, done.facts["files"]) == (200, 1, 4)
    assert new.ids() == list(range(200))
    assert jobs.import_(new.options, str(files / "0.parquet")).version == 2
    assert len(new.ids()) == 250
    assert jobs.import_(new.options, str(files), mode="overwrite").version == 3
    assert new.ids() == list(range(200))
    with pytest.raises(TableAlreadyExistsError, match="new cannot be created"):
        jobs.import_(new.options, str(files), mode="create")


def test_a_stopped_import_writes_no_file_twice(table: Kept, files: Path) -> None:
    new = table.named("new")
    stopped = jobs.import_(new.options, str(files), threads=1, stop=upkeep.stopping(2))
    assert (stopped.stopped, stopped.done) == (True, 2)
    location = Path(moves.describe(table.catalog, "new").location)
    written = set(location.glob("data/*"))
    pq.write_table(upkeep.rows(1000, 7), files / "1.parquet")  # one of those that were written has changed
    watched = Watched()
    done = jobs.import_(new.options, str(files), watch=watched)
    assert (done.rows, watched[0].done) == (157, 1)
    assert new.ids() == [*range(50), *range(100, 200), *range(1000, 1007)]
    assert len(set(location.glob("data/*")) & written) == 1
    assert new.strays() == set()


def test_a_run_that_was_killed_after_its_commit_imports_nothing_twice(table: Kept, files: Path) -> None:
    new = table.named("new")
    jobs.import_(new.options, str(files))
    made = new.open().read_transaction(1)
    assert made is not None
    # What such a run leaves: the note of the commit that it was about to make.
    note = {"job": (made.transaction_properties or {})["lanceway.spark.job"], "after": 0}
    Notes("import", "new", str(files), "append").keep("commit", note)
    again = jobs.import_(new.options, str(files))
    assert (again.changed, again.version, len(new.ids())) == (False, 1, 200)
    assert jobs.import_(new.options, str(files)).version == 2


def test_rows_that_do_not_fit_leave_nothing_behind(table: Kept, files: Path) -> None:
    before = table.version
    pq.write_table(pa.table({"id": ["a", "b"]}), files / "9.parquet")
    with pytest.raises(TableSchemaValidationError, match="The rows do not fit table"):
        jobs.import_(table.options, str(files), threads=1)
    assert (table.version, table.strays()) == (before, set())
    (files / "9.parquet").write_text("this is no Parquet")
    with pytest.raises(InvalidInputError, match=r"9.parquet cannot be read as Parquet"):
        jobs.import_(table.named("new").options, str(files), threads=1)
    assert moves.names(table.catalog) == {"table"}
    with pytest.raises(TableNotFoundError):
        moves.describe(table.catalog, "new")
    with pytest.raises(InvalidInputError, match="There is no Parquet file at"):
        jobs.import_(table.options, str(files / "nothing"))
    with pytest.raises(InvalidInputError, match="mode is 'any'"):
        jobs.import_(table.options, str(files), mode="any")


def test_spark_exports_and_imports(spark: SparkSession, table: Kept, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert jobs.export(table.options, out, threads=2, spark=spark).rows == 300
    assert spark.read.parquet(out).count() == 300
    assert jobs.import_(table.named("new").options, out, threads=2, spark=spark).rows == 300
    assert table.named("new").ids() == list(range(300))


def test_files_in_a_bucket(s3: S3, table: Kept) -> None:
    place, options = s3.prefix(), s3.storage_options
    assert jobs.export(table.options, place, storage_options=options, threads=2).rows == 300
    about = json.loads(Files.at(place, options).store().read("_lanceway.json") or b"{}")
    assert about["done"]
    assert "secret" not in json.dumps(about).lower()
    assert jobs.import_(table.named("new").options, place, storage_options=options, threads=2).rows == 300
    assert table.named("new").ids() == list(range(300))
