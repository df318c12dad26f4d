"""Background jobs of a catalog that has no database of its own: the setting `jobs` names one.

What stands in that database is the name that the catalog has in `lanceway.toml`, never its settings, which may hold
secrets. A worker that has the same section connects to the same catalog.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.contract.base import BACKGROUND, Catalog
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.config import FILE_NAME, is_secret, login
from lanceway.errors import InvalidInputError, UnsupportedOperationError

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.catalogs.contract.job_queue import JobQueue
    from lanceway.identifiers import Identifier

HOME = "home"
# The settings that say which catalog it is; others say how to reach it, and may differ where a worker runs.
_ADDRESS = ("catalog", "catalog_id", "endpoint", "path", "region", "uri", "warehouse")
_AT_THE_END = 0.5  # seconds


@dataclass(frozen=True)
class LazyJobQueue:
    """A desk in the database `given`, which is opened when a job is first asked for.

    Two projects may call different catalogs by the same `name`, and have one database: `root` tells them apart.
    """

    given: str = field(repr=False)  # may hold a password
    root: str
    name: str
    above: tuple[str, ...] = ()
    config: str | Path | None = None

    def inside(self, at: Sequence[str]) -> LazyJobQueue:
        """The same for a catalog that is seen from its namespace `at` on."""
        return replace(self, above=(*self.above, *at))

    def opened(self) -> JobQueue:
        return self._desk

    def close(self) -> None:
        """Give connections back; they are opened again when they are needed."""
        desk = self.__dict__.get("_desk")
        if desk is not None:
            desk.store.close()

    @cached_property
    def _desk(self) -> JobQueue:
        from lanceway.catalogs.contract.job_queue import JobQueue

        try:
            from lanceway.lake.store.database import open_store
        except ImportError as error:
            raise UnsupportedOperationError(
                f"The setting jobs needs {error.name}. Install what is missing: pip install 'lanceway[lake]'"
            ) from error
        store = open_store(self._uri)
        weakref.finalize(self, store.close, _AT_THE_END)
        return JobQueue(store, self.root, self.name, login(), self.above)

    @cached_property
    def _uri(self) -> str:
        from lanceway.lake import home
        from lanceway.lake.store.engines import read_uri

        found = home.state(self.config) if self.given == HOME else self.given
        return read_uri(found).render_as_string(hide_password=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # A relative path means the file it meant here, wherever the other process runs.
        return LazyJobQueue, (self._uri, self.root, self.name, self.above)


def lend(
    catalog: LanceNamespace, jobs: str, *, name: str | None, at: Identifier | None, config: str | Path | None
) -> LanceNamespace:
    """The catalog with its background jobs recorded in a database. Raises InvalidInputError where it takes none."""
    if name is None:
        raise InvalidInputError(
            f"The setting jobs is for a catalog that has a name, by which a worker connects to it too: add a section "
            f"[namespaces.NAME] with these settings to {FILE_NAME}, and connect by that name."
        )
    if not isinstance(catalog, Catalog) or any(BACKGROUND & found for found in catalog.support().values()):
        raise InvalidInputError(
            f"[namespaces.{name}] has the setting jobs, but {catalog!r} keeps its jobs itself, or has none. Leave jobs "
            "out."
        )
    desk = LazyJobQueue(jobs, _root(catalog, at), name, config=config)
    return catalog.with_desk(desk if at is None else desk.inside(at))


def lent(catalog: LanceNamespace) -> LazyJobQueue | None:
    """What `lend` has given a catalog."""
    inner = catalog._inner if isinstance(catalog, Subtree) else catalog
    found = inner._lent_desk if isinstance(inner, Catalog) else None
    return found if isinstance(found, LazyJobQueue) else None


def _root(catalog: Catalog, at: Identifier | None) -> str:
    known = {
        key: str(catalog._settings[key])
        for key in _ADDRESS
        if catalog._settings.get(key) is not None and not is_secret(catalog.SETTINGS, key)
    }
    text = json.dumps([catalog.TYPE, list(at or ()), known], sort_keys=True)
    return f"namespace:{hashlib.sha256(text.encode()).hexdigest()[:32]}"
