"""Homes that an older version left behind: the statements of the database, and the files of its tables.

`fill` wrote them, with the code of that version. They are never written again.
Lance writes the whole path of a table into the manifests of its branches, so rows of a branch cannot be read here.
"""

from __future__ import annotations

import sqlite3
import tarfile
import uuid
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.servers.postgres import Postgres

HOMES = Path(__file__).parent
WAREHOUSE = "/warehouse-of-this-home"  # stands for the folder of the tables
SECRET_KEY = "5a" * 32  # what the secrets of its mounts are encrypted with


@dataclass(frozen=True)
class Home:
    """The database of a lake, the folder of its tables, and a token of its user `ada`."""

    uri: str
    root: Path
    token: str


def restore(version: int, folder: Path, server: Postgres | None) -> Home:
    """Restore the home of a version in `folder`, with its database there or, in `server`, on PostgreSQL."""
    kind = "sqlite" if server is None else "postgresql"
    source, root = HOMES / f"version{version}", folder / "warehouse"
    with tarfile.open(source / f"{kind}.tar.gz") as archive:
        archive.extractall(root, filter="data")
    token = (source / f"{kind}.token").read_text()
    statements = (source / f"{kind}.sql").read_text().replace(WAREHOUSE, str(root))
    if server is None:
        path = folder / "lake.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(statements)
        return Home(f"sqlite:///{path}", root, token)
    return Home(_load(server, statements), root, token)


def _load(server: Postgres, statements: str) -> str:
    import psycopg

    database = f"t{uuid.uuid4().hex}"
    server.execute(f"CREATE DATABASE {database}")
    uri = server.uri(database=database)
    # Lines with a backslash are for psql.
    lines = [line for line in statements.splitlines() if not line.startswith("\\")]
    with psycopg.connect(uri) as connection:
        connection.execute("\n".join(lines).encode())
    return uri
