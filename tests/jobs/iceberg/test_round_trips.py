"""A Lance table that is exported and imported again has the rows and the types that it had."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lanceway import jobs
from lanceway.catalogs import LakeCatalog
from lanceway.errors import InvalidInputError
from lanceway.jobs.iceberg.types import ARROW_SCHEMA
from tests.jobs.iceberg import iceberg_job_helpers as tables


def there_and_back(lake: LakeCatalog, rows: pa.Table, name: str = "x") -> pa.Table:
    tables.write(lake, f"team.{name}", rows)
    exported = jobs.export_iceberg(lake, ["team", name], ["team", f"{name}_ice"])
    imported = jobs.import_iceberg(lake, ["team", f"{name}_ice"], ["team", f"{name}_back"])
    assert exported.rows == imported.rows == rows.num_rows
    assert exported.facts["checksum"] == imported.facts["checksum"]
    return tables.read(lake, f"team.{name}_back")


def plain_types(schema: pa.Schema) -> list[pa.DataType]:
    return [plain(field.type) for field in schema]


def plain(type_: pa.DataType) -> pa.DataType:
    """Return a type with values instead of dictionaries, at any depth."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(plain(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(type_.key_type, plain(type_.item_type))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(plain(type_.value_type), type_.list_size)
    if pa.types.is_list(type_):
        return pa.list_(plain(type_.value_type))
    return type_


def test_every_type_comes_back_as_it_was(lake: LakeCatalog, seed: str) -> None:
    rows = tables.table_of_every_type(random.Random(seed), 40)
    back = there_and_back(lake, rows)
    assert back.schema.types == plain_types(rows.schema)
    assert tables.as_python(back) == tables.as_python(rows)


def test_random_nested_tables_come_back_as_they_were(lake: LakeCatalog, seed: str, rounds: int) -> None:
    chance = random.Random(seed)
    for number in range(max(8, rounds)):
        rows = tables.random_table(chance, chance.choice([0, 1, 30]))
        back = there_and_back(lake, rows, f"t{number}")
        assert back.schema.types == plain_types(rows.schema), rows.schema
        assert tables.as_python(back) == tables.as_python(rows), rows.schema


def test_vectors_are_lists_in_iceberg_and_vectors_again(lake: LakeCatalog) -> None:
    vectors = pa.array([[0.5, 1.0, 2.0], None, [1.0, 2.0, float("nan")]], pa.list_(pa.float32(), 3))
    back = there_and_back(lake, pa.table({"v": vectors}))
    iceberg = tables.lake_tables(lake).load(tables.Identifier(["team", "x_ice"]))
    assert str(iceberg.schema().find_type("v")) == "list<float>"
    assert ARROW_SCHEMA in iceberg.properties
    assert back.schema.field("v").type == vectors.type


def test_lists_and_maps_of_structs_that_are_null_stay_null(lake: LakeCatalog, warehouse: Path) -> None:
    """pyiceberg makes empty ones of them, when it writes and when it reads."""
    struct = pa.struct([pa.field("x", pa.int64())])
    values = [[{"x": 1}], None, [], [None]]
    rows = pa.table(
        {
            "lists": pa.array(values, pa.list_(struct)),
            "maps": pa.array([[("a", {"x": 1})], None, [], [("b", None)]], pa.map_(pa.string(), struct)),
            "within": pa.array([[values[0], None], None, [[]], [values[3]]], pa.list_(pa.list_(struct))),
        }
    )
    assert there_and_back(lake, rows).to_pylist() == rows.to_pylist()
    (file,) = warehouse.glob("*/data/*.parquet")
    assert pq.read_table(file).to_pylist() == rows.to_pylist()


def test_a_table_that_iceberg_holds_as_it_is_needs_no_property(lake: LakeCatalog) -> None:
    there_and_back(lake, tables.ROWS)
    iceberg = tables.lake_tables(lake).load(tables.Identifier(["team", "x_ice"]))
    assert ARROW_SCHEMA not in iceberg.properties


def test_a_property_that_is_no_schema_or_of_other_columns_changes_nothing(lake: LakeCatalog) -> None:
    place = tables.lake_tables(lake)
    tables.write(lake, "team.vectors", pa.table({"name": pa.array([[1.0]], pa.list_(pa.float32(), 1))}))
    jobs.export_iceberg(lake, ["team", "vectors"], ["team", "vectors_ice"])
    recorded = place.load(tables.Identifier(["team", "vectors_ice"])).properties[ARROW_SCHEMA]
    for number, text in enumerate(("no base64 at all", "AAAA", recorded)):
        table = tables.make(place, f"team.ice{number}", rows=tables.ROWS)
        with table.transaction() as change:
            change.set_properties({ARROW_SCHEMA: text})
        jobs.import_iceberg(lake, ["team", f"ice{number}"], ["team", f"back{number}"])
        assert tables.read(lake, f"team.back{number}").equals(tables.ROWS)


def test_comments_and_required_columns_go_with_the_table(lake: LakeCatalog) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata={"doc": "the key"}),
            pa.field("inner", pa.struct([pa.field("x", pa.int16(), nullable=False)]), nullable=False),
            pa.field("maybe", pa.struct([pa.field("x", pa.int16(), nullable=False)])),
        ]
    )
    rows = pa.table({"id": [1, 2], "inner": [{"x": 1}, {"x": 2}], "maybe": [{"x": 1}, None]}, schema)
    back = there_and_back(lake, rows)
    iceberg = tables.lake_tables(lake).load(tables.Identifier(["team", "x_ice"])).schema()
    assert iceberg.find_field("id").doc == "the key"
    assert iceberg.find_field("id").required
    assert not back.schema.field("id").nullable
    assert back.schema.field("id").metadata == {b"doc": b"the key"}
    assert not back.schema.field("inner").type.field("x").nullable
    assert back.schema.field("maybe").type.field("x").nullable  # Iceberg has nothing required in what may be null
    assert back.to_pylist() == rows.to_pylist()


@pytest.mark.parametrize(
    ("column", "word"),
    [
        (pa.nulls(1), "null"),
        (pa.array([None], pa.decimal256(60, 0)), "decimal256(60, 0)"),
        (pa.array([[None]], pa.list_(pa.null())), "'c.element' is null"),
        (pa.array([{"x": None}], pa.struct([pa.field("x", pa.decimal256(40, 0))])), "'c.x'"),
    ],
)
def test_a_type_that_iceberg_cannot_hold_is_refused(lake: LakeCatalog, column: pa.Array, word: str) -> None:
    tables.write(lake, "team.t", pa.table({"c": column}))
    for dry_run in (True, False):
        with pytest.raises(InvalidInputError, match="Iceberg cannot hold") as refused:
            jobs.export_iceberg(lake, ["team", "t"], ["team", "ice"], dry_run=dry_run)
        assert word in str(refused.value)
    assert not lake.iceberg_table_exists(["team", "ice"])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1_000, 1_001], pa.timestamp("ns")),
        pa.array([1], pa.time64("ns")),
        pa.array([2**62], pa.timestamp("s")),
    ],
)
def test_a_value_that_would_be_cut_ends_the_export(lake: LakeCatalog, warehouse: Path, column: pa.Array) -> None:
    tables.write(lake, "team.t", pa.table({"c": column}))
    before = tables.files(warehouse)
    with pytest.raises(InvalidInputError, match="'c' holds a value that does not fit"):
        jobs.export_iceberg(lake, ["team", "t"], ["team", "ice"])
    assert not lake.iceberg_table_exists(["team", "ice"])
    assert tables.files(warehouse) == before
