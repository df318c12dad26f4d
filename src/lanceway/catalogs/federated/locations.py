"""Locations that users of a server may choose for tables: below those that it allows, and nowhere else.

In process, the owner of the process may use any location. Over a server, any user with a token may choose a
location, which is then read, written and deleted with the server's own rights.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.tables.storage.store import local_path

if TYPE_CHECKING:
    from lanceway.catalogs.federated.mounts import Mount
    from lanceway.config import ServerSettings
    from lanceway.lake.store.database import LakeStore

# Properties that tell a mounted service where to put the files of a namespace or a table.
_PLACES = frozenset(
    {
        "location",
        "locationuri",
        "managed_location",
        "storage_location",
        "storage_root",
        "write.data.path",
        "write.folder-storage.path",
        "write.metadata.path",
        "write.object-storage.path",
    }
)
# Types of catalogs that read a relative location as one below their own root, and refuse one that leaves it.
_RELATIVE = frozenset({"dir", "rest"})
# Types that give no property a meaning.
_OPAQUE = frozenset({"dir", "lake"})


@dataclass(frozen=True, slots=True)
class AllowedLocations:
    """Locations in their one spelling; any location below one of `roots` may be requested.

    The `warehouse` belongs to the lake: no mounted catalog may have a table there, because dropping it would delete
    the data of one of the lake's tables.
    """

    roots: tuple[str, ...]
    warehouse: str | None = None

    @classmethod
    def from_settings(cls, settings: ServerSettings) -> Self:
        """Return the locations that a server's settings allow, the warehouse if they name none.

        Raises InvalidInputError for a text that is not a location.
        """
        warehouse = _configured(settings.warehouse) if settings.warehouse else None
        try:
            roots = tuple(map(_configured, settings.allowed_locations))
        except InvalidInputError as error:
            raise InvalidInputError(f"The server: allowed_locations cannot be used. {error}") from error
        return cls(roots or ((warehouse,) if warehouse else ()), warehouse)

    def check(self, mount: Mount, operation: str, request: BaseModel) -> None:
        """Refuse a request that names a location elsewhere, before the catalog is asked.

        What exists there makes no difference. Raises PermissionDeniedError, since an administrator may do it, and
        InvalidInputError for a text that is not a location.
        """
        foreign = mount.foreign and mount.takes not in _OPAQUE
        for location in _locations(request, foreign=foreign):
            self.check_location(mount, operation, location)

    def check_location(self, mount: Mount, operation: str, location: str) -> None:
        """Refuse a location elsewhere. Raises PermissionDeniedError, InvalidInputError."""
        if not self._allows(mount, location):
            raise self._denied(mount, operation, location)

    def check_root(self, location: str, roots: Iterable[str]) -> None:
        """Refuse the root of a new catalog that is not below an allowed location, or that others have.

        It may neither be in the warehouse, nor around it, nor overlap one of the `roots` of mounted catalogs. Raises
        PermissionDeniedError, since an administrator may do it.
        """
        path = f"{_canonical(location)}/"
        taken = [root for root in (self.warehouse, *_known(roots)) if root]
        if any(map(path.startswith, _below(self.roots))) and not any(
            f"{root}/".startswith(path) or path.startswith(f"{root}/") for root in taken
        ):
            return
        raise PermissionDeniedError(
            f"A catalog may not have the location {location!r}: over this server, folders are mounted below those that "
            "it allows, and where neither the warehouse nor another catalog is. Choose another one, or ask an "
            "administrator to do this or to add it to allowed_locations in [server]."
        )

    def _allows(self, mount: Mount, location: str) -> bool:
        if _is_relative(location) and mount.takes in _RELATIVE:
            return ".." not in location.split("/")
        path = _canonical(location)
        if any(map(path.startswith, _below(_own_roots(mount)))):
            return True
        in_warehouse = bool(self.warehouse) and f"{path}/".startswith(f"{self.warehouse}/")
        return any(map(path.startswith, _below(self.roots))) and not (mount.foreign and in_warehouse)

    def _denied(self, mount: Mount, operation: str, location: str) -> PermissionDeniedError:
        shared = [root for root in self.roots if not (mount.foreign and root == self.warehouse)]
        allowed = ", ".join((*_own_roots(mount), *shared)) or "none for this catalog"
        return PermissionDeniedError(
            f"{operation} may not use the location {location!r}: over this server, locations are below those that it "
            f"allows ({allowed}). Choose one there, leave the location out, or ask an administrator to do this or to "
            "add it to allowed_locations in [server]."
        )


@dataclass(frozen=True, slots=True)
class AllowedBasePaths:
    """Where tables may have files beside their own location: below `roots`, in their one spelling.

    A clone that the lake of `store` made may have exactly the base paths that were recorded for it. The policy of a
    process that reads tables for others (`lanceway.tables.bases`).
    """

    roots: tuple[str, ...] = ()
    store: LakeStore | None = None

    @classmethod
    def from_settings(cls, settings: ServerSettings, store: LakeStore | None = None) -> Self:
        """Return what a server's settings allow. Raises InvalidInputError for a text that is not a location."""
        try:
            return cls(tuple(map(_configured, settings.allowed_base_paths)), store)
        except InvalidInputError as error:
            raise InvalidInputError(f"The server: allowed_base_paths cannot be used. {error}") from error

    def allows(self, location: str, base_path: str) -> bool:
        """Return whether the table at a location may have files below a base path.

        A relative one would depend on the folder that the process was started in, and is never allowed.
        """
        try:
            path = _canonical(base_path)
            own = _configured(location)
        except InvalidInputError:
            return False
        if any(map(f"{path}/".startswith, _below((own, *self.roots)))):
            return True
        return path in map(_configured, self._recorded(location))

    def _recorded(self, location: str) -> Sequence[str]:
        """Return the base paths that the lake has recorded for the table at a location. Few tables are asked for."""
        if self.store is None:
            return ()
        from lanceway.lake.tree import clones

        return self.store.read(clones.base_paths, location)


def _own_roots(mount: Mount) -> tuple[str, ...]:
    """Return the roots that a mounted catalog has in the configuration, below which its tables are anyway."""
    return _known(mount.roots)


def _known(locations: Iterable[str]) -> tuple[str, ...]:
    roots: list[str] = []
    for root in locations:
        with suppress(InvalidInputError):  # such as s3:// alone, which means any bucket
            roots.append(_configured(root))
    return tuple(roots)


def _below(roots: Iterable[str]) -> Iterator[str]:
    return (f"{root}/" for root in roots)


def _is_relative(location: str) -> bool:
    return "://" not in location and not location.startswith(("/", "file:"))


def _configured(location: str) -> str:
    """Return a location of the configuration, which may be a path relative to the working folder."""
    path = local_path(location)
    return _canonical(location if path is None else os.path.abspath(path))


def _canonical(location: str) -> str:
    from lanceway.lake.tree.locations import canonical  # it needs SQLAlchemy, and a tree of mounts alone does not

    return canonical(location)


def _locations(request: BaseModel, *, foreign: bool) -> Iterator[str]:
    """Yield every location in a request, at any depth; for a `foreign` service also those among the properties."""
    for name, value in request:
        if name == "location" and isinstance(value, str) and value:
            yield value
        elif name == "properties" and foreign and isinstance(value, Mapping):
            yield from _among(value)
        elif isinstance(value, BaseModel):
            yield from _locations(value, foreign=foreign)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, BaseModel):
                    yield from _locations(item, foreign=foreign)


def _among(properties: Mapping[str, Any]) -> Iterator[str]:
    return (text for key, text in properties.items() if key.lower() in _PLACES and isinstance(text, str) and text)
