"""Progress of a stream of rows, and Ctrl-C while it runs: the stream ends with an error and is undone.

KeyboardInterrupt alone would leave pylance's threads writing files of a table that is never committed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lanceway.cli.output.renderers import size

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.progress import Progress, ProgressColumn

_STDERR = 2


class Stop:
    """Whether Ctrl-C was pressed."""

    asked = False

    def between(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches until Ctrl-C is pressed, then raise InternalError: the stream must not seem complete."""
        for batch in batches:
            self._check()
            yield batch
        self._check()

    def _check(self) -> None:
        from lanceway.errors import InternalError

        if self.asked:
            raise InternalError("interrupted while the rows were read")


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Let the first Ctrl-C stop the stream, and a second one end the program at once.

    An operation that fails after the first leaves here as KeyboardInterrupt.
    """
    from lanceway.errors import LanceNamespaceError

    stop = Stop()
    with _listening(stop):
        try:
            yield stop
        except LanceNamespaceError as error:
            if stop.asked:
                raise KeyboardInterrupt from error
            raise


def leave_if(stopped: bool) -> None:
    """End the program if a job was stopped that the same command resumes."""
    import typer

    from lanceway.cli.command import INTERRUPTED

    if stopped:
        print("lanceway: stopped; the same command resumes where it left off", file=sys.stderr)  # noqa: T201
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _listening(stop: Stop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there Python hears signals
        yield
        return

    def ask(*_: object) -> None:
        stop.asked = True
        signal.signal(signal.SIGINT, before)
        os.write(_STDERR, b"\nlanceway: stopping; Ctrl-C again ends at once")

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
