"""Every test of the lake runs on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.tree import catalogs, metalakes
from lanceway.lake.tree.catalogs import CatalogRow
from tests.new_lakes import new_database, new_lake
from tests.servers.postgres import Postgres

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Lake:
    """A catalog in a store. `do` and `see` call a function of the lake in a transaction of its own."""

    store: LakeStore
    catalog: CatalogRow

    def do(self, function: Callable[..., Answer], *arguments: Any, **options: Any) -> Answer:
        return self.store.transact(function, self.catalog.id, *arguments, **options)

    def see(self, function: Callable[..., Answer], *arguments: Any, **options: Any) -> Answer:
        return self.store.read(function, self.catalog.id, *arguments, **options)


@pytest.fixture(params=["sqlite", "postgresql"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database; a new lake, where a test asks for its store as well."""
    is_lake, path = "store" in request.fixturenames, tmp_path / "lake.db"
    if request.param == "sqlite":
        yield new_lake(path) if is_lake else f"sqlite:///{path}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    if is_lake:
        database = new_database(server)
        yield server.uri(database=database)
        server.execute(f"DROP DATABASE {database} WITH (FORCE)")
    else:
        schema = server.schema()
        yield server.uri(schema)
        server.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def store(uri: str) -> Iterator[LakeStore]:
    """A new lake, without metalakes."""
    opened = open_store(uri)
    yield opened
    opened.close()


@pytest.fixture
def lake(store: LakeStore) -> Lake:
    """A nested catalog in a new lake."""
    return make_lake(store)


@pytest.fixture
def flat(lake: Lake) -> Lake:
    """A flat catalog beside it."""
    made = lake.store.transact(catalogs.create, "m", "flat", by="me", location="/flat")
    return Lake(lake.store, made)


def make_lake(store: LakeStore) -> Lake:
    store.transact(metalakes.create, "m", by="me")
    made = store.transact(catalogs.create, "m", "lake", by="me", nested=True, location="/warehouse")
    return Lake(store, made)
