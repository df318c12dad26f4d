"""What loads cost and commits leave: no file of one that failed, no loss where the end of one is not known."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event, update
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import CommitStateUnknownError, LoadedIceberg
from lanceway.errors import ServiceUnavailableError
from lanceway.lake.store.schema import objects
from tests.catalogs.lake.iceberg_helpers import TABLE, commit, create, document, files, set_properties
from tests.servers.seaweedfs import S3


@contextmanager
def listening(name: str, hear: Callable[..., None]) -> Iterator[None]:
    event.listen(Engine, name, hear)
    try:
        yield
    finally:
        event.remove(Engine, name, hear)


def broken() -> OperationalError:
    """What a driver raises when its connection breaks."""
    return OperationalError("COMMIT", {}, Exception("the connection is gone"), connection_invalidated=True)


BUSY = {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
# No file of such a table is kept in memory.
LARGE = {**BUSY, "comment": "x" * (17 * 2**20)}


def overtaken(lake: LakeCatalog) -> None:
    """Commit as another process does, which deletes metadata files that are out of the log by that."""
    with pickle.loads(pickle.dumps(lake)) as other:
        commit(other, set_properties(other=uuid.uuid4().hex))


def test_a_load_is_one_statement(lake: LakeCatalog) -> None:
    create(lake)
    lake.load_iceberg_table(TABLE)
    statements: list[str] = []

    def hear(_: Connection, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    with listening("before_cursor_execute", hear):
        lake.load_iceberg_table(TABLE)
        lake.iceberg_table_exists(TABLE)
    assert len(statements) == 2


def test_a_commit_that_was_made_though_its_answer_was_lost(lake: LakeCatalog) -> None:
    made = create(lake)

    is_cut: list[bool] = []

    def cut(connection: Connection) -> None:
        if not is_cut:
            is_cut.append(True)
            connection.connection.commit()
            connection.invalidate()
            raise broken()

    with listening("commit", cut):
        changed = commit(lake, set_properties(k="v"))
        is_cut.clear()
        staged = create(lake, ["a", "second"])
    assert lake.load_iceberg_table(TABLE) == changed
    assert lake.load_iceberg_table(["a", "second"]) == staged
    assert len(files(made)) == 2


def test_a_commit_whose_connection_broke_keeps_its_file_as_it_may_still_arrive(lake: LakeCatalog) -> None:
    made = create(lake)

    def cut(connection: Connection) -> None:
        if not is_cut:
            is_cut.append(True)
            connection.invalidate()
            raise broken()

    is_cut: list[bool] = []
    with listening("commit", cut), pytest.raises(ServiceUnavailableError) as refusal:
        commit(lake, set_properties(k="v"))
    assert not isinstance(refusal.value, CommitStateUnknownError)  # the row says that it was not made
    is_cut.clear()
    with listening("commit", cut), pytest.raises(CommitStateUnknownError):
        create(lake, ["a", "second"])
    assert lake.load_iceberg_table(TABLE) == made
    assert lake.list_iceberg_tables(["a"]) == ["t"]
    assert len(files(made)) == 2
    assert len(lake.clean_iceberg(older_than=0)) == 2
    assert len(files(made)) == 1


def test_a_commit_that_others_have_put_out_of_the_log_is_not_taken_for_failed(lake: LakeCatalog) -> None:
    create(lake, properties=BUSY)
    is_cut: list[bool] = []

    def cut(connection: Connection) -> None:
        if is_cut:
            return
        is_cut.append(True)
        connection.connection.commit()
        connection.invalidate()
        for _ in range(2):
            overtaken(lake)
        raise broken()

    with listening("commit", cut), pytest.raises(CommitStateUnknownError):
        commit(lake, set_properties(k="v"))
    assert document(lake.load_iceberg_table(TABLE))["properties"]["k"] == "v"


def test_a_commit_whose_end_cannot_be_told_keeps_its_file(lake: LakeCatalog) -> None:
    made = create(lake)
    is_cut: list[bool] = []
    renamed = update(objects).where(objects.c.catalog_id == lake._catalog.id, objects.c.name == "t")

    def cut(connection: Connection) -> None:
        if is_cut:
            return
        is_cut.append(True)
        engine = connection.engine
        connection.connection.commit()
        connection.invalidate()
        with engine.begin() as other:  # someone else, before the catalog can look
            other.execute(renamed.values(name="renamed"))
        raise broken()

    with listening("commit", cut), pytest.raises(CommitStateUnknownError):
        commit(lake, set_properties(k="v"))
    assert document(lake.load_iceberg_table(["a", "renamed"]))["properties"] == {"k": "v"}
    assert len(files(made)) == 2


def test_a_commit_that_was_made_is_not_answered_as_failed_if_the_next_one_cleans(lake: LakeCatalog) -> None:
    create(lake, properties=LARGE)
    before = commit(lake, set_properties(k="0"))
    is_cut: list[bool] = []

    def cut(connection: Connection) -> None:
        if is_cut:
            return
        is_cut.append(True)
        connection.connection.commit()
        overtaken(lake)

    with listening("commit", cut):
        changed = commit(lake, set_properties(k="1"))
    assert document(changed)["properties"]["k"] == "1"
    assert str(before.metadata_location).rpartition("/")[2] not in files(changed)
    assert {"k", "other"} < set(document(lake.load_iceberg_table(TABLE))["properties"])
    assert len(files(changed)) == 2


@pytest.mark.parametrize("step", [lambda lake: lake.load_iceberg_table(TABLE), lambda lake: commit(lake)])
def test_who_is_overtaken_between_the_row_and_its_file_looks_again(
    lake: LakeCatalog, step: Callable[[LakeCatalog], LoadedIceberg]
) -> None:
    create(lake, properties=LARGE)
    is_cut: list[bool] = []

    def cut(_: Connection, __: Any, statement: str, *___: Any) -> None:
        if not is_cut and statement.startswith("SELECT"):
            is_cut.append(True)
            for _ in range(2):
                overtaken(lake)

    with listening("after_cursor_execute", cut):
        loaded = step(lake)
    assert is_cut
    assert loaded == lake.load_iceberg_table(TABLE)
    assert "other" in document(loaded)["properties"]


def test_tables_in_a_bucket(sqlite_uri: str, s3: S3) -> None:
    place = s3.prefix()
    options = {f"storage.{key}": value for key, value in s3.storage_options.items()}
    with LakeCatalog(uri=sqlite_uri, root=f"{place}/warehouse", catalog=uuid.uuid4().hex, **options) as lake:
        made = create(lake)
        assert made.location.startswith(f"{place}/warehouse/")
        changed = commit(lake, set_properties(k="v"))
        assert lake.load_iceberg_table(TABLE) == changed
        chosen = create(lake, ["a", "chosen"], location=f"{place}/chosen/")
        assert document(chosen)["location"] == f"{place}/chosen"
        assert lake.clean_iceberg(older_than=0) == []
        lake.drop_iceberg_table(TABLE)
        assert lake.register_iceberg_table(TABLE, str(changed.metadata_location)) == changed
        for table in (TABLE, ["a", "chosen"]):
            lake.drop_iceberg_table(table, purge=True)
        assert list(lake._connection.storage(place).keys()) == []
