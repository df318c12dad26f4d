"""Staged files become one version of their table, through its catalog, or nothing of them is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanceway.errors import LanceNamespaceError
from lanceway.spark import marks, staging
from lanceway.spark.marks import Mark
from lanceway.spark.planning import APPEND, CREATE, Plan
from lanceway.tables import creation
from lanceway.tables.dataset import Table
from lanceway.tables.failures import translated

if TYPE_CHECKING:
    from lance.dataset import LanceOperation

# What pylance tries by itself.
_RETRIES = 20


def publish(plan: Plan, fragments: Sequence[str], mark: Mark) -> None:
    """Commit what a write has staged. Nothing is committed where there is nothing to add."""
    import lance

    if plan.kind == CREATE:
        _create(plan, fragments, mark)
    elif plan.kind == APPEND:
        if fragments:
            commit(plan, lance.LanceOperation.Append(staging.read(fragments)), mark)
    else:
        commit(plan, lance.LanceOperation.Overwrite(plan.schema, staging.read(fragments)), mark)


def _create(plan: Plan, fragments: Sequence[str], mark: Mark) -> None:
    place = plan.destination.current()
    # Without a name: that of a claim is known to the catalog alone. That the name stands is asked again.
    claim = creation.Claim(None, place.stands)
    creation.publish(place.table, plan.schema, staging.read(fragments), claim, mark.transaction(), mark.properties)


def commit(plan: Plan, operation: LanceOperation.BaseOperation, mark: Mark, *, strict: bool = False) -> int:
    """One transaction on top of the plan's version; answers the version that it made.

    `strict` lets an overwrite be the very next version or none; else what others added meanwhile is no hindrance.

    Raises ConcurrentModificationError where somebody else changed what it builds on.
    """
    table = plan.destination.current().table
    try:
        return _commit(table, operation, plan.version, mark, strict=strict)
    except LanceNamespaceError:
        # An answer that was lost on its way is no failure.
        landed = marks.version_of(table, mark, after=plan.version)
        if landed is None:
            raise
        return landed


def _commit(table: Table, operation: LanceOperation.BaseOperation, version: int, mark: Mark, *, strict: bool) -> int:
    import lance
    from lance.dataset import Transaction

    with translated(table, "Committing rows"):
        made = lance.LanceDataset.commit(
            table.path,
            Transaction(version, operation, uuid=mark.transaction(), transaction_properties=mark.properties),
            storage_options=table.options,
            max_retries=0 if strict else _RETRIES,
            namespace_client=table.client,
            table_id=list(table.id) if table.client else None,
            namespace_client_managed_versioning=table.client is not None,
        )
        return int(made.version)


def give_up(plan: Plan, fragments: Sequence[str], mark: Mark) -> None:
    """Remove what was staged, and the name if it was declared for it; unless it was committed after all."""
    place = plan.destination.current()
    if place.has_data() and marks.version_of(place.table, mark, after=plan.version) is not None:
        return
    staging.discard(place, fragments)
    if plan.kind == CREATE:
        place.withdraw()
