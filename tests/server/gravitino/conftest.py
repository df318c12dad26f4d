"""What tests of Gravitino REST share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


@pytest.fixture(scope="package")
def server(whole_run: Run) -> Iterator[Lanceway]:
    """A server of their own, for each has a catalog of its own: other tests list all that the shared one has."""
    started = lanceway_server.start(whole_run, name="gravitino-rest")
    yield started
    started.stop()
