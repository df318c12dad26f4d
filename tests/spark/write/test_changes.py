"""The changes between two versions: rows that came, went, or have other values, however those were written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from lance.file import LanceFileWriter
from lance.fragment import DataFile
from pyspark.errors import PySparkException

import lanceway.spark
from lanceway import jobs
from lanceway.errors import InvalidInputError, InvalidTableStateError
from tests.spark.write.test_merge import make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def changes(spark: SparkSession, path: Path, start: int, end: int | None = None) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for row in lanceway.spark.read_changes(spark, path, start, end).collect():
        found.setdefault(row["_change"], []).append((row["id"], row["name"]))
    return {change: sorted(rows) for change, rows in found.items()}


def test_changes_are_told_by_stable_ids_even_after_compaction(spark: SparkSession, folder: Path) -> None:
    path = folder / "t"
    make(path, stable=True)
    dataset = lance.dataset(path)
    dataset.delete("id = 3")
    dataset.update({"name": "'changed'"}, where="id = 12")
    dataset.insert(pa.table({"id": [40], "name": ["added"], "n": [1]}))
    expected = {"delete": [(3, "old")], "update": [(12, "changed")], "insert": [(40, "added")]}
    assert changes(spark, path, 1) == expected
    dataset.optimize.compact_files()
    assert changes(spark, path, 1) == expected
    assert changes(spark, path, 2, 3) == {"update": [(12, "changed")]}


def test_changes_without_stable_ids_are_deletions_and_insertions(spark: SparkSession, folder: Path) -> None:
    path = folder / "t"
    make(path)
    dataset = lance.dataset(path)
    dataset.update({"name": "'changed'"}, where="id = 12")
    assert changes(spark, path, 1) == {"delete": [(12, "old")], "insert": [(12, "changed")]}
    assert len(changes(spark, path, 0, 1)["insert"]) == 40
    dataset.optimize.compact_files()
    with pytest.raises(InvalidTableStateError, match="is a Rewrite, after which rows are stored elsewhere"):
        changes(spark, path, 1)
    with pytest.raises(InvalidInputError, match="must be between 0 and"):
        changes(spark, path, 99)


def replaced(path: Path, fragment: int, column: pa.Array, name: str) -> None:
    """Put a file with other values of a column in the place of a fragment's own."""
    dataset, (major, minor) = lance.dataset(path), (2, 2)
    field = next(field for field in dataset.lance_schema.fields() if field.name() == name)
    with LanceFileWriter(str(path / "data" / f"{name}.lance"), pa.schema([(name, column.type)]), version="2.2") as file:
        file.write_batch(pa.table({name: column}))
    group = lance.LanceOperation.DataReplacementGroup(
        fragment, DataFile(f"{name}.lance", [field.id()], [0], major, minor)
    )
    lance.LanceDataset.commit(dataset, lance.LanceOperation.DataReplacement([group]), read_version=dataset.version)


@pytest.mark.parametrize("stable", [False, True])
def test_a_column_that_is_written_anew_changes_the_rows_with_other_values(
    spark: SparkSession, folder: Path, stable: bool
) -> None:
    path = folder / "t"
    make(path, stable=stable)
    lance.dataset(path).add_columns({"twice": "id * 2"})  # which changes no row
    lance.dataset(path).delete("id = 31")
    jobs.backfill(path, "name", _names, update=True, where="id < 12 AND id % 2 = 1", state=folder / "state")
    replaced(path, 2, pa.array(["old"] * 9 + ["new"]), "name")
    changed = [(id_, f"n{id_}") for id_ in (1, 3, 5, 7, 9, 11)]
    assert changes(spark, path, 1) == {"delete": [(31, "old")], "update": [*changed, (29, "new")]}
    assert changes(spark, path, 3, 4) == {"update": changed}


def _names(batch: pa.RecordBatch) -> list[str]:
    return [f"n{id_}" for id_ in batch["id"].to_pylist()]


def test_columns_are_told_by_their_values_not_by_their_files(spark: SparkSession, folder: Path) -> None:
    """One is renamed, one cast, one dropped and added with other values in a row; and there are maps."""
    path = folder / "t"
    maps: Any = pa.array([[("a", id_)] for id_ in range(6)], pa.map_(pa.string(), pa.int64()))
    nested = pa.StructArray.from_arrays([maps], ["m"])
    rows = pa.table({"id": range(6), "n": range(6), "name": ["old"] * 6, "m": maps, "s": nested})
    lance.write_dataset(rows, path, max_rows_per_file=3, data_storage_version="2.2")
    dataset: Any = lance.dataset(path)
    dataset.alter_columns({"path": "id", "data_type": pa.int32()})
    dataset.alter_columns({"path": "n", "name": "number"})
    dataset.drop_columns(["name"])
    dataset.add_columns(pa.table({"name": ["old"] * 4 + ["new", "old"]}).to_reader())
    assert changes(spark, path, 1) == {"update": [(4, "new")]}
    lance.dataset(path).delete("id = 2")
    found = lanceway.spark.read_changes(spark, path, 1).where("_change = 'delete'").collect()
    assert [(row["id"], row["number"], row["m"]) for row in found] == [(2, 2, {"a": 2})]


def test_an_old_value_that_does_not_fit_is_told(spark: SparkSession, folder: Path) -> None:
    path = folder / "t"
    make(path)
    lance.dataset(path).drop_columns(["name"])
    lance.dataset(path).add_columns({"name": "id"})
    with pytest.raises(PySparkException, match="a column has another type than at version 1, and a value does not fit"):
        changes(spark, path, 1)
