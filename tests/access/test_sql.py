"""SQL by a user with rights: a query reads the tables that they may read, in the lake and in a mounted folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lanceway import Table
from lanceway.access.privileges import SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from lanceway.errors import PermissionDeniedError, TableNotFoundError
from lanceway.identifiers import Identifier
from lanceway.lake.store.database import open_store
from tests.access.site_helpers import CATALOGS, Site, make_site
from tests.new_lakes import new_lake

BOTH = "SELECT count(*) AS n FROM lake.A.t1 JOIN archive.A.t1 b USING (id)"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    store = open_store(new_lake(tmp_path / "lake.db"), upgrade=False)
    filled = make_site(store, tmp_path)
    yield filled
    filled.tree.close()


def query(site: Site, text: str) -> list[dict[str, Any]]:
    return Table(site.guard(), Identifier(("lake", "A", "t1"))).sql(text).to_list()


def test_tables_of_a_lake_and_of_a_mounted_folder_are_joined(site: Site) -> None:
    for catalog in CATALOGS:
        site.grant(site.place(catalog), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    assert query(site, BOTH) == [{"n": 2}]


@pytest.mark.parametrize("hidden", CATALOGS)
def test_one_table_that_may_not_be_read_is_enough_to_refuse(site: Site, hidden: str) -> None:
    for catalog in CATALOGS:
        site.grant(site.place(catalog), USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    site.grant(site.table(hidden, "A", "t1"), SELECT_TABLE, deny=True)
    with pytest.raises((PermissionDeniedError, TableNotFoundError)):
        query(site, BOTH)


def test_what_is_not_visible_is_not_suggested(site: Site) -> None:
    site.grant(site.place("lake"), USE_CATALOG)
    site.grant(site.place("lake", "A"), USE_SCHEMA)
    site.grant(site.table("lake", "A", "t2"), SELECT_TABLE)
    with pytest.raises((PermissionDeniedError, TableNotFoundError)) as refusal:
        query(site, "SELECT * FROM lake.A.t11")
    assert "t1'" not in str(refusal.value)
