"""Lakes for the tests that need one: a catalog of its own for each test, in a database that they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanceway.catalogs import LakeCatalog
from tests.catalogs.lake.lake_helpers import PASSWORD, connect
from tests.catalogs.unity.unity_helpers import Home, home
from tests.servers import moto
from tests.servers import unity as unity_server
from tests.servers.moto import Glue
from tests.servers.postgres import Postgres
from tests.servers.unity import Unity


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


@pytest.fixture(scope="session")
def glue_server() -> Iterator[Glue]:
    with moto.serve() as server:
        yield server


@pytest.fixture
def glue(glue_server: Glue) -> Glue:
    """A Glue server without any content or orders."""
    glue_server.state.clear()
    return glue_server


@pytest.fixture(scope="session")
def unity_process() -> Iterator[Unity]:
    with unity_server.serve() as server:
        yield server


@pytest.fixture
def fake_unity(unity_process: Unity) -> Unity:
    """A fake of Unity Catalog without any content or orders, for what a real server cannot be told."""
    unity_process.clear()
    return unity_process


@pytest.fixture
def unity(fake_unity: Unity) -> Iterator[Home]:
    """A catalog of its own for each test: on the server that LANCEWAY_TEST_UNITY names, else on the fake."""
    with home(unity_server.real() or fake_unity.endpoint) as made:
        yield made
