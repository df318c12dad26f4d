"""What benchmarks print, kept: a console whose tables are also lines of JSON in a file, for `bench/summary.py`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

# Names the file; without it the tables are only printed.
VARIABLE = "LANCEWAY_BENCH_TABLES"


@dataclass(frozen=True)
class Figures:
    """A printed table as texts."""

    title: str
    heads: list[str]
    rows: list[list[str]]

    @staticmethod
    def of(table: Table) -> Figures:
        columns = [[str(cell) for cell in column.cells] for column in table.columns]
        heads = [str(column.header) for column in table.columns]
        return Figures(str(table.title or ""), heads, [list(row) for row in zip(*columns, strict=True)])


class Sheet(Console):
    """A console that keeps the tables that are printed on it."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*objects, **options)
        if file := os.environ.get(VARIABLE):
            with Path(file).open("a") as lines:
                for table in filter(lambda one: isinstance(one, Table), objects):
                    lines.write(json.dumps(asdict(Figures.of(table))) + "\n")


def kept(file: Path) -> list[Figures]:
    """The tables of a file, in the order in which they were printed."""
    return [Figures(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
