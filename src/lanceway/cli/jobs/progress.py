"""Run a job and show it: a bar while it runs, and what it did at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from lanceway.cli.command import FAILED
from lanceway.cli.jobs.sentences import PROBLEMS, line, many, outcome_summary, sentence
from lanceway.cli.output.interrupts import leave_if, stoppable
from lanceway.cli.output.progress import bar_of
from lanceway.cli.output.values import printable, size
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.jobs import JobProgress, JobReport, JobSummary, TableOutcome
    from lanceway.writes.table_ref import TableRef

_FIELDS = ("speed", "rows", "rate", "message")
_LONGEST = 40  # characters of a table's name in the bar

Watch = Callable[["JobProgress"], None]
Stop = Callable[[], bool]
RunOnTable = Callable[["TableRef", Watch, Stop], "JobSummary"]
RunBetween = Callable[[Callable[["TableOutcome"], None], Callable[[int, int], None], Stop], "JobReport"]


def run_on_table(session: Session, label: str, table: TableRef, run: RunOnTable) -> None:
    """Run a job on one table and show it."""
    with stoppable() as stop, _bar(label, "parts") as watch:
        summary = run(table, watch, lambda: stop.asked)
    session.output.done(sentence(summary), summary.as_record())
    leave_if(summary.stopped)


def run_on_each(session: Session, label: str, tables: Iterable[TableRef], run: RunOnTable) -> None:
    """Run a job on one table after the other. One that fails does not keep the next from its turn."""
    from lanceway.errors import LanceNamespaceError

    records: list[dict[str, Any]] = []
    failed = 0
    with stoppable() as stop:
        for table in tables:
            if stop.asked:
                break
            try:
                with _bar(f"{label} {table.name}", "parts") as watch:
                    summary = run(table, watch, lambda: stop.asked)
            except LanceNamespaceError as error:
                failed += 1
                records.append({"table": table.name, "ok": False, "error": str(error), "code": int(error.code)})
                text = f"! {table.name}: {' '.join(str(error).split())}"
            else:
                records.append(summary.as_record())
                text = sentence(summary)
            if not session.json:
                session.output.names([text])
    done = f"{len(records) - failed:,} of {many(len(records), 'table')} done."
    session.output.done(done, {"ok": not failed and not stop.asked, "stopped": stop.asked, "tables": records})
    leave_if(stop.asked)
    if failed:
        raise typer.Exit(FAILED)


def run_between(
    session: Session,
    label: str,
    run: RunBetween,
    words: tuple[str, ...],
    *,
    dry_run: bool,
    count: Callable[[], int] | None = None,
) -> None:
    """Run a job over many tables and show it.

    `words` say what is to be done with new, changed and gone tables, and `count` returns how many tables there are.
    """
    plan: list[dict[str, Any]] = []
    total = count() if count is not None and sys.stderr.isatty() else None
    with stoppable() as stop, _bar(label, "tables") as watch:
        progress = _TableProgress(watch, total)

        def listen(outcome: TableOutcome) -> None:
            progress.table(outcome)
            if outcome.state == "known":
                return
            if session.json and dry_run:
                plan.append(outcome.as_record())
            elif not session.json and (outcome.state in PROBLEMS or dry_run):
                session.output.names([line(outcome)])

        report = run(listen, progress.flow, lambda: stop.asked)
    facts = report.as_record()
    session.output.done(outcome_summary(report, words), {**facts, "plan": plan} if dry_run else facts)
    leave_if(report.stopped)
    if not report.ok:
        raise typer.Exit(FAILED)


class _TableProgress:
    """Adds up the outcomes of tables, and the rows on their way, to how far a job is."""

    def __init__(self, watch: Watch, total: int | None) -> None:
        self._watch, self._total = watch, total
        self._tables = self._rows = self._bytes = self._problems = 0
        self._last = ""

    def table(self, outcome: TableOutcome) -> None:
        self._tables += 1
        self._problems += outcome.state in PROBLEMS
        self._last = printable(outcome.table)[-_LONGEST:]
        self._show()

    def flow(self, rows: int, bytes_: int) -> None:
        """Add rows on their way. Several threads do so, and a count that is a little late does no harm."""
        self._rows += rows
        self._bytes += bytes_
        self._show()

    def _show(self) -> None:
        from lanceway.jobs.report import JobProgress

        amount = size(self._bytes) if self._bytes else ""
        problems = f"{self._problems:,} problems" if self._problems else ""
        message = " ".join(filter(None, (amount, problems, self._last)))
        self._watch(JobProgress(self._tables, self._total, self._rows, message))


@contextmanager
def _bar(label: str, unit: str) -> Iterator[Watch]:
    """Show how far a job is by a bar on standard error if that is a terminal, and nowhere else."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:,.0f}} {unit}"),
        *(TextColumn(f"{{task.fields[{field}]}}", markup=False) for field in _FIELDS),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with bar_of(*columns) as bar:
        began = time.monotonic()
        task = bar.add_task(label, total=None, speed="", rows="", rate="", message="")

        def show(progress: JobProgress) -> None:
            seconds = time.monotonic() - began or 1.0
            bar.update(
                task,
                completed=progress.done,
                total=progress.total,
                speed=f"{progress.done / seconds:,.1f} {unit}/s" if progress.done else "",
                rows=f"{progress.rows:,} rows" if progress.rows else "",
                rate=f"{progress.rows / seconds:,.0f} rows/s" if progress.rows else "",
                message=progress.message,
            )

        yield show
