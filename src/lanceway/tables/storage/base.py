"""The interface of a store: objects under a location.

Keys are relative to the location and separated by `/`. Folders exist only where objects lie
below them, as in a bucket; an empty local folder is a name without keys.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lanceway.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Object:
    """What a store says of an object without reading it."""

    key: str
    size: int
    modified_millis: int
    e_tag: str | None = None


class Store(ABC):
    """All objects below one location. Safe to use from several threads."""

    @abstractmethod
    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write an object unless one is there; of several writers one gets True. Never half visible."""

    @abstractmethod
    def put(self, key: str, data: bytes) -> None:
        """Write an object, replacing any that is there. Never half visible."""

    @abstractmethod
    def read(self, key: str) -> bytes | None:
        """Return the content of an object, None if there is no such object."""

    @abstractmethod
    def head(self, key: str) -> Object | None:
        """Size, time and tag of an object, None if there is none."""

    @abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """Return the names of the folders directly below `prefix`, in no order."""

    @abstractmethod
    def level(self, prefix: str = "") -> tuple[list[str], list[str]]:
        """Return the names of the folders and of the objects directly below `prefix`, in no order; one request."""

    @abstractmethod
    def objects(self, prefix: str = "") -> Iterator[Object]:
        """Return all objects below `prefix`, at any depth, in no order."""

    @abstractmethod
    def delete(self, *keys: str) -> None:
        """Remove objects; one that is not there is fine."""

    @abstractmethod
    def copy_if_absent(self, source: str, target: str) -> bool:
        """Copy an object unless the target is there. Raises InvalidInputError if the source is not."""

    def place_if_absent(self, source: str, target: str, data: bytes) -> bool:
        """Put what another object holds, unless the target is there; the source is about to be deleted."""
        return self.put_if_absent(target, data)

    def delete_if(self, key: str, test: Callable[[bytes], bool]) -> None:
        """Remove an object if what it holds passes a test.

        What takes its place in between is spared where folders are folders. A bucket cannot be asked for that.
        """
        data = self.read(key)
        if data is not None and test(data):
            self.delete(key)

    def exists(self, key: str) -> bool:
        """Return whether there is an object of this very key."""
        return self.head(key) is not None

    def has_any(self, prefix: str = "") -> bool:
        """Return whether any object lies below `prefix`."""
        return next(self.objects(prefix), None) is not None

    def keys(self, prefix: str = "") -> Iterator[str]:
        return (stored.key for stored in self.objects(prefix))

    def remove_empty_folders(self, prefix: str = "", *, unless: str = "") -> None:  # noqa: B027 - a bucket has none
        """Remove local folders below `prefix`, and it, that hold no file; none if it holds the file `unless`."""


def checked_key(location: str, key: str) -> str:
    """Return a key that stays below its location. Raises InvalidInputError for one that would lead elsewhere."""
    if key.startswith("/") or (".." in key and ".." in key.split("/")):
        raise InvalidInputError(
            f"{key!r} is no key below {location}: it begins with '/' or has a part '..'. Give a path inside it."
        )
    return key
