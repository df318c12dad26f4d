"""One process of the crash drill: mixed operations on a lake, each noted before it begins and when it is answered.

It is killed at any moment. What is noted as answered must be in the lake afterwards; what was begun and not
answered may be, as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.errors import ConcurrentModificationError, LanceNamespaceError, NamespaceAlreadyExistsError
from lanceway.tables.versions import manifests

SHARED = "shared"
# Tables that all processes commit to.
CONTENDED = [[SHARED, f"t{number}"] for number in range(3)]

Note = dict[str, Any]


def connect(uri: str, root: str) -> LakeCatalog:
    return LakeCatalog(uri=uri, root=root, user="drill")


def prepare(uri: str, root: str) -> None:
    """A new lake with the tables that all commit to."""
    lake = connect(uri, root)
    lake.create_namespace({"id": [SHARED]})
    for table in CONTENDED:
        lake.declare_table({"id": table})
    lake.close()


def stage(lake: LakeCatalog, table: list[str], version: int, token: str) -> Note:
    """Write a manifest as a client does, beside its final place; what to claim it with."""
    location = Path(str(lake.describe_table({"id": table}).location))
    path = location / f"{manifests.key(version)}-{uuid.uuid4()}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(token)
    return {
        "version": version,
        "manifest_path": str(path).removeprefix("/"),
        "manifest_size": len(token),
        "naming_scheme": "V2",
    }


def latest(lake: LakeCatalog, table: list[str]) -> int:
    found = lake.list_table_versions({"id": table, "descending": True, "limit": 1}).versions
    return found[0].version if found else 0


class Worker:
    """A process that works in a namespace of its own, and on what all share."""

    def __init__(self, uri: str, root: str, log: str, seed: int, data: bool) -> None:
        self.lake = connect(uri, root)
        self.chance = random.Random(seed)
        self.home = f"w{seed}"
        # One write to a file that is only appended to is whole or not there, and survives the process.
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.tables: list[list[str]] = []
        self.count = 0
        self.operations: list[Callable[[], None]] = [
            *(self.declare, self.chain, self.rename, self.drop, self.contend, self.contend, self.batch),
            *(self.commit,) * 3,
            *((self.fill,) * 2 if data else ()),
        ]

    def work(self) -> None:
        with contextlib.suppress(NamespaceAlreadyExistsError):
            self.lake.create_namespace({"id": [self.home]})
        while True:
            self.chance.choice(self.operations)()

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def note(self, **values: object) -> None:
        os.write(self.log, f"{json.dumps(values)}\n".encode())

    @contextlib.contextmanager
    def noted(
        self, operation: str, *, refusal: type[LanceNamespaceError] | None = None, **values: object
    ) -> Iterator[None]:
        """Note an operation before it begins, and how it ended. Only the one refusal is not a failure."""
        self.note(begun=operation, **values)
        try:
            yield
        except LanceNamespaceError as error:
            expected = refusal is not None and isinstance(error, refusal)
            self.note(**{"refused" if expected else "failed": operation}, code=int(error.code), message=str(error))
            if not expected:
                raise
        else:
            self.note(done=operation, **values)

    # -- operations ------------------------------------------------------------------------------

    def chain(self) -> None:
        path = [self.home, self.name(), "x", "y"]
        if self.chance.random() < 0.5:
            path = [SHARED, *(self.chance.choice("abc") for _ in range(self.chance.randint(1, 4)))]
        with self.noted("chain", refusal=NamespaceAlreadyExistsError, path=path):
            self.lake.create_namespaces(path)

    def declare(self) -> None:
        table = [self.home, self.name()]
        with self.noted("declare", table=table):
            self.lake.declare_table({"id": table})
        self.tables.append(table)

    def fill(self) -> None:
        table, rows = [self.home, self.name()], self.chance.randint(1, 5)
        data = pa.table({"x": list(range(rows))})
        with self.noted("fill", table=table, rows=rows):
            self.lake.create_table_stream({"id": table}, data.to_reader())
        with self.noted("append", table=table, rows=rows):
            self.lake.insert_into_table_stream({"id": table}, data.to_reader())

    def commit(self) -> None:
        if self.tables:
            self._commit(self.chance.choice(self.tables), None)

    def contend(self) -> None:
        self._commit(self.chance.choice(CONTENDED), ConcurrentModificationError)

    def _commit(self, table: list[str], refusal: type[LanceNamespaceError] | None) -> None:
        version, token = latest(self.lake, table) + 1, uuid.uuid4().hex
        claim = stage(self.lake, table, version, token)
        with self.noted("commit", refusal=refusal, table=table, version=version, token=token):
            self.lake.create_table_version({"id": table, **claim})

    def batch(self) -> None:
        if len(self.tables) < 2:
            return
        pair, token = self.chance.sample(self.tables, 2), uuid.uuid4().hex
        numbers = [latest(self.lake, table) + 1 for table in pair]
        claims = [
            {"id": table, **stage(self.lake, table, number, token)} for table, number in zip(pair, numbers, strict=True)
        ]
        with self.noted("batch", tables=pair, versions=numbers, token=token):
            self.lake.batch_create_table_versions({"entries": claims})

    def rename(self) -> None:
        if not self.tables:
            return
        old = self.chance.choice(self.tables)
        new = [self.home, self.name()]
        with self.noted("rename", table=old, target=new):
            self.lake.rename_table({"id": old, "new_table_name": new[-1]})
        self.tables[self.tables.index(old)] = new

    def drop(self) -> None:
        if len(self.tables) < 5:
            return
        table = self.chance.choice(self.tables)
        with self.noted("drop", table=table):
            self.lake.drop_table({"id": table})
        self.tables.remove(table)


def run(uri: str, root: str, log: str, seed: int, data: bool) -> None:
    Worker(uri, root, log, seed, data).work()
