"""Runs that are kept in a database at hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from sqlalchemy import Connection

from lanceway.errors import InvalidInputError
from lanceway.lake.runs import leases, lineage, listing, recorder, runs, source_files
from lanceway.lake.runs import report as reports
from lanceway.lake.runs.events import Record
from lanceway.lake.runs.leases import Pipeline
from lanceway.lake.runs.lineage import Edge
from lanceway.lake.runs.report import Report
from lanceway.lake.runs.runs import Run
from lanceway.lake.runs.source_files import File
from lanceway.lake.store.database import LakeStore
from lanceway.pipelines.runs.ledger import Had

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class StoredLedger:
    """A book of runs in a database."""

    store: LakeStore

    def close(self) -> None:
        self.store.close()

    def find(self, name: str) -> Pipeline | None:
        return self.store.read(lambda connection: leases.find(connection, name))

    def take(self, name: str, key: str, *, by: str, seconds: float, ended: str | None) -> None:
        lifetime = int(seconds * 1000)
        self.store.run(lambda connection: recorder.take(connection, name, key, by=by, lifetime=lifetime, ended=ended))

    def renew(self, name: str, key: str, *, seconds: float) -> bool:
        lifetime = int(seconds * 1000)
        return self.store.run(
            lambda connection: leases.renew(connection, _row(connection, name), key, lifetime=lifetime)
        )

    def release(self, name: str, key: str) -> None:
        self.store.run(lambda connection: leases.release(connection, _row(connection, name), key))

    def record(self, name: str, lease: str, run: str, told: Record, answer: type[Answer], *, by: str) -> Answer:
        found = self.store.run(lambda connection: recorder.record(connection, name, lease, run, told, by=by))
        return cast("Answer", found)

    def had(self, run: Run) -> Had:
        return self.store.read(lambda connection: runs.had(connection, _row(connection, run.pipeline)))

    def files(self, run: Run, source: str, *, after: int, until: int) -> Sequence[File]:
        return self.store.read(
            lambda connection: source_files.between(
                connection, _row(connection, run.pipeline), source, after=after, until=until
            )
        )

    def has_changed(self, run: Run, source: str, *, after: int, until: int) -> bool:
        return self.store.read(
            lambda connection: source_files.has_changed(
                connection, _row(connection, run.pipeline), source, after=after, until=until
            )
        )

    def newest(self, name: str) -> Run | None:
        return next(iter(self.store.look(lambda connection: listing.page(connection, pipeline=name, limit=1))), None)

    def report(self, run: str) -> Report:
        def ask(connection: Connection) -> Report:
            found = listing.find(connection, run)
            if found is None:
                raise InvalidInputError(f"There is no run {run}.")
            return reports.of(connection, found)

        return self.store.look(ask)

    def history(self, name: str, *, limit: int | None) -> list[dict[str, Any]]:
        return self.store.look(
            lambda connection: listing.summaries(connection, listing.page(connection, pipeline=name, limit=limit))
        )

    def lineage(self, places: Collection[str], *, depth: int | None, every: bool) -> list[Edge]:
        return self.store.look(lambda connection: lineage.around(connection, places, depth=depth, every=every))


def _row(connection: Connection, name: str) -> int:
    found = leases.find(connection, name)
    if found is None:
        raise InvalidInputError(f"The pipeline {name} was never run.")
    return found.id
