"""Tables in Glue: which rows are Lance tables, where new ones lie, and what happens when answers get lost."""

from __future__ import annotations

import random
from pathlib import Path

import lance
import lance_namespace
import pyarrow as pa
import pytest

from lanceway.catalogs import GlueCatalog
from lanceway.catalogs.glue.catalog import GlueForbiddenError
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from tests.catalogs.glue.glue_helpers import (
    connect,
    count,
    create,
    database,
    declare,
    describe,
    every_table,
    put,
    row,
    stored,
    tables,
)
from tests.servers.moto import ACCOUNT, Glue

NO_LANCE = {
    "another format": row("t", Parameters={"table_type": "ICEBERG"}),
    "no parameters": row("t", Parameters={}),
    "a managed table": row("t", TableType="MANAGED_TABLE"),
    "a view without storage": {"Name": "t", "TableType": "VIRTUAL_VIEW"},
    "a link": {"Name": "t", "TargetTable": {"CatalogId": ACCOUNT, "DatabaseName": "x", "Name": "y"}},
    "no location": row("t", StorageDescriptor={}),
}


@pytest.fixture
def catalog(glue: Glue, tmp_path: Path) -> GlueCatalog:
    """A catalog with one database, whose tables lie in a local folder."""
    database(glue, folder=tmp_path)
    return connect(glue)


# -- finding -------------------------------------------------------------------------------------


def test_plain_glue_needs_one_request_for_each_question(glue: Glue, catalog: GlueCatalog) -> None:
    put(glue, row("t"))
    with glue.state.counted() as requests:
        assert describe(catalog, "db", "t").location == "s3://somewhere/t.lance"
        assert tables(catalog, "db") == ["t"]
        declare(catalog, "db", "u", location="s3://somewhere/u.lance")
        catalog.deregister_table({"id": ["db", "t"]})  # type: ignore[arg-type]
    assert requests == ["GetTable", "GetTables", "CreateTable", "GetTable", "DeleteTable"]


@pytest.mark.parametrize("kind", NO_LANCE)
def test_only_lance_tables_are_listed_and_touched(glue: Glue, catalog: GlueCatalog, kind: str) -> None:
    put(glue, NO_LANCE[kind], row("lance"))
    assert tables(catalog, "db") == ["lance"]
    assert every_table(catalog) == ["db$lance"]
    for ask in (catalog.describe_table, catalog.deregister_table, catalog.drop_table, catalog.count_table_rows):
        with pytest.raises(InvalidInputError, match="not a Lance table"):
            ask({"id": ["db", "t"]})  # type: ignore[operator]
    with pytest.raises(TableAlreadyExistsError):
        declare(catalog, "db", "t")
    assert stored(glue, "t")["Name"] == "t"


def test_a_table_of_the_peer_library_is_a_table(glue: Glue, catalog: GlueCatalog, tmp_path: Path) -> None:
    where = (tmp_path / "old.lance").as_uri()
    lance.write_dataset(pa.table({"id": [1, 2]}), where)
    parameters = {"table_type": "lance", "managed_by": "storage", "empty_table": "true"}
    put(glue, row("old", where, Parameters=parameters))
    assert count(catalog, "db", "old") == 2
    assert describe(catalog, "db", "old").properties == parameters


def test_storage_options_are_the_settings_and_above_them_the_tables_own_parameters(glue: Glue, tmp_path: Path) -> None:
    database(glue, folder=tmp_path)
    parameters = {"table_type": "lance", "storage.aws_region": "eu-west-1", "owner": "ada"}
    put(glue, row("t", Parameters=parameters))
    catalog = connect(glue, **{"storage.aws_region": "us-east-1", "storage.allow_http": "true"})
    description = describe(catalog, "db", "t")
    assert description.storage_options == {"aws_region": "eu-west-1", "allow_http": "true"}
    assert description.properties == {"table_type": "lance", "owner": "ada"}


def test_the_credentials_of_the_catalog_go_to_no_address_that_a_table_names(glue: Glue, tmp_path: Path) -> None:
    database(glue, folder=tmp_path)
    catalog = connect(glue, **{"storage.aws_access_key_id": "mine", "storage.aws_secret_access_key": "hush"})
    address = {"storage.aws_endpoint": "https://elsewhere.example"}
    put(glue, row("t", Parameters={"table_type": "lance", **address}))
    with pytest.raises(InvalidInputError, match="aws_endpoint"):
        describe(catalog, "db", "t")
    with pytest.raises(InvalidInputError, match="aws_endpoint"):
        declare(catalog, "db", "new", location="s3://bucket/new", properties=address)
    assert tables(catalog, "db") == ["t"]
    theirs = {"storage.aws_access_key_id": "theirs", "storage.aws_secret_access_key": "own"}
    declared = declare(catalog, "db", "new", location="s3://bucket/new", properties={**address, **theirs})
    assert declared.storage_options == {
        "aws_endpoint": "https://elsewhere.example",
        "aws_access_key_id": "theirs",
        "aws_secret_access_key": "own",
    }
    catalog.deregister_table({"id": ["db", "t"]})  # type: ignore[arg-type]
    assert tables(catalog, "db") == ["new"]


def test_a_missing_database_is_told_from_a_missing_table(glue: Glue, catalog: GlueCatalog) -> None:
    with pytest.raises(TableNotFoundError):
        describe(catalog, "db", "t")
    for table in (("nowhere", "t"), ("db", "x", "t"), ("a", "b", "c", "t"), ("a/b", "c", "t")):
        with pytest.raises(NamespaceNotFoundError):
            describe(catalog, *table)
        with pytest.raises(NamespaceNotFoundError):
            declare(catalog, *table)
    glue.refuse("GetDatabase", "AccessDeniedException")
    with pytest.raises(TableNotFoundError):
        describe(catalog, "db", "t")


def test_a_table_lies_in_a_database(catalog: GlueCatalog) -> None:
    with pytest.raises(InvalidInputError, match="in Glue a table is in a database"):
        declare(catalog, "t", location="s3://somewhere/t")
    with pytest.raises(TableNotFoundError):
        describe(catalog, "t")


# -- lists ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_thousand_tables_are_listed_completely_and_in_order(glue: Glue, catalog: GlueCatalog) -> None:
    names = [f"t{number:05}" for number in range(10_000)]
    mixed = random.Random(7).sample(names, len(names))
    put(glue, *(row(name) for name in mixed), *(row(f"view{n}", TableType="VIRTUAL_VIEW") for n in range(50)))
    with glue.state.counted() as requests:
        assert tables(catalog, "db") == names
    assert requests == ["GetTables"] * 101
    found, token = list[str](), None
    while token != "":
        page = catalog.list_tables({"id": ["db"], "limit": 6_000, "page_token": token})  # type: ignore[arg-type]
        found, token = found + page.tables, page.page_token or ""
    assert found == names


# -- claiming ------------------------------------------------------------------------------------


def test_a_new_table_lies_below_its_databases_location(glue: Glue, catalog: GlueCatalog, tmp_path: Path) -> None:
    location = declare(catalog, "db", "t", properties={"owner": "ada"}).location
    assert location.startswith(f"{tmp_path.as_uri()}/t-")
    table = stored(glue, "t")
    assert (table["TableType"], table["StorageDescriptor"]["Location"]) == ("EXTERNAL_TABLE", location)
    assert table["Parameters"].items() >= {"table_type": "lance", "owner": "ada"}.items()


def test_a_database_without_location_needs_one_from_elsewhere(glue: Glue, tmp_path: Path) -> None:
    database(glue)
    with pytest.raises(InvalidInputError, match="needs a location"):
        declare(connect(glue), "db", "t")
    below = declare(connect(glue, root=f"{tmp_path.as_uri()}/"), "db", "t").location
    assert below.startswith(f"{tmp_path.as_uri()}/db/t-")
    assert declare(connect(glue), "db", "u", location="s3://bucket/u").location == "s3://bucket/u"


def test_a_drop_deletes_nothing_that_is_not_lances(catalog: GlueCatalog, tmp_path: Path) -> None:
    place, others = tmp_path / "shared", ("thesis.txt", "data/photo.jpg", ".git/config")
    declare(catalog, "db", "t", location=place.as_uri())
    create(catalog, ["db", "t"])
    for other in others:
        (place / other).parent.mkdir(exist_ok=True)
        (place / other).write_text("years of work")
    (tmp_path / "behind").mkdir()
    (tmp_path / "behind" / "thesis.txt").write_text("years of work")
    (place / "_versions" / "link").symlink_to(tmp_path / "behind")
    catalog.drop_table({"id": ["db", "t"]})  # type: ignore[arg-type]
    files = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert files == set(others)
    assert (tmp_path / "behind" / "thesis.txt").exists()


def test_a_relative_location_is_refused(catalog: GlueCatalog) -> None:
    with pytest.raises(InvalidInputError, match="must be a URI"):
        declare(catalog, "db", "t", location="here/t.lance")


@pytest.mark.parametrize("properties", [{"table_type": "iceberg"}, {"lanceway.claim": "mine"}])
def test_how_lance_tables_are_told_cannot_be_given(catalog: GlueCatalog, properties: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(properties))):
        declare(catalog, "db", "t", properties=properties)
    assert tables(catalog, "db") == []


def test_a_name_given_up_begins_anew_and_its_data_stays(catalog: GlueCatalog) -> None:
    create(catalog, ["db", "t"])
    location = catalog.deregister_table({"id": ["db", "t"]}).location  # type: ignore[arg-type]
    create(catalog, ["db", "t"], pa.table({"id": [9]}))
    assert count(catalog, "db", "t") == 1
    assert lance.dataset(location).count_rows() == 3


def test_a_table_that_cannot_be_written_leaves_no_name(glue: Glue, catalog: GlueCatalog) -> None:
    def broken() -> object:
        yield pa.record_batch({"id": [1]})
        raise OSError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), broken())
    with pytest.raises(LanceNamespaceError):
        catalog.create_table_stream({"id": ["db", "t"]}, reader)  # type: ignore[arg-type]
    assert tables(catalog, "db") == []


# -- answers that get lost -----------------------------------------------------------------------


def test_a_create_whose_answer_is_lost_is_done_once(glue: Glue, catalog: GlueCatalog) -> None:
    lost = glue.refuse("CreateTable", "InternalServiceException", status=500, after=True)
    location = declare(catalog, "db", "t").location
    assert (lost.times, stored(glue, "t")["StorageDescriptor"]["Location"]) == (0, location)


def test_a_retried_create_of_a_name_that_another_took_is_refused(glue: Glue, catalog: GlueCatalog) -> None:
    put(glue, row("t"))
    glue.refuse("CreateTable", "InternalServiceException", status=500)
    with pytest.raises(TableAlreadyExistsError):
        declare(catalog, "db", "t")


def test_a_delete_whose_answer_is_lost_is_done_once(glue: Glue, catalog: GlueCatalog) -> None:
    put(glue, row("t"))
    glue.refuse("DeleteTable", "InternalServiceException", status=500, after=True)
    catalog.deregister_table({"id": ["db", "t"]})  # type: ignore[arg-type]
    assert tables(catalog, "db") == []


# -- names for what is there ---------------------------------------------------------------------


def test_a_registration_is_replaced_whatever_was_changed_meanwhile(
    glue: Glue, catalog: GlueCatalog, tmp_path: Path
) -> None:
    where = (tmp_path / "mine.lance").as_uri()
    lance.write_dataset(pa.table({"id": [7]}), where)
    put(glue, row("t"))

    def meanwhile(asked: dict[str, object]) -> bool:
        if asked["VersionId"] == "1":
            glue.state.root(ACCOUNT).update_table("db", "t", row("t", Description="changed"))
        return False

    glue.refuse("UpdateTable", "never", fits=meanwhile)
    with glue.state.counted() as asked:
        catalog.register_table({"id": ["db", "t"], "location": where, "mode": "overwrite"})  # type: ignore[arg-type]
    assert asked == ["CreateTable", "GetTable", "UpdateTable", "GetTable", "UpdateTable"]
    assert count(catalog, "db", "t") == 1
    assert stored(glue, "t")["StorageDescriptor"]["Columns"] == [{"Name": "id", "Type": "bigint"}]


def test_a_registration_needs_a_lance_table(catalog: GlueCatalog, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no Lance table"):
        catalog.register_table({"id": ["db", "t"], "location": tmp_path.as_uri()})  # type: ignore[arg-type]
    assert tables(catalog, "db") == []


def test_a_rename_that_cannot_be_finished_is_taken_back(glue: Glue, catalog: GlueCatalog) -> None:
    create(catalog, ["db", "t"], properties={"owner": "ada"})
    glue.refuse("DeleteTable", "AccessDeniedException")
    with pytest.raises(GlueForbiddenError):
        catalog.rename_table({"id": ["db", "t"], "new_table_name": "u"})  # type: ignore[arg-type]
    assert tables(catalog, "db") == ["t"]
    catalog.rename_table({"id": ["db", "t"], "new_table_name": "u"})  # type: ignore[arg-type]
    assert (tables(catalog, "db"), count(catalog, "db", "u")) == (["u"], 3)
    assert describe(catalog, "db", "u").properties["owner"] == "ada"


def test_a_rename_whose_last_answer_is_lost_is_done(glue: Glue, catalog: GlueCatalog) -> None:
    create(catalog, ["db", "t"])
    glue.refuse("DeleteTable", "OperationTimeoutException", after=True)
    catalog.rename_table({"id": ["db", "t"], "new_table_name": "u"})  # type: ignore[arg-type]
    assert (tables(catalog, "db"), count(catalog, "db", "u")) == (["u"], 3)


def test_a_whole_bucket_is_not_deleted_with_a_table(glue: Glue, catalog: GlueCatalog) -> None:
    put(glue, row("t", "s3://bucket/"))
    with pytest.raises(InvalidInputError, match="which would be deleted as a whole"):
        catalog.drop_table({"id": ["db", "t"]})  # type: ignore[arg-type]
    assert tables(catalog, "db") == ["t"]


def test_data_that_cannot_be_deleted_is_told(glue: Glue, catalog: GlueCatalog) -> None:
    put(glue, row("t", "ftp://nowhere/t.lance"))
    with pytest.raises(LanceNamespaceError, match="gone from Glue, but its data is still at ftp"):
        catalog.drop_table({"id": ["db", "t"]})  # type: ignore[arg-type]


# -- the ecosystem's own ways in -----------------------------------------------------------------


def test_stock_clients_take_it_as_it_is(glue: Glue, catalog: GlueCatalog) -> None:
    create(catalog, ["db", "t"])
    same = lance_namespace.connect("lanceway.catalogs.GlueCatalog", {**glue.settings})
    assert same.namespace_id() == catalog.namespace_id()
    lance.write_dataset(pa.table({"id": [4]}), namespace_client=same, table_id=["db", "t"], mode="append")
    assert lance.dataset(namespace_client=same, table_id=["db", "t"]).count_rows() == 4
