"""How far a job between catalogs is, and what it came to: a bar while it runs, lines and a summary for people."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from lanceway.cli.command import FAILED
from lanceway.cli.output.interrupts import leave_if, stoppable
from lanceway.cli.output.progress import bar_of
from lanceway.cli.output.values import printable, size
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from rich.progress import Progress

    from lanceway.jobs import JobReport, TableOutcome

_FIELDS = ("rate", "rows", "flow", "problems", "table")
_LONGEST = 40  # characters of a table's name in the bar
_SIGNS = {"new": "+", "changed": "~", "gone": "-"}
_PROBLEMS = {"collision": "in the way", "refused": "refused", "failed": "failed"}
_PAST = {
    "change": "changed",
    "copy": "copied",
    "deregister": "deregistered",
    "find gone": "gone from the source",
    "register": "registered",
    "replace": "replaced",
}
# Tables in a second, below which a rate says nothing.
_WORTH_TELLING = 10

Flow = Callable[[int, int], None]
Run = Callable[[Callable[["TableOutcome"], None], Flow, Callable[[], bool]], "JobReport"]


def carry_out(
    session: Session, job: str, dry_run: bool, run: Run, total: Callable[[], int] | None, words: tuple[str, ...]
) -> None:
    """Run a job and show it. `words` say what is to be done with new, changed and gone tables."""
    plan: list[dict[str, Any]] = []
    with stoppable() as stop, _watched(labelled(job, dry_run), total) as watch:

        def listen(outcome: TableOutcome) -> None:
            watch.table(outcome)
            if outcome.state == "known":
                return
            if session.json and dry_run:
                plan.append(outcome.as_record())
            elif not session.json and (outcome.state in _PROBLEMS or dry_run):
                session.output.names([_line(outcome)])

        report = run(listen, watch.flow, lambda: stop.asked)
    _end(session, report, plan, words)


def labelled(job: str, dry_run: bool) -> str:
    return f"{job} (dry run)" if dry_run else job


def _line(outcome: TableOutcome) -> str:
    renamed = f" as {outcome.target}" if outcome.target and outcome.target != outcome.table else ""
    if outcome.state in _PROBLEMS:
        return f"! {outcome.table}{renamed}: {_PROBLEMS[outcome.state]}: {outcome.reason}"
    where = f" at {outcome.location}" if outcome.location else ""
    reason = f": {outcome.reason}" if outcome.reason else ""
    return f"{_SIGNS[outcome.state]} {outcome.table}{renamed}{where}{reason}"


def _end(session: Session, report: JobReport, plan: list[dict[str, Any]], words: tuple[str, ...]) -> None:
    facts = report.as_record()
    if report.dry_run:
        facts["plan"] = plan
    session.output.done(_summary(report, words), facts)
    leave_if(report.stopped)
    if not report.ok:
        raise typer.Exit(FAILED)


def _summary(report: JobReport, words: tuple[str, ...]) -> str:
    to = "to " if report.dry_run else ""
    done = [f"{report.counts[state]:,} {to}{_done(word, report)}" for state, word in zip(_SIGNS, words, strict=True)]
    parts = [*done, f"{report.counts['known']:,} already there"]
    parts += [f"{report.counts[state]:,} {word}" for state, word in _PROBLEMS.items() if report.counts[state]]
    text = ", ".join(part for part in parts if not part.startswith("0 ")) or "nothing to do"
    if report.dry_run:
        return f"Planned: {text}. Nothing was changed; leave --dry-run out to do it."
    rows = f" {report.rows:,} rows, {size(report.bytes)}." if report.rows else ""
    speed = report.tables / report.seconds if report.seconds else 0
    rate = f" ({speed:,.0f} tables/s)" if speed >= _WORTH_TELLING else ""
    return f"{report.job.capitalize()}: {text} in {report.seconds:,.1f} s{rate}.{rows}"


def _done(word: str, report: JobReport) -> str:
    return word if report.dry_run else _PAST[word]


class JobBar:
    """What somebody who watches sees of a job; without a bar, nothing."""

    def __init__(self, bar: Progress | None = None, label: str = "", total: int | None = None) -> None:
        self._bar, self._began = bar, time.monotonic()
        self._rows = self._bytes = self._problems = 0
        fields = dict.fromkeys(_FIELDS, "")
        self._task = None if bar is None else bar.add_task(label, total=total, **fields)  # type: ignore[arg-type]

    def table(self, outcome: TableOutcome) -> None:
        self._problems += outcome.state in _PROBLEMS
        self._show(1, outcome.table)

    def flow(self, rows: int, bytes_: int) -> None:
        """Rows on their way. Several threads tell of theirs, and a count that is a little late does no harm."""
        self._rows += rows
        self._bytes += bytes_
        self._show(0, None)

    def _show(self, tables: int, table: str | None) -> None:
        if self._bar is None or self._task is None:
            return
        speed, seconds = self._bar.tasks[self._task].speed, time.monotonic() - self._began
        shown = {
            "rate": f"{speed:,.1f} tables/s" if speed else "",
            "rows": f"{self._rows:,} rows, {size(self._bytes)}" if self._rows else "",
            "flow": f"{self._rows / seconds:,.0f} rows/s" if self._rows and seconds else "",
            "problems": f"{self._problems:,} problems" if self._problems else "",
        }
        last = {} if table is None else {"table": printable(table)[-_LONGEST:]}
        self._bar.update(self._task, advance=tables, **shown, **last)  # type: ignore[arg-type]


@contextmanager
def _watched(label: str, total: Callable[[], int] | None) -> Iterator[JobBar]:
    """Somebody who watches sees a bar; nobody else sees anything."""
    if not sys.stderr.isatty():
        yield JobBar()
        return
    count = total() if total else None
    with _bar() as bar:
        yield JobBar(bar, label, count)


def _bar() -> Progress:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    return bar_of(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,.0f} tables"),
        *(TextColumn(f"{{task.fields[{field}]}}") for field in _FIELDS),
        TimeRemainingColumn(),
    )
