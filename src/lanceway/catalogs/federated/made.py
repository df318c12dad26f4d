"""Mounted catalogs that were made through an interface: rows of the lake's database, which any process may change.

What is mounted has a revision in the database. A request that finds another one than the process knows reads the rows
again; catalogs that were dropped or altered are closed once the requests that use them have ended.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.federated.mounts import (
    TYPE,
    CatalogDisabledError,
    Mounted,
    ServiceMount,
    check_name,
    public_entries,
    public_settings,
    roots_of,
)
from lanceway.catalogs.registry import CATALOGS
from lanceway.config import CREDENTIALS, CatalogSettings, read_catalog
from lanceway.config.settings import nearest
from lanceway.errors import InvalidInputError
from lanceway.lake.secrets import SecretKeys
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.fast_reads import Snapshot
from lanceway.lake.store.rows import KEEP, Keep
from lanceway.lake.tree import mounts, settings
from lanceway.lake.tree.mounts import MountRow, MountSettings
from lanceway.lake.tree.settings import MOUNTS_REVISION
from lanceway.tables.storage.store import local_path

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

_LOG = logging.getLogger(__name__)
_REVISION = f"SELECT value FROM settings WHERE key = '{MOUNTS_REVISION}'"
# Settings of the mount itself, beside those of its type.
_OF_THE_MOUNT = ("at", "threads", "deadline")
_CREDENTIALS = tuple(row.name for row in CREDENTIALS)
# The type of catalog whose tables are where its own settings say.
DIRECTORY = "dir"


@dataclass(frozen=True, slots=True)
class MountDefaults:
    """What a catalog takes of a server unless it says otherwise."""

    threads: int = 16
    deadline: float = 60.0


class MadeMount(ServiceMount):
    """A catalog in the database. It is replaced by another one when its row changes."""

    def __init__(self, row: MountRow, keys: SecretKeys, defaults: MountDefaults) -> None:
        own = read_catalog(row.name, {"type": row.type, **_of_the_mount(row.settings)}, defaults)
        super().__init__(row.name, row.type, own.threads, own.deadline)
        self.row, self._keys, self._defaults = row, keys, defaults
        self.key = row.key
        off = {"lanceway.disabled": "true"} if row.disabled else {}
        self.properties = {**row.properties, TYPE: row.type, **row.settings, **off}
        self.roots = roots_of(row.settings)
        self._users = 0
        self._is_retired = False
        self._counting = threading.Lock()

    def section(self) -> CatalogSettings:
        """Return how it is connected to, secrets included. Raises SecretsUnavailableError."""
        return read_catalog(self.name, {"type": self.type, **self.row.opened(self._keys)}, self._defaults)

    def refuse_disabled(self) -> None:
        if self.row.disabled:
            raise CatalogDisabledError(self.name)

    @property
    def catalog(self) -> LanceNamespace:
        self.refuse_disabled()
        return super().catalog

    @contextmanager
    def in_use(self) -> Iterator[None]:
        with self._counting:
            self._users += 1
        try:
            yield
        finally:
            with self._counting:
                self._users -= 1
                is_last = self._is_retired and not self._users
            if is_last:
                self.close()

    def retire(self) -> None:
        """Close it, once the requests that use it have ended."""
        with self._counting:
            self._is_retired = True
            is_idle = not self._users
        if is_idle:
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return MadeMount, (self.row, self._keys, self._defaults)


class MadeMounts:
    """The mounted catalogs of a tree, in step with the database. Any number of threads may share it."""

    def __init__(
        self,
        store: LakeStore,
        metalake: str,
        keys: SecretKeys,
        configured: Mapping[str, ServiceMount],
        defaults: MountDefaults,
        changed: Callable[[], None],
    ) -> None:
        self.store, self.metalake, self.keys = store, metalake, keys
        self._configured, self._defaults, self._changed = configured, defaults, changed
        self._mounted = Mounted(None, configured)
        # By process: a fork may come while another thread holds the parent's.
        self._locks: dict[int, threading.Lock] = {}

    @property
    def at_hand(self) -> Mounted:
        """Return what was mounted when the database was last asked."""
        return self._mounted

    def current(self) -> Mounted:
        """Return what is mounted now. It asks the database for the revision, and for the rows if that has changed."""
        revision = self._fast_revision()
        if revision is None:
            revision = self.store.read(settings.mounts_revision)
        if revision != self._mounted.revision:
            self._load()
        return self._mounted

    def is_current(self) -> bool:
        """Return whether nothing has changed, if that is known without waiting, so that an event loop may ask."""
        return self._mounted.revision is not None and self._fast_revision() == self._mounted.revision

    def _fast_revision(self) -> str | None:
        reads = self.store.fast_reads
        return None if reads is None else reads.remembered(_read_revision)

    def _load(self) -> None:
        with self._locks.setdefault(os.getpid(), threading.Lock()):
            state = self.store.snapshot(mounts.load_state, self.metalake)
            before = self._mounted.mounts
            made: dict[str, ServiceMount] = {}
            for row in state.mounts:
                if row.name in self._configured:
                    _LOG.warning("The catalog %r of the configuration hides the one in the database.", row.name)
                    continue
                known = before.get(row.name)
                made[row.name] = known if known is not None and _is_same(known, row) else self._mount(row)
            self._changed()
            self._mounted = Mounted(state.revision, {**self._configured, **made}, state.disabled)
        for name, mount in before.items():
            if isinstance(mount, MadeMount) and made.get(name) is not mount:
                mount.retire()

    def _mount(self, row: MountRow) -> MadeMount:
        return MadeMount(row, self.keys, self._defaults)

    def close(self) -> None:
        for mount in self._mounted.mounts.values():
            if isinstance(mount, MadeMount):
                mount.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mounted": Mounted(None, self._configured), "_locks": {}}

    # -- changes: this process knows of them at once, others with their next request -----------------

    def create(
        self,
        name: str,
        type_: str,
        entries: Mapping[str, str],
        *,
        by: str,
        comment: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> MountRow:
        """Mount a catalog. Raises NamespaceAlreadyExistsError, and InvalidInputError for wrong settings."""
        check_name(name)
        new = split(type_, entries, self._defaults)
        described: dict[str, Any] = {"by": by, "comment": comment, "properties": properties}
        row = self.store.transact(mounts.create, self.metalake, name, new, keys=self.keys, **described)
        self.current()
        return row

    def alter(
        self,
        name: str,
        *,
        by: str,
        changes: Mapping[str, str | None] | None = None,
        properties: Mapping[str, str | None] | None = None,
        comment: str | Keep | None = KEEP,
    ) -> MountRow:
        """Change settings and properties of a mounted catalog; None takes one away."""

        def resettled(row: MountRow) -> MountSettings:
            return split(row.type, merged(row.opened(self.keys), changes or {}), self._defaults)

        resettle = resettled if changes else None
        row = self.store.transact(
            mounts.alter,
            self.metalake,
            name,
            by=by,
            keys=self.keys,
            resettle=resettle,
            properties=properties,
            comment=comment,
        )
        self.current()
        return row

    def set_enabled(self, name: str, enabled: bool, *, by: str) -> MountRow:
        row = self.store.transact(mounts.set_enabled, self.metalake, name, enabled, by=by)
        self.current()
        return row

    def rename(self, name: str, new: str, *, by: str) -> MountRow:
        check_name(new)
        row = self.store.transact(mounts.rename, self.metalake, name, new, by=by)
        self.current()
        return row

    def drop(self, name: str, *, by: str) -> MountRow:
        row = self.store.transact(mounts.drop, self.metalake, name, by=by)
        self.current()
        return row

    def section(self, name: str, type_: str, entries: Mapping[str, str]) -> CatalogSettings:
        """Return the settings of a catalog that may not exist yet. Raises InvalidInputError for wrong ones."""
        split(type_, entries, self._defaults)
        return read_catalog(name, {"type": type_, **entries}, self._defaults)


def split(type_: str, entries: Mapping[str, str], defaults: MountDefaults) -> MountSettings:
    """Check the settings of a catalog, and divide them into public ones and those that are kept secret.

    Only types that Lanceway knows are made so: a class by its import path would be code that a request names.
    """
    if type_ not in CATALOGS:
        raise InvalidInputError(
            f"A catalog of type {type_!r} cannot be made here.{nearest(type_, CATALOGS)} Known types: "
            f"{', '.join(CATALOGS)}."
        )
    credentials = {key: entries[key] for key in _CREDENTIALS if key in entries}
    if credentials and type_ != DIRECTORY:
        raise no_credentials(f"A catalog of type {type_!r}", type_)
    read_catalog("NAME", {"type": type_, **_of_the_mount(entries), **credentials}, defaults)
    for root in roots_of(entries):
        path = local_path(root)
        if path is not None and not root.startswith("file:") and not Path(root).is_absolute():
            raise InvalidInputError(
                f"The path {root!r} is relative, and servers run in folders of their own. Give an absolute one."
            )
    own = {key: value for key, value in entries.items() if key not in _OF_THE_MOUNT and key not in credentials}
    public = {**public_settings(type_, own), **_of_the_mount(entries), **public_entries(CREDENTIALS, credentials)}
    return MountSettings(type_, public, {key: value for key, value in entries.items() if key not in public})


def no_credentials(owner: str, type_: str) -> InvalidInputError:
    """Return the refusal of settings of credentials for a catalog whose service alone knows its storage."""
    return InvalidInputError(
        f"{owner}: credentials.* are for catalogs of the type {DIRECTORY}, whose storage the server knows. A catalog "
        f"of the type {type_} has what its service vends."
    )


def merged(entries: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return settings after a change, in which None takes one away."""
    kept = {key: value for key, value in entries.items() if key not in changes}
    return kept | {key: value for key, value in changes.items() if value is not None}


def _of_the_mount(entries: Mapping[str, str]) -> dict[str, str]:
    return {key: entries[key] for key in _OF_THE_MOUNT if key in entries}


def _is_same(known: ServiceMount, row: MountRow) -> bool:
    return isinstance(known, MadeMount) and known.row == row


def _read_revision(snapshot: Snapshot) -> str:
    row = snapshot.execute(_REVISION).fetchone()
    return "" if row is None else str(row[0])
