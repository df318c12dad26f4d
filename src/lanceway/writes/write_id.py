"""The id of a write, by which its commit is recognised: it makes a write happen once, however often it is tried.

The id stands in the commit's properties. A hash of it begins the transaction's name, so that a list of names is enough
to say that an id was never used.
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
        """Return the id of a write by its name; one without a name gets a random one."""
        return cls(job=name or str(uuid.uuid4()))

    @property
    def properties(self) -> dict[str, str]:
        """What the commit's properties hold of it."""
        if self.query is None:
            return {_JOB: str(self.job)}
        return {_QUERY: self.query, _BATCH: str(self.batch)}

    @property
    def prefix(self) -> str:
        """The beginning of its transactions' names: eight digits, a hyphen, four more, and the version 8 of a UUID."""
        digest = hashlib.sha256(repr(sorted(self.properties.items())).encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-8"

    def transaction(self) -> str:
        """Return a new transaction's name: a UUID of version 8, which may carry a meaning; pylance's are of 4."""
        return self.prefix + str(uuid.uuid4())[15:]

    def committed_version(self, table: Table, *, after: int, branch: str | None = None) -> int | None:
        """Return the version later than `after` that was committed under this id, else None."""
        latest = dataset.open_at(table, branch=branch)
        for version in range(int(latest.version), after, -1):
            if _properties(table, latest, version).items() >= self.properties.items():
                return version
        return None

    def is_replayed(self, table: Table) -> bool:
        """Whether this batch of a query was committed before. A query's batches are committed in their order."""
        latest = dataset.open_at(table)
        newest = int(latest.version)
        for version in range(newest, max(0, newest - _RECENT), -1):
            properties = _properties(table, latest, version)
            if properties.get(_QUERY) == self.query:
                return int(properties[_BATCH]) >= int(self.batch or 0)
        # The name of a transaction's file is the version that it was based on, a hyphen, and the transaction's name.
        names = [key.rpartition("/")[2].partition("-") for key in table.store().keys(_TRANSACTIONS)]
        bases = [int(base) for base, _, transaction in names if transaction.startswith(self.prefix)]
        return bool(bases) and self.committed_version(table, after=min(bases)) is not None


def _properties(table: Table, latest: lance.LanceDataset, version: int) -> Mapping[str, str]:
    try:
        with translated(table, f"Reading the transaction of version {version}"):
            transaction = latest.read_transaction(version)
    except TableVersionNotFoundError:  # cleaned up
        return {}
    return {} if transaction is None else transaction.transaction_properties or {}
