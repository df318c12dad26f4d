"""How long the console takes until one sees what was asked for, in a real Chromium: `make bench-console`.

A server of its own has 10,000 namespaces in one, a table with 2,000 columns and one with 10 million rows. Each page is
opened by its address in a new profile, with nothing in its cache. Seconds are counted from the navigation to the first
frame that shows what the page is for. Aims: one second among the namespaces, two for the tables.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
from playwright.sync_api import Browser, Page, sync_playwright
from rich.table import Table
from tests.console.conftest import CHROMIUM, FLAGS
from tests.console.console_helpers import Person
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

import lanceway
from sheet import Sheet

CROWD, WIDE, LONG = ["lake", "crowd"], ["lake", "tables", "wide"], ["lake", "tables", "long"]
BATCH = 500_000
# Note when a page first shows what a selector finds often enough: the frame after that is painted.
WATCH = """([selector, least]) => new Promise((done) => {
  const look = () => document.querySelectorAll(selector).length >= least
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now()))) : requestAnimationFrame(look);
  look();
})"""


@dataclass(frozen=True)
class Opening:
    """A page, what must be seen on it how often, and in how many seconds."""

    name: str
    page: str
    names: list[str]
    selector: str
    least: int
    aim: float


def openings(namespaces: int) -> Sequence[Opening]:
    one = [*CROWD, name(namespaces - 1)]
    cells = "main .rows tbody tr td:nth-child(2)"
    return (
        Opening("home", "", [], "main .grid tbody tr, lw-tree [role=treeitem]", 3, 1.0),
        Opening("a namespace with all of them", "namespace", CROWD, "main .grid tbody tr", min(100, namespaces), 1.0),
        Opening("one of them, by its address", "namespace", one, "[role=treeitem][aria-current]", 1, 1.0),
        Opening("a table with many columns", "table", WIDE, cells, 25, 2.0),
        Opening("its schema", "table?tab=schema", WIDE, "main [aria-label=Columns] tbody tr", 100, 2.0),
        Opening("a table with many rows", "table", LONG, cells, 25, 2.0),
    )


def name(number: int) -> str:
    return f"n{number:05}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--namespaces", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=2_000)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    run = Run.begin()
    try:
        server = lanceway_server.start(run, name="bench-console")
        fill(server, chosen.namespaces, chosen.columns, chosen.rows)
        sheet = Table(title=f"{chosen.namespaces:,} namespaces, {chosen.columns:,} columns, {chosen.rows:,} rows")
        for head in ("page", "median s", "slowest s", "aim s", "requests"):
            sheet.add_column(head, justify="left" if head == "page" else "right")
        is_met = True
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            for opening in openings(chosen.namespaces):
                seconds, requests = zip(*measured(browser, server, opening, chosen.rounds), strict=True)
                median = statistics.median(seconds)
                is_met &= median < opening.aim
                figures = (f"{median:.2f}", f"{max(seconds):.2f}", f"{opening.aim:g}", str(max(requests)))
                sheet.add_row(opening.name, *figures)
            sheet.add_row("what is typed, among all of them", f"{typed(browser, server, chosen.namespaces):.2f}")
            browser.close()
        Sheet(width=120).print(sheet)
        print("every aim is met" if is_met else "an aim is missed")
    finally:
        run.end()
    return 0


def measured(browser: Browser, server: Lanceway, opening: Opening, rounds: int) -> Iterator[tuple[float, int]]:
    """Seconds and requests of each round, after one that lets the server read what it keeps."""
    for round_ in range(rounds + 1):
        with Person(browser, server.address, server.token) as person:
            page, _, query = opening.page.partition("?")
            path = "/".join((page, *opening.names))
            person.page.goto(f"{server.address}/#/{path}{'?' if query else ''}{query}", wait_until="commit")
            seconds = person.page.evaluate(WATCH, [opening.selector, opening.least]) / 1000
            if round_:
                yield seconds, len(person.requests)
            person.wait()


def typed(browser: Browser, server: Lanceway, namespaces: int) -> float:
    """Seconds from the last letter in the tree's filter to the only name that is left."""
    with Person(browser, server.address, server.token) as person:
        page: Page = person.open("namespace", [*CROWD, name(0)])
        field = page.get_by_label("Filter crowd")
        before = page.evaluate("performance.now()")
        field.fill(name(namespaces - 1))
        shown = f"[role=treeitem][title$='{name(namespaces - 1)}']"
        after: float = page.evaluate(WATCH, [shown, 1])
        return (after - before) / 1000


# -- what there is to see --------------------------------------------------------------------------


def fill(server: Lanceway, namespaces: int, columns: int, rows: int) -> None:
    lake = lanceway.connect(server.uri, token=server.token)
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        for names in (CROWD, WIDE[:-1], *([*CROWD, name(number)] for number in range(namespaces))):
            client.post("/schemas", json={"name": names}).raise_for_status()
    lake.create(WIDE, pa.table({f"c{number:04}": [float(number)] * 1000 for number in range(columns)}))
    for start in range(0, rows, BATCH):
        numbers = range(start, min(rows, start + BATCH))
        batch = pa.table({"id": pa.array(numbers, pa.int64()), "name": [f"row {number}" for number in numbers]})
        if start:
            lake[LONG].append(batch)
        else:
            lake.create(LONG, batch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
