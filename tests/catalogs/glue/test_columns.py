"""An Arrow schema in Glue's columns and one parameter, and back: for every type that a Lance table can hold."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from lanceway.catalogs import GlueCatalog
from lanceway.catalogs.glue import columns as glue_columns
from lanceway.tables.schema import arrow_json
from tests.catalogs.glue.glue_helpers import connect, create, database, describe, put, row, stored
from tests.servers.moto import ACCOUNT, Glue

VECTOR = pa.list_(pa.float32(), 4)
WORDS = [
    (pa.bool_(), "boolean"),
    (pa.int8(), "tinyint"),
    (pa.int64(), "bigint"),
    (pa.uint8(), "smallint"),
    (pa.uint64(), "decimal(20,0)"),
    (pa.float16(), "float"),
    (pa.float64(), "double"),
    (pa.large_string(), "string"),
    (pa.string_view(), "string"),
    (pa.binary(16), "binary"),
    (pa.large_binary(), "binary"),
    (pa.date64(), "date"),
    (pa.timestamp("ns", "UTC"), "timestamp"),
    (pa.decimal128(10, 2), "decimal(10,2)"),
    (pa.dictionary(pa.int8(), pa.string()), "string"),
    (VECTOR, "array<float>"),
    (pa.list_(pa.list_(pa.int32())), "array<array<int>>"),
    (pa.map_(pa.string(), pa.int64()), "map<string,bigint>"),
    (pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]), "struct<a:int,b:array<string>>"),
    (pa.uuid(), "binary"),
]
WITHOUT_WORD = [
    pa.null(),
    pa.time64("us"),
    pa.duration("s"),
    pa.decimal256(50, 2),
    pa.decimal128(5, -2),
    pa.list_(pa.time32("s")),
    pa.struct([("a:b", pa.int32())]),
    pa.struct([]),
    pa.month_day_nano_interval(),
]


@pytest.mark.parametrize(("type_", "word"), WORDS, ids=str)
def test_an_arrow_type_has_hives_word(type_: pa.DataType, word: str) -> None:
    assert glue_columns.hive_type(type_) == word
    assert glue_columns.hive_type(glue_columns.arrow_type(word)) == word


@pytest.mark.parametrize("type_", WITHOUT_WORD, ids=str)
def test_a_type_without_a_word_is_no_column(type_: pa.DataType) -> None:
    assert glue_columns.hive_type(type_) is None


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("STRUCT< a : int , b : Decimal(5,1) >", pa.struct([("a", pa.int32()), ("b", pa.decimal128(5, 1))])),
        ("varchar(20)", pa.string()),
        ("decimal", pa.decimal128(10, 0)),
        ("timestamp", pa.timestamp("us")),
        ("array<", None),
        ("array<int>>", None),
        ("struct<a>", None),
        ("uniontype<int,string>", None),
        ("", None),
    ],
)
def test_what_others_write_is_read(text: str, type_: pa.DataType | None) -> None:
    assert glue_columns.arrow_type(text) == type_


def everything() -> pa.Schema:
    """Each type once, nullable or not, with metadata, in an order that mixes columns with what is none."""
    types = [*(type_ for type_, _ in WORDS), *WITHOUT_WORD]
    fields = [pa.field(f"c{n:02}", type_, nullable=n % 3 > 0) for n, type_ in enumerate(types[::2] + types[1::2])]
    return pa.schema([*fields, pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])


def test_a_schema_comes_back_whole() -> None:
    schema = everything()
    columns, parameter = glue_columns.to_columns(schema)
    assert len(columns) == len(WORDS) + 1
    assert glue_columns.to_schema(columns, parameter) == arrow_json.schema(schema)


def test_what_columns_tell_needs_no_parameter() -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us"))])
    columns, parameter = glue_columns.to_columns(schema)
    assert ([column["Type"] for column in columns], parameter) == (["bigint", "string", "timestamp"], {})
    assert glue_columns.to_schema(columns, parameter) == arrow_json.schema(schema)


def test_names_that_glue_takes_for_the_same_are_one_column() -> None:
    schema = pa.schema([("id", pa.int64()), ("ID", pa.string()), ("x" * 300, pa.int8())])
    columns, parameter = glue_columns.to_columns(schema)
    assert columns == [{"Name": "id", "Type": "bigint"}]
    assert glue_columns.to_schema(columns, parameter) == arrow_json.schema(schema)


def test_a_column_that_somebody_changed_wins() -> None:
    columns, parameter = glue_columns.to_columns(pa.schema([("v", VECTOR), ("n", pa.uint8())]))
    columns[0]["Type"] = "string"
    assert glue_columns.to_schema(columns, parameter) == arrow_json.schema(
        pa.schema([("v", pa.string()), ("n", pa.uint8())])
    )


@pytest.mark.parametrize("broken", ["", "{}", "[[1]]", '[[0,"int",{}]]', "nonsense"])
def test_a_parameter_that_somebody_broke_says_nothing(broken: str) -> None:
    schema = glue_columns.to_schema([{"Name": "a", "Type": "int"}], {glue_columns.PARAMETER: broken})
    assert schema == arrow_json.schema(pa.schema([("a", pa.int32())]))


def test_a_type_that_cannot_be_read_leaves_no_schema() -> None:
    assert glue_columns.to_schema([{"Name": "a", "Type": "uniontype<int>"}], {}) is None
    assert glue_columns.to_schema([], {}) is None


def test_too_much_for_a_parameter_is_left_out() -> None:
    schema = pa.schema([pa.field("v", VECTOR, metadata={"note": "x" * 600_000})])
    columns, parameter = glue_columns.to_columns(schema)
    assert (columns, parameter) == ([{"Name": "v", "Type": "array<float>"}], {})


# -- in Glue -------------------------------------------------------------------------------------


@pytest.fixture
def catalog(glue: Glue, tmp_path: Path) -> GlueCatalog:
    database(glue, folder=tmp_path)
    return connect(glue)


def columns(glue: Glue, name: str = "t") -> list[tuple[str, str]]:
    return [(column["Name"], column["Type"]) for column in stored(glue, name)["StorageDescriptor"]["Columns"]]


def test_a_new_table_shows_its_columns(glue: Glue, catalog: GlueCatalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("vector", VECTOR), ("at", pa.time32("s"))])
    create(catalog, ["db", "t"], schema.empty_table(), properties={"owner": "ada"})
    assert columns(glue) == [("id", "bigint"), ("vector", "array<float>")]
    parameters = stored(glue, "t")["Parameters"]
    assert parameters["owner"] == "ada"
    assert [position for position, _, _ in json.loads(parameters[glue_columns.PARAMETER])] == [1, 2]
    assert glue_columns.PARAMETER not in describe(catalog, "db", "t").properties


def test_the_columns_follow_the_dataset(glue: Glue, catalog: GlueCatalog) -> None:
    table = create(catalog, ["db", "t"])
    new = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}
    catalog.alter_table_add_columns({"id": table, **new})  # type: ignore[arg-type]
    assert columns(glue) == [("id", "bigint"), ("twice", "bigint")]
    catalog.alter_table_alter_columns({"id": table, "alterations": [{"path": "twice", "rename": "double"}]})  # type: ignore[arg-type]
    assert columns(glue)[1] == ("double", "bigint")
    catalog.alter_table_drop_columns({"id": table, "columns": ["double"]})  # type: ignore[arg-type]
    assert columns(glue) == [("id", "bigint")]
    catalog.restore_table({"id": table, "version": 2})  # type: ignore[arg-type]
    assert columns(glue) == [("id", "bigint"), ("twice", "bigint")]
    create(catalog, table, pa.table({"name": ["a"]}), mode="overwrite")
    assert columns(glue) == [("name", "string")]
    other = pa.table({"born": pa.array([1815], pa.int16())})
    catalog.insert_into_table_stream({"id": table, "mode": "overwrite"}, other.to_reader())  # type: ignore[arg-type]
    assert columns(glue) == [("born", "smallint")]


def test_what_somebody_else_changes_meanwhile_is_kept(glue: Glue, catalog: GlueCatalog) -> None:
    def meanwhile(asked: dict[str, object]) -> bool:
        backend = glue.state.root(ACCOUNT)
        before = backend.get_table("db", "t").as_dict()
        if before["VersionId"] == "1":
            backend.update_table("db", "t", {**before, "Description": "read me"})
        return False

    glue.refuse("UpdateTable", "never", fits=meanwhile)
    create(catalog, ["db", "t"])
    assert (stored(glue, "t")["Description"], columns(glue)) == ("read me", [("id", "bigint")])
    versions = [asked["VersionId"] for operation, asked in glue.state.requests if operation == "UpdateTable"]
    assert versions == ["1", "2"]


def test_columns_that_cannot_be_written_fail_nothing(
    glue: Glue, catalog: GlueCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    glue.refuse("UpdateTable", "AccessDeniedException")
    create(catalog, ["db", "t"])
    assert catalog.count_table_rows({"id": ["db", "t"]}).count == 3  # type: ignore[arg-type]
    assert "does not show the new columns of db.t" in caplog.text


def test_a_table_without_data_is_described_by_its_columns(glue: Glue, catalog: GlueCatalog, tmp_path: Path) -> None:
    shown = {"Location": (tmp_path / "t.lance").as_uri(), "Columns": [{"Name": "id", "Type": "bigint"}]}
    put(glue, row("t", StorageDescriptor=shown))
    assert describe(catalog, "db", "t").var_schema is None
    description = describe(catalog, "db", "t", load_detailed_metadata=True)
    assert description.is_only_declared
    assert description.var_schema == arrow_json.schema(pa.schema([("id", pa.int64())]))
