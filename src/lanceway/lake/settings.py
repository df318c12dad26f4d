"""What holds for the whole lake, kept in its database."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from lanceway.lake.schema import settings
from lanceway.lake.separators import Separator

SEPARATOR, POLICY, OLDEST_CODE = "separator", "separator_policy", "oldest_code"

_ALL = select(settings.c.key, settings.c.value)


def load(connection: Connection) -> dict[str, str]:
    return {row.key: row.value for row in connection.execute(_ALL)}


def separator(connection: Connection) -> Separator:
    """The separator of the lake and its policy."""
    values = load(connection)
    return Separator(values[SEPARATOR], values[POLICY])


def store(connection: Connection, values: dict[str, str]) -> None:
    """Set some values, new ones or others."""
    for key, value in values.items():
        if not connection.execute(update(settings).where(settings.c.key == key).values(value=value)).rowcount:
            connection.execute(insert(settings).values(key=key, value=value))
