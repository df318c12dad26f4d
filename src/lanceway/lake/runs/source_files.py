"""Files that the runs of a pipeline have seen: each by its path, its time and its size.

A file source so has versions, as a table has: the number of the run that first saw a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, or_, select, update

from lanceway.lake.runs.limits import Count, Words
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import run_files

_INSERT = Insert(run_files)
_OF_SOURCE = (run_files.c.pipeline_id == bindparam("pipeline_row")) & (run_files.c.source == bindparam("of"))
_LIVING = select(run_files).where(_OF_SOURCE, run_files.c.gone.is_(None))
_BETWEEN = (
    select(run_files)
    .where(
        _OF_SOURCE,
        run_files.c.since > bindparam("after"),
        run_files.c.since <= bindparam("until"),
        or_(run_files.c.gone.is_(None), run_files.c.gone > bindparam("until")),
    )
    .order_by(run_files.c.path)
)
_CHANGED = (
    select(run_files.c.id)
    .where(
        _OF_SOURCE,
        or_(run_files.c.since > bindparam("after"), run_files.c.gone > bindparam("after")),
        run_files.c.since <= bindparam("until"),
    )
    .limit(1)
)
_GONE = update(run_files).where(run_files.c.id == bindparam("row")).values(gone=bindparam("number"))


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was found; times are in milliseconds."""

    path: Words
    modified: Count
    size: Count


def note(connection: Connection, pipeline: int, source: str, found: Iterable[File], *, number: int) -> None:
    """Record the files that the run of this number has found: those new or changed, and those that are gone."""
    ids = {File(row.path, row.modified, row.size): row.id for row in _living(connection, pipeline, source)}
    present = set(found)
    gone = [{"row": row, "number": number} for file, row in ids.items() if file not in present]
    if gone:
        connection.execute(_GONE, gone)
    new = sorted(present - set(ids), key=lambda file: file.path)
    base = {"pipeline_id": pipeline, "source": source, "since": number}
    _INSERT.many(
        connection, [{**base, "path": file.path, "modified": file.modified, "size": file.size} for file in new]
    )


def _living(connection: Connection, pipeline: int, source: str) -> Sequence[Row[Any]]:
    return connection.execute(_LIVING, {"pipeline_row": pipeline, "of": source}).all()


def between(connection: Connection, pipeline: int, source: str, *, after: int, until: int) -> Sequence[File]:
    """Return the files first seen by runs after `after`, as the run `until` knew them."""
    parameters = {"pipeline_row": pipeline, "of": source, "after": after, "until": until}
    return [File(row.path, row.modified, row.size) for row in connection.execute(_BETWEEN, parameters)]


def has_changed(connection: Connection, pipeline: int, source: str, *, after: int, until: int) -> bool:
    """Return whether any file was added, changed or deleted between two runs."""
    parameters = {"pipeline_row": pipeline, "of": source, "after": after, "until": until}
    return connection.execute(_CHANGED, parameters).first() is not None
