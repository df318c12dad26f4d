"""A tour: a folder of Lance tables is made, listed, queried and searched before one's eyes.

    python samples/tour.py [--folder FOLDER] [--svg FILE]

It uses nothing but Lanceway's public interface, so every step can be taken elsewhere as it stands.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("LANCE_LOG", "error")

import pyarrow as pa
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

import lanceway

FOLDER = Path(".sample") / "warehouse"
# A book's vector says how much it is about each of these. A real one would come from a model.
TOPICS = ("sea", "crime", "love", "war", "science", "nature")
BOOKS = (
    (1, "Moby-Dick", 1851, "A captain hunts a white whale across the oceans.", (1.0, 0.0, 0.0, 0.1, 0.2, 0.7)),
    (2, "Twenty Thousand Leagues", 1870, "A scientist is held aboard a submarine.", (0.9, 0.1, 0.0, 0.2, 0.9, 0.4)),
    (3, "Crime and Punishment", 1866, "A student kills, and cannot live with it.", (0.0, 1.0, 0.3, 0.0, 0.1, 0.0)),
    (4, "War and Peace", 1869, "Families live through the invasion of Russia.", (0.0, 0.0, 0.7, 1.0, 0.0, 0.2)),
    (5, "Pride and Prejudice", 1813, "Two people learn to read each other.", (0.0, 0.0, 1.0, 0.0, 0.0, 0.2)),
    (6, "On the Origin of Species", 1859, "How living things came to differ.", (0.2, 0.0, 0.0, 0.1, 1.0, 1.0)),
    (7, "The Moonstone", 1868, "A stolen diamond, and a detective after it.", (0.0, 0.9, 0.5, 0.1, 0.1, 0.0)),
    (8, "Walden", 1854, "Two years in a cabin by a pond.", (0.1, 0.0, 0.0, 0.0, 0.3, 1.0)),
)
LOANS = ((1, 2, "ada"), (2, 2, "grace"), (3, 6, "ada"), (4, 7, "alan"))


def books() -> pa.Table:
    ids, titles, years, abouts, vectors = zip(*BOOKS, strict=True)
    topics = pa.array(vectors, pa.list_(pa.float32(), len(TOPICS)))
    return pa.table({"id": ids, "title": titles, "year": years, "about": abouts, "topics": topics})


def loans() -> pa.Table:
    ids, borrowed, readers = zip(*LOANS, strict=True)
    return pa.table({"id": ids, "book": borrowed, "reader": readers})


class Tour:
    """Each step says what it does, shows the call, and prints what came back."""

    def __init__(self, folder: Path, console: Console) -> None:
        self.folder, self.console = folder, console
        self.ns: Any = lanceway.connect("dir", path=str(folder))

    def run(self) -> None:
        self.console.print(Panel.fit(f"A library in [bold]{self.folder}[/], as Lance tables", title="Lanceway"))
        self.make()
        self.look()
        self.query()
        self.search()
        self.remember()

    def make(self) -> None:
        self.step("Two tables are made", 'ns.create_table_stream({"id": ["books"], "mode": "overwrite"}, reader)')
        for name, data in (("books", books()), ("loans", loans())):
            made = self.ns.create_table_stream({"id": [name], "mode": "overwrite"}, data.to_reader())
            self.console.print(f"  {name}: {data.num_rows} rows, version {made.version}")

    def look(self) -> None:
        self.step("What is there?", 'ns.list_tables({"id": []})')
        listed = Table("table", "rows", "columns")
        for name in self.ns.list_tables({"id": []}).tables:
            detail = self.ns.describe_table({"id": [name], "load_detailed_metadata": True})
            columns = ", ".join(field.name for field in detail.var_schema.fields)
            listed.add_row(name, str(self.ns.count_table_rows({"id": [name]}).count), columns)
        self.console.print(listed)

    def query(self) -> None:
        self.step(
            "Books of the 1860s, by a filter", 'ns.query_table_stream({…, "filter": "year BETWEEN 1860 AND 1869"})'
        )
        self.show({"filter": "year BETWEEN 1860 AND 1869", "vector": {}, "k": 10}, "title", "year")

    def search(self) -> None:
        self.step(
            "Nearest to sea and science, by vector", 'ns.query_table_stream({…, "vector": {"single_vector": […]}})'
        )
        wanted = [1.0 if topic in ("sea", "science") else 0.0 for topic in TOPICS]
        self.show({"vector": {"single_vector": wanted}, "k": 3}, "title", "_distance")
        self.step("Those that speak of a whale, by full text", 'ns.create_table_index({…, "index_type": "FTS"})')
        self.ns.create_table_index({"id": ["books"], "column": "about", "index_type": "FTS"})
        text = {"string_query": {"query": "whale", "columns": ["about"]}}
        self.show({"full_text_query": text, "vector": {}, "k": 3}, "title", "about")

    def remember(self) -> None:
        self.step("Every change is a version", 'ns.delete_from_table({…, "predicate": "year < 1850"})')
        self.ns.delete_from_table({"id": ["books"], "predicate": "year < 1850"})
        newest, before = self.ns.list_table_versions({"id": ["books"], "limit": 2, "descending": True}).versions
        for version in (before.version, newest.version):
            rows = self.ns.count_table_rows({"id": ["books"], "version": version}).count
            self.console.print(f"  version {version}: {rows} rows")
        self.ns.restore_table({"id": ["books"], "version": before.version})
        self.console.print(f"  restored: {self.ns.count_table_rows({'id': ['books']}).count} rows")

    def farewell(self) -> None:
        self.console.print("\n[bold cyan]Try next[/]")
        for line in next_steps(self.folder):
            # Not wrapped and not in a box, so that it can be copied whole.
            self.console.print(line, soft_wrap=True, markup=False, highlight=False)

    def step(self, title: str, call: str) -> None:
        self.console.print(f"\n[bold cyan]{title}[/]")
        self.console.print(Syntax(f"  {call}", "python", background_color="default"))

    def show(self, query: Mapping[str, object], *columns: str) -> None:
        shown = Table(*columns)
        answer = self.ns.query_table_stream({"id": ["books"], **query}).read_all()
        for row in answer.select(columns).to_pylist():
            shown.add_row(*(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()))
        self.console.print(shown)


def next_steps(folder: Path) -> list[str]:
    """Commands for a shell and lines for Python; they work as they are printed."""
    lanceway_ = f".venv/bin/lanceway --path {folder}"
    return [
        f"$ {lanceway_} tables list",
        f"$ {lanceway_} tables query books --where 'year > 1860' --columns title,year",
        f"$ {lanceway_} tables versions list books",
        "$ .venv/bin/lanceway doctor",
        "",
        ">>> import lanceway",
        f'>>> ns = lanceway.connect("dir", path="{folder}")',
        '>>> ns.list_tables({"id": []}).tables',
        '>>> ns.count_table_rows({"id": ["books"], "predicate": "year > 1860"}).count',
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the tables are made")
    parser.add_argument("--svg", type=Path, help="also draw the terminal into this file")
    given = parser.parse_args()
    given.folder.parent.mkdir(parents=True, exist_ok=True)
    console = Console(record=given.svg is not None, width=92 if given.svg else None)
    tour = Tour(given.folder, console)
    tour.run()
    if given.svg:
        drawn = console.export_svg(title="make tour", unique_id="tour")
        # The reader's own fonts will do; a picture should not ask a server for some.
        given.svg.write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL))
    tour.farewell()


if __name__ == "__main__":
    main()
