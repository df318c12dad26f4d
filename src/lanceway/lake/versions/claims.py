"""A claim at one stroke: one statement, which is a transaction by itself, where nothing stands in its way.

Most claims are the next version of a table that nobody else is changing, built on a version that is in its place.
One statement makes sure of all that and claims it. Where any of it does not hold it does nothing, and
`versions.claim` in a transaction finds out why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, exists

from lanceway.lake.store.clock import now
from lanceway.lake.store.rows import SwiftInsertIf
from lanceway.lake.store.schema import TABLE, objects, strays, versions
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import Table
from lanceway.lake.versions.versions import Claim, Version, check, values

# The claimant knows of this very row that its manifest is in its place.
_KNOWN = (versions.c.staging_path == bindparam("base_staged")) & (versions.c.created_at == bindparam("base_since"))


def _clear(given: Mapping[str, Any]) -> ColumnElement[bool]:
    """The table is the one that is meant and stays so, and the version follows on one that is beyond doubt.

    All of it is seen at one moment, and what may change until the row is there changes nothing: a version that is
    in its place stays there, and with that is known what strays there were before; and the latest version of a
    table is not deleted. What somebody else has claimed in the meantime the unique key refuses.
    """
    table = (objects.c.id == given["table_id"]) & (objects.c.location == bindparam("location"))
    meant = lookups.HOLD.where(table, objects.c.kind == TABLE, objects.c.managed).with_only_columns(objects.c.id)
    before, same = given["version"] - 1, (given["table_id"], given["branch"])
    base = exists().where(versions.c.version == before, versions.c.copied | _KNOWN, *_of(versions, *same))
    later = exists().where(versions.c.version > before, *_of(versions, *same))
    doubt = exists().where(strays.c.version == before, *_of(strays, *same))
    return meant.exists() & base & ~later & ~doubt


def _of(table: Any, number: Any, branch: Any) -> tuple[ColumnElement[bool], ...]:
    return table.c.table_id == number, table.c.branch == branch


_CLAIM = SwiftInsertIf(versions, _clear, returning=[versions.c.created_at], created_at=now())


def at_once(
    connection: Connection, catalog: int, table: Table, asked: Claim, *, by: str, base: Version | None = None
) -> Version | None:
    """The version, if it could be claimed just so. `table` may be out of date: then it is not claimed.

    `base` is a version that is known to be in its place, whether its row says so or not; if it is not the one before,
    it does not matter. To ask again does no harm: the version is there by then, and is not claimed a second time.
    """
    check(asked)
    new = values(table.id, asked, by, copied=False)
    place = lookups.asked(catalog, lookups.known(table.identifier))
    known = (base.staging_path, base.created_at) if base and base.version == asked.version - 1 else (None, None)
    row = _CLAIM(connection, new, location=table.location, base_staged=known[0], base_since=known[1], **place)
    return None if row is None else asked.made(table.id, by, row.created_at)
