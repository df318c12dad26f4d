"""What the feed adds to a commit: for `bench/access.py`.

Versions are committed in turns, one with its event and one without, to tables of two lakes, so that both meet the same
machine: as a client does that has staged a manifest, and by pylance, which writes a row and its files. What is shown
are the medians of all turns, and what is added to them and to the quickest quarter. Without the event, the claim is the
one statement that it was before there was a feed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from rich.table import Table
from sqlalchemy import Connection

from lake_work import Committer, ask
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.lake.store.clock import now
from lanceway.lake.store.database import open_store
from lanceway.lake.store.rows import FastConditionalInsert
from lanceway.lake.store.schema import versions as rows
from lanceway.lake.tree import lookups
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import Version, VersionClaim

TABLES = 20
CLAIM, APPEND = "claim of a staged manifest", "append of a row by pylance"
Commit = Callable[[], object]
# By what is committed: how long each took, with its event and without.
FeedFound = dict[str, tuple[list[float], list[float]]]

_PLAIN = FastConditionalInsert(rows, versions._claimable, returning=[rows.c.created_at], created_at=now())


def _claim(
    connection: Connection, catalog: int, table: TableRow, requested: VersionClaim, *, by: str, base: Version | None
) -> Version | None:
    """Claim a version as `claim_in_one_statement` does, and leave no event."""
    versions.check(requested)
    new = versions.values(table.id, requested, by, copied=False)
    known = (base.staging_path, base.created_at) if base and base.version == requested.version - 1 else (None, None)
    place = lookups.asked(catalog, lookups.known(table.identifier))
    row = _PLAIN(connection, new, location=table.location, base_staged=known[0], base_since=known[1], **place)
    return None if row is None else requested.made(table.id, by, row.created_at)


@contextmanager
def _without_events() -> Iterator[None]:
    before: Any = versions.claim_in_one_statement
    versions.claim_in_one_statement = _claim  # type: ignore[assignment]
    try:
        yield
    finally:
        versions.claim_in_one_statement = before


def measure_feed(uris: tuple[str, str], root: Path, seconds: float) -> FeedFound:
    """Commit to two lakes in turns, of which the second leaves no events, for so long each way of doing it."""
    with ExitStack() as opened:
        lakes = [opened.enter_context(_lake(uri, root / str(number))) for number, uri in enumerate(uris)]
        _forget_trigger(uris[1])
        claims, appends = zip(*lakes, strict=True)
        return {CLAIM: _in_turns(*claims, seconds), APPEND: _in_turns(*appends, seconds)}


@contextmanager
def _lake(uri: str, root: Path) -> Iterator[tuple[Commit, Commit]]:
    """Make a lake, and yield how to commit to it in either way."""
    with closing(LakeCatalog(uri=uri, root=str(root), user="bench")) as catalog:
        paths = [[f"t{number}"] for number in range(TABLES)]
        for path in [*paths, ["appended"]]:
            ask(catalog, "declare_table", id=path)
        committer = Committer(catalog, paths)
        committer.latest = [0] * TABLES
        for _ in range(TABLES):
            committer()  # the first version of a table is claimed in a transaction
        appended: Any = {"namespace_client": catalog, "table_id": ["appended"], "mode": "append"}
        row = pa.table({"id": [1]})
        yield committer, lambda: lance.write_dataset(row, **appended)


def _forget_trigger(uri: str) -> None:
    with closing(open_store(uri)) as store, store.transaction() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER feed_version_created")


def _in_turns(recorded: Commit, unrecorded: Commit, seconds: float) -> tuple[list[float], list[float]]:
    with_event, without = list[float](), list[float]()
    recorded(), unrecorded()
    until = time.perf_counter() + seconds
    while len(without) < 50 or time.perf_counter() < until:
        with_event.append(_timed(recorded))
        with _without_events():
            without.append(_timed(unrecorded))
    return with_event, without


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def table_of(name: str, found: FeedFound) -> Table:
    headings = ("commit", "with its event", "without", "added", "added, lower quartile", "turns")
    table = Table(*headings, title=f"{name}: the feed, medians in ms")
    for what, (with_event, without) in found.items():
        low, middle = ((_at(with_event, share), _at(without, share)) for share in (0.25, 0.5))
        times = (f"{time_:.3f}" for time_ in middle)
        table.add_row(what, *times, _added(*middle), _added(*low), f"{len(without):,}")
    return table


def _at(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]


def _added(with_event: float, without: float) -> str:
    return f"{(with_event / without - 1) * 100:.1f} %"
