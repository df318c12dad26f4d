"""What the benchmark of Spark prints: seconds of each, their ratio, and whether the ratio is as it should be."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

RUNS = 3


@dataclass(frozen=True)
class Measured:
    """One line: seconds of Lance by the data source and by the SQL catalog, and of Parquet; None where there is none.

    `aim` is the largest ratio of the faster Lance to Parquet that is wanted.
    """

    what: str
    source: float | None
    catalog: float | None
    parquet: float | None
    aim: float | None = None

    @property
    def ratio(self) -> float | None:
        ours = [seconds for seconds in (self.source, self.catalog) if seconds is not None]
        return min(ours) / self.parquet if ours and self.parquet else None

    @property
    def verdict(self) -> str:
        if self.aim is None or self.ratio is None:
            return ""
        return f"at most {self.aim:.2f}: {'yes' if self.ratio <= self.aim else 'NO'}"


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    """Seconds of the fastest run: what the machine can do when nothing disturbs it."""
    return min(took(work) for _ in range(runs))


def took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def show(console: Console, title: str, lines: list[Measured]) -> None:
    table = Table("seconds", title=title)
    for column in ("data source", "SQL catalog", "Parquet", "ratio", "aim"):
        table.add_column(column, justify="right")
    for line in lines:
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        table.add_row(line.what, *map(_shown, (line.source, line.catalog, line.parquet)), ratio, line.verdict)
    console.print(table)


def show_parts(console: Console, title: str, parts: dict[str, float | str]) -> None:
    table = Table("", title=title)
    table.add_column("", justify="right")
    for what, value in parts.items():
        table.add_row(what, value if isinstance(value, str) else f"{value:.3f} s")
    console.print(table)


def _shown(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"
