"""Changes that were made through the server in mounted catalogs: what is recorded of them here, once they are done.

The change is made by another service, and what is recorded is in the lake's database: there is no transaction over
both. So it is recorded after the service has answered. A server that dies in between, or an answer that is lost, leaves
a change without an event, and never an event without a change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from lanceway.access.principal import Principal
from lanceway.catalogs.federated.mounts import Mount, canonical
from lanceway.errors import LanceNamespaceError
from lanceway.lake.access import securables
from lanceway.lake.access.securables import Securable
from lanceway.lake.feed import outbox
from lanceway.lake.feed.reading import MOUNT
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.tree import names as tree_names

_LOG = logging.getLogger(__name__)
_CREATE, _OVERWRITE = "create", "overwrite"
_STEPS: Mapping[str, str] = {
    "declare_table": "declare_table",
    "create_table_version": "create_table_version",
    "delete_table_versions": "batch_delete_table_versions",
    "deregister_table": "deregister_table",
}
_MAKING_TABLES = frozenset(
    {"create_table", "create_empty_table", "declare_table", "register_table", "create_materialized_view"}
)
# Operations whose overwriting makes another object, as the service sees it, in the place of the one that was there.
_RENEWING = frozenset({"create_namespace", "register_table"})
_GOING: Mapping[str, tuple[str, str]] = {
    "drop_table": (TABLE, "table.dropped"),
    "deregister_table": (TABLE, "table.deregistered"),
    "drop_namespace": (NAMESPACE, "namespace.dropped"),
}

PlaceOf = Callable[[Sequence[str], str], Securable]


class MountedChanges:
    """What one caller does in the mounted catalogs of a tree: who owns what is made, and the events.

    `mounts` are the mounted catalogs at the time of a request, and `place` finds the place of an object by its names.
    """

    def __init__(
        self, store: LakeStore, principal: Principal, mounts: Callable[[], Mapping[str, Mount]], place: PlaceOf
    ) -> None:
        self._store, self._principal, self._mounts, self._place = store, principal, mounts, place

    def doubtful(self, operation: str, request: Any) -> Securable | None:
        """Return the place of an object whose existence says what a request will have changed; None where it will
        have changed something whenever it succeeds, and for what is not mounted.

        Some services drop what is not there, and modes return or replace what is.
        """
        names = list(getattr(request, "id", None) or ())
        if not self._is_inside(names):
            return None
        if operation == "drop_namespace":
            return self._place(names, NAMESPACE)
        if operation in _MAKING_TABLES | _RENEWING and _mode(request) != _CREATE:
            return self._place(names, NAMESPACE if operation == "create_namespace" else TABLE)
        return None

    def note(self, operation: str, request: Any, *, was_there: bool | None = None) -> None:
        """Record what was just done. `was_there` says so of a doubtful object."""
        if operation == "batch_commit_tables":
            for name, inner in steps(request):
                self.note(name, inner)
            return
        names = list(getattr(request, "id", None) or ())
        if not self._is_inside(names):
            return
        try:
            self._store.transact(self._noted, operation, request, names, was_there)
        except LanceNamespaceError as error:
            # It is done. Who made it can be given it by an administrator, to whom it belongs until then.
            _LOG.warning("What was done in a mounted catalog could not be recorded: %s", error)

    def note_altered(self, names: list[str]) -> None:
        """Record that a namespace has other properties."""
        if self._is_inside(names):
            try:
                self._store.transact(self._tell, "namespace.altered", self._place(names, NAMESPACE))
            except LanceNamespaceError as error:
                _LOG.warning("What was done in a mounted catalog could not be recorded: %s", error)

    def _is_inside(self, names: list[str]) -> bool:
        return len(names) > 1 and canonical(names[0]) in self._mounts()

    def _noted(
        self, connection: Connection, operation: str, request: Any, names: list[str], was_there: bool | None
    ) -> None:
        if operation in _MAKING_TABLES or operation == "create_namespace":
            place = self._place(names, NAMESPACE if operation == "create_namespace" else TABLE)
            self._made(connection, operation, place, _mode(request), was_there)
        elif operation in _GOING:
            kind, event = _GOING[operation]
            place = self._place(names, kind)
            if kind == NAMESPACE:
                securables.lapse_all(connection, place)
            else:
                securables.lapse(connection, place)
            if was_there is not False:
                self._tell(connection, event, place)
        elif operation == "rename_table":
            parent = names[:-1] if request.new_namespace_id is None else request.new_namespace_id
            former = self._place(names, TABLE)
            new = self._place([*parent, request.new_table_name], TABLE)
            securables.rename(connection, former, new.path)
            self._tell(connection, "table.renamed", new, {"previous": list(former.path)})

    def _made(
        self, connection: Connection, operation: str, place: Securable, chosen: str, was_there: bool | None
    ) -> None:
        user = self._principal.name
        if chosen == _CREATE:
            securables.lapse(connection, place)  # of an earlier object, which was dropped behind us
            if not self._principal.admin:
                securables.ensure(connection, place, by=user, owner=user)
        elif chosen == _OVERWRITE and operation in _RENEWING:
            securables.forget_identity(connection, place)
        # What was there and was returned is as it was. Rows that replace a table's are a version, which are not told.
        if not was_there or (chosen == _OVERWRITE and operation in _RENEWING):
            verb = "registered" if operation == "register_table" else "created"
            self._tell(connection, f"{'namespace' if place.kind == NAMESPACE else 'table'}.{verb}", place)

    def _tell(
        self, connection: Connection, event: str, place: Securable, data: Mapping[str, object] | None = None
    ) -> None:
        is_namespace = place.kind == NAMESPACE
        space = place.path if is_namespace else place.path.parent
        outbox.record(
            connection,
            event,
            "" if is_namespace else place.path.name,
            by=self._principal.name,
            metalake=place.metalake,
            catalog=place.catalog,
            space=tree_names.known(space).physical,
            data={MOUNT: self._mounts()[str(place.catalog)].key, **(data or {})},
        )


def steps(request: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a batch consists of: operations, and their requests."""
    for step in request.operations:
        for field, name in _STEPS.items():
            inner = getattr(step, field)
            if inner is not None:
                yield name, inner


def _mode(request: Any) -> str:
    return (getattr(request, "mode", None) or _CREATE).lower()
