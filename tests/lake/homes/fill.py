"""Fill a home with a little of everything, and write it down as the files that `restore` reads.

Run it with the code of a version before the database changes: `python -m tests.lake.homes.fill`.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import tarfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection

import lanceway
from lanceway.access import tokens
from lanceway.identifiers import Identifier
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.loop import Worker
from lanceway.lake.access import grants, groups, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.securables import Securable
from lanceway.lake.runs import leases, runs
from lanceway.lake.runs.runs import DONE, StepRow
from lanceway.lake.secrets import SecretKeys
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import GROUP, NAMESPACE, TABLE, VERSION
from lanceway.lake.tree import mounts
from lanceway.lake.tree.mounts import MountSettings
from tests.jobs.worker.conftest import view_request
from tests.lake.homes.restore import HOMES, SECRET_KEY, WAREHOUSE
from tests.new_lakes import new_database
from tests.servers import postgres
from tests.servers.run import Run

METALAKE, CATALOG = "lanceway", "lake"
SCHEMA = pa.schema([("id", pa.int64()), ("total", pa.int64())])


def main() -> None:
    run = Run.begin()
    try:
        with TemporaryDirectory() as folder:
            root = Path(folder)
            uri = f"sqlite:///{root}/lake.db"
            token = fill(uri, root / "sqlite")
            with closing(sqlite3.connect(root / "lake.db")) as connection:
                _write("sqlite", "\n".join(connection.iterdump()), root / "sqlite", token)
            server = postgres.start(run)
            database = new_database(server)
            token = fill(server.uri(database=database), root / "postgresql")
            program = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--dbname"]
            dump = subprocess.run(
                [*program, server.uri(database=database)], check=True, capture_output=True, text=True
            ).stdout
            _write("postgresql", dump, root / "postgresql", token)
    finally:
        run.end()


def fill(uri: str, root: Path) -> str:
    """Make users with tokens and rights, namespaces, tables with tags and branches, a view, jobs, a run and a mount.

    Return a token of the user `ada`.
    """
    store = open_store(uri)
    token = _people(store)
    _run(store)
    store.close()
    lake: Any = lanceway.connect("lake", uri=uri, root=str(root), user="ada")
    with lake:
        lake.create_namespace({"id": ["team"], "properties": {"purpose": "sales"}})
        lake.create_namespace({"id": ["team", "eu.west"]})
        id_ = ["team", "orders"]
        rows = pa.table({"id": [1, 2, 3], "price": [10, 20, 30], "amount": [1, 2, 3]})
        lake.create_table_stream({"id": id_}, rows.to_reader())
        lake.alter_table_add_columns({"id": id_, "new_columns": [{"name": "total", "computed": "price * amount"}]})
        lake.alter_table_backfill_columns({"id": id_, "column": "total"})
        worker = Worker(Places(lake._lake), [], state=str(root.parent / f"{root.name}-jobs.sqlite"))
        worker.run(once=True)
        lake.create_table_tag({"id": id_, "tag": "reviewed", "version": 1})
        lake.create_table_branch({"id": id_, "name": "trial", "from_version": 1})
        lake.insert_into_table_stream({"id": id_, "branch": "trial"}, rows.slice(0, 1).to_reader())
        lake.create_table_tag({"id": id_, "tag": "tried", "version": 2, "branch": "trial"})
        query = {"source": id_, "columns": ["id", "total"], "where": "total > 10", "key": ["id"]}
        lake.create_materialized_view(view_request(["team", "large"], SCHEMA, query))
        worker.run(once=True)
        lake.create_table_stream({"id": ["team", "eu.west", "people"]}, pa.table({"name": ["Zoë"]}).to_reader())
        lake.alter_table_backfill_columns({"id": id_, "column": "total", "where": "true"})  # stays queued
    store = open_store(uri)
    store.transact(_rights)
    store.transact(_mount)
    store.close()
    return token


def _people(store: LakeStore) -> str:
    tokens.create(store, "admin", by="admin", admin=True, label="first")
    laptop = tokens.create(store, "ada", by="admin", label="laptop")
    tokens.create(store, "ada", by="admin", label="short", lifetime=timedelta(days=1))
    revoked = tokens.create(store, "bob", by="admin")
    tokens.revoke(store, revoked.token.prefix, by="admin")
    return laptop.secret


def _rights(connection: Connection) -> None:
    """Let the group `analysts`, in which bob is, read the namespace `team`, but not its table `orders`."""
    groups.ensure(connection, "analysts", by="admin")
    groups.add(connection, "analysts", "bob", by="admin")
    roles.create(connection, METALAKE, "readers", by="admin", comment="May read sales")
    roles.give(connection, METALAKE, "readers", "analysts", GROUP, by="admin")
    team = Securable(METALAKE, CATALOG, Identifier(("team",)), NAMESPACE)
    orders = Securable(METALAKE, CATALOG, Identifier(("team", "orders")), TABLE)
    changes = [
        *(GrantChange("readers", team, privilege) for privilege in ("USE_SCHEMA", "SELECT_TABLE")),
        GrantChange("readers", Securable(METALAKE, CATALOG), "USE_CATALOG"),
        GrantChange("readers", orders, "SELECT_TABLE", deny=True),
    ]
    grants.apply(connection, METALAKE, changes, by="admin")


def _mount(connection: Connection) -> None:
    """Mount a catalog of another service with a secret, and let readers use it."""
    mounted = MountSettings("rest", {"uri": "http://127.0.0.1:9/lance"}, {"token": "secret-of-the-mount"})
    mounts.create(connection, METALAKE, "archive", mounted, keys=SecretKeys(SECRET_KEY), by="ada", comment="Old sales")
    change = GrantChange("readers", Securable(METALAKE, "archive", mounted=True), "USE_CATALOG")
    grants.apply(connection, METALAKE, [change], by="admin")


def _run(store: LakeStore) -> None:
    pipeline = store.transact(leases.ensure, name="nightly")
    run = store.transact(runs.create, pipeline.id, "k1", by="ada", full=False, graph={"nodes": []})
    step = StepRow(name="clean", position=1, kind="write")
    store.transact(runs.plan, run.id, [step])
    store.transact(runs.end, run.id, DONE)


def _write(name: str, text: str, root: Path, token: str) -> None:
    """Write the statements of a database, with the folder of its tables replaced, that folder, and the token."""
    folder = HOMES / f"version{VERSION}"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.sql").write_text(text.replace(str(root), WAREHOUSE) + "\n")
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(root, arcname=".")
    (folder / f"{name}.token").write_text(token)
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
