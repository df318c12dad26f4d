"""Datasets kept open for those who read: to open one anew costs more than many a query.

A dataset that is kept is never shown for what it was. Before each use the table's latest version is asked for: of a
managed table from the catalog that owns its versions, else from storage; and what is kept is one version, known by its
manifest, which nobody changes. Whoever writes opens a dataset of his own, since writing moves it on.
"""

from __future__ import annotations

import copy
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from lance_namespace import ListTableVersionsRequest

from lanceway.tables.dataset import Table, is_main, open_at
from lanceway.tables.errors import FOREIGN
from lanceway.tables.storage.store import EXPIRES

if TYPE_CHECKING:
    import lance

# How many are kept, and how much each may remember of its indices and files.
_MOST = 32
_INDEX_BYTES, _METADATA_BYTES = 32 * 2**20, 8 * 2**20


class _Kept:
    """A bounded number of datasets, the longest unused of which goes first."""

    def __init__(self) -> None:
        self._datasets: OrderedDict[Hashable, lance.LanceDataset] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> lance.LanceDataset | None:
        with self._lock:
            found = self._datasets.get(key)
            if found is not None:
                self._datasets.move_to_end(key)
            return found

    def keep(self, key: Hashable, dataset: lance.LanceDataset) -> None:
        with self._lock:
            self._datasets[key] = dataset
            self._datasets.move_to_end(key)
            while len(self._datasets) > _MOST:
                self._datasets.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._datasets.pop(key, None)


_kept = _Kept()


def _forget_all() -> None:
    """A child of this process begins with none: what pylance holds does not survive a fork."""
    global _kept
    _kept = _Kept()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_all)


def read_at(table: Table, *, version: int | None = None, branch: str | None = None) -> lance.LanceDataset:
    """A dataset to read from, and only to read from: others may be reading from it too.

    Raises what `open_at` raises.
    """
    # Keys that end soon are not worth keeping, neither for speed nor for anybody's peace.
    if version is not None or not is_main(branch) or EXPIRES in (table.storage_options or {}):
        return open_at(table, version=version, branch=branch)
    return _of_storage(table) if table.client is None else _of_catalog(table)


def _of_storage(table: Table) -> lance.LanceDataset:
    key = _place(table)
    kept = _kept.get(key)
    if kept is not None:
        current = copy.copy(kept)  # for others read from it at the version that it has
        try:
            current.checkout_latest()  # type: ignore[no-untyped-call]
        except FOREIGN:  # whatever it is, whoever opens it anew can say it
            _kept.drop(key)
            return open_at(table)
        if current.version != kept.version:
            _kept.keep(key, current)
        return current
    made = open_at(table, remembering=(_INDEX_BYTES, _METADATA_BYTES))
    _kept.keep(key, made)
    return made


def _of_catalog(table: Table) -> lance.LanceDataset:
    assert table.client is not None
    asked = ListTableVersionsRequest(id=list(table.id), descending=True, limit=1)
    latest = table.client.list_table_versions(asked).versions
    if not latest:
        return open_at(table)  # which says why
    one = latest[0]
    # A version is written once; the moment tells it from that of a table which had the place and the number before.
    key = (*_place(table), one.version, one.manifest_path, one.manifest_size, one.e_tag, one.timestamp_millis)
    kept = _kept.get(key)
    if kept is None:
        kept = open_at(table, remembering=(_INDEX_BYTES, _METADATA_BYTES))
        if kept.version == one.version:
            _kept.keep(key, kept)
    return kept


def _place(table: Table) -> tuple[Hashable, ...]:
    # Who asks is part of it: what one user's keys have opened is for no other.
    who = None if table.client is None else table.client.namespace_id()
    return who, table.path, tuple(sorted((table.storage_options or {}).items()))
