"""What Hive alone does: catalogs and databases with owners, parameters as other engines read them, data that stays."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import lance
import pytest
from hive_metastore import ttypes

from lanceway.catalogs import HiveCatalog
from lanceway.catalogs.contract.limits import identifier_limits
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.testing.behaviours.concurrency import race
from tests.catalogs.hive.hive_helpers import ROWS, connect, create, database, other_client, seen_by_hive
from tests.servers.hive import Hive


@pytest.fixture
def catalog(hive: Hive, tmp_path: Path) -> Iterator[HiveCatalog]:
    with connect(hive, tmp_path) as catalog:
        yield catalog


@pytest.fixture
def other(catalog: HiveCatalog) -> str:
    """A catalog beside the first one."""
    name = f"c{uuid.uuid4().hex[:12]}"
    catalog.create_namespace({"id": [name], "properties": {"description": "another"}})
    return name


def properties(catalog: HiveCatalog, namespace: list[str]) -> dict[str, str]:
    return catalog.describe_namespace({"id": namespace}).properties or {}


# -- tables as other engines see them ------------------------------------------------------------


def test_a_table_is_an_external_one_of_lance_for_hive(catalog: HiveCatalog, hive: Hive, tmp_path: Path) -> None:
    table = create(catalog, [*database(catalog), "orders"], properties={"team": "sales"})
    row = seen_by_hive(hive, table)
    assert row.tableType == "EXTERNAL_TABLE"
    assert (
        row.parameters.items()
        >= {
            "EXTERNAL": "TRUE",
            "table_type": "lance",
            "managed_by": "storage",
            "team": "sales",
        }.items()
    )
    assert row.sd.inputFormat == "org.lance.mapred.LanceInputFormat"
    assert row.sd.outputFormat == "org.lance.mapred.LanceOutputFormat"
    assert row.sd.cols == []
    assert "numFiles" not in row.parameters  # no statistics that would be old after the next write


def test_hives_own_drop_keeps_the_data(catalog: HiveCatalog, hive: Hive) -> None:
    table = create(catalog, [*database(catalog), "orders"])
    location = catalog.describe_table({"id": table}).location
    with other_client(hive) as client:
        client.drop_table(table[1], table[2], True)
    assert lance.dataset(location).count_rows() == 3
    with pytest.raises(TableNotFoundError):
        catalog.describe_table({"id": table})


def test_tables_are_where_the_mapping_says(catalog: HiveCatalog, other: str, tmp_path: Path) -> None:
    first, second = database(catalog), database(catalog, other)
    for space, below in ((first, f"{first[1]}.db"), (second, f"{other}/{second[1]}.db")):
        location = catalog.declare_table({"id": [*space, "orders"]}).location
        assert location == f"{tmp_path.as_uri()}/{below}/orders"


def test_a_table_without_a_root_is_below_its_database(hive: Hive, tmp_path: Path) -> None:
    with connect(hive) as catalog:
        space = database(catalog, **{"database.location-uri": str(tmp_path / "here")})
        assert catalog.declare_table({"id": [*space, "t"]}).location == f"{tmp_path.as_uri()}/here/t"
        unplaced = database(catalog)
        location = properties(catalog, unplaced)["database.location-uri"]
        assert location == f"{Path(hive.warehouse).as_uri()}/{unplaced[1]}.db"
        assert catalog.declare_table({"id": [*unplaced, "t"]}).location == f"{location}/t"


def test_data_that_was_left_behind_is_not_in_the_way(catalog: HiveCatalog) -> None:
    table = create(catalog, [*database(catalog), "orders"])
    left = catalog.deregister_table({"id": table}).location
    create(catalog, table)
    location = catalog.describe_table({"id": table}).location
    assert location is not None
    assert location != left
    catalog.drop_table({"id": table})
    assert lance.dataset(left).count_rows() == 3


@pytest.mark.parametrize(
    "wrong",
    [{"EXTERNAL": "FALSE"}, {"managed_by": "impl"}, {"external.table.purge": "TRUE"}, {"table_type": "iceberg"}],
)
def test_properties_by_which_hive_would_delete_the_data_are_refused(
    catalog: HiveCatalog, wrong: dict[str, str]
) -> None:
    space = database(catalog)
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        catalog.declare_table({"id": [*space, "t"], "properties": wrong})
    assert catalog.list_tables({"id": space}).tables == []


def test_the_properties_of_a_table_can_be_given_to_another(catalog: HiveCatalog) -> None:
    space = database(catalog)
    table = create(catalog, [*space, "t"], properties={"team": "sales"})
    found = catalog.describe_table({"id": table}).properties
    catalog.declare_table({"id": [*space, "u"], "properties": found})
    assert (catalog.describe_table({"id": [*space, "u"]}).properties or {})["team"] == "sales"


def test_a_table_of_another_kind_is_not_listed_and_refused(catalog: HiveCatalog, hive: Hive) -> None:
    space = database(catalog)
    create(catalog, [*space, "ours"])
    with other_client(hive) as client:
        row = seen_by_hive(hive, [*space, "ours"])
        row.tableName, row.parameters = "theirs", {"EXTERNAL": "TRUE"}
        client.create_table(row)
        row.tableName, row.parameters = "shouted", {"EXTERNAL": "TRUE", "table_type": "LANCE"}
        client.create_table(row)
    assert catalog.list_tables({"id": space}).tables == ["ours", "shouted"]
    with pytest.raises(InvalidInputError, match="not a Lance table"):
        catalog.describe_table({"id": [*space, "theirs"]})
    with pytest.raises(InvalidInputError, match="not a Lance table"):
        catalog.drop_table({"id": [*space, "theirs"]})
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace({"id": space})


def test_a_whole_file_system_is_not_searched_for_a_table_to_drop(catalog: HiveCatalog, hive: Hive) -> None:
    space = database(catalog)
    create(catalog, [*space, "ours"])
    with other_client(hive) as client:
        row = seen_by_hive(hive, [*space, "ours"])
        row.tableName, row.sd.location = "everything", f"{row.sd.location}-2"
        client.create_table(row)
        row.sd.location = "file:///"
        context = ttypes.EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true"})  # which counts all files there
        client.alter_table_with_environment_context(space[1], "everything", row, context)
    with pytest.raises(InvalidInputError, match="which would be deleted as a whole"):
        catalog.drop_table({"id": [*space, "everything"]})
    assert catalog.list_tables({"id": space}).tables == ["everything", "ours"]
    catalog.deregister_table({"id": [*space, "everything"]})


def test_a_long_list_is_whole_and_comes_in_pages(catalog: HiveCatalog) -> None:
    space = database(catalog)
    names = [f"t{number:03}" for number in range(45)]
    for name in reversed(names):
        catalog.declare_table({"id": [*space, name]})
    listed, token = [], None
    while True:
        page = catalog.list_tables({"id": space, "limit": 7, "page_token": token})
        listed += page.tables
        token = page.page_token
        if not token:
            break
    assert listed == names


def test_a_table_is_renamed_in_one_step_and_stays_where_it_is(catalog: HiveCatalog, other: str) -> None:
    space, target = database(catalog), database(catalog)
    table = create(catalog, [*space, "old"])
    catalog.declare_table({"id": [*target, "taken"]})
    location = catalog.describe_table({"id": table}).location
    with pytest.raises(TableAlreadyExistsError):
        catalog.rename_table({"id": table, "new_namespace_id": target, "new_table_name": "taken"})
    with pytest.raises(NamespaceNotFoundError):
        catalog.rename_table({"id": table, "new_namespace_id": ["hive", "missing"], "new_table_name": "t"})
    with pytest.raises(InvalidInputError, match="another catalog"):
        catalog.rename_table({"id": table, "new_namespace_id": database(catalog, other), "new_table_name": "t"})
    catalog.rename_table({"id": table, "new_namespace_id": target, "new_table_name": "New"})
    assert catalog.describe_table({"id": [*target, "new"]}).location == location
    assert catalog.count_table_rows({"id": [*target, "new"]}).count == 3


def test_a_table_that_was_replaced_in_the_meantime_is_not_changed(catalog: HiveCatalog) -> None:
    space = database(catalog)
    table = create(catalog, [*space, "t"])
    tables = catalog._tables
    row = tables.load(Identifier(table))
    catalog.drop_table({"id": table})
    create(catalog, table)
    with pytest.raises(ConcurrentModificationError):
        catalog._metastore.alter_table(tables._place(Identifier(table)), "t", row, tables.claim_of(row))


def test_a_property_that_is_too_long_is_said_to_be(catalog: HiveCatalog) -> None:
    space = database(catalog)
    with pytest.raises(InvalidInputError, match="'essay'"):
        catalog.declare_table({"id": [*space, "t"], "properties": {"essay": "x" * 40_000}})
    assert catalog.list_tables({"id": space}).tables == []


# -- namespaces ----------------------------------------------------------------------------------


def test_a_database_has_its_own_places_for_some_properties(catalog: HiveCatalog, hive: Hive, tmp_path: Path) -> None:
    given = {
        "database.description": "what we sell",
        "database.location-uri": (tmp_path / "elsewhere").as_uri(),
        "database.owner": "ada",
        "database.owner-type": "group",
        "team": "sales",
    }
    space = database(catalog, **given)
    with other_client(hive) as client:
        row = client.get_database(space[1])
    assert (row.description, row.ownerName, row.ownerType) == ("what we sell", "ada", ttypes.PrincipalType.GROUP)
    assert row.parameters == {"team": "sales"}
    assert properties(catalog, space) == {**given, "database.owner-type": "GROUP"}


@pytest.mark.parametrize(
    "wrong", [{"database.owner-type": "USER"}, {"database.owner": "ada", "database.owner-type": "KING"}]
)
def test_an_owner_that_cannot_be_is_refused(catalog: HiveCatalog, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="owner-type"):
        catalog.create_namespace({"id": ["hive", f"d{uuid.uuid4().hex[:8]}"], "properties": wrong})


def test_a_catalog_has_a_description_and_a_location(catalog: HiveCatalog, other: str, tmp_path: Path) -> None:
    assert properties(catalog, [other]) == {
        "description": "another",
        "catalog.location.uri": f"{tmp_path.as_uri()}/{other}",
    }
    assert {other, "hive"} <= set(catalog.list_namespaces({"id": []}).namespaces)
    assert catalog.list_namespaces({"id": [other]}).namespaces == ["default"]
    with pytest.raises(InvalidInputError, match="team"):
        catalog.create_namespace({"id": ["another"], "properties": {"team": "sales"}})


def test_databases_of_two_catalogs_are_apart(catalog: HiveCatalog, other: str) -> None:
    space = database(catalog, other)
    assert not catalog.list_tables({"id": space}).tables
    with pytest.raises(NamespaceNotFoundError):
        catalog.describe_namespace({"id": ["hive", space[1]]})
    create(catalog, [*space, "t"])
    assert catalog.count_table_rows({"id": [other.upper(), space[1].upper(), "T"]}).count == 3
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace({"id": [other]})


def test_what_is_empty_is_overwritten_in_place(catalog: HiveCatalog, other: str) -> None:
    space = database(catalog, other, team="sales")
    catalog.create_namespace({"id": space, "mode": "overwrite", "properties": {"team": "support"}})
    assert properties(catalog, space)["team"] == "support"
    create(catalog, [*space, "t"])
    with pytest.raises(NamespaceNotEmptyError):
        catalog.create_namespace({"id": space, "mode": "overwrite"})
    with pytest.raises(UnsupportedOperationError, match="cascade"):
        catalog.drop_namespace({"id": space, "behavior": "cascade"})


def test_a_catalog_is_dropped_and_what_lies_in_its_folder_stays(
    catalog: HiveCatalog, other: str, tmp_path: Path
) -> None:
    """The metastore itself deletes the folder of a catalog that it drops, whatever is there."""
    table = create(catalog, [other, "default", "t"])
    location = catalog.deregister_table({"id": table}).location
    assert location is not None
    assert location.startswith(f"{tmp_path.as_uri()}/{other}/")
    catalog.drop_namespace({"id": [other]})
    assert other not in catalog.list_namespaces({"id": []}).namespaces
    assert lance.dataset(location).count_rows() == 3


def test_a_catalog_that_cannot_be_dropped_is_as_it_was(catalog: HiveCatalog, hive: Hive, other: str) -> None:
    before, space = properties(catalog, [other]), database(catalog, other)
    with pytest.raises(NamespaceNotEmptyError):  # as if the database were made between the look and the drop
        catalog._namespaces._drop_catalog(Identifier((other,)))
    assert properties(catalog, [other]) == before
    assert catalog.list_namespaces({"id": [other]}).namespaces == sorted(["default", space[1]])


# -- levels and names ----------------------------------------------------------------------------


def test_databases_alone_are_two_levels(hive: Hive, tmp_path: Path, catalog: HiveCatalog, other: str) -> None:
    name = database(catalog, other)[1]
    with connect(hive, tmp_path, hierarchy="databases", catalog=other) as flat:
        assert flat.list_namespaces({"id": []}).namespaces == sorted(["default", name])
        create(flat, [name, "t"])
        assert identifier_limits(flat)[:2] == (2, 2)
    assert catalog.count_table_rows({"id": [other, name, "t"]}).count == ROWS.num_rows
    with pytest.raises(InvalidInputError, match="3 names"):
        catalog.describe_table({"id": [name, "t"]})
    with pytest.raises(NamespaceNotFoundError):
        catalog.list_tables({"id": [other, name, "t", "u"]})


@pytest.mark.parametrize("name", ["a-b", "a.b", "a b", "é", "x" * 129])
def test_a_name_that_not_every_version_takes_is_refused(catalog: HiveCatalog, name: str) -> None:
    space = database(catalog)
    for refused in (
        lambda: catalog.declare_table({"id": [*space, name]}),
        lambda: catalog.create_namespace({"id": ["hive", name]}),
        lambda: catalog.create_namespace({"id": [name]}),
    ):
        with pytest.raises(InvalidInputError):
            refused()


def test_one_of_two_clients_makes_a_table_and_its_data_stays(hive: Hive, tmp_path: Path, rounds: int) -> None:
    """A metastore deletes the folder that it made for a table whose name turns out to be taken."""
    racers = [connect(hive, tmp_path) for _ in range(4)]
    space = database(racers[0])
    for number in range(rounds):
        table = [*space, f"t{number}"]
        results = race(lambda racer, table=table: create(racers[racer], table), len(racers))  # type: ignore[misc]
        assert results.count(None) == 1
        assert racers[0].count_table_rows({"id": table}).count == 3
    for catalog in racers:
        catalog.close()


def test_what_is_created_in_a_database_stays_while_others_create_it(hive: Hive, tmp_path: Path, rounds: int) -> None:
    """A metastore deletes the folder that it made for a database, too, whose name turns out to be taken."""
    racers = [connect(hive, tmp_path) for _ in range(4)]

    def work(racer: int, space: list[str]) -> None:
        racers[racer].create_namespace({"id": space, "mode": "exist_ok"})
        create(racers[racer], [*space, f"t{racer}"])

    for _ in range(rounds):
        space = ["hive", f"d{uuid.uuid4().hex[:12]}"]
        assert set(race(lambda racer, space=space: work(racer, space), len(racers))) == {None}  # type: ignore[misc]
        assert racers[0].list_tables({"id": space}).tables == [f"t{racer}" for racer in range(len(racers))]
        for racer in range(len(racers)):
            assert racers[0].count_table_rows({"id": [*space, f"t{racer}"]}).count == 3
    for catalog in racers:
        catalog.close()
