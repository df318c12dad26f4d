"""Backups: the rows of a lake as they were at one moment, in one file that either database can take.

The file is compressed text with one JSON value to a line: a header; then for each table its name and columns, and
each of its rows as a list; at the end how many rows there are. It is the lake's rows alone: the data of the tables
is in storage.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, MetaData, Select, Table, delete, false, func, insert, inspect, select
from sqlalchemy.exc import DataError, IntegrityError

from lanceway.errors import InvalidInputError
from lanceway.lake.store import upgrades
from lanceway.lake.store.clock import now
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.engines import replacing
from lanceway.lake.store.schema import (
    OLDEST_CODE,
    VERSION,
    feed,
    idempotency_keys,
    metadata,
    objects,
    settings,
    sign_in_codes,
)
from lanceway.lake.store.upgrades import CODE, MIGRATIONS, State
from lanceway.lake.tree.settings import SECRETS

FORMAT = 1
_MARK = "lanceway lake backup"
_PART = 5_000  # rows
# What readers raise for a file that is not a backup, or was cut off or damaged.
_UNREADABLE = (gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError, json.JSONDecodeError)

Rows = Mapping[str, int]


def backup(store: LakeStore, file: Path, *, overwrite: bool = False) -> Rows:
    """Write the lake to a file while others go on writing to the lake; how many rows each table has.

    The file appears whole or not at all. Raises InvalidInputError if it is there already.
    """
    _refuse_other_version(store.read(upgrades.state))
    if file.exists() and not overwrite:
        raise InvalidInputError(f"The file {file} is there already. Choose another name, or overwrite it.")
    with replacing(file) as target:
        return store.snapshot(_write, target)


def restore(
    store: LakeStore,
    file: Path,
    *,
    folder: Path = MIGRATIONS,
    target: State = CODE,
    finish: Callable[[Connection], object] | None = None,
) -> Rows:
    """Fill an empty database from a file, all of it or nothing; how many rows each table has.

    `finish` is called in the same transaction, when all rows are there.
    A backup of an older version is brought to the version of the code. Raises InvalidInputError if the database
    holds a lake, or if the file is no backup, is not whole, or was made by newer code.
    """
    with _reading(file) as lines:
        header = _header(lines, file, target.version)
        counts: dict[str, int] = {}

        def fill(connection: Connection) -> None:
            counts.clear()
            counts.update(_fill(connection, file, lines))

        # Without retries: the file can be read only once, and an empty database has no other writers.
        with store.transaction() as connection:
            upgrades.rebuild(connection, header["version"], fill, folder=folder, target=target)
            if finish is not None:
                finish(connection)
    return counts


# -- writing -------------------------------------------------------------------------------------


def _write(connection: Connection, target: Path) -> Rows:
    with target.open("wb") as raw:
        with gzip.open(raw, "wt", compresslevel=6, encoding="utf-8", newline="\n") as out:
            counts = _write_all(connection, out)
        raw.flush()
        os.fsync(raw.fileno())
    return counts


def _write_all(connection: Connection, out: IO[str]) -> Rows:
    made_at = connection.execute(select(now())).scalar()
    _line(out, {"what": _MARK, "format": FORMAT, "version": VERSION, "oldest_code": OLDEST_CODE, "made_at": made_at})
    counts = {table.name: _write_table(connection, table, out) for table in metadata.sorted_tables}
    _line(out, {"rows": counts})
    return counts


def _write_table(connection: Connection, table: Table, out: IO[str]) -> int:
    _line(out, {"table": table.name, "columns": [column.name for column in table.columns]})
    count = 0
    for row in connection.execute(_ordered(table), execution_options={"yield_per": _PART}):
        _line(out, list(row))
        count += 1
    return count


def _ordered(table: Table) -> Select[Any]:
    """Return a query for the rows of a table, parents before children, as foreign keys hold from the first row on."""
    if table is objects:
        # A path comes after those that it begins with; what is no namespace has none, and comes last.
        return select(table).order_by(table.c.physical.is_(None), table.c.physical, table.c.id)
    rows = select(table).order_by(*table.primary_key.columns)
    if table is feed:
        # Its order is the database's own: a restored lake begins a new one.
        return rows.where(false())
    if table is idempotency_keys:
        # Their answers tell of changes that a restored lake may not have.
        return rows.where(false())
    if table is sign_in_codes:
        # They are good for minutes, and one that was used must not come back.
        return rows.where(false())
    # Secrets of the servers stay where they are: a restored lake makes its own.
    return rows.where(table.c.key.not_in(SECRETS)) if table is settings else rows


def _line(out: IO[str], value: object) -> None:
    out.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    out.write("\n")


def _refuse_other_version(found: State) -> None:
    if found.version < VERSION:
        raise InvalidInputError(
            f"The database has version {found.version} and this code {VERSION}. Upgrade it first: lanceway lake upgrade"
        )
    if found.version > VERSION:
        raise InvalidInputError(
            f"The database has version {found.version} and this code knows {VERSION}: what is newer would be left "
            "out. Install a newer lanceway."
        )


# -- reading -------------------------------------------------------------------------------------


@contextmanager
def _reading(file: Path) -> Iterator[Iterator[Any]]:
    """Open a backup and yield its values, one for each line."""
    try:
        with gzip.open(file, "rt", encoding="utf-8") as source:
            yield (json.loads(line) for line in source)
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{file} is not a backup of a lake, or is damaged or not whole. Use another."
        ) from error
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror or error}.") from error


def _header(lines: Iterator[Any], file: Path, version: int) -> Mapping[str, Any]:
    header = next(lines, None)
    if not isinstance(header, dict) or header.get("what") != _MARK:
        raise InvalidInputError(
            f"{file} is not a backup of a lake. Use a file that `lanceway lake backup` has written."
        )
    if header["format"] > FORMAT or header["version"] > version:
        raise InvalidInputError(
            f"{file} was made of a lake with version {header['version']}, and this code knows {version}. "
            "Install a newer lanceway."
        )
    return header


def _fill(connection: Connection, file: Path, lines: Iterator[Any]) -> Rows:
    """Insert every row into its table, as the tables are at the version of the file."""
    tables = _tables(connection)
    counts = dict.fromkeys(tables, 0)
    for table in tables.values():
        connection.execute(delete(table))  # the migration put a few rows in
    try:
        for name, rows in _parts(lines, counts, file):
            connection.execute(insert(tables[name]), rows)
    except (KeyError, IntegrityError, DataError) as error:
        raise _foreign(file) from error
    if feed.name in tables:
        connection.execute(delete(tables[feed.name]))  # what a trigger has made of the rows
    _count_on(connection, tables.values())
    return counts


def _tables(connection: Connection) -> Mapping[str, Table]:
    reflected = MetaData()
    # Only the tables of the lake: the database may have others.
    ours = [name for name in inspect(connection).get_table_names() if name in metadata.tables]
    reflected.reflect(connection, only=ours)
    return {table.name: table for table in reflected.sorted_tables}


def _parts(lines: Iterator[Any], counts: dict[str, int], file: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of the file in parts, each with its table, and count them. Refuse a file without its end."""
    name, columns, part = "", list[str](), list[dict[str, Any]]()
    for value in lines:
        if isinstance(value, list):
            if len(value) != len(columns):
                raise _foreign(file)
            part.append(dict(zip(columns, value, strict=True)))
        if part and (len(part) == _PART or isinstance(value, dict)):
            counts[name] += len(part)
            yield name, part
            part = []
        if isinstance(value, dict) and "rows" in value:
            # To ask for more is also what makes gzip compare its checksum.
            if value["rows"] != counts or next(lines, None) is not None:
                break
            return
        if isinstance(value, dict):
            name, columns = value["table"], value["columns"]
    raise InvalidInputError(f"{file} is not whole: rows are missing. Use another backup.")


def _foreign(file: Path) -> InvalidInputError:
    return InvalidInputError(f"{file} holds rows that no lake has. Use an unchanged file.")


def _count_on(connection: Connection, tables: Iterable[Table]) -> None:
    """Set the sequences of PostgreSQL behind the ids from the file; SQLite does so by itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        if "id" in table.columns:
            highest = select(func.max(table.c.id)).scalar_subquery()
            sequence = func.pg_get_serial_sequence(table.name, "id")
            connection.execute(select(func.setval(sequence, highest)).where(highest.is_not(None)))
