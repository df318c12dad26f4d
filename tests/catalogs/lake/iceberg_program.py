"""Processes that commit to Iceberg tables of a lake: many at once, and one that kills itself on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from lanceway.catalogs.contract.iceberg import IcebergCommit, NewIcebergTable
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.errors import ConcurrentModificationError
from lanceway.tables.storage.store import FolderStore
from tests.catalogs.lake.iceberg_helpers import SCHEMA, staged_updates

ONE, OTHER, NEW = ["a", "one"], ["a", "other"], ["a", "new"]


def connect(uri: str, root: str, catalog: str) -> LakeCatalog:
    return LakeCatalog(uri=uri, root=root, catalog=catalog, user="drill")


def commit_many(uri: str, root: str, catalog: str, table: Sequence[str], writer: int, count: int) -> None:
    """Commit one property after the other, each again until it is answered."""
    with connect(uri, root, catalog) as lake:
        for number in range(count):
            row = {"action": "set-properties", "updates": {f"{writer}-{number}": "done"}}
            while True:
                try:
                    lake.commit_iceberg_tables([IcebergCommit(table, [], [row])])
                    break
                except ConcurrentModificationError:
                    continue


def die_before(number: int) -> None:
    """Count statements, COMMITs and files written or deleted, and be gone before the one with the number (from 1)."""
    left = number

    def tick(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", tick)
    event.listen(Engine, "commit", tick)
    for name in ("put_if_absent", "put", "delete"):
        setattr(FolderStore, name, _counted(getattr(FolderStore, name), tick))


def _counted(operation: Callable[..., Any], tick: Callable[[], None]) -> Callable[..., Any]:
    """Return an operation that can be cut off before it, and after it."""

    def counted(*arguments: Any) -> Any:
        tick()
        answer = operation(*arguments)
        tick()
        return answer

    return counted


def transaction(lake: LakeCatalog) -> list[IcebergCommit]:
    """A commit that makes one table and changes two."""
    staged = lake.create_iceberg_table(NEW, NewIcebergTable(SCHEMA, staged=True))
    row = {"action": "set-properties", "updates": {"changed": "yes"}}
    return [
        IcebergCommit(NEW, [{"type": "assert-create"}], staged_updates(staged)),
        IcebergCommit(ONE, [], [row]),
        IcebergCommit(OTHER, [], [row]),
    ]


def commit_once(uri: str, root: str, catalog: str, number: int) -> None:
    """Commit to several tables, or die in the attempt."""
    with connect(uri, root, catalog) as lake:
        commits = transaction(lake)
        die_before(number)
        lake.commit_iceberg_tables(commits)


def create_once(uri: str, root: str, catalog: str, number: int) -> None:
    """Make a table, or die in the attempt."""
    with connect(uri, root, catalog) as lake:
        die_before(number)
        lake.create_iceberg_table(NEW, NewIcebergTable(SCHEMA))
