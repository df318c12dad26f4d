"""Whether the objects of mounted catalogs are still those that rights were recorded for.

Others drop and make objects with the service itself, and what was granted on one must not hold for the next of its
name. So before a right on such an object counts, the service is asked for the object's identity.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lanceway.access.authenticator import TtlCache
from lanceway.catalogs.contract.capabilities import IdentifiesObjects
from lanceway.errors import NamespaceNotFoundError, TableNotFoundError
from lanceway.lake.access import securables
from lanceway.lake.access.securables import RecordedObject, ServiceObject
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE

REMEMBERED = 30.0  # seconds
_MOST = 10_000  # objects


class MountedIdentities:
    """Compares what is recorded of objects with what their services say. Any number of threads may share it.

    What was the same is not asked again for some seconds; that an object is another one is noticed within that time.
    """

    def __init__(self, store: LakeStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._same = TtlCache[bool](_MOST, clock)

    def still_holds(self, tree: IdentifiesObjects, catalog: str, recorded: RecordedObject) -> bool:
        """Return whether the object is there, and the same; else what is recorded of it lapses.

        False is also returned if others change the row at the same time: what is recorded must be read again. Raises
        what the service raises if it cannot be asked: nothing is decided by what may be out of date.
        """
        if self._same.get(_key(recorded.row, recorded.service)):
            return True
        try:
            is_namespace = recorded.kind == NAMESPACE
            identity = tree.object_identity([catalog, *recorded.path], is_namespace=is_namespace)
        except (NamespaceNotFoundError, TableNotFoundError):
            self._store.transact(securables.lapse_row, recorded.row)
            return False
        present = ServiceObject(*identity) if identity is not None else ServiceObject()
        if present.is_other(recorded.service):
            self._store.transact(securables.lapse_row, recorded.row)
            return False
        known = recorded.service
        if known == ServiceObject() and present != known:
            # Trusted on first sight: grants are made in the database alone, by people who mean the object that is
            # there, and with no service at hand. From now on it is this object that they are about.
            if not self._store.transact(securables.identify, recorded.row, present):
                return False
            known = present
        self._same.keep(_key(recorded.row, known), True, REMEMBERED)
        return True


def _key(row: int, service: ServiceObject) -> bytes:
    return repr((row, service.id, service.made_at)).encode()
