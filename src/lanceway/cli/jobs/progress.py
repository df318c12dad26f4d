"""The progress and the summary of a job: sentences and a bar for people, JSON for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from lanceway.cli.command import FAILED
from lanceway.cli.output.progress import bar_of, leave_if, stoppable
from lanceway.cli.output.renderers import printable, size
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.jobs import JobProgress, JobReport, JobSummary, TableOutcome
    from lanceway.writes.table_ref import TableRef

# Jobs after which a table has no new version.
_WITHOUT_VERSION = ("clean", "export", "export-iceberg")


def sentence(summary: JobSummary) -> str:
    """Return what a job did to one table."""
    text = _SENTENCES[summary.job](summary)
    if summary.dry_run:
        return f"Planned: {text}. Nothing was changed; leave --dry-run out to do it."
    if summary.stopped:
        return f"Stopped: {summary.done:,} of {many(summary.parts, 'part')} of {summary.table} are done."
    version = (
        f" {summary.table} is at version {summary.version}."
        if summary.changed and summary.job not in _WITHOUT_VERSION
        else ""
    )
    return f"{text[0].upper()}{text[1:]} in {summary.seconds:,.1f} s.{version}"


def _compact(summary: JobSummary) -> str:
    facts, rows = summary.facts, f"{many(summary.rows, 'row')}, {size(summary.bytes)}"
    if not summary.parts:
        return f"nothing to compact in {summary.table}"
    old = many(facts["fragments_removed"], "fragment")
    if summary.dry_run:
        return f"rewrite {old} of {summary.table} in {many(summary.parts, 'group')} ({rows})"
    return f"{old} of {summary.table} became {facts['fragments_added']:,} ({rows})"


def _clean(summary: JobSummary) -> str:
    versions = many(summary.facts["versions_removed"], "version")
    if summary.dry_run:
        which = ", ".join(map(str, summary.facts["versions"]))
        return f"remove {versions} of {summary.table}{f' ({which})' if which else ''}, {size(summary.bytes)}"
    return f"removed {versions} of {summary.table}, {size(summary.bytes)}"


def _index(summary: JobSummary) -> str:
    facts, verb = summary.facts, "build" if summary.dry_run else "built"
    if summary.stopped:
        return ""
    return (
        f"{verb} the {facts['index_type']} index {facts['index']} on {facts['column']} of {summary.table} from "
        f"{many(facts['segments'], 'segment')} ({many(summary.rows, 'row')})"
    )


def _refresh(summary: JobSummary) -> str:
    missing = {name: rows for name, rows in summary.facts["indices"].items() if rows}
    if not missing:
        return f"{'retrained' if summary.changed else 'nothing to add to'} the indices of {summary.table}"
    which = ", ".join(f"{many(rows, 'row')} to {name}" for name, rows in missing.items())
    return f"{'add' if summary.dry_run else 'added'} {which} of {summary.table}"


def _backfill(summary: JobSummary) -> str:
    if not summary.facts:
        return f"found the column in {summary.table}, by a run that was killed after its commit"
    facts = summary.facts
    verb, to = ("fill", "of") if facts.get("update") else ("add", "to")
    what = f"{facts['column']} ({facts['type']}) {to} {summary.table}, for {many(summary.rows, 'row')}"
    return f"{verb} {what}, by {facts['function']}" if summary.dry_run else f"{verb}ed {what}"


def _dedupe(summary: JobSummary) -> str:
    verb, by = "delete" if summary.dry_run else "deleted", ", ".join(summary.facts["on"])
    rows = f"{summary.facts['deleted']:,} of {many(summary.rows, 'row')}"
    return f"{verb} {rows} of {summary.table}, the same by {by}"


def _export(summary: JobSummary) -> str:
    rows = f"{many(summary.rows, 'row')} of version {summary.version} of {summary.table}"
    if summary.dry_run:
        return f"export {rows} to {summary.facts['to']} in {many(summary.parts, 'part')}"
    files = f"{many(summary.facts['files'], 'file')} at {summary.facts['to']} ({size(summary.bytes)})"
    return f"{'exported' if summary.changed else 'found exported before:'} {rows} in {files}"


def _import(summary: JobSummary) -> str:
    files = f"{many(summary.facts['files'], 'file')} ({size(summary.bytes)}) into {summary.table}"
    if summary.dry_run:
        return f"import {many(summary.rows, 'row')} of {files}"
    return f"imported {many(summary.rows, 'row')} of {files}" if summary.changed else f"found imported before: {files}"


def _export_iceberg(summary: JobSummary) -> str:
    table = f"version {summary.version} of {summary.table} as the Iceberg table {summary.facts['to']}"
    if summary.dry_run:
        return f"export {table}"
    return f"exported {many(summary.rows, 'row')} of {table}{_compared(summary)}"


def _import_iceberg(summary: JobSummary) -> str:
    tables = f"the Iceberg table {summary.facts['source']} into {summary.table}"
    if summary.dry_run:
        return f"import {tables}"
    return f"imported {many(summary.rows, 'row')} of {tables}{_compared(summary)}"


def _compared(summary: JobSummary) -> str:
    return f" (checksum {summary.facts['checksum']} on both sides)"


def many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


_SENTENCES: Mapping[str, Callable[[JobSummary], str]] = {
    "backfill": _backfill,
    "clean": _clean,
    "compact": _compact,
    "dedupe": _dedupe,
    "export": _export,
    "export-iceberg": _export_iceberg,
    "import": _import,
    "import-iceberg": _import_iceberg,
    "index": _index,
    "refresh-index": _refresh,
}

_SIGNS = {"new": "+", "changed": "~", "gone": "-"}
PROBLEMS = {"collision": "in the way", "refused": "refused", "failed": "failed"}
_PAST = {
    "change": "changed",
    "copy": "copied",
    "deregister": "deregistered",
    "find gone": "gone from the source",
    "register": "registered",
    "replace": "replaced",
}
# Tables in a second, below which a rate says nothing.
_WORTH_SHOWING = 10


def line(outcome: TableOutcome) -> str:
    """Return what became of one of many tables."""
    renamed = f" as {outcome.target}" if outcome.target and outcome.target != outcome.table else ""
    if outcome.state in PROBLEMS:
        return f"! {outcome.table}{renamed}: {PROBLEMS[outcome.state]}: {outcome.reason}"
    where = f" at {outcome.location}" if outcome.location else ""
    reason = f": {outcome.reason}" if outcome.reason else ""
    return f"{_SIGNS[outcome.state]} {outcome.table}{renamed}{where}{reason}"


def outcome_summary(report: JobReport, words: tuple[str, ...]) -> str:
    """Return what a job did to many tables. `words` are the verbs for new, changed and gone ones."""
    verbs = [f"to {word}" if report.dry_run else _PAST[word] for word in words]
    parts = [f"{report.counts[state]:,} {verb}" for state, verb in zip(_SIGNS, verbs, strict=True)]
    parts.append(f"{report.counts['known']:,} already there")
    parts += [f"{report.counts[state]:,} {word}" for state, word in PROBLEMS.items()]
    text = ", ".join(part for part in parts if not part.startswith("0 ")) or "nothing to do"
    if report.dry_run:
        return f"Planned: {text}. Nothing was changed; leave --dry-run out to do it."
    rows = f" {report.rows:,} rows, {size(report.bytes)}." if report.rows else ""
    speed = report.tables / report.seconds if report.seconds else 0
    rate = f" ({speed:,.0f} tables/s)" if speed >= _WORTH_SHOWING else ""
    return f"{report.job.capitalize()}: {text} in {report.seconds:,.1f} s{rate}.{rows}"


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


def run_shown(label: str, run: Callable[[Watch, Stop], JobSummary]) -> JobSummary:
    """Run a job that has rows and no parts, with a bar. One that is stopped leaves here as KeyboardInterrupt."""
    from lanceway.jobs.report import JobProgress

    with stoppable() as stop, _bar(label, "rows") as watch:
        return run(lambda progress: watch(JobProgress(progress.rows, None)), lambda: stop.asked)


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
