"""What tests of the feed share."""

from __future__ import annotations

import os

import pytest

from tests.servers import postgres as postgres_server
from tests.servers.postgres import Postgres
from tests.servers.run import Run


@pytest.fixture(scope="session")
def postgres(whole_run: Run) -> Postgres:
    """A PostgreSQL server of this process alone: a transaction that another test keeps open would hold the feed up."""
    return postgres_server.start(whole_run, name=f"postgres-of-feeds-{os.getpid()}")
