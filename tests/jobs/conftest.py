"""Catalogs for the jobs between them: each test has a source of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from lance_namespace import LanceNamespace

from lanceway.catalogs import DirectoryCatalog, GlueCatalog
from tests.catalogs.hive import hive_helpers
from tests.catalogs.iceberg import iceberg_helpers as icebergs
from tests.catalogs.unity.unity_helpers import home
from tests.jobs import move_helpers as moves
from tests.servers import moto
from tests.servers import polaris as polaris_server
from tests.servers import unity as unity_server
from tests.servers.gravitino import catalog_of
from tests.servers.iceberg import Iceberg
from tests.servers.lanceway import Lanceway
from tests.servers.moto import Glue


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No journal but a test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Iterator[DirectoryCatalog]:
    """A folder with two tables, one of them two levels deep."""
    with moves.folder(tmp_path / "source") as catalog:
        moves.make(catalog, "team.sales.orders", properties={"owner": "red"})
        moves.make(catalog, "events", moves.numbers(4, 5))
        yield catalog


@pytest.fixture(scope="session")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a lake's database, in which tests have catalogs of their own."""
    return tmp_path_factory.mktemp("lakes")


@pytest.fixture
def rest(server: Lanceway) -> Iterator[LanceNamespace]:
    yield from moves.scratch(server.uri, server.token)


@pytest.fixture(scope="session")
def glue_process() -> Iterator[Glue]:
    with moto.serve() as server:
        yield server


@pytest.fixture
def glue_server(glue_process: Glue) -> Glue:
    glue_process.state.clear()
    return glue_process


@pytest.fixture
def glue(glue_server: Glue, tmp_path: Path) -> LanceNamespace:
    return GlueCatalog(**glue_server.settings, hierarchy="databases", root=str(tmp_path / "glue"))


@pytest.fixture
def gravitino(server: Lanceway) -> Iterator[LanceNamespace]:
    with catalog_of(server) as place, place.connect() as catalog:
        yield moves.inside(catalog, place.catalog)


@pytest.fixture
def polaris(tmp_path: Path) -> Iterator[LanceNamespace]:
    with polaris_server.serve() as server, server.connect(root=str(tmp_path / "polaris")) as catalog:
        yield moves.inside(catalog, polaris_server.WAREHOUSE)


@pytest.fixture
def unity(tmp_path: Path) -> Iterator[LanceNamespace]:
    with unity_server.serve() as server, home(server.endpoint) as made:
        yield moves.inside(made.connect(tmp_path / "unity"), made.catalog)


@pytest.fixture(params=["lake", "rest", "glue", "hive", "unity", "iceberg", "gravitino", "polaris", "dir"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LanceNamespace]:
    """A target of each type, without any table, that holds tables two levels deep."""
    if request.param == "lake":
        yield moves.lake(tmp_path)
    elif request.param == "rest":
        yield request.getfixturevalue("rest")
    elif request.param == "dir":  # which holds what lies below it, as the source's tables do
        yield moves.folder(tmp_path)
    elif request.param == "hive":
        name = f"c{uuid.uuid4().hex[:12]}"
        with hive_helpers.connect(request.getfixturevalue("hive"), tmp_path / "hive") as metastore:
            metastore.create_namespace({"id": [name]})
            yield moves.inside(metastore, name)
    elif request.param == "iceberg":
        server: Iceberg = request.getfixturevalue("iceberg")
        with icebergs.connect(server.endpoint, tmp_path / "iceberg") as catalog:
            yield moves.inside(catalog, *icebergs.namespace(catalog))
    else:
        yield request.getfixturevalue(request.param)


@pytest.fixture
def team(tmp_path: Path) -> DirectoryCatalog:
    """A folder with tables two levels deep, which every type of catalog can hold."""
    catalog = moves.folder(tmp_path / "source")
    moves.make(catalog, "team.orders", properties={"owner": "red"})
    moves.make(catalog, "team.events", moves.numbers(4, 5))
    return catalog
