"""The progress of a pipeline's run: a line for each step that runs, or lines of JSON for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lanceway.cli.output.progress import bar_of
from lanceway.cli.output.values import printable, size, to_json

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from lanceway.pipelines import Event

_BETWEEN = 5.0  # seconds between two lines of one step under way


@contextmanager
def watched(*, events: bool) -> Iterator[Callable[[Event], None]]:
    """Yield a listener: lines for each step in a terminal, JSON with `events`, and otherwise one that shows nothing."""
    from lanceway.pipelines.runs.report import no_progress

    if events:
        yield JsonEvents()
    elif sys.stderr.isatty():
        with _bar() as bar:
            yield StepLines(bar)
    else:
        yield no_progress


def notes(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person should know of a step: why it failed, which expectations were broken, what its follow-ups
    did.
    """
    if step.get("error"):
        yield printable(step["error"])
    yield from warnings(step)
    details = step.get("details", {})
    for key in ("reason", "made", "refreshed", "tags", "published", "removed"):
        value = details.get(key)
        if value:
            yield value if key == "reason" else f"{key} {', '.join(value) if isinstance(value, list) else value}"


def warnings(step: Mapping[str, Any]) -> Iterator[str]:
    for name, results in step.get("details", {}).get("expectations", {}).items():
        for rule, result in results["expectations"].items():
            if result["broken"]:
                yield f"{name}: {result['broken']:,} of {results['rows']:,} rows break {rule!r} ({result['otherwise']})"


class StepLines:
    """Shows one line for each step that runs."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._lines: dict[str, tuple[TaskID, float]] = {}

    def __call__(self, event: Event) -> None:
        name = event.step.name
        if event.moment == "begun":
            self._lines[name] = self._bar.add_task(printable(name), total=None, text=""), time.monotonic()
        elif event.moment == "under way" and name in self._lines:
            line, began = self._lines[name]
            text = progress(event, time.monotonic() - began)
            self._bar.update(line, total=event.tasks, completed=event.done, text=text)
        elif event.moment == "written" and name in self._lines:
            self._bar.update(self._lines[name][0], text=f"version {event.step.version}")
        elif event.moment == "ended":
            self._end(event)

    def _end(self, event: Event) -> None:
        from lanceway.lake.runs.runs import step_record

        step = event.step
        line, began = self._lines.pop(step.name, (None, time.monotonic()))
        if line is not None:
            self._bar.remove_task(line)
        result = f": {step.error}" if step.error else written(step.rows, step.bytes, time.monotonic() - began)
        broken = (f"  ! {warning}" for warning in warnings(step_record(step)))
        for text in (f"{step.name}: {step.state}{result}", *broken):
            self._bar.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def progress(event: Event, seconds: float) -> str:
    """Format tasks, rows and bytes so far, and the remaining time if the other tasks take as long."""
    parts = [f"{event.done:,} of {event.tasks:,} tasks"]
    if event.rows:
        parts += [f"{event.rows:,} rows", f"{event.rows / max(seconds, 0.001):,.0f} rows/s"]
    if event.bytes:
        parts.append(size(event.bytes))
    if event.done:
        parts.append(f"{seconds * (event.tasks - event.done) / event.done:,.0f} s left")
    return ", ".join(parts)


def written(rows: int | None, stored: int | None, seconds: float) -> str:
    if not rows:
        return ""
    return f", {rows:,} rows, {rows / max(seconds, 0.001):,.0f} rows/s{f', {size(stored)}' if stored else ''}"


class JsonEvents:
    """Prints every event as a line of JSON on standard error; of a step under way only now and then."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._printed: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        name, now = event.step.name, time.monotonic()
        if event.moment == "begun":
            self._began[name] = now
        if event.moment == "under way":
            if now - self._printed.get(name, 0) < _BETWEEN:
                return
            self._printed[name] = now
        print(to_json(self._record(event, now - self._began.get(name, now))), file=sys.stderr, flush=True)  # noqa: T201

    @staticmethod
    def _record(event: Event, seconds: float) -> dict[str, Any]:
        from lanceway.lake.runs.runs import step_record

        step = event.step
        common = {"event": event.moment, "pipeline": event.run.pipeline, "run": event.run.number, "step": step.name}
        if event.moment != "under way":
            details = {key: value for key, value in step_record(step).items() if key != "name"}
            return {**common, **details, **({"warnings": broken} if (broken := list(warnings(details))) else {})}
        rate = {"rows_per_second": round(event.rows / seconds, 1)} if event.rows and seconds else {}
        remaining = {"seconds_left": round(seconds * (event.tasks - event.done) / event.done, 1)} if event.done else {}
        counts = {"done": event.done, "tasks": event.tasks, "rows": event.rows, "bytes": event.bytes}
        return {**common, **counts, "seconds": round(seconds, 1), **rate, **remaining}


def _bar() -> Progress:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

    return bar_of(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
