"""New lakes for tests that are not about how one is made: copies of one that the process has made.

It takes a hundred statements to make one, and one to copy it.
"""

from __future__ import annotations

import uuid
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from lanceway.lake.store.database import open_store
from tests.servers.postgres import Postgres


def new_lake(path: Path) -> str:
    """Make `path` the database of a lake without metalakes, as `open_store` would. Its uri."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_file())
    return f"sqlite:///{path}"


def new_database(server: Postgres) -> str:
    """Make a database of a server's that holds a lake without metalakes. Its name."""
    name = _name()
    server.execute(f"CREATE DATABASE {name} TEMPLATE {_database(server)}")
    return name


@cache
def _file() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "lake.db")
        open_store(f"sqlite:///{path}").close()
        return path.read_bytes()


@cache
def _database(server: Postgres) -> str:
    name = _name()
    server.execute(f"CREATE DATABASE {name}")
    open_store(server.uri(database=name)).close()
    return name


def _name() -> str:
    return f"t{uuid.uuid4().hex}"
