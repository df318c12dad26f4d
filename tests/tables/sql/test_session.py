"""The locked database: even what the check of statements would let through reaches nothing."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from lanceway.tables.sql import session


@pytest.mark.parametrize(
    "statement",
    [
        *("SELECT * FROM read_csv('{}')", "SELECT * FROM read_text('{}')", "SELECT * FROM glob('{}')", "FROM '{}'"),
        *("COPY (SELECT 1) TO '{}.new'", "COPY (SELECT 1) TO '{}'", "ATTACH '{}.db'", "EXPORT DATABASE '{}.d'"),
        *("INSTALL httpfs", "LOAD '{}'", "SET enable_external_access = true", "SET temp_directory = '{}.d'"),
        *("RESET lock_configuration", "SELECT * FROM parquet_metadata('{}')", "FROM secret", "SELECT getenv('HOME')"),
    ],
)
def test_no_file_setting_or_variable_is_reached(statement: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("name\nAda\n")
    secret = duckdb.sql("SELECT 1")  # what DuckDB would find among the variables of Python  # noqa: F841
    with session.opened() as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(file)).fetchall()
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    assert file.read_text() == "name\nAda\n"


def test_what_does_not_fit_into_memory_is_kept_in_a_folder_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setitem(session._LOCKED, "memory_limit", "100MB")
    query = "SELECT count(*) FROM (SELECT repeat('x', 100) || range s FROM range(2000000) ORDER BY s)"
    with session.opened() as connection:
        assert connection.execute(query).fetchall() == [(2_000_000,)]
        assert [path.name.startswith("lanceway-sql-") for path in tmp_path.iterdir()] == [True]
    assert list(tmp_path.iterdir()) == []
