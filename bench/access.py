"""Access control with many roles, grants and tables: `make bench-access`.

A lake with 100,000 and 1,000,000 tables in one namespace, eight deep, on SQLite and on PostgreSQL. There are 10,000
roles and 1,000,000 grants: each role may use the catalog and the highest namespace, and read tables at random. The
caller has five roles, of which one may read one table in a thousand. What is shown is the median and the 99th
percentile in milliseconds: of a describe, of a decision about the same table, and of pages of 100 tables, unfiltered
and filtered. Then a server is asked to describe such tables, with access control and without, see `access_http.py`; and
tables in a bucket, with a vended credential and without, see `access_credentials.py`. Versions are committed with their
events and without, see `access_feed.py`; without sizes (`--no-sizes`) only these two.

On a small machine: `bench/access.py 10000 --grants 100000 --roles 1000`.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start PostgreSQL

from rich.table import Table
from sqlalchemy import Connection, select
from tests.servers import postgres
from tests.servers.run import Run

from access_credentials import measure_credentials
from access_feed import measure_feed
from access_feed import table_of as feed_table
from access_http import measure_http
from access_http import table_of as http_table
from lake import folder
from lake_filling import PART, audit, insert_rows
from lake_work import ask
from lanceway.access import decisions, lists
from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake import users
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import NAMESPACE, TABLE, grants, objects, roles, user_roles
from lanceway.lake.tree import lookups, namespaces
from server_load import require_wrk
from sheet import Sheet

SIZES, ROLES, GRANTS = (100_000, 1_000_000), 10_000, 1_000_000
DEPTH, PAGE, VISIBLE = 8, 100, 1000  # one table in so many is visible
MIDDLE = 50  # of a page in the middle: with the fewest tables there are no more after it
HELD = 5  # roles that the caller has
ME = Caller("me", ("claimed",))
SPACE = Identifier([f"space_{number}" for number in range(DEPTH)])


# -- filling -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """How much there is in a lake."""

    tables: int
    roles: int = ROLES
    grants: int = GRANTS


def fill(store: LakeStore, root: str, size: Size) -> None:
    """Make the namespaces, the tables, the roles and what they are granted."""
    store.transact(_fill, root, size)
    if store.read(lambda connection: connection.dialect.name) == "postgresql":
        store.read(lambda connection: connection.exec_driver_sql("ANALYZE"))


def _fill(connection: Connection, root: str, size: Size) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            "SET LOCAL session_replication_role = replica"
        )  # the foreign keys hold by themselves
    top = connection.execute(select(objects.c.id, objects.c.catalog_id).where(objects.c.physical == "")).one()
    common = {"catalog_id": top.catalog_id, "properties": {}, **audit()}
    chain = [HierarchicalName(SPACE[: length + 1]) for length in range(DEPTH)]
    spaces = [
        {"id": top.id + depth + 1, "parent_id": top.id + depth, "name": path.name, "physical": path.physical}
        for depth, path in enumerate(chain)
    ]
    insert_rows(connection, objects, [{**common, **row, "kind": NAMESPACE, "managed": False} for row in spaces])
    parent = spaces[-1]["id"]
    first = parent + 1
    for start in range(0, size.tables, PART):
        part = range(start, min(size.tables, start + PART))
        place = {**common, "parent_id": parent, "kind": TABLE, "managed": False}
        rows = [{**place, "id": first + n, "name": _name(n), "location": f"{root}/{n:07}"} for n in part]
        insert_rows(connection, objects, rows)
    _principals(connection, size.roles)
    _grants(connection, top.id, spaces[0], parent, first, size)


def _principals(connection: Connection, count: int) -> None:
    made = {"created_by": "bench", "created_at": 0}
    metalake = connection.exec_driver_sql("SELECT id FROM metalakes").scalar_one()
    names = [(number, f"role_{number:05}") for number in range(1, count + 2)]
    insert_rows(connection, roles, [{"id": id_, "metalake_id": metalake, "name": name, **made} for id_, name in names])
    me = users.create(connection, ME.user, by="bench")
    assert me is not None, "the lake is new"
    # The last role is the one that shows some tables.
    mine = [*range(1, HELD), count + 1]
    given = {"user_id": me.id, "granted_by": "bench", "granted_at": 0}
    insert_rows(connection, user_roles, [{**given, "role_id": id_} for id_ in mine])


def _grants(connection: Connection, root: int, space: dict[str, Any], parent: int, first: int, size: Size) -> None:
    made = {"effect": "allow", "granted_by": "bench", "granted_at": 0}
    top = {"object_id": root, "parent_id": None, "kind": NAMESPACE, "name": "", "privilege": "USE_CATALOG"}
    high = {"object_id": space["id"], "parent_id": root, "kind": NAMESPACE, "name": space["name"]}
    everywhere = [top, {**high, "privilege": "USE_SCHEMA"}]
    for place in everywhere:
        insert_rows(connection, grants, [{**made, **place, "role_id": id_} for id_ in range(1, size.roles + 2)])
    leaf = {**made, "parent_id": parent, "kind": TABLE, "privilege": "SELECT_TABLE"}
    mine = range(0, size.tables, VISIBLE)
    insert_rows(connection, grants, [{**leaf, "role_id": size.roles + 1, **_table(first, n)} for n in mine])
    chance = random.Random(5)
    remaining = size.grants - 2 * (size.roles + 1) - len(mine)
    each = remaining // (size.roles - HELD)
    rows: list[dict[str, Any]] = []
    for role in range(HELD, size.roles):
        rows += [{**leaf, "role_id": role, **_table(first, n)} for n in chance.sample(range(size.tables), each)]
        if len(rows) >= PART:
            insert_rows(connection, grants, rows)
            rows = []
    if rows:
        insert_rows(connection, grants, rows)


def _name(number: int) -> str:
    return f"table_{number:07}"


def _table(first: int, number: int) -> dict[str, Any]:
    return {"object_id": first + number, "name": _name(number)}


# -- measuring -----------------------------------------------------------------------------------


def measure(work: Callable[[], object], seconds: float) -> list[float]:
    taken: list[float] = []
    until = time.perf_counter() + seconds
    while len(taken) < 20 or time.perf_counter() < until:
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def measure_lake(catalog: LakeCatalog, store: LakeStore, tables: int, seconds: float) -> dict[str, list[float]]:
    chance, metalake, row = random.Random(7), "lanceway", catalog._catalog

    def table() -> Identifier:
        return SPACE.child(_name(chance.randrange(tables // VISIBLE) * VISIBLE))

    def decide() -> None:
        verdict = store.read(decisions.decide, ME, "read table", Securable(metalake, row.name, table(), TABLE))
        assert verdict.allowed

    def both() -> None:
        decide()
        ask(catalog, "describe_table", id=list(table()))

    def visible(after: str | None, limit: int = PAGE) -> Callable[[], Sequence[str]]:
        place = Securable(metalake, row.name, SPACE)
        return lambda: store.read(lists.child_leaves, ME, place, after=after, limit=limit)

    half = _name(tables // 2 - 1)
    first, middle = visible(None), visible(half, MIDDLE)
    found = {
        "describe": measure(lambda: ask(catalog, "describe_table", id=list(table())), seconds),
        "decision": measure(decide, seconds),
        "decision, then describe": measure(both, seconds),
        f"page of {PAGE}, all": measure(
            lambda: store.read(lookups.children, row.id, SPACE, after=half, limit=PAGE), seconds
        ),
        f"page of {PAGE}, filtered, first": measure(first, seconds),
        f"page of {MIDDLE}, filtered, middle": measure(middle, seconds),
        "page of namespaces, filtered": measure(
            lambda: store.read(lists.child_namespaces, ME, Securable(metalake, row.name, SPACE.parent), limit=PAGE),
            seconds,
        ),
        "page of namespaces, all": measure(lambda: store.read(namespaces.children, row.id, SPACE.parent), seconds),
    }
    assert len(first()) == min(PAGE, tables // VISIBLE), "the page is full"
    assert len(middle()) == min(MIDDLE, tables // VISIBLE // 2), "and so is the other, at every size"
    return found


# -- showing -------------------------------------------------------------------------------------


def shown(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} / {sorted(times)[int(len(times) * 0.99)]:.2f}"


def table_of(title: str, report: dict[int, dict[str, list[float]]]) -> Table:
    table = Table("operation", *(f"{size:,}" for size in report), "growth", title=f"{title}: p50 / p99 in ms")
    for name in next(iter(report.values())):
        times = [found[name] for found in report.values()]
        growth = statistics.median(times[-1]) / statistics.median(times[0])
        table.add_row(name, *map(shown, times), f"{growth:.2f}")
    ratios = [
        statistics.median(found["decision, then describe"]) / statistics.median(found["describe"])
        for found in report.values()
    ]
    table.add_row("describe with its decision, in describes", *(f"{ratio:.2f}" for ratio in ratios), "")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="How many tables, such as 100000.")
    parser.add_argument("--grants", type=int, default=GRANTS, help="How many grants there are.")
    parser.add_argument("--roles", type=int, default=ROLES, help="How many roles there are.")
    parser.add_argument("--databases", nargs="*", default=["sqlite", "postgresql"], help="Which databases.")
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each operation is repeated.")
    parser.add_argument("--turns", type=int, default=5, help="How often the server is measured on and off; 0 for not.")
    parser.add_argument("--no-sizes", action="store_true", help="Only what the feed adds to a commit.")
    options = parser.parse_args()
    if options.no_sizes:
        options.sizes = []
    if options.turns and options.sizes:
        require_wrk()
    console, run = Sheet(width=120), Run.begin()
    console.print(f"{os.cpu_count()} processors; load average before: {os.getloadavg()[0]:.1f}")
    try:
        server = postgres.start(run, settings=()) if "postgresql" in options.databases else None
        for name in options.databases:
            report, over_http = {}, {}
            for tables in options.sizes:
                began = time.perf_counter()
                size = Size(tables, options.roles, options.grants)
                with folder() as place:
                    uri = f"sqlite:///{place}/lake.db"
                    if name == "postgresql" and server is not None:
                        uri = server.uri(server.schema())
                    with filled(uri, str(place / "w"), size) as (catalog, store):
                        report[tables] = measure_lake(catalog, store, tables, options.seconds)
                        if options.turns:
                            asked = [SPACE.child(_name(number)) for number in range(0, tables, VISIBLE)]
                            over_http[tables] = measure_http(
                                run, store, place / "home", ME.user, asked, options.turns, options.seconds
                            )
                print(f"  {name}, {tables:,} tables: {time.perf_counter() - began:.0f} s", file=sys.stderr)
            if report:
                console.print(table_of(name, report))
            if over_http:
                console.print(http_table(name, over_http))
            with folder() as place:
                uris = f"sqlite:///{place}/with.db", f"sqlite:///{place}/without.db"
                if name == "postgresql" and server is not None:
                    uris = server.uri(server.schema()), server.uri(server.schema())
                console.print(feed_table(name, measure_feed(uris, place / "w", options.seconds)))
        if options.turns:
            console.print(measure_credentials(run, options.databases, options.turns, options.seconds))
    finally:
        run.end()


@contextmanager
def filled(uri: str, root: str, size: Size) -> Iterator[tuple[LakeCatalog, LakeStore]]:
    with closing(LakeCatalog(uri=uri, root=root, user="bench")) as catalog, closing(open_store(uri)) as store:
        fill(store, root, size)
        yield catalog, store


if __name__ == "__main__":
    main()
