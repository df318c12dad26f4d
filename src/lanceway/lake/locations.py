"""Where tables lie: no location is given twice, nor one inside another.

A new table that is given no location gets one that nobody else can ask for: a random name directly under
the root of its catalog. A location that somebody chose is compared with all others, by one at a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Column, ColumnElement, Connection, or_, select

from lanceway.errors import InvalidInputError
from lanceway.lake.names import LONGEST_INDEXED
from lanceway.lake.schema import LOCATIONS, catalogs, locks, objects, removals

_LOCK = select(locks.c.name).where(locks.c.name == LOCATIONS).with_for_update()


def under(root: str) -> str:
    """A location for a new table: by an id that stays, so that renaming the table moves nothing."""
    return f"{root}/{uuid.uuid4().hex}"


def canonical(location: str) -> str:
    """One spelling for one place. Refuses what is no absolute path nor a URI."""
    scheme, mark, rest = location.partition("://")
    if not mark:
        scheme, rest = "", location
    elif scheme.lower() == "file":
        scheme, rest = "", unquote(rest.removeprefix("localhost"))
    parts = [part for part in rest.split("/") if part]
    absolute = bool(scheme) or rest.startswith("/")
    if not absolute or not parts or not {".", ".."}.isdisjoint(parts):
        raise InvalidInputError(
            f"The location {location!r} cannot be used: it must be a URI or an absolute path, without '.' or '..', "
            "and not the root of everything."
        )
    text = f"{scheme.lower()}://{'/'.join(parts)}" if scheme else f"/{'/'.join(parts)}"
    if len(text.encode()) > LONGEST_INDEXED or not text.isprintable():
        raise InvalidInputError(
            f"The location {text[:40]!r}… cannot be used: it must have printable characters and at most "
            f"{LONGEST_INDEXED} bytes."
        )
    return text


def claim(connection: Connection, location: str) -> str:
    """A location that somebody chose for a table, in its one spelling, for the rest of the transaction.

    Raises InvalidInputError if it is taken, lies inside a taken one, or contains one or a catalog's root.
    """
    wanted = canonical(location)
    connection.execute(_LOCK)
    _refuse(wanted, "of another table", _first(connection, objects.c.location, wanted, inside=True))
    _refuse(wanted, "of a dropped table whose data is being removed", _removed(connection, wanted))
    _refuse(wanted, "of a catalog", _first(connection, catalogs.c.location, wanted, inside=False))
    return wanted


def claim_root(connection: Connection, location: str) -> str:
    """The location of a new catalog. Raises InvalidInputError if it is a table's or inside a table's."""
    wanted = canonical(location)
    connection.execute(_LOCK)
    taken = select(objects.c.location).where(objects.c.location.in_(_upwards(wanted))).limit(1)
    _refuse(wanted, "of a table", connection.execute(taken).scalar())
    return wanted


def is_abandoned(connection: Connection, location: str) -> bool:
    """Whether no table lies at a location, in it or around it; it stays so for the rest of the transaction."""
    connection.execute(_LOCK)
    return _first(connection, objects.c.location, location, inside=True) is None


def is_managed(connection: Connection, location: str) -> bool:
    """Whether a managed table lies at a location."""
    found = select(objects.c.id).where(objects.c.location == location, objects.c.managed)
    return connection.execute(found).scalar() is not None


def _first(connection: Connection, column: Column[Any], wanted: str, *, inside: bool) -> str | None:
    """One of the locations in a column that meets the wanted one; `inside`: also one that it lies in."""
    same = column.in_(_upwards(wanted)) if inside else column == wanted
    found: str | None = connection.execute(select(column).where(or_(same, _below(column, wanted))).limit(1)).scalar()
    return found


def _removed(connection: Connection, wanted: str) -> str | None:
    return _first(connection, removals.c.location, wanted, inside=True)


def _upwards(location: str) -> Sequence[str]:
    """The location and everything that it lies in."""
    parts = location.split("/")
    return ["/".join(parts[: length + 1]) for length in range(len(parts)) if parts[length]]


def _below(column: Column[Any], location: str) -> ColumnElement[bool]:
    # "0" comes right after "/": between the two is what begins with the location and a slash, found by index.
    return (column > f"{location}/") & (column < f"{location}0")


def _refuse(wanted: str, whose: str, other: str | None) -> None:
    if other is None:
        return
    how = "is" if other == wanted else "lies inside" if wanted.startswith(f"{other}/") else "contains"
    raise InvalidInputError(
        f"The location {wanted} cannot be used: it {how} the location {other} {whose}. Choose another one."
    )
