from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import (
    CreateTableBranchRequest,
    DeleteFromTableRequest,
    InsertIntoTableRequest,
    MergeInsertIntoTableRequest,
    MergeInsertIntoTableResponse,
    UpdateTableRequest,
)

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.read import ipc
from lanceway.tables.versions import branches
from lanceway.tables.write import rows
from tests.tables import table_helpers as samples


def insert(
    table: StoredTable, data: pa.Table | pa.RecordBatchReader, *, overwrite: bool = False, branch: str | None = None
) -> Any:
    reader = data.to_reader() if isinstance(data, pa.Table) else data
    return rows.insert(table, InsertIntoTableRequest(branch=branch), reader, overwrite=overwrite)


def merge(table: StoredTable, data: pa.Table, **asked: Any) -> MergeInsertIntoTableResponse:
    return rows.merge_insert(table, MergeInsertIntoTableRequest(**asked), data.to_reader())


def update(table: StoredTable, *updates: list[str], **asked: Any) -> Any:
    return rows.update(table, UpdateTableRequest(updates=list(updates), **asked))


def ids(table: StoredTable, branch: str | None = None) -> list[int]:
    return sorted(open_at(table, branch=branch).to_table(columns=["id"])["id"].to_pylist())


# -- overwriting ---------------------------------------------------------------------------------


def test_overwriting_gives_new_rows_and_a_new_schema(table: StoredTable) -> None:
    assert rows.overwrite(table, pa.table({"id": ["x"]}).to_reader(), None) == 2
    assert open_at(table).to_table().to_pydict() == {"id": ["x"]}
    assert open_at(table, version=1).count_rows() == 10


# -- inserting -----------------------------------------------------------------------------------


def test_rows_are_inserted_and_counted(table: StoredTable) -> None:
    told = insert(table, samples.rows(10, 7))
    assert (told.num_inserted_rows, told.version) == (7, 2)
    assert ids(table) == list(range(17))


def test_inserting_may_overwrite(table: StoredTable) -> None:
    told = insert(table, samples.rows(90, 3), overwrite=True)
    assert (told.num_inserted_rows, told.version) == (3, 2)
    assert ids(table) == [90, 91, 92]


@pytest.mark.parametrize("branch", [None, "main", "side"])
def test_an_insert_that_meets_a_conflict_leaves_no_file(table: StoredTable, branch: str | None) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    data = samples.rows(10, 4)
    before = {key for key in table.store().keys("") if key.endswith(".lance")}

    def interrupted() -> Iterator[pa.RecordBatch]:
        yield from data.to_batches()
        open_at(table, branch=branch).restore()  # after which no append may follow

    with pytest.raises(ConcurrentModificationError, match="incompatible"):
        insert(table, pa.RecordBatchReader.from_batches(data.schema, interrupted()), branch=branch)
    assert {key for key in table.store().keys("") if key.endswith(".lance")} == before
    assert ids(table, branch) == list(range(10))


def test_a_branch_takes_its_own_rows(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    insert(table, samples.rows(10), branch="side")
    insert(table, samples.rows(70, 2), overwrite=True, branch="side")
    assert ids(table) == list(range(10))
    assert ids(table, "side") == [70, 71]
    with pytest.raises(TableBranchNotFoundError):
        insert(table, samples.rows(), branch="none")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pa.table({"other": [1]}), r"things has no column other\. It has: id, name"),
        (pa.table({"id": ["x"]}), "`id` should have type int64 but type was string"),
        (samples.rows().append_column("more", pa.array(range(10))), r"has no column more\. It has: "),
        (pa.table({"a": [1], "b": [1]}), r"has no columns a, b\. It has: "),
    ],
    ids=["other", "type", "more", "two"],
)
def test_data_that_does_not_fit_is_told_how(table: StoredTable, data: pa.Table, words: str) -> None:
    before = samples.files(table.location)
    with pytest.raises(TableSchemaValidationError, match=words):
        insert(table, data)
    assert samples.files(table.location) == before


def test_null_where_none_may_be_is_refused(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    table = samples.make(tmp_path, pa.table({"a": [1]}, schema=schema))
    with pytest.raises(TableSchemaValidationError, match="null values"):
        insert(table, pa.table({"a": pa.array([None], pa.int64())}))
    assert open_at(table).version == 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_data_that_breaks_off_changes_nothing(table: StoredTable, overwrite: bool) -> None:
    before = samples.files(table.location)
    with pytest.raises(InvalidInputError, match="Arrow IPC stream"):
        insert(table, ipc.read(samples.stream(samples.rows(10))[:-300]), overwrite=overwrite)
    with pytest.raises(InvalidInputError, match="the line went dead"):
        insert(table, samples.breaking(samples.rows(10)), overwrite=overwrite)
    assert samples.files(table.location) == before
    assert ids(table) == list(range(10))


def test_a_declared_table_takes_no_rows_yet(tmp_path: Path) -> None:
    with pytest.raises(InvalidTableStateError, match="create_table"):
        insert(StoredTable("t", str(tmp_path / "t")), samples.rows())
    assert not (tmp_path / "t").exists()


def test_data_streams_from_its_reader(table: StoredTable) -> None:
    """While the last batches are being made, the first ones are long forgotten."""
    size = 20_000
    alive_at_most = 0
    base = pa.total_allocated_bytes()

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal alive_at_most
        for number in range(200):
            alive_at_most = max(alive_at_most, pa.total_allocated_bytes() - base)
            yield pa.record_batch({"id": pa.array(range(number * size, (number + 1) * size), pa.int64())})

    schema = pa.schema([("id", pa.int64())])
    insert(table, pa.RecordBatchReader.from_batches(schema, batches()), overwrite=True)
    assert open_at(table).count_rows() == 200 * size
    assert alive_at_most < 200 * size * 8 / 4


# -- merging -------------------------------------------------------------------------------------


def test_rows_are_merged_by_key(table: StoredTable) -> None:
    data = samples.rows(8, 4).set_column(1, "name", pa.array(["new"] * 4))
    told = merge(table, data, on=["id"], when_matched_update_all=True, when_not_matched_insert_all=True)
    assert (told.num_updated_rows, told.num_inserted_rows, told.num_deleted_rows) == (2, 2, 0)
    assert told.version == 2
    assert open_at(table).count_rows("name = 'new'") == 4


def test_a_key_may_be_several_columns(table: StoredTable) -> None:
    data = samples.rows(0, 2).set_column(1, "name", pa.array(["amber lamp", "other"]))
    told = merge(table, data, on=["id", "name"], when_not_matched_insert_all=True)
    assert (told.num_inserted_rows, told.num_updated_rows) == (1, 0)


def test_filters_imply_their_actions(table: StoredTable) -> None:
    data = samples.rows(0, 4).set_column(1, "name", pa.array(["new"] * 4))
    told = merge(table, data, on=["id"], when_matched_update_all_filt="target.id < 2")
    assert told.num_updated_rows == 2
    told = merge(table, data, on=["id"], when_not_matched_by_source_delete_filt="id > 7")
    assert told.num_deleted_rows == 2
    told = merge(table, data, on=["id"], when_not_matched_by_source_delete=True, timeout="30s", use_index=True)
    assert told.num_deleted_rows == 4
    assert ids(table) == [0, 1, 2, 3]


def test_merging_on_a_branch(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    merge(table, samples.rows(9, 2), on=["id"], when_not_matched_insert_all=True, branch="side")
    assert (len(ids(table)), len(ids(table, "side"))) == (10, 11)


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        ({"on": ["none"]}, TableColumnNotFoundError, "no column none"),
        ({"on": ["place.city"]}, InvalidInputError, "Name place"),
        ({}, InvalidInputError, "join keys"),
        (
            {"on": ["id"], "when_not_matched_insert_all": False},
            InvalidInputError,
            "nothing would be changed in .* Set at least one of when_matched_update_all,",
        ),
        ({"on": ["id"], "timeout": "soon"}, InvalidInputError, "not a duration"),
        ({"on": ["id"], "when_matched_update_all_filt": "source.none = 1"}, TableColumnNotFoundError, "none"),
        ({"on": ["id"], "when_not_matched_by_source_delete_filt": "id >"}, InvalidInputError, "is incomplete"),
    ],
)
def test_a_merge_that_cannot_be(table: StoredTable, asked: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        merge(table, samples.rows(), **{"when_not_matched_insert_all": True, **asked})
    assert open_at(table).version == 1


def test_a_merge_whose_data_is_wrong(table: StoredTable) -> None:
    with pytest.raises(InvalidInputError, match="no column id to match"):
        merge(table, samples.rows().drop_columns("id"), on=["id"], when_not_matched_insert_all=True)
    with pytest.raises(TableSchemaValidationError, match="should have type"):
        merge(table, pa.table({"id": ["x"]}), on=["id"], when_matched_update_all=True)
    twice = pa.concat_tables([samples.rows(), samples.rows()])
    with pytest.raises(InvalidInputError, match="Ambiguous"):
        merge(table, twice, on=["id"], when_matched_update_all=True)
    with pytest.raises(InvalidInputError, match="the line went dead"):
        rows.merge_insert(
            table,
            MergeInsertIntoTableRequest(on=["id"], when_not_matched_insert_all=True),
            samples.breaking(samples.rows(90)),
        )
    assert open_at(table).version == 1


# -- updating and deleting -----------------------------------------------------------------------


def test_rows_are_updated(table: StoredTable) -> None:
    told = update(table, ["name", "upper(name)"], ["`id`", "id + 100"], predicate="id >= 8")
    assert (told.updated_rows, told.version) == (2, 2)
    assert ids(table)[-2:] == [108, 109]
    assert update(table, ["name", "'x'"]).updated_rows == 10
    assert update(table, ["name", "'y'"], predicate="id < 0").updated_rows == 0


@pytest.mark.parametrize(
    ("updates", "asked", "kind"),
    [
        ([["none", "1"]], {}, TableColumnNotFoundError),
        ([["id", "none + 1"]], {}, TableColumnNotFoundError),
        ([["id", "1"]], {"predicate": "none = 1"}, TableColumnNotFoundError),
        ([["id", "1 +"]], {}, InvalidInputError),
        ([["id", "'word'"]], {}, InvalidInputError),
        ([["id", "1"]], {"predicate": "id ="}, InvalidInputError),
        ([["place.city", "'x'"]], {}, InvalidInputError),
        ([["id", "1"], ["id", "2"]], {}, InvalidInputError),
        ([], {}, InvalidInputError),
        ([["id", "1"]], {"branch": "none"}, TableBranchNotFoundError),
    ],
)
def test_an_update_that_cannot_be(
    table: StoredTable, updates: list[list[str]], asked: dict[str, Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        update(table, *updates, **asked)
    assert open_at(table).version == 1


def test_rows_are_deleted(table: StoredTable) -> None:
    told = rows.delete(table, DeleteFromTableRequest(predicate="place.city = 'c3' OR id > 7"))
    assert told.version == 2
    assert ids(table) == [0, 1, 2, 4, 5, 6, 7]


def test_changes_on_a_branch_stay_there(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    rows.delete(table, DeleteFromTableRequest(predicate="id < 5", branch="side"))
    update(table, ["id", "id + 50"], branch="side")
    assert ids(table) == list(range(10))
    assert ids(table, "side") == list(range(55, 60))


@pytest.mark.parametrize(("predicate", "kind"), [("none = 1", TableColumnNotFoundError), ("id = =", InvalidInputError)])
def test_a_delete_that_cannot_be(table: StoredTable, predicate: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        rows.delete(table, DeleteFromTableRequest(predicate=predicate))
    assert len(ids(table)) == 10
