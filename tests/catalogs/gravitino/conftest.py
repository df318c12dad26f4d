"""A catalog of Gravitino for the tests that need one, on the run's Lanceway server, which speaks its protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lanceway.catalogs import GravitinoCatalog
from tests.servers.gravitino import Gravitino, catalog_of, catalog_of_real
from tests.servers.lanceway import Lanceway


@pytest.fixture
def place(server: Lanceway) -> Iterator[Gravitino]:
    with catalog_of(server) as place:
        yield place


@pytest.fixture(scope="session")
def gravitino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gravitino]:
    """A catalog of a server of Gravitino's own: `make test-gravitino`."""
    root = os.environ.get("LANCEWAY_TEST_GRAVITINO_ROOT") or str(tmp_path_factory.mktemp("gravitino"))
    with catalog_of_real(root) as place:
        yield place


@pytest.fixture
def catalog(place: Gravitino) -> Iterator[GravitinoCatalog]:
    with place.connect() as catalog:
        yield catalog
