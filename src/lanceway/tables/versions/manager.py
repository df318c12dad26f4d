"""Which lake manages a table's versions: said in storage beside the table, for every other lake to see.

Two lakes that both give out the versions of one table would each take the other's manifests for strays. So a lake
says that a table is its own before it gives out a version, and one of several that try succeeds.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import InvalidTableStateError, PermissionDeniedError

if TYPE_CHECKING:
    from lanceway.tables.storage.store import Store

# Out of sight of every reader of the format, and gone with the table's folder.
_FOLDER = ".lanceway"
KEY = f"{_FOLDER}/managed-by.json"


@dataclass(frozen=True, slots=True)
class Manager:
    """A lake by its id, and whether it has managed the table from its first version on.

    One that has not, because it registered a table that had versions, cannot know which manifests are strays.
    """

    lake: str
    from_first: bool

    @classmethod
    def read(cls, data: bytes) -> Manager:
        """Parse a marker. One that cannot be read stands for an unknown lake."""
        try:
            fields = json.loads(data)
            return cls(str(fields["lake"]), fields["from_first"] is True)
        except (ValueError, TypeError, KeyError):
            return cls("", from_first=False)

    def write(self) -> bytes:
        return json.dumps({"lake": self.lake, "from_first": self.from_first}).encode()


def find(store: Store) -> Manager | None:
    """Return the lake that manages the table, None if no lake says that it does."""
    data = store.read(KEY)
    return None if data is None else Manager.read(data)


def take(store: Store, manager: Manager) -> Manager:
    """Say that a lake manages a table, unless another says so already; the one that does from now on."""
    if store.put_if_absent(KEY, manager.write()):
        return manager
    return find(store) or manager


def adopt(store: Store, lake: str) -> Manager:
    """Say that a lake manages a table that has versions already, unless another lake says so.

    Where nothing may be written no lake can give out a version either, and nothing need be said.
    """
    manager = Manager(lake, from_first=False)
    with suppress(PermissionDeniedError):
        recorded = take(store, manager)
        if recorded.lake != lake:
            return recorded
        if recorded != manager:
            store.put(KEY, manager.write())
    return manager


def leave(store: Store, lake: str) -> None:
    """Say no longer that a lake manages a table. What another lake says stays."""
    store.delete_if(KEY, lambda data: Manager.read(data).lake == lake)
    store.remove_empty_folders(_FOLDER)


def refusal(operation: str, location: str, advice: str) -> InvalidTableStateError:
    """Return the error for what only the lake that manages a table may do; `advice` says what can be done instead."""
    return InvalidTableStateError(
        f"{operation}: another lake manages the versions of the table at {location}. {advice} If no lake "
        f"manages it any more, because that lake is gone or the folder is a copy, delete {location.rstrip('/')}/{KEY}."
    )


def refuse_write(name: str, location: str, store: Store) -> None:
    """Refuse a write to a table that keeps its versions in storage for its catalog, and that a lake manages."""
    if find(store) is not None:
        raise read_only(name, location)


def read_only(name: str, location: str) -> InvalidTableStateError:
    return refusal(f"{name} can only be read here", location, "Write to it through that lake.")
