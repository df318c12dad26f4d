"""Where those who ask a server may have tables: below the locations that it allows, and nowhere else.

In process, the owner of the process may use any location. Over a server, a location is chosen by whoever has a
token, and read, written and deleted with the server's own rights.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.tables.storage.store import local_path

if TYPE_CHECKING:
    from lanceway.catalogs.federated.mounts import Mount
    from lanceway.config import ServerSettings

# Properties by which a mounted service is told where a namespace's or a table's files are to lie.
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
# Types to which a property is a text like any other.
_OPAQUE = frozenset({"dir", "lake"})


@dataclass(frozen=True, slots=True)
class AllowedLocations:
    """Locations in their one spelling; what lies below one of `roots` may be asked for.

    What lies in the `warehouse` is the lake's: there, no mounted catalog may have a table, or to drop it would be to
    delete the data of one of the lake's.
    """

    roots: tuple[str, ...]
    warehouse: str | None = None

    @classmethod
    def from_settings(cls, settings: ServerSettings) -> Self:
        """As a server is told, the warehouse if it is told nothing.

        Raises InvalidInputError for what is no location.
        """
        warehouse = _configured(settings.warehouse) if settings.warehouse else None
        try:
            roots = tuple(map(_configured, settings.allowed_locations))
        except InvalidInputError as error:
            raise InvalidInputError(f"The server: allowed_locations cannot be used. {error}") from error
        return cls(roots or ((warehouse,) if warehouse else ()), warehouse)

    def check(self, mount: Mount, operation: str, request: BaseModel) -> None:
        """Refuse a request that names a location elsewhere, before anything is asked.

        Whatever is or is not there, the answer is the same. Raises PermissionDeniedError, since an administrator may
        do it, and InvalidInputError for what is no location.
        """
        foreign = mount.configured and mount.takes not in _OPAQUE
        for location in _locations(request, foreign=foreign):
            if not self._allows(mount, location):
                raise self._denied(mount, operation, location)

    def _allows(self, mount: Mount, location: str) -> bool:
        if _is_relative(location) and mount.takes in _RELATIVE:
            return ".." not in location.split("/")
        wanted = _canonical(location)
        if any(map(wanted.startswith, _below(_own(mount)))):
            return True
        is_of_the_lake = bool(self.warehouse) and f"{wanted}/".startswith(f"{self.warehouse}/")
        return any(map(wanted.startswith, _below(self.roots))) and not (mount.configured and is_of_the_lake)

    def _denied(self, mount: Mount, operation: str, location: str) -> PermissionDeniedError:
        shared = [root for root in self.roots if not (mount.configured and root == self.warehouse)]
        known = ", ".join((*_own(mount), *shared)) or "none for this catalog"
        return PermissionDeniedError(
            f"{operation} may not use the location {location!r}: over this server, locations lie below those that it "
            f"allows ({known}). Choose one there, leave the location out, or ask an administrator to do this or to "
            "add it to allowed_locations in [server]."
        )


def _own(mount: Mount) -> tuple[str, ...]:
    """The root that a mounted catalog has in the configuration, below which its tables lie anyway."""
    found: list[str] = []
    for root in mount.roots:
        with suppress(InvalidInputError):  # such as s3:// for whatever bucket a namespace is named for
            found.append(_configured(root))
    return tuple(found)


def _below(roots: Iterable[str]) -> Iterator[str]:
    return (f"{root}/" for root in roots)


def _is_relative(location: str) -> bool:
    return "://" not in location and not location.startswith(("/", "file:"))


def _configured(location: str) -> str:
    """A location that whoever runs the server chose, who may write a path from the working folder."""
    path = local_path(location)
    return _canonical(location if path is None else os.path.abspath(path))


def _canonical(location: str) -> str:
    from lanceway.lake.tree.locations import canonical  # it needs SQLAlchemy, and a tree of mounts alone does not

    return canonical(location)


def _locations(request: BaseModel, *, foreign: bool) -> Iterator[str]:
    """Every location in a request, at any depth; for a `foreign` service also those among the properties."""
    for name, value in request:
        if name == "location" and isinstance(value, str) and value:
            yield value
        elif name == "properties" and foreign and isinstance(value, Mapping):
            yield from _among(value)
        elif isinstance(value, BaseModel):
            yield from _locations(value, foreign=foreign)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, BaseModel):
                    yield from _locations(each, foreign=foreign)


def _among(properties: Mapping[str, Any]) -> Iterator[str]:
    return (text for key, text in properties.items() if key.lower() in _PLACES and isinstance(text, str) and text)
