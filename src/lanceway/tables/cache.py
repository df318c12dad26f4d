"""Datasets kept open for reading: to open one costs more than many a query.

A dataset that is kept is never shown for what it was. Before each use the table's latest version is asked for: of a
managed table from the catalog that owns its versions, else from storage; and what is kept is one version, known by its
manifest, which never changes. A writer opens a dataset of its own, since writing moves it on.
"""

from __future__ import annotations

import copy
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from lance_namespace import ListTableVersionsRequest

from lanceway.tables import bases
from lanceway.tables.dataset import StoredTable, is_main, open_at
from lanceway.tables.errors import FOREIGN
from lanceway.tables.storage.store import EXPIRES

if TYPE_CHECKING:
    import lance

# How many are kept, and how much each may remember of its indices and files.
_MOST = 32
_INDEX_BYTES, _METADATA_BYTES = 32 * 2**20, 8 * 2**20


class _DatasetCache:
    """A bounded number of datasets, the longest unused of which goes first."""

    def __init__(self) -> None:
        self._datasets: OrderedDict[Hashable, lance.LanceDataset] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> lance.LanceDataset | None:
        with self._lock:
            dataset = self._datasets.get(key)
            if dataset is not None:
                self._datasets.move_to_end(key)
            return dataset

    def keep(self, key: Hashable, dataset: lance.LanceDataset) -> None:
        with self._lock:
            self._datasets[key] = dataset
            self._datasets.move_to_end(key)
            while len(self._datasets) > _MOST:
                self._datasets.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._datasets.pop(key, None)


_cache = _DatasetCache()


def _forget_all() -> None:
    """Start empty in a child process: what pylance holds does not survive a fork."""
    global _cache
    _cache = _DatasetCache()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_all)


def read_at(table: StoredTable, *, version: int | None = None, branch: str | None = None) -> lance.LanceDataset:
    """Return a dataset to read from, never to write to: other threads may be reading from it too.

    Raises what `open_at` raises.
    """
    # Keys that end soon are not worth keeping, and must not outlive their end.
    if version is not None or not is_main(branch) or EXPIRES in (table.storage_options or {}):
        return open_at(table, version=version, branch=branch)
    dataset = _of_storage(table) if table.client is None else _of_catalog(table)
    bases.check(table, dataset)  # a cached one may have moved on to another version
    return dataset


def _of_storage(table: StoredTable) -> lance.LanceDataset:
    key = _place(table)
    cached = _cache.get(key)
    if cached is not None:
        current = copy.copy(cached)  # for others read from it at the version that it has
        try:
            current.checkout_latest()  # type: ignore[no-untyped-call]
        except FOREIGN:  # whatever it is, opening the table again says it
            _cache.drop(key)
            return open_at(table)
        if current.version != cached.version:
            _cache.keep(key, current)
        return current
    dataset = open_at(table, remembering=(_INDEX_BYTES, _METADATA_BYTES))
    _cache.keep(key, dataset)
    return dataset


def _of_catalog(table: StoredTable) -> lance.LanceDataset:
    assert table.client is not None
    request = ListTableVersionsRequest(id=list(table.id), descending=True, limit=1)
    latest = table.client.list_table_versions(request).versions
    if not latest:
        return open_at(table)  # which says why
    newest = latest[0]
    # A version is written once; the moment tells it from that of a table which had the place and the number before.
    key = (
        *_place(table),
        newest.version,
        newest.manifest_path,
        newest.manifest_size,
        newest.e_tag,
        newest.timestamp_millis,
    )
    dataset = _cache.get(key)
    if dataset is None:
        dataset = open_at(table, remembering=(_INDEX_BYTES, _METADATA_BYTES))
        if dataset.version == newest.version:
            _cache.keep(key, dataset)
    return dataset


def _place(table: StoredTable) -> tuple[Hashable, ...]:
    # Who asks is part of it: what one user's keys have opened is for no other.
    who = None if table.client is None else table.client.namespace_id()
    return who, table.path, tuple(sorted((table.storage_options or {}).items()))
