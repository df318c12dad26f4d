"""The root of a tree: its catalogs as namespaces, which are listed, described, made, altered and dropped there.

None of the catalogs is asked for that: what the root has of them is in the configuration or in the lake's database.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.catalogs.contract.capabilities import ObjectDetails, VisibleObjects
from lanceway.catalogs.federated.mounts import ServiceMount, check_name
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
    namespace_not_found,
)

if TYPE_CHECKING:
    from lanceway.catalogs.federated.made import MadeMounts
    from lanceway.catalogs.federated.own_lake import OwnLake


@dataclass(frozen=True, slots=True)
class RootCatalogs:
    """The catalogs at the root of a tree, for one user. Their names are given as the root writes them.

    Those of services are the `current` mounts: the `configured` ones cannot be changed here, the others are in `made`.
    All others are in the database of the `lake`.
    """

    configured: Mapping[str, ServiceMount]
    current: Callable[[], Mapping[str, ServiceMount]]
    lake: OwnLake | None
    made: MadeMounts | None
    visible: VisibleObjects | None
    user: str | None

    @property
    def mounts(self) -> Mapping[str, ServiceMount]:
        return self.current()

    def shown(self, after: str | None, limit: int | None = None) -> Sequence[str]:
        """Return the first `limit` catalogs after `after` that are shown, in code point order."""
        if self.visible is None:
            return self._names(after, limit)
        shown: list[str] = []
        while True:
            page = self._names(after, limit)
            shown += self.visible.catalogs(page)
            if limit is None or len(page) < limit or len(shown) >= limit:
                return shown[:limit]
            after = page[-1]

    def _names(self, after: str | None, limit: int | None) -> Sequence[str]:
        mounts = self.mounts
        mounted = sorted(name for name in mounts if name > (after or ""))
        in_lake = [] if self.lake is None else self.lake.names(after, limit)
        return list(heapq.merge(mounted, (name for name in in_lake if name not in mounts)))[:limit]

    def properties(self, name: str) -> dict[str, str]:
        mount = self.mounts.get(name)
        return self.lake_of(name).properties(name) if mount is None else dict(mount.properties)

    def details(self, name: str) -> ObjectDetails:
        """Return what is recorded of a catalog."""
        configured = self.configured.get(name)
        return self.lake_of(name).details(name) if configured is None else ObjectDetails(configured.properties)

    def create(self, name: str, properties: Mapping[str, str], mode: str) -> dict[str, str]:
        """Make a nested catalog of the lake, and return its properties, or those of the one that is kept."""
        if name in self.mounts:
            return self._keep_mounted(name, mode)
        check_name(name)
        lake = self.require_lake("create_namespace")
        try:
            lake.create(name, properties, by=self.user or lake.user, replace=mode == "overwrite")
        except NamespaceAlreadyExistsError:
            if mode != "exist_ok":
                raise
        return lake.properties(name)

    def _keep_mounted(self, name: str, mode: str) -> dict[str, str]:
        if mode == "overwrite":
            raise read_only(name) if name in self.configured else _kept_by_service(name, "replaced")
        if mode == "create":
            where = "the configuration has one" if name in self.configured else "there is one"
            raise NamespaceAlreadyExistsError(
                f"The catalog {name!r} cannot be made: {where} of this name. Choose another name."
            )
        return dict(self.mounts[name].properties)

    def alter(self, name: str, changes: Mapping[str, str | None]) -> dict[str, str]:
        """Change properties of a catalog, None for one that is taken away, and return all it has then."""
        if name in self.configured:
            raise read_only(name)
        if name in self.mounts:
            return dict(self.require_made().alter(name, properties=changes, by=self._actor).properties)
        return self.lake_of(name).alter(name, changes, by=self._actor)

    def drop(self, name: str, *, skip_missing: bool, cascade: bool) -> dict[str, str] | None:
        """Drop an empty catalog, or with `cascade` all that is in it. Return its properties, None for a missing one."""
        if name in self.configured:
            raise read_only(name)
        if name in self.mounts:
            return self._unmount(name, cascade=cascade)
        lake = self.require_lake("drop_namespace")
        try:
            return lake.drop(name, by=self._actor, cascade=cascade)
        except NamespaceNotFoundError:
            if skip_missing:
                return None
            raise

    def _unmount(self, name: str, *, cascade: bool) -> dict[str, str]:
        if cascade:
            raise _kept_by_service(name, "dropped with all that is in it")
        properties = dict(self.mounts[name].properties)
        self.require_made().drop(name, by=self._actor)
        return properties

    @property
    def _actor(self) -> str:
        return self.user or self.require_lake("to change catalogs").user

    def lake_of(self, name: str) -> OwnLake:
        """Return the lake, which may have a catalog. Raises NamespaceNotFoundError where there is no lake."""
        if self.lake is None:
            raise self._missing(name)
        return self.lake

    def require_lake(self, operation: str) -> OwnLake:
        """Return the lake. Raises UnsupportedOperationError where there is none."""
        if self.lake is None:
            raise self._without_lake(operation)
        return self.lake

    def require_made(self) -> MadeMounts:
        """Return the mounted catalogs made through an interface. Raises UnsupportedOperationError without a lake."""
        if self.made is None:
            raise self._without_lake("to make catalogs")
        return self.made

    def _missing(self, name: str) -> LanceNamespaceError:
        mounted = ", ".join(sorted(self.configured)) or "none"
        return namespace_not_found(f"There is no catalog {name!r}. Those that are mounted: {mounted}.")

    def _without_lake(self, operation: str) -> UnsupportedOperationError:
        return UnsupportedOperationError(
            f"The root does not support {operation}: its catalogs all come from the configuration, and there is no "
            "lake to make others in."
        )


def read_only(name: str) -> InvalidInputError:
    """Return the refusal to change a catalog of the configuration."""
    return InvalidInputError(
        f"The catalog {name!r} comes from the configuration and is read-only here. Change its section "
        f"[catalogs.{name}] instead."
    )


def _kept_by_service(name: str, what: str) -> InvalidInputError:
    return InvalidInputError(
        f"The catalog {name!r} cannot be {what}: it is mounted, and what is in it belongs to its service. Drop what is "
        "in it first, or drop the catalog alone, which leaves the service as it is."
    )
