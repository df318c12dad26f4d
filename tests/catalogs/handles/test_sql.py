"""SQL over tables by their names: in a folder, in a lake, and in a server by what its client sees."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lanceway
from lanceway import Catalog, Table
from lanceway.errors import InvalidInputError, TableColumnNotFoundError, TableNotFoundError

SALES = [{"fruit": 1, "sold": 3}, {"fruit": 2, "sold": 5}, {"fruit": 1, "sold": 7}]


@pytest.fixture
def sales(lake: Catalog, fruit: Table) -> Table:
    return lake.create("team.north.year.sales", SALES)


def test_tables_of_any_depth_are_joined(lake: Catalog, sales: Table) -> None:
    rows = lake.sql(
        "SELECT name, sum(sold * price) AS total FROM team.fruit JOIN team.north.year.sales ON sales.fruit = fruit.id "
        "WHERE team.north.year.sales.sold > 1 GROUP BY name ORDER BY total DESC"
    )
    assert rows.to_list() == [{"name": "apple", "total": 25.0}, {"name": "banana", "total": 7.5}]


def test_names_may_need_quotes(lake: Catalog) -> None:
    lake.create(["team", "from"], [{"order": 1}])
    assert lake.sql('SELECT "order" FROM team."from"').to_list() == [{"order": 1}]


def test_a_table_calls_itself_by_its_own_name(fruit: Table, sales: Table) -> None:
    assert fruit.sql("SELECT sum(price) AS total FROM fruit").to_list() == [{"total": 12.0}]
    both = "SELECT count(*) AS n FROM fruit JOIN team.north.year.sales s ON s.fruit = fruit.id"
    assert fruit.sql(both).to_list() == [{"n": 3}]


def test_older_versions_have_names_of_their_own(lake: Catalog, fruit: Table) -> None:
    fruit.delete("id = 1")
    query = "SELECT name FROM old ANTI JOIN team.fruit USING (id)"
    assert lake.sql(query, old=fruit.at(1)).to_list() == [{"name": "apple"}]
    assert fruit.at(1).sql("SELECT count(*) AS n FROM fruit").to_list() == [{"n": 3}]


def test_rows_are_read_again_each_time(lake: Catalog, fruit: Table) -> None:
    rows = lake.sql("SELECT count(*) AS n FROM team.fruit")
    assert rows.to_list() == [{"n": 3}]
    fruit.delete("true")
    assert rows.to_list() == [{"n": 0}]


def test_an_answer_is_a_stream_of_batches(lake: Catalog) -> None:
    lake.create("numbers", pa.table({"n": range(100_000)}))
    reader = lake.sql("SELECT n * 2 AS n FROM numbers").to_reader()
    first = reader.read_next_batch()
    assert (reader.schema.names, first.num_rows < 100_000) == (["n"], True)
    assert first.num_rows + reader.read_all().num_rows == 100_000


def test_a_plan_shows_what_is_read(lake: Catalog, fruit: Table) -> None:
    plan = lake.sql("SELECT name FROM team.fruit WHERE price > 2").explain()
    assert "Projections: name" in plan
    assert "price>2.0" in plan


def test_a_table_that_is_missing(lake: Catalog, fruit: Table) -> None:
    with pytest.raises(TableNotFoundError, match=r"There is no table team\.fuit\. Did you mean 'team\.fruit'\?"):
        lake.sql("SELECT * FROM team.fuit").to_list()


def test_a_column_that_is_missing(lake: Catalog, fruit: Table) -> None:
    with pytest.raises(TableColumnNotFoundError, match=r"no column 'nme' in .* Did you mean \"name\""):
        lake.sql("SELECT nme FROM team.fruit").to_list()


@pytest.mark.parametrize(
    "statement", ["DROP TABLE team.fruit", "DELETE FROM team.fruit", "UPDATE team.fruit SET id = 1"]
)
def test_nothing_but_a_query_is_run(lake: Catalog, fruit: Table, statement: str) -> None:
    with pytest.raises(InvalidInputError, match="only queries can be run"):
        lake.sql(statement)
    with pytest.raises(InvalidInputError, match="only queries can be run"):
        fruit.sql(statement)
    assert (fruit.version, fruit.count()) == (1, 3)


def test_no_file_is_read(lake: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("name\nAda\n")
    with pytest.raises(InvalidInputError, match="no files"):
        lake.sql(f"SELECT * FROM read_csv('{file}')")
    with pytest.raises((TableNotFoundError, InvalidInputError)):
        lake.sql(f"SELECT * FROM '{file}'").to_list()


def test_a_reading_that_fails_says_why(tmp_path: Path) -> None:
    lake = lanceway.connect(tmp_path / "warehouse")
    lake.create("fruit", pa.table({"id": range(10)}))
    for file in tmp_path.rglob("*.lance"):
        if file.is_file():
            file.unlink()
    with pytest.raises(lanceway.LanceNamespaceError) as failure:
        lake.sql("SELECT sum(id) FROM fruit").to_list()
    assert "sql on fruit failed" in str(failure.value)
    assert "Traceback" not in str(failure.value)
