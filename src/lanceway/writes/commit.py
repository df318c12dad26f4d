"""Commit staged files as one version of their table, once, under an id; or remove them all.

The id stands in the commit's properties. A hash of it begins the transaction's name, so that a list of names is enough
to say that an id was never used.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from lanceway.errors import ConcurrentModificationError, LanceNamespaceError, TableVersionNotFoundError
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable
from lanceway.tables.errors import translated
from lanceway.tables.versions import commit as commits
from lanceway.tables.write import create
from lanceway.writes import journal, stage
from lanceway.writes.plan import APPEND, CREATE, OVERWRITE, WritePlan

if TYPE_CHECKING:
    import lance
    from lance.dataset import LanceOperation, Transaction
    from lance.fragment import FragmentMetadata

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
        """Return what the commit's properties hold of it."""
        if self.query is None:
            return {_JOB: str(self.job)}
        return {_QUERY: self.query, _BATCH: str(self.batch)}

    @property
    def prefix(self) -> str:
        """Return the beginning of its transactions' names: 8 digits, a hyphen, 4 more, and the version 8 of a UUID."""
        digest = hashlib.sha256(repr(sorted(self.properties.items())).encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-8"

    def transaction(self) -> str:
        """Return a new transaction's name: a UUID of version 8, which may carry a meaning; pylance's are of 4."""
        return self.prefix + str(uuid.uuid4())[15:]

    def committed_version(self, table: StoredTable, *, after: int, branch: str | None = None) -> int | None:
        """Return the version later than `after` that was committed under this id, else None."""
        latest = dataset.open_at(table, branch=branch)
        for version in range(int(latest.version), after, -1):
            if _properties(table, latest, version).items() >= self.properties.items():
                return version
        return None

    def is_replayed(self, table: StoredTable) -> bool:
        """Return whether this batch of a query was committed before. A query's batches are committed in their order."""
        latest = dataset.open_at(table)
        newest = int(latest.version)
        for version in range(newest, max(0, newest - _RECENT), -1):
            properties = _properties(table, latest, version)
            # Batches come in order, so the newest one of this query answers for all before it.
            if properties.get(_QUERY) == self.query:
                return int(properties[_BATCH]) >= int(self.batch or 0)
        # The name of a transaction's file is the version that it was based on, a hyphen, and the transaction's name.
        names = [key.rpartition("/")[2].partition("-") for key in table.store().keys(_TRANSACTIONS)]
        bases = [int(base) for base, _, transaction in names if transaction.startswith(self.prefix)]
        return bool(bases) and self.committed_version(table, after=min(bases)) is not None


def transaction_of(table: StoredTable, latest: lance.LanceDataset, version: int) -> Transaction | None:
    """Return the transaction that made a version; None if the version was cleaned up, or its transaction is unknown."""
    try:
        with translated(table, f"Reading the transaction of version {version}"):
            return latest.read_transaction(version)
    except TableVersionNotFoundError:  # cleaned up
        return None


def _properties(table: StoredTable, latest: lance.LanceDataset, version: int) -> Mapping[str, str]:
    transaction = transaction_of(table, latest, version)
    return {} if transaction is None else transaction.transaction_properties or {}


def publish(plan: WritePlan, fragments: Sequence[str], write_id: WriteId) -> None:
    """Commit the fragments that a write has staged, and end it. An append without fragments makes no version."""
    import lance

    if plan.kind == CREATE:
        _create(plan, fragments, write_id)
    elif plan.kind == APPEND:
        if fragments:
            commit(plan, lance.LanceOperation.Append(stage.from_json(fragments)), write_id)
    else:
        commit(plan, lance.LanceOperation.Overwrite(plan.schema, stage.from_json(fragments)), write_id)
    finish(plan, fragments)


def finish(plan: WritePlan, fragments: Sequence[str]) -> None:
    """End a write whose fragments are part of the table. Files of other attempts of its tasks are removed."""
    if plan.journal_entry is not None:
        journal.finish(plan.destination, plan.journal_entry, stage.files(fragments))


def _create(plan: WritePlan, fragments: Sequence[str], write_id: WriteId) -> None:
    destination = plan.destination.current()
    # The name of a claim is known to the catalog alone; so whether the table still stands is asked again.
    claim = create.CreateClaim(None, destination.stands)
    create.publish(
        destination.table,
        plan.schema,
        stage.from_json(fragments),
        claim,
        write_id.transaction(),
        write_id.properties,
    )


def commit(
    plan: WritePlan,
    operation: LanceOperation.BaseOperation,
    write_id: WriteId,
    *,
    strict: bool = False,
    branch: str | None = None,
) -> int:
    """Commit one transaction on top of the plan's version, maybe one of a branch; return the version that it made.

    With `strict` it is the very next version or fails; without, it may follow versions that others added meanwhile.

    Raises ConcurrentModificationError where another writer changed what it builds on.
    """
    table = plan.destination.current().table
    try:
        return _commit(table, operation, plan.version, write_id, strict=strict, branch=branch)
    except LanceNamespaceError:
        # Only the response may have been lost, after the commit took place.
        committed = write_id.committed_version(table, after=plan.version, branch=branch)
        if committed is None:
            raise
        return committed


def update(
    plan: WritePlan,
    removed: Sequence[int],
    changed: Sequence[FragmentMetadata],
    new: Sequence[FragmentMetadata],
    write_id: WriteId,
    *,
    inserts: bool,
) -> int:
    """Commit one transaction that removes fragments, changes some and adds others; return the version that it made.

    Of two concurrent ones that insert, the second has to fail, or a key could be inserted twice, though they may have
    no row in common. So each of them conflicts on purpose: it rewrites the first fragment, if only as it is, or has to
    be the very next version of an empty table.

    Raises ConcurrentModificationError where another writer changed what it builds on.
    """
    import lance

    unchanged: list[FragmentMetadata] = []
    if inserts:
        opened = dataset.open_at(plan.destination.current().table, version=plan.version)
        first = min(opened.get_fragments(), key=lambda fragment: int(fragment.fragment_id), default=None)
        if first is None:
            filled = lance.LanceOperation.Overwrite(opened.lance_schema, new)
            return commit(replace(plan, kind=OVERWRITE), filled, write_id, strict=True)
        # Named as changed, though it is not: that alone makes two inserts conflict.
        if first.fragment_id not in {*removed, *(fragment.id for fragment in changed)}:
            unchanged.append(first.metadata)
    return commit(plan, lance.LanceOperation.Update(list(removed), [*changed, *unchanged], list(new)), write_id)


def _commit(
    table: StoredTable,
    operation: LanceOperation.BaseOperation,
    version: int,
    write_id: WriteId,
    *,
    strict: bool,
    branch: str | None,
) -> int:
    from lance.dataset import Transaction

    transaction = Transaction(
        version, operation, uuid=write_id.transaction(), transaction_properties=write_id.properties
    )
    opened = None if branch is None else dataset.open_at(table, version=version, branch=branch)
    with translated(table, "Committing rows"):
        return commits.commit(table, transaction, retries=0 if strict else commits.RETRIES, opened=opened)


def drop(plan: WritePlan, fragments: Sequence[str]) -> None:
    """End a write of which nothing becomes part of the table: remove all files that its tasks have written."""
    if plan.journal_entry is None:
        stage.discard(plan.destination, fragments)
    else:
        journal.end(plan.destination, plan.journal_entry)


def give_up(plan: WritePlan, fragments: Sequence[str], write_id: WriteId | None) -> None:
    """Remove what was staged, and the name if it was declared for it; unless it was committed after all.

    Without an id no commit was tried, and no catalog needs to be asked.
    """
    destination = plan.destination.current()
    if (
        write_id is not None
        and destination.has_data()
        and write_id.committed_version(destination.table, after=plan.version) is not None
    ):
        finish(plan, fragments)
        return
    drop(plan, fragments)
    if plan.kind == CREATE:
        destination.withdraw()


Result = TypeVar("Result")

ATTEMPTS = 5


def retry_on_conflict(attempt: Callable[[], Result]) -> Result:
    """Return the result of an attempt, which is repeated where another writer was faster.

    Raises ConcurrentModificationError where the last attempt conflicts as well.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(ConcurrentModificationError):
            return attempt()
    return attempt()
