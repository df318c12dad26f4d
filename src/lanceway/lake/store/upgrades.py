"""Bring a database to the version of the code: once, by the first process that opens it.

Versions are compared as numbers. A database that is older than the code is upgraded, under a lock. One
that is newer says which code can still use it (`oldest_code`): a migration raises that number only where
it takes something away, so that code one version older goes on running while servers are replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from lanceway.errors import InvalidInputError
from lanceway.lake.store.schema import OLDEST_CODE, VERSION, VERSION_TABLE
from lanceway.lake.tree import settings
from lanceway.lake.tree.separators import Separator

MIGRATIONS = Path(__file__).with_name("migrations")
# Any number will do that no other user of the database takes for a lock of its own.
_LOCK = 7_526_203_411


@dataclass(frozen=True, slots=True)
class State:
    """The version of a database, 0 without any table of the lake, and the oldest code that can use it."""

    version: int
    oldest_code: int = 0


CODE = State(VERSION, OLDEST_CODE)


def state(connection: Connection) -> State:
    """Return the version of a database."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return State(0)
    number = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    values = settings.load(connection)
    return State(int(number or 0), int(values[settings.OLDEST_CODE]))


def check(found: State) -> None:
    """Refuse a database that has gone too far ahead of this code."""
    if found.oldest_code > VERSION:
        raise InvalidInputError(
            f"The lake's database has version {found.version}, which needs code that knows version "
            f"{found.oldest_code}; this code knows {VERSION}. Install a newer lanceway."
        )


def migrate(
    connection: Connection,
    separator: str | None = None,
    policy: str | None = None,
    *,
    folder: Path = MIGRATIONS,
    target: State = CODE,
) -> None:
    """Make or upgrade the tables in the connection's transaction, alone even if many processes start at once."""
    _lock(connection)
    before = state(connection)
    if before.version >= target.version:
        return
    _run_alembic(connection, folder)
    values = {settings.OLDEST_CODE: str(target.oldest_code)}
    if before.version == 0:
        chosen = new_separator(separator, policy)
        values |= {settings.SEPARATOR: chosen.character, settings.POLICY: chosen.policy}
    settings.store(connection, values)


def rebuild(
    connection: Connection,
    version: int,
    fill: Callable[[Connection], None],
    *,
    folder: Path = MIGRATIONS,
    target: State = CODE,
) -> None:
    """Make the tables as they were at a version, fill them, and bring them to the version of the code.

    In an empty database only, in the connection's transaction. Raises InvalidInputError.
    """
    _lock(connection)
    if state(connection).version:
        raise InvalidInputError("The database holds a lake already. Choose an empty one.")
    _run_alembic(connection, folder, f"{version:04}")
    fill(connection)
    _run_alembic(connection, folder)
    settings.store(connection, {settings.OLDEST_CODE: str(target.oldest_code)})


def _lock(connection: Connection) -> None:
    # In SQLite the transaction itself is the lock: only one at a time writes.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        encoding = connection.execute(text("SHOW server_encoding")).scalar()
        if encoding != "UTF8":
            raise InvalidInputError(
                f"The lake's database has the encoding {encoding}, which cannot hold every name. "
                "Create it with ENCODING 'UTF8' TEMPLATE template0."
            )


def _run_alembic(connection: Connection, folder: Path, version: str = "head") -> None:
    # Loaded only here: most starts find a database that needs nothing.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    command.upgrade(config, version)


def new_separator(separator: str | None, policy: str | None) -> Separator:
    """Return the separator of a new lake. Raises InvalidInputError for one that is not allowed."""
    default = Separator()
    return Separator(
        default.character if separator is None else separator, default.policy if policy is None else policy
    )


def compare(stored: Separator, separator: str | None, policy: str | None) -> None:
    """Refuse a process whose settings differ: it would read other paths out of the same names."""
    for what, setting, has in (
        ("separator", separator, stored.character),
        ("separator policy", policy, stored.policy),
    ):
        if setting is not None and setting != has:
            raise InvalidInputError(
                f"The lake has the {what} {has!r}, and this process wants {setting!r}. Leave the setting out, or "
                "change it for the whole lake."
            )
