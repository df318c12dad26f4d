"""Locations that somebody chose for tables of a lake: one spelling each, and nothing deleted that is not Lance's."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import tables
from tests.catalogs.lake.lake_helpers import Id, connect, create, ids, location, rows
from tests.servers.seaweedfs import S3
from tests.servers.silent import silence


@pytest.fixture
def lake(sqlite_uri: str, tmp_path: Path) -> Iterator[LakeCatalog]:
    with connect(sqlite_uri, tmp_path) as made:
        yield made


def declare(lake: LakeCatalog, *names: str, at: object) -> str:
    return str(lake.declare_table({"id": list(names), "location": str(at)}).location)  # type: ignore[arg-type]


def register(lake: LakeCatalog, *names: str, at: object) -> Id:
    lake.register_table({"id": list(names), "location": str(at)})  # type: ignore[arg-type]
    return list(names)


def drop(lake: LakeCatalog, *names: str) -> None:
    lake.drop_table({"id": list(names)})  # type: ignore[arg-type]


def names(lake: LakeCatalog, *inside: str) -> list[str]:
    return list(lake.list_tables({"id": list(inside)}).tables)  # type: ignore[arg-type]


# -- deleting ------------------------------------------------------------------------------------


def test_nothing_is_declared_where_something_lies(lake: LakeCatalog, tmp_path: Path) -> None:
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    (tmp_path / "mine" / "deep" / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidInputError, match="not empty"):
        declare(lake, "t", at=tmp_path / "mine")
    operations = [{"declare_table": {"id": ["t"], "location": str(tmp_path / "mine")}}]
    with pytest.raises(InvalidInputError, match="not empty"):
        lake.batch_commit_tables({"operations": operations})  # type: ignore[arg-type]
    assert names(lake) == []
    (tmp_path / "mine" / "deep" / "thesis.txt").unlink()
    declare(lake, "t", at=tmp_path / "mine")
    drop(lake, "t")
    assert (tmp_path / "mine" / "deep").is_dir(), "an empty folder is somebody's too"


def test_what_a_writer_left_without_a_version_is_no_table(lake: LakeCatalog, tmp_path: Path) -> None:
    place = tmp_path / "left"
    lance.write_dataset(rows(1), place)
    with pytest.raises(InvalidInputError, match="a Lance table is there"):
        declare(lake, "t", at=place)
    shutil.rmtree(place / "_versions")
    (place / "data" / ".tmpYUYXLC").touch()
    assert any((place / "data").iterdir())
    declare(lake, "t", at=place)
    assert names(lake) == ["t"]


def test_a_table_with_other_files_beside_it_is_not_dropped(lake: LakeCatalog, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"]})  # type: ignore[arg-type]
    place = tmp_path / "shared"
    lance.write_dataset(rows(1), place)
    table = register(lake, "n", "t", at=place)
    for other in ("thesis.txt", "data/photo.jpg", "_own/notes", ".git/config", "tree/oak.txt"):
        (place / other).parent.mkdir(exist_ok=True)
        (place / other).write_text("years of work")
        with pytest.raises(InvalidInputError, match="not Lance's"):
            drop(lake, *table)
        with pytest.raises(InvalidInputError, match="not Lance's"):
            lake.drop_namespace({"id": ["n"], "behavior": "cascade"})  # type: ignore[arg-type]
        assert ids(lake, table) == [1]
        (place / other).unlink()
    drop(lake, *table)
    assert not (place / "_versions").exists()


def test_what_came_after_the_drop_began_stays(lake: LakeCatalog, tmp_path: Path) -> None:
    """The data is deleted later: what lies there by then, and is not Lance's, is not."""
    place = tmp_path / "shared"
    lance.write_dataset(rows(1), place)
    table = register(lake, "t", at=place)
    lake._lake.transact(tables.drop, lake._catalog.id, Identifier(table), by="killed")
    (place / "thesis.txt").write_text("years of work")
    assert str(place) in lake.finish_removals()
    assert [each.name for each in place.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("chosen", [False, True])
def test_a_drop_takes_links_away_and_nothing_behind_them(lake: LakeCatalog, tmp_path: Path, chosen: bool) -> None:
    behind = tmp_path / "behind"
    (behind / "empty").mkdir(parents=True)
    (behind / "thesis.txt").write_text("years of work")
    if chosen:
        lance.write_dataset(rows(1), tmp_path / "shared")
    table = register(lake, "t", at=tmp_path / "shared") if chosen else create(lake, "t")
    place = Path(location(lake, table))
    (place / "_indices").mkdir(exist_ok=True)
    (place / "_indices" / "link").symlink_to(behind)
    (place / "_indices" / "nowhere").symlink_to(tmp_path / "nowhere")
    drop(lake, *table)
    assert not place.exists()
    assert (behind / "thesis.txt").exists()
    assert (behind / "empty").is_dir()


def test_all_of_a_place_that_the_lake_chose_is_deleted(lake: LakeCatalog) -> None:
    table = create(lake, "t")
    place = Path(location(lake, table))
    (place / "unheard-of").write_text("by a later version of Lance")
    drop(lake, *table)
    assert not place.exists()


# -- one spelling --------------------------------------------------------------------------------


def test_a_place_is_the_same_by_every_name(lake: LakeCatalog, tmp_path: Path) -> None:
    lance.write_dataset(rows(1, 2), tmp_path / "a b")
    (tmp_path / "link").symlink_to(tmp_path)
    table = register(lake, "t", at=tmp_path / "a b")
    for other in (f"{tmp_path}/link/a b", f"file://{tmp_path}/link/a%20b", f"file-object-store://{tmp_path}/a%20b"):
        with pytest.raises(InvalidInputError, match="of another table"):
            register(lake, "u", at=other)
    for other in (f"/proc/self/root{tmp_path}/a b", "/dev/fd/3/x", f"/proc/{os.getpid()}/cwd/x", "/sys/x"):
        with pytest.raises(InvalidInputError, match="the operating system"):
            register(lake, "u", at=other)
    assert (names(lake), ids(lake, table)) == (["t"], [1, 2])


def test_a_location_is_recorded_without_links(lake: LakeCatalog, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert declare(lake, "t", at=tmp_path / "link" / "t") == f"{tmp_path}/real/t"


def test_a_lake_whose_root_was_recorded_with_a_link_goes_on(sqlite_uri: str, tmp_path: Path) -> None:
    """As lakes were made that knew of no links: roots and tables keep their spelling, and meet nobody else's."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    name, old = uuid.uuid4().hex, f"{tmp_path}/link/warehouse"
    with LakeCatalog(uri=sqlite_uri, root=f"{tmp_path}/made", catalog=name) as lake:
        row = lake._catalog.id
        lake._lake.transact(lambda c: c.exec_driver_sql("UPDATE catalogs SET location = ? WHERE id = ?", (old, row)))
    for root in (old, f"{tmp_path}/real/warehouse"):
        with LakeCatalog(uri=sqlite_uri, root=root, catalog=name) as lake:
            table = create(lake, "t")
            place = location(lake, table)
            assert os.path.dirname(place) == old
            with pytest.raises(InvalidInputError, match="of another table"):
                register(lake, "u", at=os.path.realpath(place))
            with pytest.raises(InvalidInputError, match="of a catalog"):
                declare(lake, "u", at=tmp_path / "real")
            drop(lake, *table)
            assert not os.path.exists(place)


def test_a_table_that_was_recorded_in_another_spelling_is_met(lake: LakeCatalog, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    old = {"local": f"{tmp_path}/link/t", "bucket": "s3://b/a%20b"}
    for name, recorded in old.items():
        table = Identifier([name])
        lake._lake.transact(lambda c, t=table: tables.create(c, lake._catalog.id, t, by="me"))  # type: ignore[misc]
        lake._lake.transact(
            lambda c, row=(recorded, name): c.exec_driver_sql("UPDATE objects SET location = ? WHERE name = ?", row)  # type: ignore[misc]
        )
        assert location(lake, [name]) == recorded
        with pytest.raises(InvalidInputError, match="of another table"):
            declare(lake, "u", at=recorded)
    with pytest.raises(InvalidInputError, match="of another table"):
        declare(lake, "u", at="s3://b/a b")


def test_a_place_in_a_bucket_has_one_spelling_and_any_name(sqlite_uri: str, s3: S3) -> None:
    base = f"s3://{s3.bucket}/{uuid.uuid4().hex}"
    options = {f"storage.{name}": value for name, value in s3.storage_options.items()}
    with LakeCatalog(uri=sqlite_uri, root=f"{base}/w", catalog=uuid.uuid4().hex, **options) as lake:
        for name, (given, kept) in enumerate({"%78": "x", "a%20b": "a b", "50%25": "50%25", "1%2F2": "1/2"}.items()):
            assert declare(lake, f"t{name}", at=f"{base}/{given}") == f"{base}/{kept}"
            lake.create_table_stream({"id": [f"t{name}"], "mode": "overwrite"}, rows(7).to_reader())  # type: ignore[arg-type]
            assert ids(lake, [f"t{name}"]) == [7]
            for other in (given, kept):
                with pytest.raises(InvalidInputError, match="of another table"):
                    declare(lake, "u", at=f"{base}/{other}")
        for other in ("x?y", "x#y", "%2e%2e/x"):
            with pytest.raises(InvalidInputError):
                declare(lake, "u", at=f"{base}/{other}")
        for name in range(4):
            drop(lake, f"t{name}")


# -- slow storage --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["declare", "register", "replace", "batch"])
def test_a_slow_storage_delays_no_other_writer(uri: str, tmp_path: Path, way: str) -> None:
    """A transaction that writes keeps others from writing: storage is asked before it."""
    with ThreadPoolExecutor(1) as pool:
        with silence() as server:
            lake = connect(uri, tmp_path, **_storage(server.port))
            request = {"id": ["slow"], "location": "s3://bucket/slow"}
            ask: Callable[[], object] = {
                "declare": lambda: lake.declare_table(request),  # type: ignore[arg-type]
                "register": lambda: lake.register_table(request),  # type: ignore[arg-type]
                "replace": lambda: lake.register_table({**request, "mode": "overwrite"}),  # type: ignore[arg-type]
                "batch": lambda: lake.batch_commit_tables({"operations": [{"declare_table": request}]}),  # type: ignore[arg-type]
            }[way]
            waiting = pool.submit(ask)
            assert server.asked.wait(60)
            lake.create_namespace({"id": ["meanwhile"]})  # type: ignore[arg-type]
        assert isinstance(waiting.exception(), ServiceUnavailableError)
    assert names(lake) == []
    lake.close()


def _storage(port: int) -> dict[str, str]:
    options = {
        "endpoint": f"http://127.0.0.1:{port}",
        "allow_http": "true",
        "region": "us-east-1",
        "access_key_id": "key",
        "secret_access_key": "secret",
        "timeout": "100s",  # longer than any writer waits for another one
        "client_max_retries": "0",
        "retry_timeout": "1s",
    }
    return {f"storage.{name}": value for name, value in options.items()}
