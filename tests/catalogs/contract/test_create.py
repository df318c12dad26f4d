"""A name that was declared is taken back, unless somebody has done something with it since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from lance_namespace import (
    CreateTableRequest,
    DeclareTableRequest,
    DropTableRequest,
    LanceNamespace,
    ListTablesRequest,
)

import lanceway
from lanceway.catalogs.contract.create import claim_of, undeclare
from lanceway.tables.read import ipc

ID = ["t"]
CATALOGS: dict[str, Callable[[Path], LanceNamespace]] = {
    "dir": lambda place: lanceway.connect("dir", path=str(place)),
    "lake": lambda place: lanceway.connect("lake", uri=f"sqlite:///{place}/lake.db", root=str(place / "root")),
    "lake at": lambda place: lanceway.connect(
        "lake", uri=f"sqlite:///{place}/lake.db", root=str(place / "root"), at="team"
    ),
}


@pytest.fixture(params=CATALOGS)
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> LanceNamespace:
    if request.param == "lake at":
        CATALOGS["lake"](tmp_path).create_namespace({"id": ["team"]})
    return CATALOGS[request.param](tmp_path)


def declare(catalog: LanceNamespace) -> tuple[str, str | None]:
    """Where the name was declared, and the claim."""
    location = catalog.declare_table(DeclareTableRequest(id=ID)).location
    assert location is not None
    return location, claim_of(catalog, ID)


def names(catalog: LanceNamespace) -> list[str]:
    return catalog.list_tables(ListTablesRequest(id=[], include_declared=True)).tables


def test_a_name_that_is_only_declared_goes(catalog: LanceNamespace) -> None:
    location, claim = declare(catalog)
    assert claim is not None
    assert names(catalog) == ID
    undeclare(catalog, ID, location, claim)
    assert names(catalog) == []
    undeclare(catalog, ID, location, claim)
    assert not Path(location.removeprefix("file://")).exists()


def test_a_name_that_was_filled_stays(catalog: LanceNamespace) -> None:
    location, claim = declare(catalog)
    rows = b"".join(ipc.stream_chunks(pa.table({"id": [1]}).to_reader(), file_format=False))
    catalog.create_table(CreateTableRequest(id=ID), rows)
    undeclare(catalog, ID, location, claim)
    assert names(catalog) == ID
    assert catalog.count_table_rows({"id": ID}).count == 1  # type: ignore[attr-defined]


def test_a_name_that_was_declared_anew_stays(catalog: LanceNamespace) -> None:
    location, claim = declare(catalog)
    catalog.drop_table(DropTableRequest(id=ID))
    assert declare(catalog)[1] != claim
    undeclare(catalog, ID, location, claim)
    assert names(catalog) == ID
