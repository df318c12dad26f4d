from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance_namespace import CreateTableBranchRequest, DescribeTableRequest, DescribeTableResponse

from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches, transactions
from lanceway.tables.write import create, rows
from tests.tables import table_helpers as samples


def append(table: StoredTable, first: int, branch: str | None = None) -> None:
    open_at(table, branch=branch).insert(samples.rows(first, 5))


def describe(table: StoredTable, *, declared: bool | None = None, **asked: object) -> DescribeTableResponse:
    response = DescribeTableResponse(is_only_declared=declared)
    dataset.describe(table, DescribeTableRequest.model_validate(asked), response)
    return response


def test_a_table_opens_at_latest_version_tag_and_branch(table: StoredTable) -> None:
    append(table, 10)
    open_at(table).tags.create("old", 1)
    branches.create(table, CreateTableBranchRequest(name="side", from_version=1))
    append(table, 100, "side")
    append(table, 200, "side")
    assert open_at(table).count_rows() == 15
    assert open_at(table, version=1).count_rows() == 10
    assert open_at(table, tag="old").count_rows() == 10
    assert open_at(table, branch="main").count_rows() == 15
    assert open_at(table, branch="side").count_rows() == 20
    assert open_at(table, branch="side", version=2).count_rows() == 15


@pytest.mark.parametrize("version", [0, 2, 99, 2**63, 2**64])
def test_a_version_that_is_not_there(table: StoredTable, version: int) -> None:
    with pytest.raises(TableVersionNotFoundError, match=rf"things has no version {version}\. The latest is 1\."):
        open_at(table, version=version)


def test_a_version_tag_or_branch_that_is_not_there(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    with pytest.raises(TableVersionNotFoundError, match="on branch 'side'"):
        open_at(table, branch="side", version=9)
    with pytest.raises(TableTagNotFoundError, match="'none'"):
        open_at(table, tag="none")
    with pytest.raises(TableBranchNotFoundError, match="It has: main, side"):
        open_at(table, branch="none")


def test_a_tag_goes_with_neither_version_nor_branch(table: StoredTable) -> None:
    for other in ({"version": 1}, {"branch": "main"}):
        with pytest.raises(InvalidInputError, match="not both"):
            open_at(table, tag="x", **other)  # type: ignore[arg-type]


def test_a_declared_table_says_that_it_holds_no_data(tmp_path: Path) -> None:
    declared = StoredTable("declared", str(tmp_path / "declared"))
    for version in (None, 1):
        with pytest.raises(InvalidTableStateError, match=r"holds no Lance data yet.*create_table"):
            open_at(declared, version=version)
    (tmp_path / "declared").mkdir()
    (tmp_path / "declared" / ".lance-reserved").touch()
    with pytest.raises(InvalidTableStateError, match="holds no Lance data yet"):
        open_at(declared)
    assert not dataset.has_data(declared)


def test_a_foreign_folder_says_that_it_is_no_lance_table(tmp_path: Path) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("hello")
    foreign = StoredTable("foreign", str(tmp_path / "foreign"))
    with pytest.raises(InvalidTableStateError, match="is not a Lance table"):
        open_at(foreign)
    with pytest.raises(InvalidTableStateError, match="is not a Lance table"):
        describe(foreign, load_detailed_metadata=True)


def test_a_damaged_manifest_is_a_bad_state_too(table: StoredTable) -> None:
    manifest = next(Path(table.location, "_versions").glob("*.manifest"))
    manifest.write_bytes(b"x" * 100)
    with pytest.raises(InvalidTableStateError, match="file size is too small"):
        open_at(table)


def test_whether_there_is_data_is_asked_of_the_folder(table: StoredTable) -> None:
    assert dataset.has_data(table)


@pytest.mark.parametrize("name", ["a b", "é", "p%20q", "h#i", "q?r", "$d", "x:y"])
def test_odd_names_mean_the_folder_of_that_name(tmp_path: Path, name: str) -> None:
    made = samples.make(tmp_path, name=name)
    assert (tmp_path / name / "_versions").is_dir()
    assert open_at(made).count_rows() == 10
    assert open_at(StoredTable(name, dataset.uri(made.location))).count_rows() == 10


def test_a_uri_is_complete(tmp_path: Path) -> None:
    assert dataset.uri("s3://bucket/a b") == "s3://bucket/a b"
    assert dataset.uri("/x/a b") == "file:///x/a%20b"
    assert dataset.uri("here") == Path("here").absolute().as_uri()


def test_a_plain_description_opens_nothing(tmp_path: Path) -> None:
    assert describe(StoredTable("nowhere", str(tmp_path / "nowhere"))) == DescribeTableResponse()


def test_a_detailed_description(table: StoredTable) -> None:
    append(table, 10)
    opened = open_at(table)
    opened.delete("id < 3")
    opened.update_metadata({"owner": "me"})
    told = describe(table, load_detailed_metadata=True)
    assert told.version == 4
    assert told.var_schema is not None
    assert [field.name for field in told.var_schema.fields] == samples.SCHEMA.names
    assert told.stats is not None
    assert (told.stats.num_fragments, told.stats.num_deleted_rows) == (2, 3)
    assert told.metadata is not None
    assert (told.metadata["owner"], told.metadata["total_rows"]) == ("me", "12")


def test_a_description_of_a_version_needs_it_to_be_there(table: StoredTable) -> None:
    append(table, 10)
    assert describe(table, version=1).version is None
    assert describe(table, version=1, load_detailed_metadata=True).version == 1
    with pytest.raises(TableVersionNotFoundError):
        describe(table, version=7)
    with pytest.raises(TableTagNotFoundError):
        describe(table, tag="none")
    with pytest.raises(TableBranchNotFoundError):
        describe(table, branch="none")


def test_a_declared_table_is_described_without_details(tmp_path: Path) -> None:
    told = describe(StoredTable("declared", str(tmp_path)), declared=True, load_detailed_metadata=True)
    assert (told.version, told.var_schema, told.stats) == (None, None, None)


def test_a_tables_repr_keeps_its_secrets() -> None:
    assert "hush" not in repr(StoredTable("t", "s3://b/t", {"aws_secret_access_key": "hush"}))


def test_a_managed_table_is_opened_and_written_through_its_client(tmp_path: Path) -> None:
    from lance.namespace import DirectoryNamespace
    from lance_namespace import AlterTransactionRequest, DeclareTableRequest, InsertIntoTableRequest

    client = DirectoryNamespace(root=str(tmp_path), table_version_tracking_enabled="true")
    declared = client.declare_table(DeclareTableRequest(id=["t"]))
    assert declared.managed_versioning
    managed = StoredTable("t", str(declared.location), client=client, id=("t",))
    assert create.create(managed, samples.rows().to_reader(), None).version == 1
    inserted = rows.insert(managed, InsertIntoTableRequest(), samples.rows(10).to_reader(), overwrite=False)
    assert inserted.version == 2
    assert open_at(managed).count_rows() == 20
    assert open_at(managed, version=1).count_rows() == 10
    assert lance.dataset(namespace_client=client, table_id=["t"]).count_rows() == 20
    actions = [{"setPropertyAction": {"key": "k", "value": "v"}}]
    transactions.alter(managed, "2", AlterTransactionRequest.model_validate({"actions": actions}))
    assert open_at(managed).version == 3


def test_the_schema_is_told_in_arrows_terms(tmp_path: Path) -> None:
    made = samples.make(tmp_path, pa.table({"t": pa.array([0], pa.timestamp("us", "UTC"))}))
    told = describe(made, load_detailed_metadata=True)
    assert told.var_schema is not None
    assert told.var_schema.fields[0].type.type == "timestamp:us:UTC"
