"""Lakes for the tests that need one: a catalog of its own for each test, in a database that they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.catalogs.lakes import PASSWORD, connect
from tests.servers.postgres import Postgres

from lanceway.catalogs import LakeCatalog


@pytest.fixture(scope="module")
def sqlite_uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('lake')}/lake.db"


@pytest.fixture(scope="module")
def postgres_uri(postgres: Postgres) -> Iterator[str]:
    """With a password, which this server does not ask for: it must be seen nowhere."""
    schema = postgres.schema()
    yield postgres.uri(schema).replace("@", f":{PASSWORD}@")
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(params=["sqlite", "postgresql"])
def uri(request: pytest.FixtureRequest) -> str:
    """Each of the two databases."""
    return str(request.getfixturevalue("sqlite_uri" if request.param == "sqlite" else "postgres_uri"))


@pytest.fixture
def lake(uri: str, tmp_path: Path) -> Iterator[LakeCatalog]:
    with connect(uri, tmp_path) as made:
        yield made
