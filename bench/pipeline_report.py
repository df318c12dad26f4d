"""What the benchmark of pipelines prints: rows in a second, ratios, and what the time is made of."""

from __future__ import annotations

from statistics import median

from rich.console import Console
from rich.table import Table

from pipeline_subjects import Taken

_AIM = 0.03  # bookkeeping, of the time that the same takes by hand
_DECLARED, _LANCE, _PARQUET = "pipeline", "by hand, Lance", "by hand, Parquet"
_REST = "the rest"

Measured = dict[str, list[Taken]]


def show(console: Console, rows: int, runs: int, taken: Measured, fixed: Measured) -> None:
    """The subjects beside each other; `fixed` are the same with next to no rows."""
    table = Table("", title=f"{rows:,} rows with vectors{_median(runs)}")
    for column in ("seconds", "rows/s", "of Parquet's time", "of Lance's by hand", "made of"):
        table.add_column(column, justify="right" if column != "made of" else "left")
    for name, found in taken.items():
        ratios = [f"{_seconds(found) / _seconds(taken[other]):.2f}" for other in (_PARQUET, _LANCE)]
        seconds = _seconds(found)
        table.add_row(name, f"{seconds:.2f}", f"{rows / seconds:,.0f}", *ratios, _parts(found))
    console.print(table)
    whole = _seconds(taken[_LANCE])
    records = median(one.records for one in taken[_DECLARED])
    more = _seconds(taken[_DECLARED]) - whole
    console.print(
        f"Bookkeeping: records take {records:.2f} s, {records / whole:.1%} of the same by hand; at most {_AIM:.0%}: "
        f"{'yes' if records / whole <= _AIM else 'NO'}. In all, the pipeline takes {more:+.2f} s ({more / whole:+.1%}) "
        f"beside it; with next to no rows, {_seconds(fixed[_DECLARED]) - _seconds(fixed[_LANCE]):+.2f} s."
    )


def show_incremental(console: Console, rows: int, runs: int, taken: Measured) -> None:
    table = Table("", title=f"A hundredth more than {rows:,} rows{_median(runs)}")
    for column in ("seconds", "made of"):
        table.add_column(column, justify="right" if column == "seconds" else "left")
    for name, found in taken.items():
        table.add_row(name, f"{_seconds(found):.2f}", _parts(found))
    console.print(table)
    times = _seconds(taken["full"]) / _seconds(taken["incremental"])
    console.print(f"The incremental run is {times:.1f} times as fast as the full one.")


def _median(runs: int) -> str:
    return f", median of {runs}" if runs > 1 else ""


def _seconds(found: list[Taken]) -> float:
    return median(one.whole for one in found)


def _parts(found: list[Taken]) -> str:
    """Each part's median, and what is left of the whole."""
    names = found[0].parts
    shown = {name: median(one.parts[name] for one in found) for name in names}
    shown[_REST] = median(one.whole - sum(one.parts.values()) for one in found)
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in shown.items())
