"""What a job did, in sentences for people: on one table, and over many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lanceway.cli.output.values import size

if TYPE_CHECKING:
    from lanceway.jobs import JobReport, JobSummary, TableOutcome

# Jobs after which a table has no new version.
_WITHOUT_VERSION = ("clean", "export")


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


def many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


_SENTENCES: Mapping[str, Callable[[JobSummary], str]] = {
    "backfill": _backfill,
    "clean": _clean,
    "compact": _compact,
    "dedupe": _dedupe,
    "export": _export,
    "import": _import,
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
