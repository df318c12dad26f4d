"""Columns, indices and metadata."""

from __future__ import annotations

from tests.cli.conftest import Run


def types(done: Run, table: str) -> dict[str, str]:
    fields = done("--json", "tables", "schema", table).json["fields"]
    return {field["name"]: field["type"]["type"] for field in fields}


def test_add_alter_drop(cli: Run, done: Run, table: str) -> None:
    done("tables", "columns", "add", table, "older = age + 1")
    assert "older" in types(done, table)
    done("tables", "columns", "alter", table, "older", "--rename", "elder", "--type", "int32")
    assert types(done, table)["elder"] == "int32"
    done("tables", "columns", "alter", table, "elder", "--type", '{"type": "int16"}')
    assert types(done, table)["elder"] == "int16"
    assert done("tables", "columns", "drop", table, "elder").out == f"Dropped elder of {table} (version 5).\n"
    assert "elder" not in types(done, table)


def test_wrong_columns(cli: Run, done: Run, table: str) -> None:
    assert "code 12" in cli("tables", "columns", "drop", table, "nothing").err
    assert "code 12" in cli("tables", "columns", "alter", table, "nothing", "--rename", "x").err
    assert "code 13" in cli("tables", "columns", "alter", table, "id", "--type", "nonsense").err
    assert cli("tables", "columns", "add", table).code == 2
    assert cli("tables", "columns", "alter", table, "id").code == 2
    assert cli("tables", "columns", "alter", table, "id", "--type", "{").code == 2
    assert list(types(done, table)) == ["id", "name", "age", "vector"]


def test_indices(cli: Run, done: Run, table: str) -> None:
    done("tables", "indices", "create", table, "id", "--type", "btree", "--name", "by_id")
    [index] = done("--json", "tables", "indices", "list", table).json
    assert (index["index_name"], index["columns"]) == ("by_id", ["id"])
    assert "by_id" in done("tables", "indices", "list", table).out
    assert done("--json", "tables", "indices", "list", table, "--limit", "1").json["page_token"] is None
    assert done("--json", "tables", "indices", "describe", table, "by_id").json["num_indexed_rows"] == 3
    assert "code 7" in cli("tables", "indices", "create", table, "age", "--type", "btree", "--name", "by_id").err
    done("tables", "indices", "drop", table, "by_id")
    assert done("--json", "tables", "indices", "list", table).json == []
    assert "code 6" in cli("tables", "indices", "drop", table, "by_id").err
    assert "code 12" in cli("tables", "indices", "create", table, "nothing", "--type", "BTREE").err


def test_a_vector_index(done: Run, table: str) -> None:
    done(
        "tables",
        "indices",
        "create",
        table,
        "vector",
        "--type",
        "IVF_FLAT",
        "--partitions",
        "1",
        "--distance",
        "cosine",
    )
    [index] = done("--json", "tables", "indices", "list", table).json
    assert index["columns"] == ["vector"]
    described = done("--json", "tables", "indices", "describe", table, index["index_name"]).json
    assert described["distance_type"] == "cosine"


def test_metadata_of_a_table(cli: Run, done: Run, table: str) -> None:
    done("tables", "metadata", "set", table, "owner=ada", "source=a=b")
    assert done("--json", "tables", "metadata", "show", table).json["table"] == {
        "owner": "ada",
        "source": "a=b",
    }
    done("tables", "metadata", "set", table, "owner=grace", "--remove", "source")
    assert done("--json", "tables", "metadata", "show", table).json["table"] == {"owner": "grace"}
    assert "owner = grace" in done("tables", "metadata", "show", table).out
    done("tables", "metadata", "set", table, "new=1", "--replace")
    assert done("--json", "tables", "metadata", "show", table).json["table"] == {"new": "1"}
    assert cli("tables", "metadata", "set", table).code == 2


def test_metadata_of_a_column(cli: Run, done: Run, table: str) -> None:
    done("tables", "metadata", "set", table, "unit=years", "note=x", "--column", "age")
    done("tables", "metadata", "set", table, "--remove", "note", "--column", "age")
    assert done("--json", "tables", "metadata", "show", table).json["columns"] == {"age": {"unit": "years"}}
    assert "code 12" in cli("tables", "metadata", "set", table, "a=b", "--column", "nothing").err
