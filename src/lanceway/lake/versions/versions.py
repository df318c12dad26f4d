"""Versions of managed tables: claimed one after the other, by one claimant each.

A claim is one row, and with it the version is the table's. What follows, copying the manifest from its
staging path to its final one, can be done by any process and any number of times, so no crash loses a version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    update,
)

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.lake.feed import outbox
from lanceway.lake.feed.outbox import COLUMNS, object_event
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import ConditionalInsert, FastConditionalInsert, Insert
from lanceway.lake.store.schema import TABLE, feed, objects, orphan_manifests, versions
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.tree.pages import at_most

MAIN = ""
CREATED = "version.created"

_INSERT = Insert(versions, created_at=now())
_BRANCH = (versions.c.table_id == bindparam("table")) & (versions.c.branch == bindparam("of_branch"))
_LATEST = select(func.max(versions.c.version)).where(_BRANCH)
_NEXT = ConditionalInsert(
    versions,
    lambda new: (
        func.coalesce(
            select(func.max(versions.c.version))
            .where(versions.c.table_id == new["table_id"], versions.c.branch == new["branch"])
            .scalar_subquery(),
            bindparam("start", type_=BigInteger),
        )
        == new["version"] - 1
    ),
    created_at=now(),
)
_ONE: Select[Any] = select(versions).where(_BRANCH, versions.c.version == bindparam("number"))
_LIMIT = bindparam("limit", type_=BigInteger)
_RISING: Select[Any] = (
    select(versions)
    .where(_BRANCH, versions.c.version > bindparam("after", type_=BigInteger))
    .order_by(versions.c.version)
    .limit(_LIMIT)
)
_FALLING: Select[Any] = (
    select(versions)
    .where(_BRANCH, versions.c.version < bindparam("after", type_=BigInteger))
    .order_by(versions.c.version.desc())
    .limit(_LIMIT)
)
# A number may be used again once its branch is deleted: staging path and time tell the rows apart.
_COPIED = (
    update(versions)
    .where(_BRANCH, versions.c.version == bindparam("number"), ~versions.c.copied)
    .where(versions.c.staging_path == bindparam("staged"), versions.c.created_at == bindparam("since"))
    .values(copied=True)
)
_later = versions.alias("later")
# Whether a version has a successor. A version is claimed only when the one before is published: so it was, once.
FOLLOWED = exists().where(
    _later.c.table_id == versions.c.table_id,
    _later.c.branch == versions.c.branch,
    _later.c.version > versions.c.version,
)
_HIGHEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class VersionClaim:
    """A writer's request: a version of a branch, with the manifest it has written for it."""

    version: int
    staging_path: str
    final_path: str
    branch: str = MAIN
    size: int | None = None
    e_tag: str | None = None
    naming_scheme: str = "V2"
    metadata: Mapping[str, str] = field(default_factory=dict)

    def made(self, table: int, by: str, at: int) -> Version:
        """Return the version that a successful claim has become."""
        return Version(
            table,
            self.branch,
            self.version,
            self.staging_path,
            self.final_path,
            self.size,
            self.e_tag,
            self.naming_scheme,
            self.metadata,
            copied=False,
            created_by=by,
            created_at=at,
        )


@dataclass(frozen=True, slots=True)
class Version:
    """A version that a table has. Until its manifest is copied, it is at the staging path only.

    `copied` is a flag that may be set late: without it, look at storage.
    """

    table: int
    branch: str
    version: int
    staging_path: str
    final_path: str
    size: int | None
    e_tag: str | None
    naming_scheme: str
    metadata: Mapping[str, str]
    copied: bool
    created_by: str
    created_at: int

    @classmethod
    def of(cls, row: Row[Any]) -> Version:
        columns: tuple[Any, ...] = tuple(row)
        return cls(*columns)


def claim(connection: Connection, table: TableRow, requested: VersionClaim, *, by: str) -> Version:
    """Take the next version of a branch. The table must be held (`lookups.hold`) in the same transaction.

    The same claim, known by its staging path, may be made again. Raises ConcurrentModificationError if
    another claim has the version, or if it is not the one after the latest. A branch other than the main one
    begins with whatever version it left its parent at.
    """
    check(requested)
    if not table.managed:
        raise InvalidTableStateError(
            f"The table {table.identifier} keeps its versions in storage alone: commit there, or make it managed."
        )
    # A branch begins anywhere: then the version that is asked for is the next one.
    start = 0 if requested.branch == MAIN else requested.version - 1
    row = _NEXT(connection, values(table.id, requested, by, copied=False), start=start)
    if row is None:
        return _again(connection, table, requested)
    if connection.dialect.name == "postgresql":  # in SQLite a trigger does it, also for the claim in one statement
        outbox.record_object(connection, CREATED, table.id, by=by, data=_event_data(requested))
    return Version.of(row)


def claim_all(
    connection: Connection, requested: Sequence[tuple[TableRow, VersionClaim]], *, by: str
) -> Sequence[Version]:
    """Claim versions of several tables: all of them, or the first refusal is raised and none is claimed."""
    # All callers in the same order, so that two batches never deadlock.
    ordered = sorted(requested, key=lambda pair: (pair[0].id, pair[1].branch, pair[1].version))
    claimed = {(table.id, each.branch, each.version): claim(connection, table, each, by=by) for table, each in ordered}
    return [claimed[table.id, each.branch, each.version] for table, each in requested]


def adopt(connection: Connection, table: int, claims: Sequence[VersionClaim], *, by: str) -> None:
    """Record versions that are in storage already, such as those of a table that becomes managed."""
    for each in claims:
        check(each)
    _INSERT.many(connection, [values(table, each, by, copied=True) for each in claims])
    for branch in sorted({each.branch for each in claims}):
        numbers = sorted(each.version for each in claims if each.branch == branch)
        data = {"branch": branch, "versions": _spans(numbers)}
        outbox.record_object(connection, "version.adopted", table, by=by, data=data)


def latest(connection: Connection, table: int, branch: str = MAIN) -> int | None:
    """Return the highest version of a branch, None if there is none."""
    number: int | None = connection.execute(_LATEST, {"table": table, "of_branch": branch}).scalar()
    return number


def describe(connection: Connection, table: TableRow, version: int | None = None, *, branch: str = MAIN) -> Version:
    """Return a version, by default the latest. Raises TableVersionNotFoundError, TableBranchNotFoundError."""
    number = version if version is not None else latest(connection, table.id, branch)
    row = _row(connection, table.id, branch, number) if number is not None and number <= _HIGHEST else None
    if row is None:
        raise _missing(connection, table, branch, version)
    return Version.of(row)


def page(
    connection: Connection,
    table: TableRow,
    *,
    branch: str = MAIN,
    after: int | None = None,
    limit: int | None = None,
    descending: bool = False,
) -> Sequence[Version]:
    """Return the first `limit` versions after `after`. Raises TableBranchNotFoundError for a branch without any."""
    start = after if after is not None else (_HIGHEST if descending else -1)
    parameters = {"table": table.id, "of_branch": branch, "after": min(start, _HIGHEST), "limit": at_most(limit)}
    rows = connection.execute(_FALLING if descending else _RISING, parameters).all()
    if not rows and branch != MAIN and latest(connection, table.id, branch) is None:
        raise _no_branch(table, branch)
    return [Version.of(row) for row in rows]


def branches(connection: Connection, table: int) -> Sequence[str]:
    """Return the branches that have versions, in code point order; the main one is empty."""
    statement = select(versions.c.branch).where(versions.c.table_id == table).distinct().order_by(versions.c.branch)
    return connection.execute(statement).scalars().all()


def remove(
    connection: Connection,
    table: TableRow,
    ranges: Sequence[tuple[int, int | None]],
    *,
    branch: str = MAIN,
    by: str | None = None,
) -> Sequence[Version]:
    """Delete versions from each start up to its end, which is not included; None means all that follow.

    The table must be locked (`lookups.lock`) in the same transaction, or a claim could follow on what is gone.
    """
    gone: list[Version] = []
    for start, end in ranges:
        bounds = (min(start, _HIGHEST), _HIGHEST if end is None else min(end, _HIGHEST))
        doomed = (versions.c.version >= bounds[0]) & (versions.c.version < bounds[1])
        statement = delete(versions).where(_BRANCH, doomed).returning(*versions.c)
        rows = connection.execute(statement, {"table": table.id, "of_branch": branch})
        gone += [Version.of(row) for row in rows]
    gone.sort(key=lambda version: version.version)
    if gone:
        data = {"branch": branch, "versions": _spans([version.version for version in gone])}
        outbox.record_object(connection, "version.deleted", table.id, by=by, data=data)
    return gone


def _spans(numbers: Sequence[int]) -> list[list[int]]:
    """Return numbers in rising order as spans, each by its first and its last: a clean-up deletes thousands."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans


def mark_copied(connection: Connection, *copied: Version) -> None:
    """Flag versions whose manifests are at their final paths. Doing so twice does no harm."""
    # All callers in the same order, so that two of them never deadlock.
    keys = [
        {
            "table": version.table,
            "of_branch": version.branch,
            "number": version.version,
            "staged": version.staging_path,
            "since": version.created_at,
        }
        for version in sorted(copied, key=lambda version: (version.table, version.branch, version.version))
    ]
    if keys:
        connection.execute(_COPIED, keys if len(keys) > 1 else keys[0])


def doubtful(connection: Connection, table: int) -> Sequence[Version]:
    """Return the versions whose manifests may not be published: the latest of each branch, if it is not flagged."""
    statement = select(versions).where(~versions.c.copied, versions.c.table_id == table, ~FOLLOWED)
    return [Version.of(row) for row in connection.execute(statement)]


def uncopied(connection: Connection, table: int | None = None, *, limit: int = 1000) -> Sequence[Version]:
    """Return the versions of a table, or of all, that are not flagged as copied, in order."""
    statement: Select[Any] = select(versions).where(~versions.c.copied)
    if table is not None:
        statement = statement.where(versions.c.table_id == table)
    ordered = statement.order_by(versions.c.table_id, versions.c.branch, versions.c.version).limit(limit)
    return [Version.of(row) for row in connection.execute(ordered)]


def is_from_first(connection: Connection, table: int) -> bool:
    """Return whether every version that a table ever had was claimed here, as far as the rows tell.

    One that was adopted has never been staged. Where the first one is deleted, there is no telling.
    """
    first = _row(connection, table, MAIN, 1)
    if first is not None:
        return bool(first.staging_path != first.final_path)
    return not branches(connection, table)


def made_before(connection: Connection, table: TableRow, requested: VersionClaim) -> Version | None:
    """Return the version that the same claim, known by its staging path, made before; None if it made none."""
    row = _row(connection, table.id, requested.branch, requested.version) if requested.version < _HIGHEST else None
    return Version.of(row) if row is not None and row.staging_path == requested.staging_path else None


def _again(connection: Connection, table: TableRow, requested: VersionClaim) -> Version:
    """Return the version that the same claim made before. Raise ConcurrentModificationError if it made none."""
    earlier = made_before(connection, table, requested)
    if earlier is not None:
        return earlier
    newest = latest(connection, table.id, requested.branch) or 0
    if requested.version <= newest:
        reason = "was claimed by another writer"
    else:
        reason = f"cannot be claimed: the latest is {newest}, and {newest + 1} comes next"
    raise ConcurrentModificationError(
        f"Version {requested.version} of {_named(table, requested.branch)} {reason}. Load the latest version and "
        "commit again."
    )


def _row(connection: Connection, table: int, branch: str, number: int) -> Row[Any] | None:
    return connection.execute(_ONE, {"table": table, "of_branch": branch, "number": number}).one_or_none()


def values(table: int, requested: VersionClaim, by: str, *, copied: bool) -> dict[str, object]:
    """Return the row of a claim without its time."""
    return {
        "table_id": table,
        "branch": requested.branch,
        "version": requested.version,
        "staging_path": requested.staging_path,
        "final_path": requested.final_path,
        "size": requested.size,
        "e_tag": requested.e_tag,
        "naming_scheme": requested.naming_scheme,
        "metadata": dict(requested.metadata),
        "copied": copied,
        "created_by": by,
    }


def check(requested: VersionClaim) -> None:
    """Refuse what is no version's number."""
    if not 1 <= requested.version < _HIGHEST:
        raise InvalidInputError(f"{requested.version} is not a version of a table: versions are counted from 1.")


def _missing(
    connection: Connection, table: TableRow, branch: str, version: int | None
) -> TableVersionNotFoundError | TableBranchNotFoundError:
    newest = latest(connection, table.id, branch)
    if branch != MAIN and newest is None:
        return _no_branch(table, branch)
    what = "no version yet" if newest is None else f"no version {version}. The latest is {newest}"
    return TableVersionNotFoundError(f"{_named(table, branch)} has {what}.")


def _no_branch(table: TableRow, branch: str) -> TableBranchNotFoundError:
    return TableBranchNotFoundError(f"The table {table.identifier} has no branch {branch!r}. List its branches.")


def _named(table: TableRow, branch: str) -> str:
    return f"the table {table.identifier}" + (f", branch {branch!r}" if branch != MAIN else "")


# The claimant knows that the manifest of this very row is published.
_KNOWN = (versions.c.staging_path == bindparam("base_staged")) & (versions.c.created_at == bindparam("base_since"))


def _claimable(new: Mapping[str, Any]) -> ColumnElement[bool]:
    """Return the condition of the fast claim: the table is still the same, and the version before is beyond doubt.

    All of it is seen at one moment, and what may change until the row is there changes nothing: a version that is
    published stays so, and all orphans of its number are recorded by then; and the latest version of a table is
    not deleted. What others have claimed in the meantime, the unique key refuses.
    """
    same_row = (objects.c.id == new["table_id"]) & (objects.c.location == bindparam("location"))
    # Found by its name and held, as for a claim in a transaction: a table that was renamed or dropped is not claimed.
    table = lookups.HOLD.where(same_row, objects.c.kind == TABLE, objects.c.managed).with_only_columns(objects.c.id)
    before, branch = new["version"] - 1, (new["table_id"], new["branch"])
    # The first version of a branch has no version before: it is always claimed in a transaction.
    base = exists().where(versions.c.version == before, versions.c.copied | _KNOWN, *_of(versions, *branch))
    later = exists().where(versions.c.version > before, *_of(versions, *branch))
    # An orphan had the number before: the manifest may have been built on it.
    doubt = exists().where(orphan_manifests.c.version == before, *_of(orphan_manifests, *branch))
    return table.exists() & base & ~later & ~doubt


def _of(table: Any, number: Any, branch: Any) -> tuple[ColumnElement[bool], ...]:
    return table.c.table_id == number, table.c.branch == branch


_CLAIM = FastConditionalInsert(versions, _claimable, returning=[versions.c.created_at], created_at=now())
_ITS_EVENT = bindparam("facts", type_=JSON)


def _with_event(claim: Any) -> Any:
    """Return a claim that also records its event, in the one statement that it is."""
    claimed = claim.cte("claimed")
    by, table = bindparam("new_created_by", type_=Text), bindparam("new_table_id", type_=BigInteger)
    event = object_event(literal(CREATED), by, _ITS_EVENT, start=claimed).where(objects.c.id == table)
    return select(claimed.c.created_at).add_cte(insert(feed).from_select(COLUMNS, event).cte("recorded"))


_CLAIM.statements["postgresql"] = _with_event(_CLAIM.statements["postgresql"])


def claim_in_one_statement(
    connection: Connection,
    catalog: int,
    table: TableRow,
    requested: VersionClaim,
    *,
    by: str,
    base: Version | None = None,
) -> Version | None:
    """Claim a version in one statement; None if anything was in the way. `table` may be out of date: then it is None.

    Its event is written by the same statement; in SQLite by a trigger.
    `base` is a version that is known to be in its place, whether its row says so or not; if it is not the one before,
    it does not matter. To ask again does no harm: the version is there by then, and is not claimed a second time.
    """
    check(requested)
    new = values(table.id, requested, by, copied=False)
    place = lookups.asked(catalog, lookups.known(table.identifier))
    published = (base.staging_path, base.created_at) if base and base.version == requested.version - 1 else (None, None)
    known = {"location": table.location, "base_staged": published[0], "base_since": published[1], **place}
    row = _CLAIM(connection, new, facts=_event_data(requested), **known)
    return None if row is None else requested.made(table.id, by, row.created_at)


def _event_data(requested: VersionClaim) -> dict[str, object]:
    return {"branch": requested.branch, "version": requested.version}
