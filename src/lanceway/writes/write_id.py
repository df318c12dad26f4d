"""Commits that can be told again: what makes a write happen once, however often it is tried.

A mark stands in the commit's properties. It also begins the transaction's name, so that a list of names is enough to
say that a mark was never used.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import TableVersionNotFoundError
from lanceway.tables import dataset
from lanceway.tables.dataset import Table
from lanceway.tables.errors import translated

if TYPE_CHECKING:
    import lance

_JOB = "lanceway.spark.job"
_QUERY, _BATCH = "lanceway.spark.query", "lanceway.spark.batch"
# A query's last commit is among the last few of its table; only where it is not, transactions are listed.
_RECENT = 32
_TRANSACTIONS = "_transactions"


@dataclass(frozen=True)
class WriteId:
    """Which write a commit belongs to: one job's, or one batch of a streaming query."""

    job: str | None = None
    query: str | None = None
    batch: int | None = None

    @classmethod
    def of_job(cls, name: str | None = None) -> WriteId:
        """Of a write by its name, or of one that needs none."""
        return cls(job=name or str(uuid.uuid4()))

    @property
    def properties(self) -> dict[str, str]:
        if self.query is None:
            return {_JOB: str(self.job)}
        return {_QUERY: self.query, _BATCH: str(self.batch)}

    @property
    def prefix(self) -> str:
        """How the names of its transactions begin: eight digits, a hyphen and four more."""
        digest = hashlib.sha256(repr(sorted(self.properties.items())).encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-8"

    def transaction(self) -> str:
        """A new transaction's name. UUIDs of version 8 may mean something; pylance's are of 4."""
        return self.prefix + str(uuid.uuid4())[15:]


def version_of(table: Table, mark: WriteId, *, after: int, branch: str | None = None) -> int | None:
    """The version later than `after` that was committed under this mark, None if there is none."""
    latest = dataset.open_at(table, branch=branch)
    for version in range(int(latest.version), after, -1):
        if _properties(table, latest, version).items() >= mark.properties.items():
            return version
    return None


def is_replayed(table: Table, mark: WriteId) -> bool:
    """Whether a batch of a query was committed before. A query's batches are committed in their order."""
    latest = dataset.open_at(table)
    newest = int(latest.version)
    for version in range(newest, max(0, newest - _RECENT), -1):
        found = _properties(table, latest, version)
        if found.get(_QUERY) == mark.query:
            return int(found[_BATCH]) >= int(mark.batch or 0)
    reads = [int(name.partition("-")[0]) for name in _names(table) if name.partition("-")[2].startswith(mark.prefix)]
    return bool(reads) and version_of(table, mark, after=min(reads)) is not None


def _names(table: Table) -> list[str]:
    return [key.rpartition("/")[2] for key in table.store().keys(_TRANSACTIONS)]


def _properties(table: Table, latest: lance.LanceDataset, version: int) -> Mapping[str, str]:
    try:
        with translated(table, f"Reading the transaction of version {version}"):
            transaction = latest.read_transaction(version)
    except TableVersionNotFoundError:  # cleaned up
        return {}
    return {} if transaction is None else transaction.transaction_properties or {}
