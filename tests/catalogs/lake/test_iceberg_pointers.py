"""What loads cost and commits leave: no file of one that failed, no loss where the end of one is not known."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event, update
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import CommitStateUnknownError
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

    def cut(connection: Connection) -> None:
        connection.connection.commit()
        connection.invalidate()
        raise broken()

    with listening("commit", cut):
        changed = commit(lake, set_properties(k="v"))
        staged = create(lake, ["a", "second"])
    assert lake.load_iceberg_table(TABLE) == changed
    assert lake.load_iceberg_table(["a", "second"]) == staged
    assert len(files(made)) == 2


def test_a_commit_that_was_not_made_leaves_no_file(lake: LakeCatalog) -> None:
    made = create(lake)

    def cut(connection: Connection) -> None:
        connection.invalidate()
        raise broken()

    with listening("commit", cut), pytest.raises(ServiceUnavailableError):
        commit(lake, set_properties(k="v"))
    with listening("commit", cut), pytest.raises(ServiceUnavailableError):
        create(lake, ["a", "second"])
    assert lake.load_iceberg_table(TABLE) == made
    assert lake.list_iceberg_tables(["a"]) == ["t"]
    assert len(files(made)) == 1


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
