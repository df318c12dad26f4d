"""The Unity catalog: names, schemas, tables, and what is asked of the server for each."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceway import connect
from lanceway.catalogs import FederatedCatalog, UnityCatalog
from lanceway.config import CatalogSettings
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.testing.sandbox import code
from tests.catalogs.unity.unity_helpers import ROWS, Home, count, create, declare, describe, home, namespaces, tables
from tests.servers.unity import DATABRICKS, NEW, OLD, Fault, Unity


@pytest.fixture
def catalog(unity: Home, tmp_path: Path) -> UnityCatalog:
    return unity.connect(tmp_path)


@pytest.fixture
def fake(fake_unity: Unity) -> Any:
    """The fake behind a catalog of its own."""
    with home(fake_unity.endpoint) as place:
        place.schema()
        fake_unity.seen.clear()
        yield place


def asked(server: Unity) -> list[tuple[str, str]]:
    return [(request.method, request.path.rpartition("unity-catalog/")[2].partition("/")[0]) for request in server.seen]


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "localhost:8080"},
        {"endpoint": "http://user:hush@localhost"},
        {"catalog": ""},
        {"catalog": "a.b"},
        {"read_timeout": "0"},
        {"connect_timeout": "-1"},
        {"max_retries": "-1"},
        {"warehouse": "x"},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        UnityCatalog(**{"endpoint": "http://localhost:8080", "catalog": "main", **wrong})
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("missing", ["endpoint", "catalog"])
def test_endpoint_and_catalog_are_needed(missing: str) -> None:
    settings = {"endpoint": "http://localhost:8080", "catalog": "main"}
    with pytest.raises(InvalidInputError, match=missing):
        UnityCatalog(**{name: value for name, value in settings.items() if name != missing})


def test_the_api_may_lie_at_another_path(fake: Home, fake_unity: Unity) -> None:
    with pytest.raises(InvalidInputError, match="api_path"):
        namespaces(fake.connect(api_path="/api/1.0"), [fake.catalog])
    assert namespaces(fake.connect(api_path="api/2.1/unity-catalog/"), [fake.catalog]) == ["s"]


def test_the_token_is_sent_and_shown_to_nobody(fake: Home, fake_unity: Unity) -> None:
    catalog = fake.connect(auth_token="hush-hush")
    namespaces(catalog, [fake.catalog])
    assert fake_unity.seen[-1].headers["authorization"] == "Bearer hush-hush"
    assert "hush" not in repr(catalog) + catalog.namespace_id()
    assert catalog.namespace_id() != fake.connect(auth_token="another").namespace_id()


def test_a_relative_root_means_the_same_folder_everywhere(
    unity: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog, schema = unity.connect("below"), unity.schema()
    unset = unity.connect()
    copied = pickle.dumps(catalog)
    monkeypatch.chdir("/")
    location = declare(pickle.loads(copied), [*schema, "a"]).location
    assert location.startswith(f"{tmp_path.as_uri()}/below/{unity.catalog}/s/a-")
    assert declare(unset, [*schema, "b"]).location.startswith(f"{tmp_path.as_uri()}/{unity.catalog}/s/b-")


# -- names ---------------------------------------------------------------------------------------


def test_the_root_lists_the_catalog_and_asks_nobody(fake: Home, fake_unity: Unity) -> None:
    assert namespaces(fake.connect(), []) == [fake.catalog]
    assert tables(fake.connect(), []) == []
    assert fake_unity.seen == []


def test_a_catalog_is_described_and_holds_no_tables(unity: Home, catalog: UnityCatalog) -> None:
    assert catalog.describe_namespace({"id": [unity.catalog]}).properties == {"team": "red"}
    assert tables(catalog, [unity.catalog]) == []
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace({"id": [unity.catalog]})
    assert catalog.create_namespace({"id": [unity.catalog], "mode": "exist_ok"}).properties == {"team": "red"}
    for request in ({"mode": "overwrite"}, {}):
        operation = catalog.create_namespace if request else catalog.drop_namespace
        with pytest.raises(InvalidInputError):
            operation({"id": [unity.catalog], **request})


def test_another_catalog_is_not_asked_for(fake: Home, fake_unity: Unity) -> None:
    """13 to create, 1 for other namespaces and to declare, 4 for tables."""
    catalog, other = fake.connect(), ["other", "s"]
    with pytest.raises(InvalidInputError):
        catalog.create_namespace({"id": other})
    for operation in ("list_namespaces", "list_tables", "describe_namespace", "namespace_exists", "drop_namespace"):
        with pytest.raises(NamespaceNotFoundError):
            getattr(catalog, operation)({"id": other})
    with pytest.raises(NamespaceNotFoundError):
        namespaces(catalog, ["other"])
    with pytest.raises(NamespaceNotFoundError):
        declare(catalog, [*other, "t"])
    with pytest.raises(NamespaceNotFoundError):
        create(catalog, [*other, "t"])
    for operation in ("describe_table", "deregister_table", "drop_table", "table_exists", "count_table_rows"):
        with pytest.raises(TableNotFoundError):
            getattr(catalog, operation)({"id": [*other, "t"]})
    assert fake_unity.seen == []


def test_there_are_three_levels(unity: Home, catalog: UnityCatalog) -> None:
    schema = unity.schema()
    for id_ in ([unity.catalog], schema):
        with pytest.raises(InvalidInputError):
            declare(catalog, id_)
        with pytest.raises(InvalidInputError):
            describe(catalog, id_)
    with pytest.raises(InvalidInputError):
        catalog.create_namespace({"id": [*schema, "deeper"]})
    with pytest.raises(NamespaceNotFoundError):
        namespaces(catalog, [*schema, "deeper"])
    with pytest.raises(NamespaceNotFoundError):
        describe(catalog, [*schema, "deeper", "t"])


@pytest.mark.parametrize("name", ["a.b", "a b", "a/b", "a$b", "a%b", "a\nb", "x" * 256, "größe", "a+b", "a:b", "日本"])
def test_names_that_unity_cannot_have_are_refused_before_it_is_asked(fake: Home, fake_unity: Unity, name: str) -> None:
    with pytest.raises(InvalidInputError):
        fake.connect().create_namespace({"id": [fake.catalog, name]})
    with pytest.raises(InvalidInputError):
        declare(fake.connect(), [fake.catalog, "s", name])
    assert fake_unity.seen == []


@pytest.mark.parametrize("name", ["A-B_ok@1", "x" * 255], ids=["every kind of character", "long"])
def test_a_table_may_have_any_other_name(fake: Home, tmp_path: Path, name: str) -> None:
    catalog = fake.connect(tmp_path)
    table = create(catalog, [fake.catalog, "s", name])
    assert (count(catalog, table), tables(catalog, table[:2])) == (3, [name])


# -- lists ---------------------------------------------------------------------------------------


def test_pages_are_followed_to_the_end(fake: Home, fake_unity: Unity) -> None:
    """An exactly full page is followed by an empty one; where rows are filtered, empty ones stand in the middle."""
    names = [f"t{number:02}" for number in range(12)]
    for name in names:
        fake.table(name)
        fake.schema(f"n{name}")
    fake_unity.page, fake_unity.hidden = 3, frozenset(names[3:6])
    catalog, expected = fake.connect(), names[:3] + names[6:]
    fake_unity.seen.clear()
    assert tables(catalog, [fake.catalog, "s"]) == expected
    assert len(fake_unity.seen) == 5
    assert namespaces(catalog, [fake.catalog]) == [*(f"n{name}" for name in names), "s"]
    page = catalog.list_tables({"id": [fake.catalog, "s"], "limit": 4})
    assert page.tables == expected[:4]
    second_page = catalog.list_tables({"id": [fake.catalog, "s"], "page_token": page.page_token})
    assert (second_page.tables, second_page.page_token) == (expected[4:], None)


def test_more_than_a_page_of_a_real_size(unity: Home, catalog: UnityCatalog) -> None:
    names = [f"t{number:03}" for number in range(201)]
    schema = unity.schema()
    for name in reversed(names):
        unity.table(name)
    assert tables(catalog, schema) == names


def test_a_list_that_does_not_end_is_an_error(fake: Home, fake_unity: Unity) -> None:
    fake_unity.will(*[Fault(200, {"tables": [], "next_page_token": "again"})] * 2)
    with pytest.raises(InternalError, match="does not end"):
        tables(fake.connect(), [fake.catalog, "s"])


def test_only_lance_tables_are_listed_and_others_are_left_alone(unity: Home, catalog: UnityCatalog) -> None:
    schema = unity.schema()
    table = unity.table("lance")
    others = [
        unity.table("parquet", data_source_format="PARQUET", properties={}),
        unity.table("delta", data_source_format="DELTA", properties={"table_type": "delta"}),
    ]
    assert tables(catalog, schema) == ["lance"]
    assert describe(catalog, table).location == "s3://bucket/somewhere/lance.lance"
    for other in others:
        for operation in ("describe_table", "deregister_table", "drop_table", "count_table_rows"):
            with pytest.raises(InvalidInputError, match="not a Lance table"):
                getattr(catalog, operation)({"id": other})
        with pytest.raises(InvalidInputError):
            catalog.rename_table({"id": other, "new_table_name": "x"})
        with pytest.raises(TableAlreadyExistsError):
            declare(catalog, other)
        assert unity.stored(other)["name"] == other[-1]


def test_tables_that_are_only_declared_may_be_left_out(unity: Home, catalog: UnityCatalog) -> None:
    schema = unity.schema()
    create(catalog, [*schema, "full"])
    declare(catalog, [*schema, "empty"])
    assert tables(catalog, schema, include_declared=False) == ["full"]


# -- tables --------------------------------------------------------------------------------------


def test_a_declared_table_is_external_text_without_columns(unity: Home, catalog: UnityCatalog) -> None:
    table = [*unity.schema(), "t"]
    response = declare(catalog, table, location="s3://bucket/chosen/", properties={"team": "red"})
    row = unity.stored(table)
    assert (row["table_type"], row["data_source_format"], row["columns"]) == ("EXTERNAL", "TEXT", [])
    assert row["properties"].items() >= {"team": "red", "table_type": "lance"}.items()
    # The location is the server's: it drops the slash at the end.
    assert response.location == row["storage_location"] == describe(catalog, table).location == "s3://bucket/chosen"
    assert response.properties == {"team": "red", "table_type": "lance"}
    assert describe(catalog, table).var_schema is None


def test_a_local_path_is_declared_as_a_uri(unity: Home, catalog: UnityCatalog, tmp_path: Path) -> None:
    table, folder = [*unity.schema(), "t"], tmp_path / "with blank" / "t"
    assert declare(catalog, table, location=str(folder)).location == folder.as_uri()
    create(catalog, table)
    assert lance.dataset(str(folder)).count_rows() == 3


@pytest.mark.parametrize("location", ["s3a://bucket/t", "memory://t", "s3://bucket"])
def test_a_location_that_unity_refuses_is_bad_input(unity: Home, catalog: UnityCatalog, location: str) -> None:
    table = [*unity.schema(), "t"]
    with pytest.raises(InvalidInputError):
        declare(catalog, table, location=location)
    assert tables(catalog, table[:2]) == []


@pytest.mark.parametrize("properties", [{"table_type": "delta"}, {"lanceway.claim": "mine"}], ids=str)
def test_properties_that_tell_lance_tables_are_not_anybodys(
    unity: Home, catalog: UnityCatalog, properties: dict[str, str]
) -> None:
    with pytest.raises(InvalidInputError):
        declare(catalog, [*unity.schema(), "t"], properties=properties)


def test_a_property_that_is_too_long_is_said_to_be(fake: Home) -> None:
    catalog, long = fake.connect(), {"note": "x" * 256}
    with pytest.raises(InvalidInputError, match="note"):
        declare(catalog, [fake.catalog, "s", "t"], properties=long)
    with pytest.raises(InvalidInputError, match="note"):
        catalog.create_namespace({"id": [fake.catalog, "n"], "properties": long})


def test_columns_that_a_server_refuses_keep_no_table_from_being_made(
    fake: Home, fake_unity: Unity, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fake_unity.will(Fault(400, {"error_code": "INVALID_ARGUMENT", "message": "no such type"}, method="POST"))
    catalog = fake.connect(tmp_path)
    table = create(catalog, [fake.catalog, "s", "t"])
    assert (count(catalog, table), fake.stored(table)["columns"]) == (3, [])
    assert "no such type" in caplog.text


def test_a_failed_creation_leaves_nothing(unity: Home, catalog: UnityCatalog, tmp_path: Path) -> None:
    table = [*unity.schema(), "t"]
    with pytest.raises(InvalidInputError):
        catalog.create_table({"id": table}, b"no arrow")
    assert tables(catalog, table[:2]) == []


def test_a_plain_description_shows_what_unity_shows_and_a_detailed_one_the_table(
    unity: Home, catalog: UnityCatalog
) -> None:
    """Unity cannot change the columns of a table; registering it anew does."""
    table = create(catalog, [*unity.schema(), "t"])
    catalog.alter_table_add_columns({"id": table, "new_columns": [{"name": "twice", "expression": "id * 2"}]})

    def shown(**options: Any) -> list[str]:
        return [field.name for field in describe(catalog, table, **options).var_schema.fields]

    assert (shown(), shown(load_detailed_metadata=True)) == (["id"], ["id", "twice"])
    assert describe(catalog, table, version=1).var_schema is None
    place = describe(catalog, table).location
    catalog.register_table({"id": table, "location": place, "mode": "overwrite"})
    assert shown() == ["id", "twice"]


def test_a_deregistered_table_keeps_its_data_and_its_name_is_free(unity: Home, catalog: UnityCatalog) -> None:
    table = create(catalog, [*unity.schema(), "t"])
    location = catalog.deregister_table({"id": table}).location
    assert location is not None
    assert create(catalog, table, pa.table({"id": [9]})) == table
    assert (count(catalog, table), lance.dataset(location).count_rows()) == (1, 3)


def test_dropping_deletes_what_lance_made_and_nothing_else(unity: Home, catalog: UnityCatalog, tmp_path: Path) -> None:
    table, folder = [*unity.schema(), "t"], tmp_path / "chosen"
    declare(catalog, table, location=str(folder))
    create(catalog, table)
    (folder / "notes.txt").write_text("mine")
    catalog.drop_table({"id": table})
    assert os.listdir(folder) == ["notes.txt"]


def test_a_cascade_forgets_tables_and_leaves_their_data(unity: Home, catalog: UnityCatalog) -> None:
    table = create(catalog, [*unity.schema(), "t"])
    place = describe(catalog, table).location
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace({"id": table[:2]})
    catalog.drop_namespace({"id": table[:2], "behavior": "cascade"})
    assert namespaces(catalog, [unity.catalog]) == []
    assert lance.dataset(place).count_rows() == 3


def test_a_table_moves_to_another_schema_with_its_columns(unity: Home, catalog: UnityCatalog) -> None:
    table, other = create(catalog, [*unity.schema(), "t"]), unity.schema("other")
    columns = unity.stored(table)["columns"]
    catalog.rename_table({"id": table, "new_namespace_id": other, "new_table_name": "moved"})
    assert (tables(catalog, table[:2]), tables(catalog, other)) == ([], ["moved"])
    assert count(catalog, [*other, "moved"]) == 3
    assert unity.stored([*other, "moved"])["columns"] == columns


def test_a_registration_that_cannot_be_replaced_is_put_back(fake: Home, fake_unity: Unity, tmp_path: Path) -> None:
    catalog = fake.connect(tmp_path)
    table = create(catalog, [fake.catalog, "s", "t"], properties={"team": "red"})
    before = describe(catalog, table)
    elsewhere = tmp_path / "elsewhere.lance"
    lance.write_dataset(ROWS, str(elsewhere))
    fault = Fault(400, {"error_code": "TABLE_ALREADY_EXISTS", "message": "taken"}, method="POST")
    denied = Fault(403, {"error_code": "PERMISSION_DENIED", "message": "no"}, method="POST")
    fake_unity.will(fault, denied)
    with code(15):
        catalog.register_table({"id": table, "location": str(elsewhere), "mode": "overwrite"})
    after = describe(catalog, table)
    assert (after.location, after.properties, after.var_schema) == (
        before.location,
        before.properties,
        before.var_schema,
    )


def test_a_table_of_another_kind_is_never_replaced(unity: Home, catalog: UnityCatalog, tmp_path: Path) -> None:
    unity.schema()
    other = unity.table("t", properties={})
    lance.write_dataset(ROWS, str(tmp_path / "t.lance"))
    with pytest.raises(InvalidInputError):
        catalog.register_table({"id": other, "location": str(tmp_path / "t.lance"), "mode": "overwrite"})
    assert unity.stored(other)["properties"] == {}


# -- what is asked, and in which dialect ---------------------------------------------------------


def test_no_more_is_asked_than_is_needed(fake: Home, fake_unity: Unity) -> None:
    catalog, table = fake.connect(), [fake.catalog, "s", "t"]
    work: list[tuple[Any, list[tuple[str, str]]]] = [
        (lambda: declare(catalog, table), [("POST", "tables"), ("GET", "tables")]),  # was it created twice?
        (lambda: describe(catalog, table), [("GET", "tables")]),
        (lambda: tables(catalog, table[:2]), [("GET", "tables")]),
        (lambda: catalog.deregister_table({"id": table}), [("GET", "tables"), ("DELETE", "tables")]),
        (lambda: catalog.create_namespace({"id": [fake.catalog, "n"]}), [("POST", "schemas")]),
        (lambda: catalog.describe_namespace({"id": [fake.catalog, "n"]}), [("GET", "schemas")]),
        (lambda: namespaces(catalog, [fake.catalog]), [("GET", "schemas")]),
        (lambda: catalog.drop_namespace({"id": [fake.catalog, "n"]}), [("DELETE", "schemas")]),
    ]
    for ask, error in work:
        fake_unity.seen.clear()
        ask()
        assert asked(fake_unity) == error
    assert "force" not in fake_unity.seen[-1].query


@pytest.mark.parametrize("dialect", [NEW, OLD, DATABRICKS])
def test_every_dialect_means_the_same(fake: Home, fake_unity: Unity, tmp_path: Path, dialect: str) -> None:
    fake_unity.dialect = dialect
    catalog, schema = fake.connect(tmp_path), [fake.catalog, "s"]
    assert tables(catalog, schema) == []
    table = create(catalog, [*schema, "t"])
    missing, nowhere = [*schema, "missing"], [fake.catalog, "nowhere"]
    for operation in ("describe_table", "deregister_table", "table_exists"):
        with code(4):
            getattr(catalog, operation)({"id": missing})
        with code(1):
            getattr(catalog, operation)({"id": [*nowhere, "t"]})
    for operation in ("list_tables", "list_namespaces", "describe_namespace", "drop_namespace"):
        with code(1):
            getattr(catalog, operation)({"id": nowhere})
    with code(1):
        declare(catalog, [*nowhere, "t"])
    with code(5):
        declare(catalog, table)
    with code(5):
        catalog.rename_table({"id": table, "new_table_name": create(catalog, [*schema, "u"])[-1]})
    with code(2):
        catalog.create_namespace({"id": schema})
    with code(3):
        catalog.drop_namespace({"id": schema})
    with code(13):
        declare(catalog, missing, location="s3a://bucket/t")
    gone = fake.connect(catalog="gone")
    with code(1):
        gone.create_namespace({"id": ["gone", "s"]})
    with code(1):
        namespaces(gone, ["gone"])


def test_unity_is_a_branch_of_one_tree(unity: Home, tmp_path: Path) -> None:
    settings = {"endpoint": unity.endpoint, "catalog": unity.catalog, "root": str(tmp_path)}
    tree, schema = FederatedCatalog({"branch": CatalogSettings("unity", settings)}), unity.schema()
    table = ["branch", *schema, "t"]
    tree.create_table_stream({"id": table}, ROWS.to_reader())  # type: ignore[arg-type]
    assert tree.list_tables({"id": table[:-1]}).tables == ["t"]
    assert tree.count_table_rows({"id": table}).count == 3
    tree.close()


def test_stock_pylance_reads_and_writes_through_it(unity: Home, tmp_path: Path) -> None:
    ns: Any = connect("unity", endpoint=unity.endpoint, catalog=unity.catalog, root=str(tmp_path))
    table = [*unity.schema(), "t"]
    lance.write_dataset(ROWS, namespace_client=ns, table_id=table, mode="create")
    lance.write_dataset(ROWS, namespace_client=ns, table_id=table, mode="append")
    assert lance.dataset(namespace_client=ns, table_id=table).count_rows() == 6
