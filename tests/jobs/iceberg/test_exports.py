"""A Lance table becomes an Iceberg table: it is there with all of its rows, or not at all."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lanceway import jobs
from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import NewIcebergTable
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.jobs.iceberg import exports
from tests.jobs.iceberg import iceberg_job_helpers as tables
from tests.jobs.iceberg.iceberg_job_helpers import ROWS

SOURCE, TARGET = ["team", "rows"], ["team", "ice"]


@pytest.fixture
def source(lake: LakeCatalog) -> LakeCatalog:
    tables.write(lake, "team.rows", ROWS)
    return lake


def exported(lake: LakeCatalog, name: list[str] = TARGET) -> pa.Table:
    return tables.lake_tables(lake).load(tables.Identifier(name)).scan().to_arrow()


def test_the_latest_version_becomes_a_table_or_the_one_that_is_asked_for(source: LakeCatalog) -> None:
    tables.write(source, "team.rows", pa.table({"id": pa.array([9], pa.int64()), "name": ["nine"]}), "overwrite")
    summary = jobs.export_iceberg(source, SOURCE, TARGET, properties={"owner": "red"})
    table = tables.lake_tables(source).load(tables.Identifier(TARGET))
    assert (summary.version, summary.rows, summary.changed) == (2, 1, True)
    assert (summary.facts["location"], summary.facts["to"]) == (table.location(), "team.ice")
    assert summary.facts["snapshot"] == table.metadata.current_snapshot_id
    assert table.properties["owner"] == "red"
    assert exported(source).to_pylist() == [{"id": 9, "name": "nine"}]
    jobs.export_iceberg(source, SOURCE, ["team", "older"], version=1)
    assert exported(source, ["team", "older"]).to_pylist() == ROWS.to_pylist()


def test_an_empty_table_becomes_an_empty_table(lake: LakeCatalog) -> None:
    tables.write(lake, "team.rows", ROWS.slice(0, 0))
    assert jobs.export_iceberg(lake, SOURCE, TARGET).rows == 0
    assert exported(lake).to_pylist() == []


def test_many_rows_become_several_files_and_deleted_ones_stay_out(
    lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_FILE", 50_000)
    numbers = np.random.default_rng(1).random((20_000, 4), np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(numbers.ravel(), 4)
    tables.write(lake, "team.rows", pa.table({"id": range(20_000), "v": vectors}))
    lake.delete_from_table({"id": SOURCE, "predicate": "id % 2 = 0"})  # type: ignore[arg-type]
    assert jobs.export_iceberg(lake, SOURCE, TARGET).rows == 10_000
    table = tables.lake_tables(lake).load(tables.Identifier(TARGET))
    assert len(list(table.scan().plan_files())) == 2  # one for each batch that is read
    assert len(table.metadata.snapshots) == 1
    assert sorted(exported(lake).column("id").to_pylist()) == list(range(1, 20_000, 2))


def test_a_dry_run_says_the_types_and_changes_nothing(source: LakeCatalog, warehouse: Path) -> None:
    before = tables.files(warehouse)
    summary = jobs.export_iceberg(source, SOURCE, TARGET, dry_run=True)
    assert summary.facts["columns"][0] == {"column": "id", "lance": "int64", "iceberg": "long"}
    assert tables.files(warehouse) == before
    assert not source.iceberg_table_exists(TARGET)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_name_that_is_taken_and_tables_that_are_missing_are_said(
    source: LakeCatalog, warehouse: Path, dry_run: bool
) -> None:
    jobs.export_iceberg(source, SOURCE, TARGET)
    before = tables.files(warehouse)
    with pytest.raises(TableAlreadyExistsError):
        jobs.export_iceberg(source, SOURCE, TARGET, dry_run=dry_run)
    with pytest.raises((TableAlreadyExistsError, InvalidInputError)):
        jobs.export_iceberg(source, SOURCE, SOURCE, dry_run=dry_run)
    with pytest.raises(TableNotFoundError):
        jobs.export_iceberg(source, ["team", "nothing"], ["team", "x"], dry_run=dry_run)
    with pytest.raises(TableVersionNotFoundError):
        jobs.export_iceberg(source, SOURCE, ["team", "x"], version=7, dry_run=dry_run)
    with pytest.raises(NamespaceNotFoundError):
        jobs.export_iceberg(source, SOURCE, ["nowhere", "x"], dry_run=dry_run)
    assert tables.files(warehouse) == before


def test_a_value_that_fails_late_leaves_no_file(
    lake: LakeCatalog, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_FILE", 1)  # every batch is a file of its own
    good, bad = pa.array([1_000] * 9_000, pa.timestamp("ns")), pa.array([1], pa.timestamp("ns"))
    tables.write(lake, "team.rows", pa.table({"at": pa.chunked_array([good, bad])}))
    before = tables.files(warehouse)
    with pytest.raises(InvalidInputError, match="'at' holds a value"):
        jobs.export_iceberg(lake, SOURCE, TARGET)
    assert tables.files(warehouse) == before
    assert not lake.iceberg_table_exists(TARGET)


@pytest.mark.parametrize("calls", [0, 1])
def test_one_that_is_stopped_while_it_writes_or_compares_leaves_nothing(
    source: LakeCatalog, warehouse: Path, calls: int
) -> None:
    before, asked = tables.files(warehouse), []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > calls

    with pytest.raises(InternalError, match="stopped"):
        jobs.export_iceberg(source, SOURCE, TARGET, stop=stop)
    assert not source.iceberg_table_exists(TARGET)
    assert tables.files(warehouse) == before


def test_another_table_that_takes_the_name_meanwhile_is_left_alone(source: LakeCatalog, warehouse: Path) -> None:
    """The name is free when the export begins, and taken when it commits."""
    schema = tables.PLAIN.model_dump(by_alias=True)

    def take(_: object) -> None:
        if not source.iceberg_table_exists(TARGET):
            source.create_iceberg_table(TARGET, NewIcebergTable(schema, properties={"whose": "theirs"}))

    with pytest.raises(TableAlreadyExistsError):
        jobs.export_iceberg(source, SOURCE, TARGET, watch=take)
    table = tables.lake_tables(source).load(tables.Identifier(TARGET))
    assert table.properties["whose"] == "theirs"
    assert not list(warehouse.glob("*/data/*.parquet"))


def test_of_several_exports_to_one_name_one_makes_it(source: LakeCatalog, warehouse: Path) -> None:
    outcomes: list[object] = []

    def export() -> None:
        try:
            outcomes.append(jobs.export_iceberg(source, SOURCE, TARGET).rows)
        except TableAlreadyExistsError as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=export) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == sorted(map(str, [4, *[TableAlreadyExistsError] * 3]))
    assert exported(source).to_pylist() == ROWS.to_pylist()
    assert len(list(warehouse.glob("*/data/*.parquet"))) == 1
