"""Events as they are read: in order, from a position on, up to where nothing can be added any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    or_,
    select,
    tuple_,
    update,
)

from lanceway.errors import InvalidInputError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.feed.order import first_open_turn
from lanceway.lake.feed.types import PREFIX, TYPES
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import feed, settings
from lanceway.lake.tree.settings import FEED_BEGINNING

# Of an event in a mounted catalog: the key of the mount, which is empty for one of the configuration.
MOUNT = "mount"
# So many rows are looked at for one page, however few of them are wanted.
WINDOW = 5_000


class FeedExpiredError(InvalidInputError):
    """Events after the position that was asked for are deleted: a reader has come too late."""

    status = 410


class FeedPosition(NamedTuple):
    """A place in the feed: right behind the event with this turn and id."""

    turn: int
    id: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return a position from its text. Raises InvalidInputError."""
        turn, dot, id_ = text.partition(".")
        if not (dot and turn.isascii() and turn.isdigit() and id_.isascii() and id_.isdigit() and len(text) < 40):
            raise InvalidInputError(
                f"{text[:40]!r} is not a position in the feed. Pass the id of an event, or the cursor of a page."
            )
        return cls(int(turn), int(id_))

    def __str__(self) -> str:
        return f"{self.turn}.{self.id}"


START = FeedPosition(-1, 0)


@dataclass(frozen=True, slots=True)
class FeedRow:
    """An event. What its columns mean is in the schema."""

    id: int
    turn: int
    at: int
    type: str
    actor: str | None
    metalake: str | None
    catalog: str | None
    space: str | None
    kind: str
    name: str
    catalog_id: int | None
    parent_id: int | None
    row_id: int | None
    undenied: bool | None
    data: Mapping[str, Any]

    @classmethod
    def of(cls, row: Row[Any]) -> FeedRow:
        columns: tuple[Any, ...] = tuple(row)
        return cls(*columns)

    @property
    def position(self) -> FeedPosition:
        return FeedPosition(self.turn, self.id)

    @property
    def family(self) -> str:
        """Return what the event is about: the first word of its type."""
        return self.type.partition(".")[0]

    @property
    def names(self) -> list[str]:
        """Return the path of the object that it is about, the catalog first; empty if it is about none."""
        if self.catalog is None:
            return []
        leaf = [self.name] if self.name else []
        return [self.catalog, *HierarchicalName.from_physical(self.space or ""), *leaf]


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """Which events are wanted: of one metalake and of none, of some types, about one object and what is inside."""

    metalake: str
    types: frozenset[str] = frozenset()
    under: Identifier | None = None

    @classmethod
    def of(cls, metalake: str, types: Iterable[str], under: Identifier | None) -> FeedFilter:
        """Return a filter for types as people write them: `table.created`, or `table` for all about tables."""
        return cls(metalake, frozenset(name for text in types for name in _types(text)), under or None)

    def conditions(self, columns: Any) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = [or_(columns.metalake.is_(None), columns.metalake == self.metalake)]
        if self.types:
            found.append(columns.type.in_(sorted(self.types)))
        if self.under is not None:
            found.append(columns.catalog == self.under[0])
            found += self._inside(columns, HierarchicalName(self.under[1:]))
        return found

    @staticmethod
    def _inside(columns: Any, path: HierarchicalName) -> list[ColumnElement[bool]]:
        if path.is_root:
            return []
        space, around = path.physical, HierarchicalName(path.parent).physical
        # "/" comes right after ".": between the two is exactly what is inside.
        below = (columns.space > f"{space}.") & (columns.space < f"{space}/")
        return [or_(columns.space == space, below, (columns.space == around) & (columns.name == path.name))]


def _types(text: str) -> Collection[str]:
    name = text.removeprefix(PREFIX).removesuffix(".*")
    matching = [type_ for type_ in TYPES if type_ == name or type_.startswith(f"{name}.")]
    if not matching:
        families = ", ".join(sorted({type_.partition(".")[0] for type_ in TYPES}))
        raise InvalidInputError(
            f"There are no events of the type {text!r}. Use one such as table.created, or a family: {families}."
        )
    return matching


_TURN, _ID = bindparam("turn", type_=BigInteger), bindparam("id", type_=BigInteger)
_LIMIT = bindparam("window", type_=BigInteger)
_BY_TURN = (feed.c.turn, feed.c.id)
# In SQLite every turn is 0, so the order is that of the ids, for which it needs no further index.
_ORDER: Mapping[str, tuple[ColumnElement[Any], ...]] = {"sqlite": (feed.c.id,), "postgresql": _BY_TURN}
_AFTER: Mapping[str, ColumnElement[bool]] = {
    "sqlite": feed.c.id > _ID,
    "postgresql": tuple_(*_BY_TURN) > tuple_(_TURN, _ID),
}
_UP_TO: Mapping[str, ColumnElement[bool]] = {
    "sqlite": feed.c.id <= _ID,
    "postgresql": tuple_(*_BY_TURN) <= tuple_(_TURN, _ID),
}
_SETTLED: Mapping[str, Select[Any]] = {
    name: select(feed).where(_AFTER[name], feed.c.turn < first_open_turn()).order_by(*order).limit(_LIMIT)
    for name, order in _ORDER.items()
}
_WINDOW = {name: statement.subquery("settled") for name, statement in _SETTLED.items()}
_END = {
    name: select(window.c.turn, window.c.id).order_by(window.c.turn.desc(), window.c.id.desc()).limit(1)
    for name, window in _WINDOW.items()
}
_NEWEST = {
    name: select(feed.c.turn, feed.c.id)
    .where(feed.c.turn < first_open_turn())
    .order_by(*(column.desc() for column in order))
    .limit(1)
    for name, order in _ORDER.items()
}
_BEGINNING = select(settings.c.value).where(settings.c.key == FEED_BEGINNING)
_INSERT_SETTING = Insert(settings)


def page(
    connection: Connection, wanted: FeedFilter, after: FeedPosition, limit: int, *, window: int = WINDOW
) -> tuple[Sequence[FeedRow], FeedPosition]:
    """Return the first `limit` events after a position that are wanted, and the position up to which all were seen.

    At most `window` events are looked at. Read it in a snapshot. Raises FeedExpiredError.
    """
    _refuse_expired(connection, after)
    parameters = {"turn": after.turn, "id": after.id, "window": window}
    settled = _WINDOW[connection.dialect.name]
    chosen: Select[Any] = select(settled).where(*wanted.conditions(settled.c)).order_by(settled.c.turn, settled.c.id)
    rows = [FeedRow.of(row) for row in connection.execute(chosen.limit(limit), parameters)]
    if len(rows) == limit:
        return rows, rows[-1].position
    end = connection.execute(_END[connection.dialect.name], parameters).one_or_none()
    return rows, after if end is None else FeedPosition(end.turn, end.id)


def latest(connection: Connection, wanted: FeedFilter, *, window: int = WINDOW, skipped: int = 0) -> Sequence[FeedRow]:
    """Return those of the last `window` events that are wanted, the newest first. Read it in a snapshot.

    The newest events of all may be `skipped`, so that those before them are looked at.
    """
    order = [column.desc() for column in _ORDER[connection.dialect.name]]
    last = select(feed).order_by(*order).limit(window).offset(skipped).subquery("last")
    chosen = select(last).where(*wanted.conditions(last.c)).order_by(last.c.turn.desc(), last.c.id.desc())
    return [FeedRow.of(row) for row in connection.execute(chosen)]


def newest(connection: Connection) -> FeedPosition:
    """Return the position behind all events that can be read now."""
    row = connection.execute(_NEWEST[connection.dialect.name]).one_or_none()
    return beginning(connection) if row is None else FeedPosition(row.turn, row.id)


def beginning(connection: Connection) -> FeedPosition:
    """Return the position behind the last event that was deleted."""
    text = connection.execute(_BEGINNING).scalar_one_or_none()
    return START if text is None else FeedPosition.parse(text)


def _refuse_expired(connection: Connection, after: FeedPosition) -> None:
    if after == START:
        return
    if after < beginning(connection):
        raise FeedExpiredError(
            f"Events after this position are deleted, and this reader has come too late. {_kept(connection)} Read the "
            "state of the tree itself and continue with after=latest, or leave `after` out for the oldest event."
        )
    if after > newest(connection):
        raise FeedExpiredError(
            "The feed ends before this position: the lake's database is a copy from an earlier time. Read the state of "
            "the tree itself, and continue with what comes from now on: after=latest."
        )


def _kept(connection: Connection) -> str:
    at = connection.execute(select(feed.c.at).order_by(*_ORDER[connection.dialect.name]).limit(1)).scalar_one_or_none()
    if at is None:
        return "The feed has no events now."
    return f"The feed now begins at {datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}."


# -- retention -----------------------------------------------------------------------------------

_IS_OLD = (feed.c.at < now() - bindparam("retention", type_=BigInteger)).label("old")
_OLDEST = {name: rows.with_only_columns(feed.c.turn, feed.c.id, _IS_OLD) for name, rows in _SETTLED.items()}


def purge(connection: Connection, *, retention: int, most: int) -> int:
    """Delete up to `most` events that are older than `retention` milliseconds, and return how many those were.

    They are the oldest in the order of the feed, so that a reader who has seen the last of them misses nothing. The
    newest one stays, however old it is: SQLite counts on from it.
    """
    _INSERT_SETTING(connection, {"key": FEED_BEGINNING, "value": str(START._replace(turn=0))})
    connection.execute(_BEGINNING.with_for_update()).one()  # one process at a time
    start = {"turn": START.turn, "id": START.id, "window": most, "retention": retention}
    last, end = None, newest(connection)
    for row in connection.execute(_OLDEST[connection.dialect.name], start):
        if not row.old or (row.turn, row.id) == end:
            break
        last = FeedPosition(row.turn, row.id)
    if last is None:
        return 0
    connection.execute(update(settings).where(settings.c.key == FEED_BEGINNING).values(value=str(last)))
    return connection.execute(
        delete(feed).where(_UP_TO[connection.dialect.name]), {"turn": last.turn, "id": last.id}
    ).rowcount
