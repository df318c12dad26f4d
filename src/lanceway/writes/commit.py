"""Staged files become one version of their table, through its catalog, or nothing of them is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lanceway.errors import ConcurrentModificationError, LanceNamespaceError
from lanceway.tables import dataset
from lanceway.tables.dataset import Table
from lanceway.tables.errors import translated
from lanceway.tables.versions import commit as commits
from lanceway.tables.write import create
from lanceway.writes import journal, stage, write_id
from lanceway.writes.plan import APPEND, CREATE, OVERWRITE, WritePlan
from lanceway.writes.write_id import WriteId

if TYPE_CHECKING:
    from lance.dataset import LanceOperation
    from lance.fragment import FragmentMetadata

# What pylance tries by itself.
_RETRIES = 20


def publish(plan: WritePlan, fragments: Sequence[str], mark: WriteId) -> None:
    """Commit what a write has staged, and end it. Nothing is committed where there is nothing to add."""
    import lance

    if plan.kind == CREATE:
        _create(plan, fragments, mark)
    elif plan.kind == APPEND:
        if fragments:
            commit(plan, lance.LanceOperation.Append(stage.read(fragments)), mark)
    else:
        commit(plan, lance.LanceOperation.Overwrite(plan.schema, stage.read(fragments)), mark)
    finish(plan, fragments)


def finish(plan: WritePlan, fragments: Sequence[str]) -> None:
    """End a write whose fragments are part of the table. What other attempts of its tasks have written goes."""
    if plan.write is not None:
        journal.finish(plan.destination, plan.write, stage.files(fragments))


def _create(plan: WritePlan, fragments: Sequence[str], mark: WriteId) -> None:
    place = plan.destination.current()
    # Without a name: that of a claim is known to the catalog alone. That the name stands is asked again.
    claim = create.CreateClaim(None, place.stands)
    create.publish(place.table, plan.schema, stage.read(fragments), claim, mark.transaction(), mark.properties)


def commit(
    plan: WritePlan,
    operation: LanceOperation.BaseOperation,
    mark: WriteId,
    *,
    strict: bool = False,
    branch: str | None = None,
) -> int:
    """One transaction on top of the plan's version, which may be one of a branch; answers the version that it made.

    `strict` lets an overwrite be the very next version or none; else what others added meanwhile is no hindrance.

    Raises ConcurrentModificationError where somebody else changed what it builds on.
    """
    table = plan.destination.current().table
    try:
        return _commit(table, operation, plan.version, mark, strict=strict, branch=branch)
    except LanceNamespaceError:
        # An answer that was lost on its way is no failure.
        landed = write_id.version_of(table, mark, after=plan.version, branch=branch)
        if landed is None:
            raise
        return landed


def update(
    plan: WritePlan,
    removed: Sequence[int],
    changed: Sequence[FragmentMetadata],
    new: Sequence[FragmentMetadata],
    mark: WriteId,
    *,
    inserts: bool,
) -> int:
    """One transaction that removes fragments, changes some and adds others; answers the version that it made.

    Two that insert need not meet in any row. That they meet at all makes the second one fail, so that no key is
    inserted twice: each changes the first fragment, if only to what it is, or is the first to fill an empty table.

    Raises ConcurrentModificationError where somebody else changed what it builds on.
    """
    import lance

    same: list[FragmentMetadata] = []
    if inserts:
        opened = dataset.open_at(plan.destination.current().table, version=plan.version)
        first = min(opened.get_fragments(), key=lambda fragment: int(fragment.fragment_id), default=None)
        if first is None:
            filled = lance.LanceOperation.Overwrite(opened.lance_schema, new)
            return commit(replace(plan, kind=OVERWRITE), filled, mark, strict=True)
        if first.fragment_id not in {*removed, *(fragment.id for fragment in changed)}:
            same.append(first.metadata)
    return commit(plan, lance.LanceOperation.Update(list(removed), [*changed, *same], list(new)), mark)


def _commit(
    table: Table,
    operation: LanceOperation.BaseOperation,
    version: int,
    mark: WriteId,
    *,
    strict: bool,
    branch: str | None,
) -> int:
    from lance.dataset import Transaction

    made = Transaction(version, operation, uuid=mark.transaction(), transaction_properties=mark.properties)
    opened = None if branch is None else dataset.open_at(table, version=version, branch=branch)
    with translated(table, "Committing rows"):
        return commits.commit(table, made, retries=0 if strict else _RETRIES, branch=opened)


def drop(plan: WritePlan, fragments: Sequence[str]) -> None:
    """End a write of which nothing becomes part of the table: all that its tasks have written goes."""
    if plan.write is None:
        stage.discard(plan.destination, fragments)
    else:
        journal.end(plan.destination, plan.write)


def give_up(plan: WritePlan, fragments: Sequence[str], mark: WriteId | None) -> None:
    """Remove what was staged, and the name if it was declared for it; unless it was committed after all.

    Without a mark nobody has tried to commit it, and no catalog needs to be asked.
    """
    place = plan.destination.current()
    if mark is not None and place.has_data() and write_id.version_of(place.table, mark, after=plan.version) is not None:
        finish(plan, fragments)
        return
    drop(plan, fragments)
    if plan.kind == CREATE:
        place.withdraw()


Result = TypeVar("Result")

ATTEMPTS = 5


def insistently(attempt: Callable[[], Result]) -> Result:
    """What an attempt comes to. It is begun anew where somebody else was faster.

    Raises ConcurrentModificationError where somebody else always is.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(ConcurrentModificationError):
            return attempt()
    return attempt()
