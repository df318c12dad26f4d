"""The tables that changed last, as far as a caller may see them: read from the end of the feed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection

from lanceway.access.rights.actor import Actor
from lanceway.access.rules import BY_NAME, LOAD
from lanceway.lake.access import facts, holdings
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.securables import Securable
from lanceway.lake.feed import places, reading
from lanceway.lake.feed.places import PresentPlace
from lanceway.lake.feed.reading import FeedFilter, FeedRow
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import TABLE

_TYPES = ("table.created", "table.registered", "table.cloned", "version.created", "version.adopted")
# Events are looked at in pages, until the list is full. However much happens, a list costs no more than the last of
# them, and so many decisions. What is hidden among these takes no place of what is shown.
_PAGE, _MOST_EVENTS, _MOST_DECISIONS = 2_000, 10_000, 2_000


@dataclass(frozen=True, slots=True)
class RecentTable:
    """A table by its present name, and when it changed last, in milliseconds since 1970."""

    names: Sequence[str]
    changed_at: int


def recent_tables(store: LakeStore, actor: Actor, limit: int) -> Sequence[RecentTable]:
    """Return the tables of the lake that changed last and that the actor may see, the newest first."""

    def work(connection: Connection) -> Sequence[RecentTable]:
        wanted = FeedFilter.of(actor.metalake, _TYPES, None)
        visibility, seen = _Visibility(connection, actor), set[int]()
        visible: list[RecentTable] = []
        for skipped in range(0, _MOST_EVENTS, _PAGE):
            changes: dict[int, FeedRow] = {}
            for row in reading.latest(connection, wanted, window=_PAGE, skipped=skipped):
                if row.row_id is not None and row.row_id not in seen:
                    changes.setdefault(row.row_id, row)  # the newest comes first
            seen |= changes.keys()
            visible += islice(visibility.shown(changes), limit - len(visible))
            if len(visible) == limit or visibility.is_exhausted:
                break
        return visible

    return store.snapshot(work)


class _Visibility:
    """Which tables an actor may see. Those of a namespace that have no rights of their own are decided together."""

    def __init__(self, connection: Connection, actor: Actor) -> None:
        self._connection, self._actor = connection, actor
        self._sees_all = actor.is_admin(connection)
        self._alike: dict[int | None, bool] = {}
        self._decisions = 0

    @property
    def is_exhausted(self) -> bool:
        """Return whether no more tables are decided for one list."""
        return self._decisions >= _MOST_DECISIONS

    def shown(self, changes: Mapping[int, FeedRow]) -> Iterator[RecentTable]:
        """Yield the tables that changed, by their ids, of those that are there and visible; in the same order."""
        present = places.of_objects(self._connection, changes.keys())
        tables = [id_ for id_, row in changes.items() if id_ in present and row.kind == TABLE]
        apart = set() if self._sees_all else holdings.set_apart(self._connection, self._actor.name, set(tables))
        for id_ in tables:
            if self.is_exhausted:
                return
            now = present[id_]
            if now.place.catalog is not None and self._shows(now, is_apart=id_ in apart):
                yield RecentTable((now.place.catalog, *now.place.path), changes[id_].at)

    def _shows(self, now: PresentPlace, *, is_apart: bool) -> bool:
        if self._sees_all:
            return True
        if is_apart:
            return self._may_load(now.place)
        if now.parent_id not in self._alike:
            self._alike[now.parent_id] = self._may_load(now.place)
        return self._alike[now.parent_id]

    def _may_load(self, place: Securable) -> bool:
        self._decisions += 1
        held = Holdings.of(facts.load(self._connection, self._actor.caller, place))
        return BY_NAME[LOAD[place.level]].allows(held)
