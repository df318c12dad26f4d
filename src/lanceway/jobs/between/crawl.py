"""Crawl a bucket or a folder for Lance tables, and register them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract import limits
from lanceway.catalogs.contract.names import MANIFEST, SUFFIX
from lanceway.catalogs.directory.folder import DEREGISTERED, VERSIONS
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.jobs import executor
from lanceway.jobs.between import register
from lanceway.jobs.between.register import Naming, Registrar, find, is_same_place, location_of
from lanceway.jobs.executor import THREADS, JobContext, Listener, Stop, never_stop
from lanceway.jobs.report import COLLISION, KNOWN, NEW, JobReport, TableOutcome
from lanceway.tables.storage.store import Store, local_path, open_store

# Deeper than any warehouse, and an end for folders that lead into themselves.
_DEEPEST = 32
# In the URI of a bucket these must not be taken for an escape, a fragment or a query.
_ESCAPED = str.maketrans({"%": "%25", "#": "%23", "?": "%3F"})


@dataclass(frozen=True, slots=True)
class CrawledTable:
    """A Lance table, its location, and the name that its path gives it."""

    path: str
    location: str
    table: Identifier


def crawl(
    root: str,
    target: LanceNamespace,
    *,
    storage_options: Mapping[str, str] | None = None,
    flatten: str | None = None,
    dry_run: bool = False,
    threads: int = THREADS,
    listen: Listener | None = None,
    stop: Stop = never_stop,
) -> JobReport:
    """Register every Lance table below `root` that the target does not have.

    `root` is a folder or a URI. The path of a table below it is its name: `team/sales/orders.lance` becomes
    `team.sales.orders`. Tables that the target knows already are left as they are. With `dry_run` nothing is changed.
    """
    context = JobContext(dry_run, threads, should_stop=stop)
    names, registrar = Naming(target, flatten), Registrar(target)

    def work(entry: CrawledTable | TableOutcome) -> TableOutcome:
        if isinstance(entry, TableOutcome):
            return entry
        name: Identifier | None = None
        try:
            name = names.target(entry.table)
            return _registered(target, registrar, entry, name, dry_run=dry_run)
        except LanceNamespaceError as error:
            return executor.failure(entry.path, name, error, entry.location)

    each = executor.outcomes(work, datasets(root, storage_options, context), context)
    with registrar:
        return executor.collect(JobReport("crawl", dry_run=dry_run), each, listen, context)


def _registered(
    target: LanceNamespace, registrar: Registrar, entry: CrawledTable, name: Identifier, *, dry_run: bool
) -> TableOutcome:
    described = find(target, name)
    if described is not None:
        at = location_of(name, described)
        if is_same_place(at, entry.location):
            return TableOutcome(KNOWN, entry.path, str(name), entry.location)
        reason = f"{name} is in the target already, at {at}. Rename one of the two."
        return TableOutcome(COLLISION, entry.path, str(name), entry.location, reason)
    limits.check_location(target, name, entry.location)
    follows = False
    if not dry_run:
        registrar.make_room(name, original=entry.table)
        follows = registrar.register(name, entry.location, {})
    return TableOutcome(NEW, entry.path, str(name), entry.location, register.ELSEWHERE if follows else None)


# -- walking -----------------------------------------------------------------------------------------


def datasets(
    root: str, storage_options: Mapping[str, str] | None, context: JobContext
) -> Iterator[CrawledTable | TableOutcome]:
    """Yield the Lance tables at and below a location, as they are found, without a look inside of a table.

    A folder that cannot be listed is yielded as a failed outcome, and the walk goes on. Several folders are listed at
    a time. Only the names of folders that wait are held in memory.
    """
    walk = _Walk(root, dict(storage_options or {}))
    if not walk.has_any():
        raise InvalidInputError(f"There is nothing at {root}. Give a folder, or a URI such as s3://bucket/path.")
    waiting, under_way = deque([""]), set[Future[_Level]]()
    with ThreadPoolExecutor(context.threads, thread_name_prefix="lanceway-crawl") as pool:
        while (waiting or under_way) and not context.should_stop():
            while waiting and len(under_way) < context.threads:
                # From the end: depth first keeps those that wait few.
                under_way.add(pool.submit(walk.look, waiting.pop()))
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                level = future.result()
                waiting.extend(level.folders)
                yield from level.entries


@dataclass(frozen=True, slots=True)
class _Level:
    entries: tuple[CrawledTable | TableOutcome, ...] = ()
    folders: tuple[str, ...] = ()


class _Walk:
    def __init__(self, root: str, options: dict[str, str]) -> None:
        self._path = local_path(root)
        self._root = str(self._path) if self._path else root.rstrip("/")
        self._options = options

    @property
    def _store(self) -> Store:
        return open_store(self._root, self._options)

    def has_any(self) -> bool:
        return os.path.isdir(self._root) if self._path else self._store.has_any()

    def look(self, folder: str) -> _Level:
        try:
            return self._look(folder)
        except LanceNamespaceError as error:
            return _Level((executor.failure(folder or self._root, None, error),))

    def _look(self, folder: str) -> _Level:
        """Return what a folder is: a table, a directory catalog with its own names, or a folder of others."""
        folders, files = self._store.level(folder)
        if VERSIONS in folders:
            return _Level(() if DEREGISTERED in files else (self._table(folder),))
        if MANIFEST in folders:
            return _Level(tuple(self._catalog_tables(folder)))
        if folder.count("/") >= _DEEPEST:
            raise InvalidInputError(f"{self._root}/{folder} is more than {_DEEPEST} folders deep. Crawl a part.")
        below = (f"{folder}/{name}".lstrip("/") for name in sorted(folders, reverse=True) if not _is_hidden(name))
        return _Level((), tuple(path for path in below if not self._is_link(path)))

    def _is_link(self, folder: str) -> bool:
        """Return whether a local folder is a link: its target is found by its own path, or is not below the root."""
        return self._path is not None and os.path.islink(f"{self._root}/{folder}")

    def _table(self, folder: str) -> CrawledTable:
        # The root itself may be a table: then its own name is the table's.
        parts = PurePosixPath(folder).parts or (PurePosixPath(self._root if self._path else _key(self._root)).name,)
        names = (*parts[:-1], parts[-1].removesuffix(SUFFIX) or parts[-1])
        return CrawledTable(folder or self._root, self._location(folder), Identifier(names))

    def _location(self, folder: str) -> str:
        below = folder if self._path else folder.translate(_ESCAPED)
        return f"{self._root}/{below}" if folder else self._root

    def _catalog_tables(self, folder: str) -> Iterator[CrawledTable]:
        """Yield the tables of a folder that has a manifest, which knows their names better than their folders do."""
        from lanceway.catalogs.directory.catalog import DirectoryCatalog

        options = {f"storage.{key}": value for key, value in self._options.items()}
        above = PurePosixPath(folder).parts
        with DirectoryCatalog(path=self._location(folder), **options) as catalog:
            for table in register.tables(catalog):
                described = find(catalog, table)
                if described is not None:
                    name = Identifier((*above, *table))
                    yield CrawledTable("/".join(name), location_of(table, described), name)


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _key(uri: str) -> str:
    parts = urlsplit(uri)
    return parts.path.strip("/") or parts.netloc
