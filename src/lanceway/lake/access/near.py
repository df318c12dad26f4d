"""The nearest known name, for those who mistype one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, select

from lanceway.lake.store.schema import Name

_MOST = 10_000  # names that are compared


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that looks most like one."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def hint(connection: Connection, name: str, column: ColumnElement[str], *where: ColumnElement[bool]) -> str:
    """Return a sentence with the nearest name in a column; an empty text if none is near."""
    names = connection.execute(select(column.cast(Name)).where(*where).limit(_MOST)).scalars()
    near = nearest(name, names)
    return f" Did you mean {near!r}?" if near is not None else ""
