"""Two lakes and one table: whatever the second one does, the first one's table stays whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import lance
import pytest

import lanceway
from lanceway import jobs
from lanceway.catalogs import LakeCatalog
from lanceway.errors import (
    ErrorCode,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableNotFoundError,
)
from lanceway.lake.store.backups import backup, restore
from lanceway.lake.store.database import LakeStore
from lanceway.tables.versions import manager, manifests
from lanceway.testing.behaviours.concurrency import race
from tests.catalogs.lake.lake_helpers import (
    Id,
    create,
    files,
    ids,
    insert,
    location,
    numbers,
    opened,
    rows,
    storage,
    write_behind,
)
from tests.new_lakes import new_database, new_lake
from tests.servers.lanceway import Lanceway
from tests.servers.postgres import Postgres

STORAGE = {"lanceway.versioning": "storage"}


@pytest.fixture(params=["sqlite", "postgresql"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[LakeCatalog, LakeCatalog]]:
    """Two lakes, each with a database and a warehouse of its own."""
    names = ("first", "second")
    if request.param == "sqlite":
        uris = [new_lake(tmp_path / f"{name}.db") for name in names]
    else:
        server: Postgres = request.getfixturevalue("postgres")
        uris = [server.uri(database=new_database(server)) for _ in names]
    made = [LakeCatalog(uri=uri, root=str(tmp_path / name)) for uri, name in zip(uris, names, strict=True)]
    yield made[0], made[1]
    for each in made:
        each.close()


@pytest.fixture
def first(two: tuple[LakeCatalog, LakeCatalog]) -> LakeCatalog:
    return two[0]


@pytest.fixture
def second(two: tuple[LakeCatalog, LakeCatalog]) -> LakeCatalog:
    return two[1]


@pytest.fixture
def table(first: LakeCatalog) -> Id:
    """Of the first lake: versions 1 and 2, with the rows 1 and 2."""
    made = create(first, "t")
    insert(first, made, 2)
    return made


def register(lake: Any, place: str, **options: Any) -> None:
    lake.register_table({"id": ["theirs"], "location": place, **options})


def look(lake: Any, table: Id) -> None:
    """Do what has moved manifests aside: read, list, begin to write, reconcile. It may be refused."""
    for work in (
        lambda: lake.count_table_rows({"id": table}),
        lambda: lake.list_table_versions({"id": table, "descending": True}),
        lambda: insert(lake, table, 99),
        lambda: lake.reconcile(table, adopt=True) if isinstance(lake, LakeCatalog) else None,
        lambda: lake.list_table_versions({"id": table, "branch": "side"}),
    ):
        with suppress(LanceNamespaceError):
            work()


def stays_whole(first: LakeCatalog, table: Id) -> None:
    """The first lake reads and writes on, and nothing of its table has been moved."""
    before = ids(first, table)
    insert(first, table, 1000)
    assert ids(first, table) == sorted([*before, 1000])
    assert numbers(first, table) == list(range(1, len(numbers(first, table)) + 1))
    assert files(first, table) >= {manifests.key(number) for number in numbers(first, table)}
    assert not files(first, table, ".lanceway/strays")


# -- ways into the second lake -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_what_another_lake_manages_is_not_registered_as_managed(
    first: LakeCatalog, second: LakeCatalog, table: Id, mode: str
) -> None:
    if mode == "overwrite":
        create(second, "theirs", ids=(7,))
    with pytest.raises(
        InvalidTableStateError, match=r"lanceway\.versioning = storage.*deregister it in that lake first"
    ):
        register(second, location(first, table), mode=mode)
    if mode == "overwrite":
        assert ids(second, ["theirs"]) == [7]
    else:
        with pytest.raises(TableNotFoundError):
            second.describe_table({"id": ["theirs"]})  # type: ignore[arg-type]
    look(second, ["theirs"])
    stays_whole(first, table)


def test_the_second_lake_follows_as_storage_managed(first: LakeCatalog, second: LakeCatalog, table: Id) -> None:
    register(second, location(first, table), properties=STORAGE)
    assert ids(second, ["theirs"]) == [1, 2]
    insert(first, table, 3)
    assert ids(second, ["theirs"]) == [1, 2, 3]
    look(second, ["theirs"])
    assert ids(first, table) == [1, 2, 3]
    stays_whole(first, table)


def test_none_is_declared_nor_created_where_another_lake_has_one(
    first: LakeCatalog, second: LakeCatalog, table: Id, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match="a Lance table is there"):
        second.declare_table({"id": ["theirs"], "location": location(first, table)})  # type: ignore[arg-type]
    chosen = str(tmp_path / "chosen")
    second.declare_table({"id": ["theirs"], "location": chosen})  # type: ignore[arg-type]
    first.declare_table({"id": ["ours"], "location": chosen})  # type: ignore[arg-type]
    create(first, "ours", ids=(1,))
    with pytest.raises(LanceNamespaceError):
        create(second, "theirs", ids=(99,))
    with pytest.raises(LanceNamespaceError):
        create(second, "theirs", ids=(99,), mode="overwrite")
    look(second, ["theirs"])
    assert ids(first, ["ours"]) == [1]
    stays_whole(first, ["ours"])


@pytest.mark.slow
def test_of_two_that_create_at_one_location_one_succeeds(two: tuple[LakeCatalog, LakeCatalog], tmp_path: Path) -> None:
    for round_ in range(5):
        chosen = str(tmp_path / f"chosen{round_}")
        for lake in two:
            lake.declare_table({"id": [f"t{round_}"], "location": chosen})  # type: ignore[arg-type]
        results = race(lambda number, round_=round_: create(two[number], f"t{round_}", ids=(number,)), 2)  # type: ignore[misc]
        assert results.count(None) == 1
        winner = two[results.index(None)]
        assert ids(winner, [f"t{round_}"]) == [results.index(None)]
        stays_whole(winner, [f"t{round_}"])


def test_of_two_that_register_one_location_one_succeeds(two: tuple[LakeCatalog, LakeCatalog], tmp_path: Path) -> None:
    for round_ in range(5):
        place = tmp_path / f"place{round_}"
        lance.write_dataset(rows(1), place)
        results = race(
            lambda number, round_=round_, place=place: two[number].register_table(  # type: ignore[misc]
                {"id": [f"t{round_}"], "location": str(place)}
            ),
            2,
        )
        assert results.count(None) == 1
        stays_whole(two[results.index(None)], [f"t{round_}"])


def test_over_the_server(server: Lanceway, tmp_path: Path) -> None:
    mine = LakeCatalog(uri=new_lake(tmp_path / "mine.db"), root=str(tmp_path / "mine"))
    table = create(mine, "t")
    with mine, lanceway.connect("rest", uri=server.uri, token=server.token, at=f"lake.{tmp_path.name}") as there:
        lanceway.connect("rest", uri=server.uri, token=server.token).create_namespace(
            {"id": ["lake", tmp_path.name]}  # type: ignore[arg-type]
        )
        with pytest.raises(InvalidTableStateError, match="another lake manages"):
            register(there, location(mine, table))
        register(there, location(mine, table), properties=STORAGE)
        insert(mine, table, 2)
        assert ids(there, ["theirs"]) == [1, 2]  # type: ignore[arg-type]
        with pytest.raises(InvalidTableStateError, match="only be read here"):
            insert(there, ["theirs"], 99)  # type: ignore[arg-type]
        look(there, ["theirs"])
        there.deregister_table({"id": ["theirs"]})  # type: ignore[arg-type]
    stays_whole(mine, table)


@pytest.mark.parametrize("job", ["sync", "crawl", "migrate"])
def test_jobs_hold_it_as_storage_managed(
    first: LakeCatalog, second: LakeCatalog, table: Id, job: str, tmp_path: Path
) -> None:
    work: dict[str, Callable[[], Any]] = {
        "sync": lambda: jobs.sync(first, second),
        "crawl": lambda: jobs.crawl(str(tmp_path / "first"), second),
        "migrate": lambda: jobs.migrate(first, second, data="keep"),
    }
    told: list[jobs.TableOutcome] = []
    if job == "crawl":
        report = jobs.crawl(str(tmp_path / "first"), second, listen=told.append)
    elif job == "sync":
        report = jobs.sync(first, second, listen=told.append)
    else:
        report = jobs.migrate(first, second, data="keep", listen=told.append)
    assert report.ok, report.problems
    assert "write to it there" in str(told[0].reason)
    name = [str(told[0].target)]
    assert second.describe_table({"id": name}).managed_versioning is False  # type: ignore[arg-type]
    insert(first, table, 3)
    assert ids(second, name) == [1, 2, 3]
    look(second, name)
    assert work[job]().ok
    stays_whole(first, table)


def test_a_restored_backup_is_the_same_lake(first: LakeCatalog, table: Id, tmp_path: Path) -> None:
    store = first._lake
    backup(store, tmp_path / "backup")
    restore(LakeStore(f"sqlite:///{tmp_path}/moved.db"), tmp_path / "backup")
    with LakeCatalog(uri=f"sqlite:///{tmp_path}/moved.db", root=str(tmp_path / "first")) as moved:
        insert(moved, table, 3)
        assert ids(moved, table) == [1, 2, 3]
        stays_whole(moved, table)


# -- read-only ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("update_table", {"updates": [["id", "99"]]}),
        ("delete_from_table", {"predicate": "id = 1"}),
        ("create_table_tag", {"tag": "mine", "version": 1}),
        ("create_table_branch", {"name": "side"}),
        ("create_table_scalar_index", {"column": "id", "index_type": "BTREE"}),
        ("alter_table_drop_columns", {"columns": ["id"]}),
        ("restore_table", {"version": 1}),
        ("batch_delete_table_versions", {"ranges": [{"start_version": 1, "end_version": 2}]}),
        ("drop_table", {}),
    ],
)
def test_every_write_through_the_second_lake_is_refused(
    first: LakeCatalog, second: LakeCatalog, table: Id, operation: str, request_: dict[str, Any]
) -> None:
    register(second, location(first, table), properties=STORAGE)
    before = set(storage(first, table).keys())
    with pytest.raises(InvalidTableStateError, match="another lake manages"):
        getattr(second, operation)({"id": ["theirs"], **request_})
    assert set(storage(first, table).keys()) == before
    stays_whole(first, table)


def test_rows_are_not_written_through_the_second_lake(first: LakeCatalog, second: LakeCatalog, table: Id) -> None:
    register(second, location(first, table), properties=STORAGE)
    with pytest.raises(InvalidTableStateError, match="Write to it through that lake"):
        insert(second, ["theirs"], 99)
    with pytest.raises(InvalidTableStateError, match="another lake manages"):
        create(second, "theirs", ids=(99,), mode="overwrite")
    with pytest.raises(InvalidTableStateError, match="another lake manages"):
        second.set_versioning("theirs", managed=True)
    for job in (jobs.compact, jobs.clean):
        with pytest.raises(InvalidTableStateError, match="another lake manages"):
            job(_named(second))
    assert ids(first, table) == [1, 2]
    stays_whole(first, table)


def _named(lake: LakeCatalog) -> dict[str, str]:
    settings = {"uri": str(lake._settings["uri"]), "root": str(lake._settings["root"])}
    return {"namespace.type": "lake", "table": "theirs"} | {f"namespace.{key}": text for key, text in settings.items()}


def test_dropping_a_namespace_of_the_second_lake_deletes_nothing_of_the_first(
    first: LakeCatalog, second: LakeCatalog, table: Id
) -> None:
    second.create_namespace({"id": ["n"]})  # type: ignore[arg-type]
    second.register_table({"id": ["n", "theirs"], "location": location(first, table), "properties": STORAGE})  # type: ignore[arg-type]
    second.drop_namespace({"id": ["n"], "behavior": "cascade"})  # type: ignore[arg-type]
    assert second.finish_removals() == []
    stays_whole(first, table)


# -- handing a table over ----------------------------------------------------------------------------


def test_a_deregistered_table_may_be_managed_by_another_lake(
    first: LakeCatalog, second: LakeCatalog, table: Id
) -> None:
    place = location(first, table)
    first.deregister_table({"id": table})  # type: ignore[arg-type]
    register(second, place)
    assert second.describe_table({"id": ["theirs"]}).managed_versioning  # type: ignore[arg-type]
    with pytest.raises(InvalidTableStateError, match="another lake manages"):
        first.register_table({"id": table, "location": place})  # type: ignore[arg-type]
    stays_whole(second, ["theirs"])


def test_a_table_that_leaves_the_lakes_care_may_be_managed_by_another(
    first: LakeCatalog, second: LakeCatalog, table: Id
) -> None:
    register(second, location(first, table), properties=STORAGE)
    first.set_versioning(table, managed=False)
    second.set_versioning("theirs", managed=True)
    with pytest.raises(InvalidTableStateError, match="only be read here"):
        insert(first, table, 99)
    stays_whole(second, ["theirs"])
    assert ids(first, table) == ids(second, ["theirs"])


def test_a_refused_registration_leaves_nothing_in_storage(second: LakeCatalog, tmp_path: Path) -> None:
    lance.write_dataset(rows(1), tmp_path / "plain")
    create(second, "theirs")
    with pytest.raises(LanceNamespaceError):
        register(second, str(tmp_path / "plain"))  # the name is taken
    assert not (tmp_path / "plain" / ".lanceway").exists()


def test_a_registration_that_is_replaced_is_free_for_others(
    first: LakeCatalog, second: LakeCatalog, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        lance.write_dataset(rows(1), tmp_path / name)
    register(second, str(tmp_path / "one"))
    register(second, str(tmp_path / "two"), mode="overwrite")
    register(first, str(tmp_path / "one"))
    with pytest.raises(InvalidTableStateError):
        first.register_table({"id": ["u"], "location": str(tmp_path / "two")})  # type: ignore[arg-type]


def test_a_marker_of_a_lake_that_is_gone_can_be_deleted(first: LakeCatalog, second: LakeCatalog, table: Id) -> None:
    place = location(first, table)
    with pytest.raises(InvalidTableStateError, match=f"delete {place}/{manager.KEY}"):
        register(second, place)
    Path(place, manager.KEY).unlink()
    register(second, place)
    assert ids(second, ["theirs"]) == [1, 2]


# -- tables from before lakes said which are theirs ----------------------------------------------------


@pytest.fixture
def both(first: LakeCatalog, second: LakeCatalog, table: Id) -> Id:
    """The table is in both lakes, each of which manages it, and neither has said so."""
    marker = Path(location(first, table), manager.KEY)
    marker.unlink()
    register(second, location(first, table))
    marker.unlink()
    for lake in (first, second):
        lake._lake.managing.clear()
    return table


def test_the_first_that_writes_manages_it_from_then_on(first: LakeCatalog, second: LakeCatalog, both: Id) -> None:
    insert(first, both, 3)
    assert ids(second, ["theirs"]) == [1, 2, 3]
    with pytest.raises(InvalidTableStateError, match="lanceway tables versioning theirs storage"):
        insert(second, ["theirs"], 99)
    look(second, ["theirs"])
    assert ids(first, both) == [1, 2, 3]
    stays_whole(first, both)
    second.set_versioning("theirs", managed=False)
    stays_whole(first, both)
    assert ids(second, ["theirs"]) == ids(first, both)


def test_nothing_is_lost_if_the_second_one_writes_first(first: LakeCatalog, second: LakeCatalog, both: Id) -> None:
    insert(second, ["theirs"], 3)
    look(first, both)
    assert ids(second, ["theirs"]) == [1, 2, 3]
    with pytest.raises(InvalidTableStateError, match="another lake manages"):
        insert(first, both, 99)
    stays_whole(second, ["theirs"])


def test_reading_in_the_second_moves_nothing(first: LakeCatalog, second: LakeCatalog, both: Id) -> None:
    """The first lake's process is one that says nothing in storage."""
    lance.write_dataset(rows(3), location(first, both), mode="append")
    before = files(first, both)
    assert ids(second, ["theirs"]) == [1, 2, 3]
    assert files(first, both) == before


# -- pylance's own writer --------------------------------------------------------------------------------


def test_what_pylance_writes_to_a_registered_table_is_adopted(second: LakeCatalog, tmp_path: Path) -> None:
    place, table = str(tmp_path / "plain"), ["theirs"]
    lance.write_dataset(rows(1), place)
    register(second, place)
    lance.write_dataset(rows(2), place, mode="append")
    assert ids(second, table) == [1, 2]
    lance.write_dataset(rows(3), place, mode="append")
    [difference] = second.reconcile(table)
    assert (difference.kind, difference.version, difference.fixed) == ("stray", 3, True)
    opened(second, table).insert(rows(4))
    lance.write_dataset(rows(5), place, mode="append")
    insert(second, table, 6)
    assert ids(second, table) == [1, 2, 3, 4, 5, 6]
    stays_whole(second, table)


def test_pylance_and_the_lake_that_write_at_once_lose_nothing(second: LakeCatalog, tmp_path: Path) -> None:
    place, table = str(tmp_path / "plain"), ["theirs"]
    lance.write_dataset(rows(0), place)
    register(second, place)

    acknowledged = [0]

    def work(number: int) -> None:
        for step in range(5):
            data = 10 * number + step + 1
            if number % 2:
                lance.write_dataset(rows(data), place, mode="append")
            else:
                insert(second, table, data)
            acknowledged.append(data)

    assert set(race(work, 4)) <= {None, ErrorCode.CONCURRENT_MODIFICATION}
    found = ids(second, table)
    assert set(found) >= set(acknowledged)
    assert len(found) == len(set(found))
    stays_whole(second, table)


def test_what_pylance_writes_to_a_table_of_the_lakes_own_is_still_moved_aside(first: LakeCatalog, table: Id) -> None:
    write_behind(first, table, 99)
    assert ids(first, table) == [1, 2]
    first._lake.managing.clear()
    jobs.clean(_own(first), keep=1)  # with the first version goes the row that tells of it
    write_behind(first, table, 98)
    insert(first, table, 3)
    assert 98 not in ids(first, table)


def _own(lake: LakeCatalog) -> dict[str, str]:
    return _named(lake) | {"table": "t"}
