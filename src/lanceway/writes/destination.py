"""Where a write goes: a table that is there, or a name declared for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lance_namespace import DeclareTableRequest, DescribeTableRequest

from lanceway.catalogs.contract import withdrawal
from lanceway.errors import TableAlreadyExistsError, TableNotFoundError
from lanceway.tables import dataset
from lanceway.tables.dataset import RESERVED, Table
from lanceway.tables.storage.store import EXPIRES
from lanceway.tables.versions import manager
from lanceway.writes.table_ref import TableRef

# Catalogs whose tables a lake may hold for reading alone: one itself, or a server that has one.
_OF_LAKES = frozenset({"lake", "rest"})


@dataclass(frozen=True)
class Destination:
    """A table's place, as it was when the write was planned. Picklable: workers write to it.

    `declared` says that the name was declared for this write, and has to go again if the write fails; `claim` tells
    that declaration from others, where the catalog can.
    """

    target: TableRef
    location: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    managed: bool = False
    declared: bool = False
    claim: str | None = None

    @property
    def table(self) -> Table:
        """The table; its versions are claimed through the catalog where that manages them."""
        if not self.managed:
            return Table(self.target.name, self.location, self.storage_options)
        return Table(self.target.name, self.location, self.storage_options, self.target.catalog(), self.target.id)

    @property
    def reading(self) -> Table:
        """The table for one who reads for long: where credentials end, its catalog renews them."""
        if self.managed or not self._ends:
            return self.table
        return Table(self.target.name, self.location, self.storage_options, self.target.catalog(), self.target.id)

    @property
    def _ends(self) -> bool:
        return EXPIRES in (self.storage_options or {})

    def current(self) -> Destination:
        """The same place, with credentials of now if those of the plan end."""
        if not self._ends:
            return self
        found = find(self.target)
        if found is None or found.location != self.location:
            return self  # gone or moved: whoever uses it will be told
        return replace(self, storage_options=found.storage_options)

    @property
    def renewal(self) -> dict[str, Any]:
        """What pylance needs to renew credentials that end while files are written."""
        if self.target.type is None:
            return {}
        return {"namespace_client": self.target.catalog(), "table_id": list(self.target.id)}

    def has_data(self) -> bool:
        return dataset.has_data(self.table)

    def require_writable(self) -> None:
        """Refuse to write to a table of a lake that another lake manages: that one would never show it."""
        if self.target.type in _OF_LAKES and not self.managed:
            manager.refuse_write(self.target.name, self.location, self.table.store())

    def stands(self) -> bool:
        """Whether the table is still where it was when the write was planned."""
        found = find(self.target)
        return found is not None and found.location == self.location

    def withdraw(self) -> None:
        """Undo the declaration, unless somebody has filled the name meanwhile."""
        self.table.store().remove_empty_folders(unless=RESERVED)
        if self.declared:
            withdrawal.withdraw(self.target.catalog(), self.target.id, self.location, self.claim)


def find(target: TableRef) -> Destination | None:
    """Where the table lies; None where its catalog has no table of that name."""
    if target.path is not None:
        return Destination(target, target.path, dict(target.storage_options) or None)
    try:
        found = target.catalog().describe_table(DescribeTableRequest(id=list(target.id), vend_credentials=True))
    except TableNotFoundError:
        return None
    return _destination(target, found, declared=False)


def declare(target: TableRef, properties: Mapping[str, str]) -> Destination:
    """Claim the name of a table that is to be written. Somebody else's claim is as good as one's own."""
    request = DeclareTableRequest(id=list(target.id), properties=dict(properties), vend_credentials=True)
    try:
        made = _destination(target, target.catalog().declare_table(request), declared=True)
        return replace(made, claim=withdrawal.claim_of(target.catalog(), target.id))
    except TableAlreadyExistsError:
        found = find(target)
        if found is None:
            raise
        return found


def _destination(target: TableRef, answer: Any, *, declared: bool) -> Destination:
    # What the catalog says wins, as it does where pylance opens a table by its catalog.
    storage = {**target.storage_options, **(answer.storage_options or {})}
    return Destination(target, answer.location or "", storage or None, bool(answer.managed_versioning), declared)
