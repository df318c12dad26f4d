"""How far a job on one table is, and what it came to: a bar while it runs, a sentence for people at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from lanceway.cli.command import FAILED
from lanceway.cli.jobs.sentences import many, sentence
from lanceway.cli.output.interrupts import leave_if, stoppable
from lanceway.cli.output.progress import bar_of
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from rich.progress import Progress

    from lanceway.jobs import JobProgress, JobSummary
    from lanceway.writes.table_ref import TableRef

Run = Callable[[Callable[["JobProgress"], None], Callable[[], bool]], "JobSummary"]
RunOn = Callable[["TableRef", Callable[["JobProgress"], None], Callable[[], bool]], "JobSummary"]


def carry_out(session: Session, label: str, run: Run) -> None:
    """Run a job on one table and show it."""
    with stoppable() as stop, _watched(label) as watch:
        summary = run(watch, lambda: stop.asked)
    session.output.done(sentence(summary), summary.as_record())
    leave_if(summary.stopped)


def carry_out_each(session: Session, label: str, tables: Iterable[TableRef], run: RunOn) -> None:
    """Run a job on one table after the other. One that fails does not keep the next from its turn."""
    from lanceway.errors import LanceNamespaceError

    records: list[dict[str, Any]] = []
    failed = 0
    with stoppable() as stop:
        for table in tables:
            if stop.asked:
                break
            try:
                with _watched(f"{label} {table.name}") as watch:
                    summary = run(table, watch, lambda: stop.asked)
            except LanceNamespaceError as error:
                failed += 1
                records.append({"table": table.name, "ok": False, "error": str(error), "code": int(error.code)})
                line = f"! {table.name}: {' '.join(str(error).split())}"
            else:
                records.append(summary.as_record())
                line = sentence(summary)
            if not session.json:
                session.output.names([line])
    done = f"{len(records) - failed:,} of {many(len(records), 'table')} done."
    session.output.done(done, {"ok": not failed and not stop.asked, "stopped": stop.asked, "tables": records})
    leave_if(stop.asked)
    if failed:
        raise typer.Exit(FAILED)


@contextmanager
def _watched(label: str) -> Iterator[Callable[[JobProgress], None]]:
    """Somebody who watches sees a bar; nobody else sees anything."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    with _bar() as bar:
        task, began = bar.add_task(label, total=None, rows="", rate=""), time.monotonic()

        def show(step: JobProgress) -> None:
            seconds = time.monotonic() - began
            rows = f"{step.rows:,} rows" if step.rows else ""
            rate = f"{step.rows / seconds:,.0f} rows/s" if step.rows and seconds else ""
            bar.update(task, completed=step.done, total=step.total, rows=rows, rate=rate)

        yield show


def _bar() -> Progress:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return bar_of(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,.0f} parts"),
        TextColumn("{task.fields[rows]}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
