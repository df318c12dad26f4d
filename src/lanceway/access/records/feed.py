"""The feed as a caller may see it, and its events as CloudEvents.

An event about an object is for those who may see the object now. One about an object that is gone is for those who own
what it was in; and that it went also for those who see whatever is in its namespace, unless something was denied on it.
Of an object in a mounted catalog only its service knows whether it is still there, or another of its name: events about
it are for those who own the catalog, to whom nothing in it is hidden.
Events about rights, users, jobs and runs are for those who may read these. All rights are read when the page is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from lanceway.access.lists import shows_all
from lanceway.access.privileges import USE_SCHEMA
from lanceway.access.rights import roles as role_rights
from lanceway.access.rights.actor import REVIEW, Actor
from lanceway.access.rights.reviews import grant_rule
from lanceway.access.rules import BY_NAME, LOAD, VISIBLE
from lanceway.lake import users
from lanceway.lake.access import facts, groups
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.securables import METALAKE, Securable
from lanceway.lake.feed import places, reading
from lanceway.lake.feed.places import PresentPlace
from lanceway.lake.feed.reading import MOUNT, FeedFilter, FeedPosition, FeedRow
from lanceway.lake.feed.types import PREFIX
from lanceway.lake.runs import jobs, runs
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE, USER, VIEW

MANAGE_USERS = "manage users"
# The families whose events are about an object of the tree.
_OF_TREE = frozenset({"catalog", "namespace", "table", "view", "version", "tag", "branch", "definition"})
_OBJECT_KINDS = frozenset({"catalog", "namespace", "table", "iceberg_table", "view"})
# A page ends after so many decisions: of a feed of things that are hidden, each reader looks at a part at a time.
_MOST_DECISIONS = 300
_INTERNAL = frozenset({"previous_parent", "mounted", MOUNT})
_PURGED_AT_ONCE = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events that a caller may see, and the position to go on from. `is_end`: nothing more can be read now."""

    events: Sequence[tuple[FeedRow, Mapping[str, Any]]]
    end: FeedPosition
    is_end: bool


def read_page(store: LakeStore, actor: Actor, wanted: FeedFilter, after: FeedPosition | None, limit: int) -> FeedPage:
    """Return the next events after a position that the actor may see; without one, from the oldest on.

    It may have fewer than there are, even none, and then says where to go on. Raises FeedExpiredError.
    """

    def work(connection: Connection) -> FeedPage:
        start = after or reading.START
        rows, end = reading.page(connection, wanted, start, limit)
        view = _View(connection, actor, rows)
        events: list[tuple[FeedRow, Mapping[str, Any]]] = []
        for row in rows:
            if view.decisions >= _MOST_DECISIONS:
                return FeedPage(events, start, is_end=False)
            if view.shows(row):
                events.append((row, view.data(row)))
            start = row.position
        return FeedPage(events, end, is_end=end >= reading.newest(connection))

    return store.snapshot(work)


class _View:
    """What one caller may see of some events, each place decided once."""

    def __init__(self, connection: Connection, actor: Actor, rows: Sequence[FeedRow]) -> None:
        self.connection, self.actor = connection, actor
        self.decisions = 0
        self._held: dict[Securable, Holdings] = {}
        self._may: dict[tuple[str, ...], bool] = {}
        self.sees_all = actor.is_admin(connection)
        self._objects: Mapping[int, PresentPlace] = {}
        self._catalogs: Mapping[int, Securable] = {}
        self._mounts: Mapping[str, Securable] = {}
        if not self.sees_all:
            about = [row for row in rows if row.kind in _OBJECT_KINDS or row.family == "grant"]
            ids = {id_ for row in about for id_ in (row.row_id, row.parent_id, row.data.get("previous_parent")) if id_}
            self._objects = places.of_objects(connection, ids)
            self._catalogs = places.of_catalogs(connection, {row.catalog_id for row in about if row.catalog_id})
            if any(MOUNT in row.data for row in about):
                self._mounts = places.of_mounts(connection)

    def shows(self, row: FeedRow) -> bool:
        """Return whether the caller may know of an event."""
        if self.sees_all:
            return True
        if row.kind in _OBJECT_KINDS and (row.family in _OF_TREE or row.family == "owner"):
            return self._shows_object(row)
        about: dict[str, Callable[[FeedRow], bool]] = {
            METALAKE: lambda row: True,
            "owner": lambda row: self._is_one_of(REVIEW),
            "grant": self._shows_grant,
            "role": self._shows_role,
            "group": self._shows_group,
            "user": self._shows_user,
            "token": self._is_self,
            "job": self._shows_job,
            "run": self._shows_run,
        }
        return about[row.family](row)

    def data(self, row: FeedRow) -> Mapping[str, Any]:
        """Return what an event says, without names that the caller may not see."""
        facts_ = {key: value for key, value in row.data.items() if key not in _INTERNAL}
        parent = row.data.get("previous_parent")
        if parent is not None and parent != row.parent_id and not self._shows_parent(parent):
            del facts_["previous"]
        if row.actor is not None and (self.sees_all or row.actor == self.actor.name or self._is_one_of(MANAGE_USERS)):
            facts_["actor"] = row.actor
        return facts_

    # -- objects ---------------------------------------------------------------------------------

    def _shows_object(self, row: FeedRow) -> bool:
        if MOUNT in row.data:
            return self._shows_mounted(row)
        catalog = self._catalogs.get(row.catalog_id or 0)
        if catalog is None:  # it is gone, with all that was in it
            held = self._holdings(Securable(self.actor.metalake))
            return held.passes or METALAKE in held.owned
        held = self._holdings(catalog)
        if shows_all(held):
            return True
        if not BY_NAME[LOAD[catalog.level]].allows(held):
            return False
        now = self._objects.get(row.row_id or 0)
        if now is None:
            return self._shows_gone(row)
        # The name that it had in another namespace is for those who may see that one.
        return self._may_load(now.place) and (row.parent_id == now.parent_id or self._shows_parent(row.parent_id))

    def _shows_mounted(self, row: FeedRow) -> bool:
        """Return whether the caller owns the mounted catalog that an event is about, or the metalake."""
        key = row.data[MOUNT]
        catalog = self._mounts.get(key) if key else Securable(self.actor.metalake, row.catalog, mounted=True)
        if not key and any(mount.catalog == row.catalog for mount in self._mounts.values()):
            catalog = None  # the one of the configuration is gone, and another has its name
        return shows_all(self._holdings(catalog or Securable(self.actor.metalake)))

    def _shows_gone(self, row: FeedRow) -> bool:
        around = self._objects.get(row.parent_id or 0)
        if around is None:
            return False
        held = self._holdings(around.place)
        if shows_all(held):
            return True
        if not row.undenied or not self._may_load(around.place) or not held.has(USE_SCHEMA):
            return False
        return row.kind == NAMESPACE or any(map(held.has, VISIBLE[VIEW if row.kind == VIEW else TABLE]))

    def _shows_parent(self, id_: int | None) -> bool:
        around = self._objects.get(id_ or 0)
        return self.sees_all or (around is not None and self._may_load(around.place))

    def _may_load(self, place: Securable) -> bool:
        return BY_NAME[LOAD[place.level]].allows(self._holdings(place))

    def _holdings(self, place: Securable) -> Holdings:
        held = self._held.get(place)
        if held is None:
            self.decisions += 1
            held = self._held[place] = Holdings.of(facts.load(self.connection, self.actor.caller, place))
        return held

    # -- rights and people -----------------------------------------------------------------------

    def _is_one_of(self, *rules: str) -> bool:
        may = self._may.get(rules)
        if may is None:
            self.decisions += 1
            may = self._may[rules] = self.actor.may(self.connection, *rules)
        return may

    def _shows_grant(self, row: FeedRow) -> bool:
        if self._is_one_of(REVIEW):
            return True
        now = self._objects.get(row.row_id or 0)
        if now is None:
            return False
        self.decisions += 1
        if self.actor.may(self.connection, grant_rule(now.place), place=now.place):
            return True
        return row.data["role"] in role_rights.held(self.connection, self.actor) and self._may_load(now.place)

    def _shows_role(self, row: FeedRow) -> bool:
        if self._is_one_of(role_rights.MANAGE, role_rights.CREATE):
            return True
        return (row.data.get("holder"), row.data.get("holder_kind")) == (self.actor.name, USER)

    def _shows_group(self, row: FeedRow) -> bool:
        if self._is_one_of("manage groups", "manage roles"):
            return True
        self.decisions += 1
        mine = groups.of_user(self.connection, self.actor.name)
        group = groups.find(self.connection, row.name) if row.name in mine else None
        return group is not None and group.id == row.row_id

    def _shows_user(self, row: FeedRow) -> bool:
        return self._is_one_of(MANAGE_USERS) or self._is_self(row)

    def _is_self(self, row: FeedRow) -> bool:
        self.decisions += 1
        user = users.find(self.connection, self.actor.name)
        return user is not None and user.id == row.row_id

    # -- jobs and runs ---------------------------------------------------------------------------

    def _shows_job(self, row: FeedRow) -> bool:
        self.decisions += 1
        job = jobs.find(self.connection, row.name)
        return job is not None and job.requested_by == self.actor.name

    def _shows_run(self, row: FeedRow) -> bool:
        self.decisions += 1
        return row.row_id is not None and self.actor.name in runs.people(self.connection, row.row_id)


# -- CloudEvents ---------------------------------------------------------------------------------

_FOLDERS = {"user": "users", "token": "users", "group": "groups", "role": "roles", "job": "jobs", "run": "runs"}


def cloud_event(row: FeedRow, data: Mapping[str, Any], id_: str, source: str) -> dict[str, Any]:
    """Return an event as CloudEvents 1.0 has it."""
    names, folder = row.names, _FOLDERS.get(row.family)
    about: dict[str, Any] = {"kind": data.get("level", row.kind), "object": names}
    if folder is not None:
        about = {"user" if row.family == "token" else row.family: row.name}
    return {
        "specversion": "1.0",
        "id": id_,
        "source": source,
        "type": f"{PREFIX}{row.type}",
        "subject": f"{folder}/{row.name}" if folder is not None else "$".join(names) or METALAKE,
        "time": (_EPOCH + timedelta(milliseconds=row.at)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": {**about, **{key: value for key, value in data.items() if key != "level"}},
    }


def source_of(store: LakeStore) -> str:
    """Return the URI by which the events of a lake are told from those of others."""
    return UUID(store.identity).urn


def purge(store: LakeStore, older_than: timedelta) -> int:
    """Delete the events that are older than this, some at a time, and return how many those were."""
    retention, deleted = older_than // timedelta(milliseconds=1), 0
    while count := store.transact(reading.purge, retention=retention, most=_PURGED_AT_ONCE):
        deleted += count
    return deleted
