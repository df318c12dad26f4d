"""Processes that commit to Iceberg tables of a lake: many at once, and one that kills itself on the way."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from lanceway.catalogs.contract.iceberg import IcebergCommit, NewIcebergTable
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.errors import ConcurrentModificationError
from lanceway.tables.storage.store import FolderStore
from tests.catalogs.lake.iceberg_helpers import (
    SCHEMA,
    VIEW,
    create,
    create_view,
    set_properties,
    staged_updates,
    version,
)

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


def prepare(lake: LakeCatalog) -> None:
    """Make what the steps below are about: a table with a commit, and a view."""
    create(lake, ONE)
    lake.commit_iceberg_tables([IcebergCommit(ONE, [], [set_properties(k="v")])])
    create_view(lake)


def first_file(lake: LakeCatalog) -> str:
    """The metadata file that the table had first, by the log of the one that it has."""
    log = json.loads(lake.load_iceberg_table(ONE).metadata)["metadata-log"]
    return str(log[0]["metadata-file"])


def _replace_view(lake: LakeCatalog) -> None:
    rows = (
        {"action": "add-view-version", "view-version": version("SELECT 2", number=2)},
        {"action": "set-current-view-version", "view-version-id": -1},
    )
    lake.replace_iceberg_view(IcebergCommit(VIEW, [], rows))


STEPS: Mapping[str, Callable[[LakeCatalog], object]] = {
    "replace view": _replace_view,
    "rename": lambda lake: lake.rename_iceberg_table(ONE, NEW),
    "rename view": lambda lake: lake.rename_iceberg_view(VIEW, NEW),
    "register": lambda lake: lake.register_iceberg_table(ONE, first_file(lake), overwrite=True),
    "drop": lambda lake: lake.drop_iceberg_table(ONE),
    "purge": lambda lake: lake.drop_iceberg_table(ONE, purge=True),
    "drop view": lambda lake: lake.drop_iceberg_view(VIEW),
}


def step_once(uri: str, root: str, catalog: str, number: int, step: str) -> None:
    """Take one of the steps, or die in the attempt."""
    with connect(uri, root, catalog) as lake:
        die_before(number)
        STEPS[step](lake)
