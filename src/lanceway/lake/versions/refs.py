"""Tags and branches of managed tables: names for versions, and lines of versions beside the main one.

A row is the tag or the branch; a file in storage follows it, for clients that read the format alone. `state` says how
far that is: a row that is not `written` is one whose file any process may write, or delete, any number of times. The
`stamp` is another one after each change, so that a process that was overtaken notices.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import BigInteger, Connection, Row, Select, Table, bindparam, delete, exists, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite

from lanceway.errors import ConcurrentModificationError
from lanceway.identifiers import Identifier
from lanceway.lake.feed import outbox
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import branches, objects, tags, versions
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.tree.pages import at_most
from lanceway.lake.versions.versions import MAIN

State = Literal["pending", "written", "removed"]
# The file is to be written, is as the row says, is to be deleted and the row with it.
PENDING: State = "pending"
WRITTEN: State = "written"
REMOVED: State = "removed"


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for a version. Times are milliseconds of the database's clock."""

    table: int
    name: str
    branch: str
    version: int
    size: int | None
    metadata: Mapping[str, str]
    state: State
    stamp: str
    owner: str | None
    created_by: str
    created_at: int
    changed_at: int

    @classmethod
    def of(cls, row: Row[Any] | tuple[Any, ...]) -> Tag:
        columns: tuple[Any, ...] = tuple(row)
        return cls(*columns)


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of versions that began with a version of its parent.

    `age` is how many milliseconds ago it was made, and `has_versions` whether its first version is claimed: one that
    has none is not there yet.
    """

    table: int
    name: str
    parent: str
    parent_version: int
    size: int | None
    lineage: Sequence[Any]
    metadata: Mapping[str, str]
    state: State
    stamp: str
    owner: str | None
    created_by: str
    created_at: int
    age: int
    has_versions: bool

    @classmethod
    def of(cls, row: Row[Any] | tuple[Any, ...]) -> Branch:
        columns: tuple[Any, ...] = tuple(row)
        return cls(*columns)

    @property
    def is_there(self) -> bool:
        return self.state != REMOVED and self.has_versions


@dataclass(frozen=True, slots=True)
class NewTag:
    """A tag that is to be made, or was found in storage."""

    name: str
    branch: str
    version: int
    size: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewBranch:
    """A branch that is to be made, or was found in storage. Without a lineage it is yet to be told from others."""

    name: str
    parent: str
    parent_version: int
    size: int | None = None
    lineage: Sequence[Any] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def _stamp() -> str:
    return uuid.uuid4().hex


def _of(table: Table) -> Any:
    return (table.c.table_id == bindparam("of_table")) & (table.c.name == bindparam("ref"))


def _listed(table: Table, *columns: Any) -> Select[Any]:
    """Return a statement that finds a table by its path, with a page of its tags or branches: all in one look-up."""
    following = (table.c.table_id == objects.c.id) & (table.c.name > bindparam("after"))
    page = lookups.FIND.add_columns(*columns).outerjoin(table, following)
    return page.order_by(table.c.name).limit(bindparam("limit", type_=BigInteger))


def _sought(table: Table, *columns: Any) -> Select[Any]:
    named = (table.c.table_id == objects.c.id) & (table.c.name == bindparam("ref"))
    return lookups.FIND.add_columns(*columns).outerjoin(table, named)


def _marked(table: Table) -> Any:
    return update(table).where(_of(table), table.c.stamp == bindparam("known"), table.c.state != REMOVED)


def _forgotten(table: Table) -> Any:
    return delete(table).where(_of(table), table.c.stamp == bindparam("known"), table.c.state == REMOVED)


_OBJECT = len(objects.c)
_TAG = [column.label(f"tag_{column.name}") for column in tags.c]
_ITS_VERSION = exists().where(versions.c.table_id == branches.c.table_id, versions.c.branch == branches.c.name)
_BRANCH = [
    *(column.label(f"branch_{column.name}") for column in branches.c),
    (now() - branches.c.created_at).label("age"),
    _ITS_VERSION.correlate(branches).label("has_versions"),
]

# -- tags ----------------------------------------------------------------------------------------

_TAGS, _TAG_BY_NAME = _listed(tags, *_TAG), _sought(tags, *_TAG)
_EVERY_TAG = select(tags).where(tags.c.table_id == bindparam("of_table")).order_by(tags.c.name)
_ONE_TAG = select(tags).where(_of(tags))
_MOVE = (
    update(tags).where(_of(tags), tags.c.state != REMOVED).values(state=PENDING, changed_at=now()).returning(*tags.c)
)
_REMOVE = update(tags).where(_of(tags), tags.c.state != REMOVED).values(state=REMOVED).returning(*tags.c)
_ADOPT_TAG = Insert(tags, created_at=now(), changed_at=now())
_WRITTEN_TAG, _FORGET_TAG = _marked(tags), _forgotten(tags)
_INSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
# A tag whose deletion is not finished yet makes room for a new one of its name.
_NEW_TAG = {
    name: insert(tags)
    .values(created_at=now(), changed_at=now())
    .on_conflict_do_update(
        index_elements=["table_id", "name"],
        set_={
            column: insert(tags).excluded[column]
            for column in ("branch", "version", "size", "metadata", "state", "stamp", "owner", "created_by")
        }
        | {"created_at": now(), "changed_at": now()},
        where=tags.c.state == REMOVED,
    )
    .returning(*tags.c)
    for name, insert in _INSERTS.items()
}


def tag_page(
    connection: Connection, catalog: int, table: Identifier, *, after: str | None = None, limit: int | None = None
) -> tuple[TableRow, Sequence[Tag]]:
    """Return a table, and the first `limit` of its tags after `after`, in code point order; one statement.

    Those whose deletion is not finished are among them.
    """
    page = {"after": after or "", "limit": at_most(limit)}
    row, rows = lookups.find_with(connection, _TAGS, catalog, table, **page)
    return row, [Tag.of(each[_OBJECT:]) for each in rows if each.tag_name is not None]


def tag_named(connection: Connection, catalog: int, table: Identifier, name: str) -> tuple[TableRow, Tag | None]:
    """Return a table and one of its tags, None if it has none of the name; one statement."""
    row, rows = lookups.find_with(connection, _TAG_BY_NAME, catalog, table, ref=name)
    tag = None if rows[0].tag_name is None else Tag.of(rows[0][_OBJECT:])
    return row, None if tag is None or tag.state == REMOVED else tag


def tags_of(connection: Connection, table: int) -> Sequence[Tag]:
    """Return all tags of a table, also those whose deletion is not finished."""
    return [Tag.of(row) for row in connection.execute(_EVERY_TAG, {"of_table": table})]


def current_tag(connection: Connection, table: int, name: str) -> Tag | None:
    """Return a tag as it is now, also one whose deletion is not finished."""
    row = connection.execute(_ONE_TAG, {"of_table": table, "ref": name}).one_or_none()
    return None if row is None else Tag.of(row)


def create_tag(connection: Connection, table: int, new: NewTag, *, by: str) -> Tag | None:
    """Make a tag and return it; None if there is one of the name. The table must be held, and have the version."""
    row = connection.execute(_NEW_TAG[connection.dialect.name], _tag_values(table, new, PENDING, by)).one_or_none()
    return _recorded_tag(connection, "tag.created", row, by)


def move_tag(connection: Connection, table: int, new: NewTag, *, by: str | None = None) -> Tag | None:
    """Let a tag name another version and return it; None if there is no such tag. The table must be held."""
    values = {"branch": new.branch, "version": new.version, "size": new.size, "stamp": _stamp()}
    row = connection.execute(_MOVE.values(values), {"of_table": table, "ref": new.name}).one_or_none()
    return _recorded_tag(connection, "tag.moved", row, by)


def remove_tag(connection: Connection, table: int, name: str, *, by: str | None = None) -> Tag | None:
    """Delete a tag, whose row stays until its file is deleted; return it, None if there is no such tag."""
    row = connection.execute(_REMOVE.values(stamp=_stamp()), {"of_table": table, "ref": name}).one_or_none()
    return _recorded_tag(connection, "tag.deleted", row, by)


def _recorded_tag(connection: Connection, event: str, row: Row[Any] | None, by: str | None) -> Tag | None:
    """Record what happened to a tag, and return it; None if there was none."""
    if row is None:
        return None
    tag = Tag.of(row)
    data = {"tag": tag.name, "branch": tag.branch, "version": tag.version}
    outbox.record_object(connection, event, tag.table, by=by, data=data)
    return tag


def adopt_tags(connection: Connection, table: int, found: Sequence[NewTag], *, by: str) -> None:
    """Make rows of tags that are in storage already. One that has a row stays as the row says."""
    _ADOPT_TAG.many(connection, [_tag_values(table, tag, WRITTEN, by) for tag in found])


def mark_tag_written(connection: Connection, tag: Tag) -> bool:
    """Record that the file of a tag is written; False if the tag was changed since it was read."""
    return _matched(connection, _WRITTEN_TAG.values(state=WRITTEN), tag)


def forget_tag(connection: Connection, tag: Tag) -> bool:
    """Delete the row of a tag whose file is deleted; False if there is a new tag of its name since it was read."""
    return _matched(connection, _FORGET_TAG, tag)


def forget_tags(connection: Connection, table: int) -> None:
    """Delete all rows of a table's tags: from now on storage has them alone."""
    connection.execute(delete(tags).where(tags.c.table_id == table))


def _tag_values(table: int, new: NewTag, state: State, by: str) -> dict[str, object]:
    return {
        "table_id": table,
        "name": new.name,
        "branch": new.branch,
        "version": new.version,
        "size": new.size,
        "metadata": dict(new.metadata),
        "state": state,
        "stamp": _stamp(),
        "owner": by,
        "created_by": by,
    }


def _matched(connection: Connection, statement: Any, ref: Tag | Branch) -> bool:
    known = {"of_table": ref.table, "ref": ref.name, "known": ref.stamp}
    return bool(connection.execute(statement, known).rowcount)


# -- branches ------------------------------------------------------------------------------------

_BRANCHES, _BRANCH_BY_NAME = _listed(branches, *_BRANCH), _sought(branches, *_BRANCH)
_EVERY_BRANCH: Select[Any] = (
    select(*_BRANCH).select_from(branches).where(branches.c.table_id == bindparam("of_table")).order_by(branches.c.name)
)
_NEW_BRANCH = Insert(branches, created_at=now())
_ABSENT_BRANCH = delete(branches).where(_of(branches), branches.c.state != REMOVED, ~_ITS_VERSION.correlate(branches))
_CHANGE_BRANCH = update(branches).where(_of(branches), branches.c.state != REMOVED)
_FORGET_BRANCH = _forgotten(branches)
_USERS = (
    select(literal("tag").label("kind"), tags.c.name.label("name"))
    .where(tags.c.table_id == bindparam("of_table"), tags.c.branch == bindparam("ref"), tags.c.state != REMOVED)
    .union_all(
        select(literal("branch"), branches.c.name).where(
            branches.c.table_id == bindparam("of_table"),
            branches.c.parent == bindparam("ref"),
            branches.c.state != REMOVED,
            _ITS_VERSION.correlate(branches),
        )
    )
)


def branch_page(
    connection: Connection, catalog: int, table: Identifier, *, after: str | None = None, limit: int | None = None
) -> tuple[TableRow, Sequence[Branch]]:
    """Return a table, and the first `limit` of its branches after `after`, in code point order; one statement.

    Those that are not there yet, or no more, are among them.
    """
    page = {"after": after or "", "limit": at_most(limit)}
    row, rows = lookups.find_with(connection, _BRANCHES, catalog, table, **page)
    return row, [Branch.of(each[_OBJECT:]) for each in rows if each.branch_name is not None]


def branch_named(connection: Connection, catalog: int, table: Identifier, name: str) -> tuple[TableRow, Branch | None]:
    """Return a table and one of its branches, in whatever state; None if there is no row of the name."""
    row, rows = lookups.find_with(connection, _BRANCH_BY_NAME, catalog, table, ref=name)
    return row, None if rows[0].branch_name is None else Branch.of(rows[0][_OBJECT:])


def branches_of(connection: Connection, table: int) -> Sequence[Branch]:
    """Return all branches of a table, in whatever state."""
    return [Branch.of(row) for row in connection.execute(_EVERY_BRANCH, {"of_table": table})]


def begin_branch(connection: Connection, table: int, new: NewBranch, *, by: str) -> bool:
    """Make the row of a branch whose first version is about to be claimed; False if there is such a branch.

    A row that was left by a creation that ended before it claimed a version makes room.
    """
    connection.execute(_ABSENT_BRANCH, {"of_table": table, "ref": new.name})
    return _create_branch(connection, table, new, by)


def _create_branch(connection: Connection, table: int, new: NewBranch, by: str) -> bool:
    """Make the row of a branch and record that; False if there is one."""
    if _NEW_BRANCH(connection, _branch_values(table, new, PENDING, by)) is None:
        return False
    data = {"branch": new.name, "version": new.parent_version}
    outbox.record_object(connection, "branch.created", table, by=by, data=data)
    return True


def ensure_branch(connection: Connection, table: int, name: str, version: int, size: int | None, *, by: str) -> None:
    """Make the row of a branch whose first version was just claimed, unless there is one.

    A client that makes a branch claims its first version here, and says in storage alone what its parent is. Raises
    ConcurrentModificationError as long as a branch of the name that was deleted is not gone from storage.
    """
    new = NewBranch(name, MAIN, version, size)
    if name == MAIN or _create_branch(connection, table, new, by):
        return
    state = connection.execute(select(branches.c.state).where(_of(branches)), {"of_table": table, "ref": name}).scalar()
    if state == REMOVED:
        raise ConcurrentModificationError(
            f"The branch {name!r} was deleted, and its files are still to be deleted. List the branches of the table, "
            "which does that, and make the branch again."
        )


def complete_branch(connection: Connection, table: int, found: NewBranch) -> None:
    """Record what the file of a branch says of it."""
    values = {
        "parent": found.parent,
        "parent_version": found.parent_version,
        "size": found.size,
        "lineage": list(found.lineage),
        "metadata": dict(found.metadata),
        "state": WRITTEN,
    }
    connection.execute(_CHANGE_BRANCH.values(values), {"of_table": table, "ref": found.name})


def adopt_branches(connection: Connection, table: int, found: Sequence[NewBranch], *, by: str) -> None:
    """Make rows of branches that are in storage already, and whose versions are rows."""
    _NEW_BRANCH.many(connection, [_branch_values(table, branch, WRITTEN, by) for branch in found])


def users_of_branch(connection: Connection, table: int, name: str) -> Sequence[str]:
    """Return what needs a branch: the tags on it and the branches that began from it."""
    rows = connection.execute(_USERS, {"of_table": table, "ref": name})
    return [f"the {row.kind} {row.name!r}" for row in rows]


def remove_branch(connection: Connection, table: int, name: str, *, by: str | None = None) -> None:
    """Delete a branch, whose row stays until its files are deleted."""
    values = {"state": REMOVED, "stamp": _stamp()}
    if connection.execute(_CHANGE_BRANCH.values(values), {"of_table": table, "ref": name}).rowcount:
        outbox.record_object(connection, "branch.deleted", table, by=by, data={"branch": name})


def forget_branch(connection: Connection, branch: Branch) -> bool:
    """Delete the row of a branch whose files are deleted."""
    return _matched(connection, _FORGET_BRANCH, branch)


def drop_branch(connection: Connection, table: int, name: str, *, by: str | None = None) -> None:
    """Delete the row of a branch at once: its files are gone already, or were never written."""
    if connection.execute(delete(branches).where(_of(branches)), {"of_table": table, "ref": name}).rowcount:
        outbox.record_object(connection, "branch.deleted", table, by=by, data={"branch": name})


def forget_branches(connection: Connection, table: int) -> None:
    """Delete all rows of a table's branches: from now on storage has them alone."""
    connection.execute(delete(branches).where(branches.c.table_id == table))


def versions_of(connection: Connection, table: int) -> set[tuple[str, int]]:
    """Return the versions of a table, each by its branch and number."""
    statement = select(versions.c.branch, versions.c.version).where(versions.c.table_id == table)
    return {(row.branch, row.version) for row in connection.execute(statement)}


def _branch_values(table: int, new: NewBranch, state: State, by: str) -> dict[str, object]:
    return {
        "table_id": table,
        "name": new.name,
        "parent": new.parent,
        "parent_version": new.parent_version,
        "size": new.size,
        "lineage": list(new.lineage),
        "metadata": dict(new.metadata),
        "state": state,
        "stamp": _stamp(),
        "owner": by,
        "created_by": by,
    }
