"""The audit trail as rows: who asked for which change, whether it was allowed, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, bindparam, delete, select, tuple_

from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import audit
from lanceway.lake.tree.pages import at_most

# What a row is about: a change that is about to be made, or how a request ended.
ATTEMPTED, DONE, DENIED, FAILED = OUTCOMES = ("attempted", "done", "denied", "failed")

_INSERT = Insert(audit, at=now() - bindparam("age", type_=BigInteger))
_OLD = select(audit.c.id).where(audit.c.at < now() - bindparam("retention", type_=BigInteger)).limit(bindparam("most"))
_PURGE = delete(audit).where(audit.c.id.in_(_OLD.scalar_subquery()))


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """Something that was asked for. `object` is the path of what it is about, as JSON, or a path of the API.

    `via` is the door it came through, such as the dialect Lance REST. `client` and `agent`, which is the header
    User-Agent, are what the caller says, and prove nothing.
    """

    request_id: str
    user: str
    via: str
    operation: str
    object: str | None
    outcome: str
    code: int | None = None
    reason: str | None = None
    client: str | None = None
    agent: str | None = None

    def known(self) -> dict[str, Any]:
        """Return the fields that are set, for people and programs."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An event with its number and its time, in milliseconds of the database's clock."""

    id: int
    at: int
    event: AuditEvent

    @classmethod
    def of(cls, row: Row[Any]) -> AuditRow:
        return cls(row.id, row.at, AuditEvent(*(getattr(row, name) for name in AuditEvent.__slots__)))

    def described(self) -> dict[str, Any]:
        """Return all that is known, for people and programs."""
        return {"id": self.id, "at": self.at, **self.event.known()}


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows to list. `below` is the path of an object as JSON: it, and everything inside it."""

    user: str | None = None
    below: str | None = None
    operation: str | None = None
    outcome: str | None = None
    request_id: str | None = None
    since: int | None = None
    until: int | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        c = audit.c
        equal = {c.user: self.user, c.operation: self.operation, c.outcome: self.outcome, c.request_id: self.request_id}
        conditions: list[ColumnElement[bool]] = [
            column == value for column, value in equal.items() if value is not None
        ]
        if self.below is not None:
            inside = self.below.removesuffix("]") + ","
            conditions.append((c.object == self.below) | ((c.object >= inside) & (c.object < f"{inside[:-1]}-")))
        if self.since is not None:
            conditions.append(c.at >= self.since)
        if self.until is not None:
            conditions.append(c.at < self.until)
        return conditions


def write(connection: Connection, events: Sequence[tuple[AuditEvent, int]]) -> None:
    """Write events, each with how many milliseconds ago it was."""
    rows = [{**{name: getattr(event, name) for name in AuditEvent.__slots__}, "age": age} for event, age in events]
    _INSERT.many(connection, rows)


def page(
    connection: Connection, wanted: AuditFilter, *, before: tuple[int, int] | None = None, limit: int | None = None
) -> Sequence[AuditRow]:
    """Return rows, the newest first, beginning before a time and number."""
    conditions = wanted.conditions()
    if before is not None:
        conditions.append(tuple_(audit.c.at, audit.c.id) < before)
    query = select(audit).where(*conditions).order_by(audit.c.at.desc(), audit.c.id.desc()).limit(at_most(limit))
    return [AuditRow.of(row) for row in connection.execute(query)]


def purge(connection: Connection, *, retention: int, most: int) -> int:
    """Delete up to `most` rows that are older than `retention` milliseconds, and return how many those were."""
    return connection.execute(_PURGE, {"retention": retention, "most": most}).rowcount
