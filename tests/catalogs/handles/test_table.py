"""A table, read and changed by people rather than by requests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from lanceway import Catalog, Table
from lanceway.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
)
from tests.catalogs.handles.conftest import FRUIT


def names(rows: list[dict[str, object]]) -> list[object]:
    return [row["name"] for row in rows]


def test_what_it_is(fruit: Table) -> None:
    assert fruit.schema == pa.schema(
        [("id", pa.int64()), ("name", pa.string()), ("price", pa.float64()), ("taste", pa.list_(pa.float32(), 2))]
    )
    assert (fruit.version, fruit.count(), fruit.count("price < 2")) == (1, 3, 1)
    assert repr(fruit) == "Table('team.fruit')"
    assert repr(fruit.at(1)) == "Table('team.fruit', version=1)"
    assert "version 1, 3 rows" in fruit._repr_html_()


def test_what_is_dropped_still_shows_its_name(lake: Catalog, fruit: Table) -> None:
    lake.drop("team.fruit")
    assert fruit._repr_html_() == "Table(&#x27;team.fruit&#x27;)"
    with pytest.raises(TableNotFoundError):
        fruit.count()


def test_rows(fruit: Table) -> None:
    assert fruit.scan().to_arrow().num_rows == 3
    assert fruit.scan("id > 1", ["name"]).to_list() == [{"name": "banana"}, {"name": "cherry"}]
    assert list(fruit.scan(columns={"double": "price * 2"}).to_pandas()["double"]) == [5.0, 3.0, 16.0]
    assert [row["id"] for row in fruit.head(2)] == [1, 2]
    assert sum(batch.num_rows for batch in fruit.scan().batches()) == 3


def test_rows_are_shown(fruit: Table) -> None:
    assert repr(fruit.scan("id < 3", ["id", "name", "taste"])).splitlines() == [
        "id  name    taste",
        f"{'─' * 22}",
        "1   apple   [0.9, 0.2]",
        "2   banana  [1, 0]",
        "2 rows",
    ]
    assert "<td>banana</td>" in fruit.head()._repr_html_()


def test_a_search_by_a_vector(fruit: Table) -> None:
    near = fruit.search([0.5, 0.9]).limit(2)
    assert names(near.to_list()) == ["cherry", "apple"]
    assert names(near.where("price < 3").where("id > 0").select("name", "_distance").to_list()) == ["apple", "banana"]
    assert names(near.offset(1).limit(1).to_list()) == ["apple"]
    assert names(fruit.search(np.array([0.5, 0.9])).metric("cosine").limit(1).to_list()) == ["cherry"]
    assert fruit.search([[0.5, 0.9], [1, 0]]).limit(1).to_arrow()["query_index"].to_pylist() == [0, 1]


def test_a_search_for_some_columns_prints_nothing(tmp_path: Path) -> None:
    """pylance warns on standard error where it is to add a score by itself; in a process that has LANCE_LOG unset."""
    program = """
import lanceway
table = lanceway.connect("./w").create("fruit", [{"name": "apple", "taste": [0.9, 0.2]}])
table.index("name", "FTS")
for search in (table.search([1, 0]), table.search("apple"), table.search([1, 0], text="apple")):
    print(*search.select("name").to_arrow().schema.names, *search.select({"x": "name"}).to_arrow().schema.names)
"""
    environment = {key: value for key, value in os.environ.items() if key != "LANCE_LOG"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    names = ["name _distance x _distance", "name _score x _score", "name _relevance_score x _relevance_score"]
    assert (done.stdout.splitlines(), done.stderr) == (names, "")


def test_a_step_leaves_the_search_before_it_as_it_was(fruit: Table) -> None:
    whole = fruit.search()
    whole.where("id = 1").limit(1)
    assert len(whole.to_list()) == 3


def test_a_search_by_a_text(fruit: Table) -> None:
    fruit.index("name", "FTS")
    assert names(fruit.search("banana").to_list()) == ["banana"]
    assert names(fruit.search("banana", column="name").select(["name", "_score"]).to_list()) == ["banana"]
    assert set(names(fruit.search([0.5, 0.9], text="banana").limit(3).to_list())) >= {"banana", "cherry"}


@pytest.mark.parametrize(
    ("query", "words"),
    [(3, "int was given"), ([], "is empty"), (b"x", "bytes was given"), ({"a": 1}, "dict was given")],
)
def test_what_cannot_be_searched_for(fruit: Table, query: object, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        fruit.search(query)


def test_mistakes_in_a_search(fruit: Table) -> None:
    with pytest.raises(InvalidInputError, match="two texts"):
        fruit.search("a", text="b")
    with pytest.raises(InvalidInputError, match="leaves no row"):
        fruit.search().limit(0)
    with pytest.raises(InvalidInputError, match="QueryTableRequest is not valid: vector"):
        fruit.search([1, "x"]).to_list()
    with pytest.raises(InvalidInputError, match="name of a column"):
        fruit.search().select()
    with pytest.raises(InvalidInputError, match=r"the query vector has 1 number, .* have 2\."):
        fruit.search([1]).to_list()
    with pytest.raises(TypeError, match="unexpected keyword"):
        fruit.search([1, 0], colum="taste")  # type: ignore[call-arg]


def test_rows_are_appended_with_the_types_of_the_table(fruit: Table) -> None:
    assert fruit.append([{"id": 4, "name": "date", "taste": [1, 2]}]).version == 2
    assert fruit.append(pa.table({"id": pa.array([5], pa.int8()), "price": pa.array([3], pa.int16())})).version == 3
    assert fruit.scan("id > 3", ["id", "price", "taste"]).to_list() == [
        {"id": 4, "price": None, "taste": [1.0, 2.0]},
        {"id": 5, "price": 3.0, "taste": None},
    ]
    with pytest.raises(TableSchemaValidationError, match=r"'id' does not fit team\.fruit"):
        fruit.append([{"id": "six"}])
    with pytest.raises((InvalidInputError, TableSchemaValidationError), match="colour"):
        fruit.append([{"id": 6, "colour": "red"}])
    assert fruit.count() == 5


def test_no_rows_are_appended_too(fruit: Table) -> None:
    fruit.append([])
    assert fruit.count() == 3


def test_rows_are_merged(fruit: Table) -> None:
    merged = fruit.merge([{"id": 1, "price": 9}, {"id": 9, "price": 1.0, "name": "kiwi"}], on="id")
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (1, 1)
    assert fruit.scan("id in (1, 9)", ["price"]).to_list() == [{"price": 9.0}, {"price": 1.0}]
    fruit.merge([{"id": 1, "price": 0}], on=["id"], update=False, insert=False, delete="id = 9")
    assert sorted(row["id"] for row in fruit.scan()) == [1, 2, 3]
    with pytest.raises(InvalidInputError, match="let it update, insert or delete"):
        fruit.merge([{"id": 1}], on="id", update=False, insert=False)


def test_rows_are_updated_and_deleted(fruit: Table) -> None:
    assert fruit.update({"price": "price * 2", "name": "upper(name)"}, where="id = 1").updated_rows == 1
    assert fruit.update({"price": 7}, where="id = 2").updated_rows == 1
    fruit.update({"price": None}, where="id = 3")
    assert fruit.search().select("name", "price").to_pandas().sort_values("name").values.tolist()[:2] == [
        ["APPLE", 5.0],
        ["banana", 7.0],
    ]
    assert fruit.delete("price IS NULL").version == 5
    assert fruit.count() == 2


def test_an_index_fits_its_column(lake: Catalog) -> None:
    rows = pa.table(
        {
            "id": range(300),
            "vec": pa.array(np.random.default_rng(7).random((300, 8)).tolist(), pa.list_(pa.float32(), 8)),
        }
    )
    table = lake.create("many", rows)
    table.index("vec", num_partitions=1, metric="cosine")
    table.index("id", name="by_id")
    assert {index.index_name: index.columns for index in table.indices()} == {"vec_idx": ["vec"], "by_id": ["id"]}
    with pytest.raises(TypeError, match=r"argument 'num_partition'\. Did you mean 'num_partitions'\?"):
        table.index("vec", num_partition=1)  # type: ignore[call-arg]


def test_versions_tags_and_the_past(fruit: Table) -> None:
    fruit.tag("first")
    fruit.delete("id = 3")
    fruit.tag("second")
    assert fruit.tags() == {"first": 1, "second": 2}
    assert [(version.number, version.tags) for version in fruit.versions()] == [(2, ("second",)), (1, ("first",))]
    assert [version.number for version in fruit.versions(limit=1)] == [2]
    detailed = fruit.versions(details=True)
    assert [(version.operation, version.rows) for version in detailed] == [("Delete", 2), ("Overwrite", 3)]
    assert "Delete" in repr(detailed)
    assert (fruit.at("first").count(), fruit.at(1).version, fruit.at("second").count()) == (3, 1, 2)
    assert fruit.at("first").lance().count_rows() == 3
    with pytest.raises(TableTagAlreadyExistsError):
        fruit.tag("first")
    fruit.tag("first", move=True)
    assert fruit.tags()["first"] == 2


def test_the_past_cannot_be_changed_and_can_be_restored(fruit: Table) -> None:
    fruit.tag("gold")
    fruit.delete("true")
    past = fruit.at("gold")
    for change in (
        lambda: past.append(FRUIT),
        lambda: past.merge(FRUIT, "id"),
        lambda: past.update({"id": 1}),
        lambda: past.delete("true"),
        lambda: past.index("id"),
    ):
        with pytest.raises(InvalidInputError, match=r"team.fruit at version 1, which cannot be changed"):
            change()
    past.restore()
    assert fruit.count() == 3
    fruit.delete("true")
    fruit.restore("gold")
    assert fruit.count() == 3
    with pytest.raises(InvalidInputError, match="needs a version"):
        fruit.restore()


def test_a_branch(fruit: Table) -> None:
    draft = fruit.branch("draft", create=True)
    draft.append([{"id": 4, "name": "date"}])
    assert (draft.count(), fruit.count()) == (4, 3)
    assert names(fruit.branch("draft").scan("id = 4").to_list()) == ["date"]
    assert draft.lance().count_rows() == 4
    assert repr(draft) == "Table('team.fruit', branch='draft')"


def test_sql(fruit: Table) -> None:
    rows = fruit.sql("SELECT name, price * 2 AS double FROM fruit WHERE id > 1 ORDER BY id")
    assert rows.to_list() == [{"name": "banana", "double": 3.0}, {"name": "cherry", "double": 16.0}]
    with pytest.raises(TableColumnNotFoundError, match="idd"):
        fruit.sql("SELECT idd FROM fruit").to_list()


def test_what_takes_arrow_takes_a_table(lake: Catalog, fruit: Table) -> None:
    rows = fruit.scan()
    assert duckdb.sql("SELECT sum(price) FROM rows").fetchall() == [(12.0,)]
    assert lake.create("copy", fruit).count() == 3
    assert lake.create("found", fruit.search([1, 0]).limit(2)).count() == rows.to_arrow().num_rows - 1
