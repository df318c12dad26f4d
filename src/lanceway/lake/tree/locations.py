"""Locations of tables: none is given twice, and none is inside another.

A new table that is given no location gets one that no user can ask for: a random name directly under
the root of its catalog. A location that a user chose is compared with all others, under a lock.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from sqlalchemy import Column, ColumnElement, Connection, delete, insert, or_, select

from lanceway.errors import InvalidInputError
from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import LOCATIONS, catalogs, locks, objects, removals, retired_locations
from lanceway.lake.tree import settings
from lanceway.lake.tree.names import LONGEST_INDEXED

_LOCAL = frozenset({"file", "file-object-store"})
# Where one folder has many names, or the names are no folders; but for the one in which memory is a disk.
_SYSTEM, _MEMORY = frozenset({"proc", "dev", "sys"}), "shm"
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*")
_CHOSEN = re.compile("[0-9a-f]{32}")
# In a bucket a path is read as a URI's: what would be taken for an escape, a fragment or a query is written so.
_ESCAPED = str.maketrans({"%": "%25", "#": "%23", "?": "%3F"})

_AT_ONCE = 500  # values of one statement

_LOCK = select(locks.c.name).where(locks.c.name == LOCATIONS).with_for_update()


def under(root: str) -> str:
    """Return a new location under a root. It has a random name, so that renaming the table moves nothing."""
    return f"{root}/{uuid.uuid4().hex}"


def is_chosen(location: str, roots: Iterable[str | None]) -> bool:
    """Return whether `under` made a location below one of the roots: then everything there is its table's."""
    root, _, name = location.rpartition("/")
    return root in roots and _CHOSEN.fullmatch(name) is not None


def canonical(location: str) -> str:
    """Return the one spelling of a location, as storage reads it. Refuse what is neither an absolute path nor a URI.

    Links in a local path are followed, so this looks at the file system: never call it in a transaction.
    """
    text = spelled(location)
    if not text.startswith("/"):
        return text
    real = spelled(os.path.realpath(text))
    if _is_of_the_system(text) or _is_of_the_system(real):
        raise InvalidInputError(
            f"The location {location!r} cannot be used: /proc, /dev and /sys belong to the operating system, "
            "or something else under another name. Use the path that the folder has."
        )
    return real


def spelled(location: str) -> str:
    """Return the spelling of a location from its text alone: `canonical` without following links."""
    scheme, mark, tail = location.partition("://")
    if not mark:
        scheme, path = "", location
    elif scheme.lower() in _LOCAL:
        scheme, path = "", unquote(tail.removeprefix("localhost"))
    else:
        bucket, _, key = _checked_uri(location, scheme, tail).partition("/")
        path = f"{bucket}/{unquote(key)}"
    parts = [part for part in path.split("/") if part]
    absolute = bool(scheme) or path.startswith("/")
    if not absolute or not parts or not {".", ".."}.isdisjoint(parts):
        raise InvalidInputError(
            f"The location {location!r} cannot be used: it must be a URI or an absolute path, without '.' or '..', "
            "and not the root of everything."
        )
    joined = "/".join(parts)
    text = f"{scheme.lower()}://{joined.translate(_ESCAPED)}" if scheme else f"/{joined}"
    if len(text.encode(errors="surrogatepass")) > LONGEST_INDEXED or not text.isprintable():
        raise InvalidInputError(
            f"The location {text[:40]!r}… cannot be used: it must have printable characters and at most "
            f"{LONGEST_INDEXED} bytes."
        )
    return text


def _checked_uri(location: str, scheme: str, rest: str) -> str:
    below = rest.lstrip("/")
    if _SCHEME.fullmatch(scheme) is None or "?" in rest or "#" in rest or "%" in below.partition("/")[0]:
        raise InvalidInputError(
            f"The location {location!r} cannot be used: a URI begins with a scheme and a bucket, such as s3://bucket, "
            "and '?' and '#' in a name below are written %3F and %23."
        )
    return below


def _is_of_the_system(path: str) -> bool:
    top, _, below = path[1:].partition("/")
    return top in _SYSTEM and not (top == "dev" and below.partition("/")[0] == _MEMORY)


def is_same(location: str, other: str) -> bool:
    """Return whether two spellings mean one location. It reads the file system."""
    return spelled(location) == spelled(other) or canonical(location) == canonical(other)


def roots(connection: Connection) -> Sequence[str]:
    """Return the locations of all catalogs."""
    statement = select(catalogs.c.location).where(catalogs.c.location.is_not(None)).distinct()
    return connection.execute(statement).scalars().all()


def placed(location: str, roots: Iterable[str]) -> str:
    """Return the spelling in which the lake stores a location that a user chose; `roots` are its catalogs' locations.

    A root that was recorded with a link in its path keeps that spelling, and so does all below it. To be asked for
    before the transaction that claims the location, since it looks at the file system.
    """
    path = canonical(location)
    for root in roots:
        real = os.path.realpath(root) if root.startswith("/") else root
        if real == root:
            continue  # compared as text, in the transaction
        if path.startswith(f"{real}/"):
            return f"{root}{path.removeprefix(real)}"
        if real == path or real.startswith(f"{path}/"):
            raise InvalidInputError(
                f"The location {path} cannot be used: it is or contains the location {root} of a catalog. Choose "
                "another one."
            )
    return path


def refuse_known(connection: Connection, location: str, placed: str) -> None:
    """Refuse a location that overlaps a table's in another spelling than the one it is `placed` in.

    Rows from before there was one spelling keep theirs. None is added, so that it is enough to look before the
    transaction that claims the location.
    """
    for spelling in sorted(_earlier_spellings(location) - {placed}):
        _refuse(spelling, "of another table", _first(connection, objects.c.location, spelling, inside=True))


def _earlier_spellings(location: str) -> set[str]:
    text = spelled(location)
    if text.startswith("/"):
        return {text}
    scheme, _, path = text.partition("://")
    as_written = "/".join(part for part in location.partition("://")[2].split("/") if part)
    return {text, f"{scheme}://{as_written}", f"{scheme}://{quote(unquote(path))}"}


def claim(connection: Connection, location: str) -> str:
    """Reserve a location that a user chose for a table, as `placed` returns it, until the transaction ends.

    Raises InvalidInputError if it is taken, is inside a taken one, or contains one or a catalog's root.
    """
    path = spelled(location)
    connection.execute(_LOCK)
    _refuse(path, "of another table", _first(connection, objects.c.location, path, inside=True))
    _refuse(path, "of a dropped table whose data is being removed", _removed(connection, path))
    _refuse(path, "of a catalog", _first(connection, catalogs.c.location, path, inside=False))
    _refuse_retired(connection, path)
    return path


def overlapping(connection: Connection, location: str) -> str | None:
    """Return the location of a table that is, contains or is inside of a location; None where there is none now."""
    return _first(connection, objects.c.location, location, inside=True)


def claim_root(connection: Connection, location: str) -> str:
    """Reserve the location of a new catalog, as `canonical` returns it.

    Raises InvalidInputError if it is a table's or inside a table's.
    """
    path = spelled(location)
    connection.execute(_LOCK)
    statement = select(objects.c.location).where(objects.c.location.in_(_upwards(path))).limit(1)
    _refuse(path, "of a table", connection.execute(statement).scalar())
    return path


def is_abandoned(connection: Connection, location: str) -> bool:
    """Return whether no table is at a location, inside it or around it; that stays so until the transaction ends."""
    connection.execute(_LOCK)
    return _first(connection, objects.c.location, location, inside=True) is None


def holds_others(connection: Connection, location: str) -> bool:
    """Return whether more than one table may lie in a location: it is a catalog's, or above one's or a table's."""
    below = select(objects.c.location).where(_below(objects.c.location, location)).limit(1)
    is_above = connection.execute(below).scalar() is not None
    return is_above or _first(connection, catalogs.c.location, location, inside=False) is not None


def is_managed(connection: Connection, location: str) -> bool:
    """Return whether a managed table is at a location."""
    statement = select(objects.c.id).where(objects.c.location == location, objects.c.managed)
    return connection.execute(statement).scalar() is not None


def _first(connection: Connection, column: Column[Any], wanted: str, *, inside: bool) -> str | None:
    """Return a location in a column that is equal to or inside of one; with `inside`, also one that contains it."""
    same = column.in_(_upwards(wanted)) if inside else column == wanted
    conflict: str | None = connection.execute(select(column).where(or_(same, _below(column, wanted))).limit(1)).scalar()
    return conflict


def _removed(connection: Connection, wanted: str) -> str | None:
    return _first(connection, removals.c.location, wanted, inside=True)


def _upwards(location: str) -> Sequence[str]:
    """Return the location and every folder that contains it."""
    parts = location.split("/")
    return ["/".join(parts[: length + 1]) for length in range(len(parts)) if parts[length]]


def _below(column: Column[Any], location: str) -> ColumnElement[bool]:
    # "0" comes right after "/": between the two is what begins with the location and a slash, found by index.
    return (column > f"{location}/") & (column < f"{location}0")


def _refuse(wanted: str, whose: str, other: str | None) -> None:
    if other is None:
        return
    how = "is" if other == wanted else "is inside" if wanted.startswith(f"{other}/") else "contains"
    which = "" if how == "contains" else f" {other}"  # whoever asks may not know of what is inside
    raise InvalidInputError(
        f"The location {wanted} cannot be used: it {how} the location{which} {whose}. Choose another one."
    )


_INSERT = Insert(removals, dropped_at=now())
_PENDING = select(removals).order_by(removals.c.dropped_at, removals.c.location)


@dataclass(frozen=True, slots=True)
class Removal:
    location: str
    dropped_by: str
    dropped_at: int


def record(connection: Connection, locations: Sequence[str], *, by: str) -> None:
    _INSERT.many(connection, [{"location": location, "dropped_by": by} for location in locations])


def pending(connection: Connection, *, limit: int = 1000) -> Sequence[Removal]:
    """Return the data that is still to be deleted, oldest first."""
    rows = connection.execute(_PENDING.limit(limit))
    return [Removal(row.location, row.dropped_by, row.dropped_at) for row in rows]


def done(connection: Connection, location: str) -> None:
    """Forget a removal whose data is deleted: the location may be used again."""
    connection.execute(delete(removals).where(removals.c.location == location))


# -- locations of tables that have gone ----------------------------------------------------------


def retire_for(connection: Connection, seconds: int) -> None:
    """Keep locations of tables that go from now on for so long, if not for longer already: credentials live on."""
    if _credential_life(connection) < seconds:
        settings.store(connection, {settings.CREDENTIAL_LIFE: str(seconds)})


def retire(connection: Connection, gone: Sequence[str]) -> None:
    """Record that tables have left these locations, where credentials are vended, with what makes them go.

    No other table is put there while a credential may live that was made for the one that was.
    """
    seconds = _credential_life(connection)
    if not seconds:
        return
    connection.execute(delete(retired_locations).where(retired_locations.c.until <= now()))
    chosen = sorted({location for location in gone if not location.startswith("/")})  # a folder has no credentials
    if chosen:
        reuse(connection, chosen)
        values = [{"location": location} for location in chosen]
        connection.execute(insert(retired_locations).values(until=now() + seconds * 1000), values)


def reuse(connection: Connection, gone: Sequence[str]) -> None:
    """Let locations be used at once, by what replaces the same table."""
    for start in range(0, len(gone), _AT_ONCE):
        some = gone[start : start + _AT_ONCE]
        connection.execute(delete(retired_locations).where(retired_locations.c.location.in_(some)))


def _credential_life(connection: Connection) -> int:
    return int(settings.load(connection).get(settings.CREDENTIAL_LIFE, "0"))


def _refuse_retired(connection: Connection, wanted: str) -> None:
    column = retired_locations.c.location
    conflicts = select(column, (retired_locations.c.until - now()).label("left")).where(
        or_(column.in_(_upwards(wanted)), _below(column, wanted)), retired_locations.c.until > now()
    )
    row = connection.execute(conflicts.order_by(retired_locations.c.until.desc()).limit(1)).one_or_none()
    if row is not None:
        raise InvalidInputError(
            f"The location {wanted} cannot be used yet: a table was at {row.location}, and credentials that were made "
            f"for it open that place for another {-(-row.left // 1000)} seconds. Choose another one, or try again then."
        )
