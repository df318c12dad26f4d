"""Ctrl-C while rows are streamed: the stream ends with an error, and the catalog undoes what it began.

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

if TYPE_CHECKING:
    import pyarrow as pa

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
        print("lanceway: stopped; the same command goes on where it left off", file=sys.stderr)  # noqa: T201
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
