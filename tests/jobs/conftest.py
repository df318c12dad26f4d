"""Catalogs for the jobs between them: each test has a source of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lance_namespace import LanceNamespace

from lanceway.catalogs import DirectoryCatalog, GlueCatalog
from tests.catalogs.unity.unity_helpers import home
from tests.jobs import move_helpers as moves
from tests.servers import moto
from tests.servers import unity as unity_server
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
def glue(glue_server: Glue) -> LanceNamespace:
    return GlueCatalog(**glue_server.settings, hierarchy="databases")


@pytest.fixture
def unity() -> Iterator[LanceNamespace]:
    with unity_server.serve() as server, home(server.endpoint) as made:
        yield moves.inside(made.connect(), made.catalog)
