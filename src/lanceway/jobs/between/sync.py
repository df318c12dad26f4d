"""Sync one catalog's tables into another: register what is new or changed, deregister what is gone. No data moves."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from lance_namespace import DescribeTableResponse, LanceNamespace

from lanceway.catalogs.contract import limits
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.jobs import executor
from lanceway.jobs.between import register
from lanceway.jobs.between.register import (
    Naming,
    Provenance,
    Registrar,
    SeenIdentifiers,
    find,
    is_declared,
    is_same_place,
    location_of,
)
from lanceway.jobs.executor import THREADS, JobContext, Listener, Stop, never_stop
from lanceway.jobs.report import CHANGED, COLLISION, GONE, KNOWN, NEW, JobReport, TableOutcome


def sync(
    source: LanceNamespace,
    target: LanceNamespace,
    *,
    delete: bool = False,
    only: Sequence[str] = (),
    flatten: str | None = None,
    dry_run: bool = False,
    threads: int = THREADS,
    listen: Listener | None = None,
    stop: Stop = never_stop,
) -> JobReport:
    """Register the source's tables in the target, at the locations that they have.

    A table whose location or properties have changed in the source is registered again. One that is gone from the
    source is deregistered if `delete` is set and if it was a sync from this source that registered it; its data
    stays. Whatever else the target holds is never touched. With `dry_run` nothing is changed.
    """
    context = JobContext(dry_run, threads, should_stop=stop)
    refuse_itself(source, target)
    job = _Sync(source, target, flatten, context, delete)

    def outcomes() -> Generator[TableOutcome]:
        yield from executor.outcomes(job.bring, register.tables(source, only=only), context)
        if not context.should_stop():
            yield from executor.outcomes(job.take_away, job.unmatched(), context)

    with job.registrar:
        return executor.collect(JobReport("sync", dry_run=dry_run), outcomes(), listen, context)


def refuse_itself(source: LanceNamespace, target: LanceNamespace) -> None:
    if limits.address(source) == limits.address(target):
        raise InvalidInputError(f"Source and target are the same: {limits.address(source)}. Choose two different ones.")


class _Sync:
    def __init__(
        self, source: LanceNamespace, target: LanceNamespace, flatten: str | None, context: JobContext, delete: bool
    ) -> None:
        self._source, self._target = source, target
        self._dry_run, self._delete = context.dry_run, delete
        self._names, self.registrar = Naming(target, flatten), Registrar(target)
        self._there = SeenIdentifiers(register.everything(target))
        self._matched = SeenIdentifiers()
        self._place = limits.address(source)

    def bring(self, table: Identifier) -> TableOutcome | None:
        name: Identifier | None = None
        try:
            name = self._names.target(table)
            self._matched.add(name)
            described = find(self._source, table)
            return None if described is None else self._bring(table, name, described)  # just dropped
        except LanceNamespaceError as error:
            return executor.failure(str(table), name, error)

    def _bring(self, table: Identifier, name: Identifier, described: DescribeTableResponse) -> TableOutcome | None:
        location, properties = location_of(table, described), register.carried(described.properties)
        mark, digest = Provenance(self._place, table), register.digest(location, properties)
        existing = find(self._target, name) if name in self._there else None
        reason = note(described)
        if existing is not None:
            if Provenance.read(existing.properties) != mark:
                return _not_ours(table, name, location, existing)
            if (
                is_same_place(existing.location, location)
                and (existing.properties or {}).get(register.DIGEST) == digest
            ):
                return TableOutcome(KNOWN, str(table), str(name), location)
            reason = _change(existing, location)
        elif is_declared(self._source, table):
            return None
        limits.check_location(self._target, name, location)
        if not self._dry_run:
            # The source goes on keeping its tables' versions, so the target must not begin to.
            marks = {**mark.write(), register.DIGEST: digest, **register.FOLLOWS}
            self.registrar.make_room(name, source=self._source, original=table)
            self.registrar.register(name, location, {**properties, **marks}, replace=existing is not None)
        return TableOutcome(NEW if existing is None else CHANGED, str(table), str(name), location, reason)

    def unmatched(self) -> Iterator[Identifier]:
        """Yield the tables of the target that no table of the source has become."""
        return (table for table in register.everything(self._target) if table not in self._matched)

    def take_away(self, name: Identifier) -> TableOutcome | None:
        """Deregister a table whose original is gone, if a sync from this source had made it."""
        try:
            existing = find(self._target, name)
            mark = None if existing is None else Provenance.read(existing.properties)
            if existing is None or mark is None or mark.catalog != self._place:
                return None
            if register.DIGEST not in (existing.properties or {}):
                return None  # it is a copy, and no sync's
            if find(self._source, mark.table) is not None:
                return None  # it was not asked for, or has another name in the target by now
            if self._delete and not self._dry_run:
                self.registrar.deregister(name)
            reason = None if self._delete else "still registered; --delete deregisters it"
            return TableOutcome(GONE, str(mark.table), str(name), existing.location, reason)
        except LanceNamespaceError as error:
            return executor.failure(str(name), name, error)


def _not_ours(table: Identifier, name: Identifier, location: str, existing: DescribeTableResponse) -> TableOutcome:
    if is_same_place(existing.location, location):
        return TableOutcome(KNOWN, str(table), str(name), location)
    reason = f"{name} is in the target already, at {existing.location}, and was not made by a sync from this source."
    return TableOutcome(COLLISION, str(table), str(name), location, reason)


def _change(existing: DescribeTableResponse, location: str) -> str:
    if is_same_place(existing.location, location):
        return "its properties have changed"
    return f"it has moved from {existing.location}"


def note(described: DescribeTableResponse) -> str | None:
    """Return the remark on a table whose source manages its versions."""
    return "its versions are the source's to keep: write to it there" if described.managed_versioning else None
