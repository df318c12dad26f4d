"""Iceberg tables and views have names of the lake, and are no Lance tables: that is what Lance clients are answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.errors import InvalidInputError, TableAlreadyExistsError
from lanceway.identifiers import Identifier
from lanceway.lake.store.schema import ICEBERG_TABLE, VIEW
from lanceway.lake.tree import lookups, tables
from tests.catalogs.lake.lake_helpers import Id, create, rows

WHAT = {ICEBERG_TABLE: "x is an Iceberg table, not a Lance table", VIEW: "x is a view of Iceberg, not a table"}


@pytest.fixture(params=[ICEBERG_TABLE, VIEW])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def other(lake: LakeCatalog, kind: str) -> Id:
    """An Iceberg table or a view, beside a Lance table."""
    lake.create_namespace({"id": ["a"]})  # type: ignore[arg-type]
    create(lake, "a", "lance")
    pointer = {"metadata_pointer": f"file:///nowhere/{kind}.json"}
    lake._lake.transact(tables.create, lake._catalog.id, Identifier(("a", "x")), by="me", kind=kind, **pointer)
    return ["a", "x"]


OPERATIONS: dict[str, Callable[[LakeCatalog, Id], Any]] = {
    "describe": lambda lake, id_: lake.describe_table({"id": id_}),  # type: ignore[arg-type]
    "describe in detail": lambda lake, id_: lake.describe_table({"id": id_, "load_detailed_metadata": True}),  # type: ignore[arg-type]
    "exists": lambda lake, id_: lake.table_exists({"id": id_}),  # type: ignore[arg-type]
    "query": lambda lake, id_: lake.query_table_stream({"id": id_, "k": 1, "vector": {}}),  # type: ignore[arg-type]
    "count": lambda lake, id_: lake.count_table_rows({"id": id_}),  # type: ignore[arg-type]
    "insert": lambda lake, id_: lake.insert_into_table_stream({"id": id_}, rows(1).to_reader()),  # type: ignore[arg-type]
    "create": lambda lake, id_: create(lake, *id_),
    "create or keep": lambda lake, id_: create(lake, *id_, mode="exist_ok"),
    "overwrite": lambda lake, id_: create(lake, *id_, mode="overwrite"),
    "rename": lambda lake, id_: lake.rename_table({"id": id_, "new_table_name": "y"}),  # type: ignore[arg-type]
    "deregister": lambda lake, id_: lake.deregister_table({"id": id_}),  # type: ignore[arg-type]
    "drop": lambda lake, id_: lake.drop_table({"id": id_}),  # type: ignore[arg-type]
    "versions": lambda lake, id_: lake.list_table_versions({"id": id_}),  # type: ignore[arg-type]
    "tags": lambda lake, id_: lake.list_table_tags({"id": id_}),  # type: ignore[arg-type]
    "properties": lambda lake, id_: lake.alter_table_properties(id_, {"k": "v"}),
    "clone": lambda lake, id_: lake.clone_table(id_, ["a", "copy"]),
    "reconcile": lambda lake, id_: lake.reconcile(id_),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_says_what_it_is(lake: LakeCatalog, kind: str, other: Id, operation: str) -> None:
    with pytest.raises(InvalidInputError, match=WHAT[kind]) as refusal:
        OPERATIONS[operation](lake, other)
    assert refusal.value.code == 13
    assert "Iceberg REST" in str(refusal.value)
    row = lake._lake.read(lookups.find, lake._catalog.id, Identifier(other), kind=kind)
    assert row.metadata_pointer == f"file:///nowhere/{kind}.json"


def test_a_name_is_taken(lake: LakeCatalog, kind: str, other: Id) -> None:
    location = lake.describe_table({"id": ["a", "lance"]}).location  # type: ignore[arg-type]
    named = f"The {kind.replace('_', ' ')} a.x exists already"
    with pytest.raises(TableAlreadyExistsError, match=named):
        lake.declare_table({"id": other})  # type: ignore[arg-type]
    with pytest.raises(TableAlreadyExistsError, match=named):
        lake.rename_table({"id": ["a", "lance"], "new_table_name": "x"})  # type: ignore[arg-type]
    with pytest.raises(TableAlreadyExistsError, match=named):
        lake.register_table({"id": other, "location": location})  # type: ignore[arg-type]


def test_it_is_not_registered_over(lake: LakeCatalog, kind: str, other: Id) -> None:
    location = lake.deregister_table({"id": ["a", "lance"]}).location  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=WHAT[kind]):
        lake.register_table({"id": other, "location": location, "mode": "overwrite"})  # type: ignore[arg-type]
    lake.register_table({"id": ["a", "lance"], "location": location})  # type: ignore[arg-type]


def test_it_is_not_listed(lake: LakeCatalog, other: Id) -> None:
    assert lake.list_tables({"id": ["a"]}).tables == ["lance"]  # type: ignore[arg-type]
    assert lake.list_tables({"id": ["a"], "include_declared": False}).tables == ["lance"]  # type: ignore[arg-type]
    assert lake.list_all_tables({}).tables == ["a$lance"]  # type: ignore[arg-type]


def test_nothing_is_answered_at_once(lake: LakeCatalog, other: Id) -> None:
    for operation in ("describe_table", "table_exists"):
        assert lake.try_fast(operation, other, {"id": other}) is None
    assert lake.try_details(other, is_namespace=False) is None
    page = lake.try_fast("list_tables", ["a"], {"id": ["a"], "limit": 10})
    assert page is None or page["tables"] == ["lance"]
