"""An Iceberg table becomes a Lance table: the rows of one snapshot, whatever happened to the table before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lance_namespace import DescribeTableRequest
from pyiceberg.io import load_file_io
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from lanceway import jobs
from lanceway.catalogs import DirectoryCatalog, LakeCatalog
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.jobs.report import JobProgress
from tests.jobs.iceberg import iceberg_job_helpers as tables
from tests.jobs.iceberg.iceberg_job_helpers import ROWS
from tests.new_lakes import new_lake

SOURCE, TARGET = ["team", "ice"], ["team", "rows"]
OTHERS = pa.table({"other": [1]})


def versions(lake: LakeCatalog) -> list[int]:
    response = lake.list_table_versions({"id": TARGET})  # type: ignore[arg-type]
    return sorted(int(version.version) for version in response.versions)


def test_the_rows_of_the_current_snapshot_become_a_table_and_the_source_stays(lake: LakeCatalog) -> None:
    table = tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    seen: list[JobProgress] = []
    summary = jobs.import_iceberg(lake, SOURCE, TARGET, watch=seen.append)
    assert summary.as_record() | {"seconds": 0, "bytes": 0} == {
        "job": "import-iceberg",
        "table": "team.rows",
        "dry_run": False,
        "ok": True,
        "stopped": False,
        "version": 1,
        "changed": True,
        "parts": 0,
        "done": 0,
        "rows": 4,
        "bytes": 0,
        "source": "team.ice",
        "snapshot": table.metadata.current_snapshot_id,
        "mode": "create",
        "checksum": summary.facts["checksum"],
        "seconds": 0,
    }
    assert seen[-1].rows == 4
    assert tables.read(lake, "team.rows").equals(ROWS)
    after = tables.lake_tables(lake).load(tables.Identifier(SOURCE))
    assert after.metadata == table.metadata


def test_an_empty_table_and_one_without_a_snapshot_become_empty_tables(lake: LakeCatalog) -> None:
    place = tables.lake_tables(lake)
    tables.make(place, "team.ice")
    tables.make(place, "team.emptied", rows=ROWS).delete("id >= 0")
    for source in ("ice", "emptied"):
        assert jobs.import_iceberg(lake, ["team", source], ["team", f"{source}_rows"]).rows == 0
        assert tables.read(lake, f"team.{source}_rows").equals(ROWS.slice(0, 0))


def test_rows_deleted_by_position_and_by_rewriting_are_left_out(lake: LakeCatalog) -> None:
    table = tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    before = table.metadata.current_snapshot_id
    tables.delete_rows(table, [0, 2])
    assert jobs.import_iceberg(lake, SOURCE, TARGET).rows == 2
    assert tables.read(lake, "team.rows").column("id").to_pylist() == [2, 4]
    tables.lake_tables(lake).load(tables.Identifier(SOURCE)).delete("id = 4")
    jobs.import_iceberg(lake, SOURCE, TARGET, mode="overwrite")
    assert tables.read(lake, "team.rows").column("id").to_pylist() == [2]
    summary = jobs.import_iceberg(lake, SOURCE, ["team", "older"], snapshot=before)
    assert summary.facts["snapshot"] == before
    assert tables.read(lake, "team.older").equals(ROWS)


def test_a_schema_that_was_changed_is_that_of_the_snapshot(lake: LakeCatalog) -> None:
    table = tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    first = table.metadata.current_snapshot_id
    with table.update_schema() as change:
        change.add_column("price", IntegerType())
        change.rename_column("name", "title")
    with table.update_schema() as change:
        change.update_column("price", LongType())
        change.move_first("price")
    added = pa.table({"price": pa.array([7], pa.int64()), "id": pa.array([5], pa.int64()), "title": ["five"]})
    table.append(added)
    jobs.import_iceberg(lake, SOURCE, TARGET)
    rows = tables.read(lake, "team.rows")
    assert rows.schema.names == ["price", "id", "title"]
    assert sorted(rows.to_pylist(), key=lambda row: row["id"]) == [
        *({"price": None, "id": row["id"], "title": row["name"]} for row in ROWS.to_pylist()),
        {"price": 7, "id": 5, "title": "five"},
    ]
    jobs.import_iceberg(lake, SOURCE, ["team", "older"], snapshot=first)
    assert tables.read(lake, "team.older").equals(ROWS)


def test_a_partitioned_table_is_read_whole(lake: LakeCatalog) -> None:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    place = tables.lake_tables(lake)
    table = tables.make(place, "team.ice", schema)
    with table.update_spec() as change:
        change.add_field("name", IdentityTransform(), "name")
    rows = pa.table({"id": pa.array(range(200), pa.int64()), "name": [f"n{number % 3}" for number in range(200)]})
    table.append(rows)
    table.append(ROWS)
    assert len({task.file.file_path for task in table.scan().plan_files()}) > 3
    jobs.import_iceberg(lake, SOURCE, TARGET)
    assert sorted(tables.read(lake, "team.rows").to_pylist(), key=str) == sorted(
        [*rows.to_pylist(), *ROWS.to_pylist()], key=str
    )


def test_overwriting_makes_a_new_version(lake: LakeCatalog) -> None:
    tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    tables.write(lake, "team.rows", pa.table({"other": [1]}))
    with pytest.raises(TableAlreadyExistsError, match="already exists"):
        jobs.import_iceberg(lake, SOURCE, TARGET)
    summary = jobs.import_iceberg(lake, SOURCE, TARGET, mode="overwrite")
    assert (summary.version, versions(lake)) == (2, [1, 2])
    assert tables.read(lake, "team.rows").equals(ROWS)
    assert tables.read(lake, "team.rows", 1).to_pylist() == [{"other": 1}]


class BusyLake(LakeCatalog):
    """A lake in which another client makes the table when an import has looked for it and begins to write it."""

    def create_table_stream(self, request: Any, data: Any) -> Any:
        super().create_table_stream({"id": TARGET}, OTHERS.to_reader())
        return super().create_table_stream(request, data)


@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_a_table_that_another_made_since_the_look_stays(tmp_path: Path, warehouse: Path, mode: str) -> None:
    with BusyLake(uri=new_lake(tmp_path / "lake.db"), root=str(warehouse)) as lake:
        lake.create_namespace({"id": ["team"]})
        tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
        with pytest.raises(TableAlreadyExistsError):
            jobs.import_iceberg(lake, SOURCE, TARGET, mode=mode)
        assert tables.read(lake, "team.rows").equals(OTHERS)
        assert versions(lake) == [1]


@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_a_table_that_another_made_in_the_meantime_stays(lake: LakeCatalog, mode: str) -> None:
    tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)

    def make_it(progress: JobProgress) -> None:
        tables.write(lake, "team.rows", OTHERS)

    with pytest.raises(LanceNamespaceError):
        jobs.import_iceberg(lake, SOURCE, TARGET, mode=mode, watch=make_it)
    assert tables.read(lake, "team.rows").equals(OTHERS)
    assert versions(lake) == [1]


def test_a_dry_run_says_the_types_and_changes_nothing(lake: LakeCatalog, warehouse: Path) -> None:
    tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    before = tables.files(warehouse)
    summary = jobs.import_iceberg(lake, SOURCE, TARGET, dry_run=True)
    assert summary.facts["columns"] == [
        {"column": "id", "lance": "int64", "iceberg": "long"},
        {"column": "name", "lance": "string", "iceberg": "string"},
    ]
    assert tables.files(warehouse) == before


@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_a_file_that_is_gone_ends_the_import_and_nothing_is_left(lake: LakeCatalog, warehouse: Path, mode: str) -> None:
    table = tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    table.append(ROWS)
    if mode == "overwrite":
        tables.write(lake, "team.rows", pa.table({"other": [1]}))
    data = sorted(warehouse.glob("*/data/*.parquet"))
    data[0].unlink()
    before = tables.files(warehouse)
    with pytest.raises(InternalError, match=r"A file of team\.ice cannot be read"):
        jobs.import_iceberg(lake, SOURCE, TARGET, mode=mode)
    assert tables.files(warehouse) == before
    if mode == "create":
        with pytest.raises(TableNotFoundError):
            lake.describe_table(DescribeTableRequest(id=TARGET))
    else:
        assert tables.read(lake, "team.rows").to_pylist() == [{"other": 1}]


@pytest.mark.parametrize("mode", ["create", "overwrite"])
@pytest.mark.parametrize("calls", [0, 1])
def test_one_that_is_stopped_while_it_reads_or_compares_leaves_nothing(
    lake: LakeCatalog, mode: str, calls: int
) -> None:
    tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    if mode == "overwrite":
        tables.write(lake, "team.rows", pa.table({"other": [1]}))
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > calls

    with pytest.raises(InternalError, match="stopped"):
        jobs.import_iceberg(lake, SOURCE, TARGET, mode=mode, stop=stop)
    if mode == "create":
        with pytest.raises(TableNotFoundError):
            lake.describe_table(DescribeTableRequest(id=TARGET))
    else:
        assert tables.read(lake, "team.rows").to_pylist() == [{"other": 1}]


def test_what_cannot_be_imported_is_said(lake: LakeCatalog, tmp_path: Path) -> None:
    tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    tables.write(lake, "team.lance", ROWS)
    with pytest.raises(TableNotFoundError):
        jobs.import_iceberg(lake, ["team", "nothing"], TARGET)
    with pytest.raises(NamespaceNotFoundError):
        jobs.import_iceberg(lake, SOURCE, ["nowhere", "rows"])
    with pytest.raises(InvalidInputError, match="is a Lance table already"):
        jobs.import_iceberg(lake, ["team", "lance"], TARGET)
    with pytest.raises(InvalidInputError, match="no snapshot 17"):
        jobs.import_iceberg(lake, SOURCE, TARGET, snapshot=17)
    with pytest.raises(InvalidInputError, match="create, overwrite"):
        jobs.import_iceberg(lake, SOURCE, TARGET, mode="append")
    with pytest.raises(InvalidInputError, match="Iceberg table"):  # one name is one thing
        jobs.import_iceberg(lake, SOURCE, SOURCE, mode="overwrite")
    folder = DirectoryCatalog(path=str(tmp_path / "folder"))
    with pytest.raises(InvalidInputError, match="keeps no Iceberg tables"):
        jobs.import_iceberg(folder, SOURCE, ["rows"])
    with pytest.raises(InvalidInputError, match="has no Iceberg tables"):
        jobs.import_iceberg(lake, SOURCE, TARGET, iceberg=folder)


def test_files_outside_the_table_are_not_read_with_the_keys_of_the_lake(lake: LakeCatalog, tmp_path: Path) -> None:
    outside = tmp_path / "secret.parquet"
    pq.write_table(ROWS, outside)
    table = tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    table.io = load_file_io({}, table.location())  # as one who writes the table with a client of their own
    table.add_files([outside.as_uri()])
    with pytest.raises(InvalidInputError, match=r"a file outside its location: 'file://.*secret\.parquet'"):
        jobs.import_iceberg(lake, SOURCE, TARGET)
    with pytest.raises(TableNotFoundError):
        lake.describe_table(DescribeTableRequest(id=TARGET))


def test_rows_of_a_lake_can_go_to_another_catalog(lake: LakeCatalog, tmp_path: Path) -> None:
    tables.make(tables.lake_tables(lake), "team.ice", rows=ROWS)
    folder = DirectoryCatalog(path=str(tmp_path / "folder"))
    jobs.import_iceberg(folder, SOURCE, ["rows"], iceberg=lake)
    assert tables.read(folder, "rows").equals(ROWS)
    jobs.export_iceberg(folder, ["rows"], ["team", "again"], iceberg=lake)
    jobs.import_iceberg(lake, ["team", "again"], TARGET)
    assert tables.read(lake, "team.rows").equals(ROWS)
