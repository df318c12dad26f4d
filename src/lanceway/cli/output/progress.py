"""Progress bars for long work: on standard error, and only in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lanceway.cli.output.values import size

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.progress import Progress, ProgressColumn


class Meter:
    """Counts rows as they pass, and shows them if there is a bar."""

    def __init__(self, label: str, total: int | None, bar: Progress | None) -> None:
        self.rows, self.bytes = 0, 0
        self._bar = bar
        self._task = None if bar is None else bar.add_task(label, total=total, bytes=size(0), rate="")

    def over(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches, counted as they pass."""
        for batch in batches:
            yield batch
            self.rows += batch.num_rows
            self.bytes += batch.nbytes
            self._show(batch.num_rows)

    def _show(self, rows: int) -> None:
        if self._bar is None or self._task is None:
            return
        speed = self._bar.tasks[self._task].speed
        rate = f"{speed:,.0f} rows/s" if speed else ""
        self._bar.update(self._task, advance=rows, bytes=size(self.bytes), rate=rate)


@contextmanager
def meter(label: str, total: int | None = None) -> Iterator[Meter]:
    """Yield a meter, with a bar on standard error if that is a terminal. `total` is in rows, if known."""
    if not sys.stderr.isatty():
        yield Meter(label, total, None)
        return
    with _bar() as bar:
        yield Meter(label, total, bar)


def _bar() -> Progress:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    return bar_of(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,} rows"),
        TextColumn("{task.fields[bytes]}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )


def bar_of(*columns: ProgressColumn) -> Progress:
    """Return a bar on standard error that disappears when it ends."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)
