"""What tests of Iceberg REST share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, new_catalog
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


@pytest.fixture(scope="package")
def server(whole_run: Run) -> Iterator[Lanceway]:
    """A server of their own, for each test has a catalog of its own: other tests list all that the shared one has."""
    started = lanceway_server.start(whole_run, name="iceberg-rest")
    yield started
    started.stop()


@pytest.fixture
def admin(server: Lanceway) -> Iterator[IcebergAsker]:
    """The administrator, and a catalog that no other test uses."""
    store = lake_of(server)
    catalog = new_catalog(store, server)
    store.close()
    with asking(server, server.token, catalog) as asker:
        yield asker
