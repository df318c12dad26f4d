"""A fake of Polaris and Lakekeeper, and real servers of theirs for a target of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanceway.catalogs import PolarisCatalog
from tests.servers import polaris as polaris_server
from tests.servers.polaris import LAKEKEEPER, POLARIS, Polaris


@pytest.fixture(scope="session")
def fake_process() -> Iterator[Polaris]:
    with polaris_server.serve() as server:
        yield server


@pytest.fixture(params=[POLARIS, LAKEKEEPER])
def fake(fake_process: Polaris, request: pytest.FixtureRequest) -> Polaris:
    """The fake, without content or orders, as each of the two."""
    fake_process.clear(request.param)
    return fake_process


@pytest.fixture(scope="session")
def polaris() -> Iterator[PolarisCatalog]:
    """A real Polaris: `make test-polaris`."""
    with polaris_server.real(POLARIS) as catalog:
        yield catalog


@pytest.fixture(scope="session")
def lakekeeper() -> Iterator[PolarisCatalog]:
    """A real Lakekeeper: `make test-lakekeeper`."""
    with polaris_server.real(LAKEKEEPER) as catalog:
        yield catalog
