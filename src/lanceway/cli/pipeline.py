"""`lanceway pipeline`: check, run and show pipelines, with the progress of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.output.progress import bar_of, leave_if, stoppable
from lanceway.cli.output.renderers import moment, printable, size, to_json
from lanceway.cli.output.words import counted
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from lanceway.lake.runs.lineage import Node
    from lanceway.pipelines import Event
    from lanceway.pipelines.runs.http import Server

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
    yield from _broken(step)
    details = step.get("details", {})
    for key in ("reason", "made", "refreshed", "tags", "published", "removed"):
        value = details.get(key)
        if value:
            yield value if key == "reason" else f"{key} {', '.join(value) if isinstance(value, list) else value}"


def warnings(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield what needs attention: tables that were lost, changed definitions, and expectations that were broken."""
    yield from map(printable, step.get("details", {}).get("warnings", ()))
    yield from _broken(step)


def _broken(step: Mapping[str, Any]) -> Iterator[str]:
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
        parts += [counted(event.rows, "row"), f"{event.rows / max(seconds, 0.001):,.0f} rows/s"]
    if event.bytes:
        parts.append(size(event.bytes))
    if event.done:
        parts.append(f"{seconds * (event.tasks - event.done) / event.done:,.0f} s left")
    return ", ".join(parts)


def written(rows: int | None, stored: int | None, seconds: float) -> str:
    if not rows:
        return ""
    return f", {counted(rows, 'row')}, {rows / max(seconds, 0.001):,.0f} rows/s{f', {size(stored)}' if stored else ''}"


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


_STEPS = {
    "name": "step",
    "state": "state",
    "table_name": "table",
    "version": "version",
    "rows": "rows",
    "bytes": "size",
    "rate": "rows/s",
    "seconds": "seconds",
}
_SPARE = ("rate", "bytes")


def run_and_show(session: Session, file: Path, *, events: bool, **options: Any) -> None:
    """Run a pipeline and show its progress and its report."""
    from lanceway import config

    config.quiet_lance()
    from lanceway import pipelines

    with stoppable() as stop, watched(events=events) as listen:
        report = pipelines.run(file, listen=listen, stop=lambda: stop.asked, **options)
    show(session, report.as_record())
    leave_if(report.run.state == "stopped")
    if not report.ok:
        raise typer.Exit(FAILED)


def show(session: Session, record: Mapping[str, Any]) -> None:
    """Show a run: its steps and a sentence to people, all of it to programs."""
    if session.json:
        session.output.record(record)
        return
    if record.get("steps"):
        session.output.records(_STEPS, map(_step, record["steps"]), spare=_SPARE)
        for step in record["steps"]:
            for note in notes(step):
                if note not in printable(record.get("error") or ""):
                    session.output.done(f"{step['name']}: {note}", record)
    for warning in record.get("warnings", ()):
        session.output.done(f"Warning: {warning}", record)
    reason = f" {printable(record['error'])}" if record.get("error") else ""
    session.output.done(f"{_sentence(record)}{reason}", record)


def timed(runs: Iterable[Mapping[str, Any]], session: Session) -> Iterator[Mapping[str, Any]]:
    """Return runs with times that people can read."""
    for run in runs:
        yield (
            run if session.json else {**run, "began_at": moment(run["began_at"]), "written": ", ".join(run["written"])}
        )


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(step)
    if step.get("rows") and step.get("seconds"):
        shown["rate"] = round(step["rows"] / step["seconds"], 1)
    if step.get("bytes"):
        shown["bytes"] = size(step["bytes"])
    return shown


def _sentence(record: Mapping[str, Any]) -> str:
    if "number" not in record:
        return f"{record['pipeline']} was {record['state']}."
    parts = [f"Run {record['number']} of {record['pipeline']}: {record['state']}"]
    if record.get("ended_at") is not None:
        parts.append(f"{counted(record['rows'], 'row')} in {record['seconds']:,.1f} s")
    if record["attempts"] > 1:
        parts.append(f"attempt {record['attempts']}")
    if record.get("held_by"):
        parts.append(f"run by {record['held_by']} since {moment(record['held_since'])}")
    return ", ".join(parts) + "."


app = group("Pipelines: sources, transforms and expectations in a YAML file, and the Lance tables that come out.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The pipeline's YAML file.")]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="URI",
        help="What keeps the runs: a server, such as http://host:8400, or a database, such as sqlite:///runs.db; the "
        "home's if left out. Others on this machine can read what a command is given: what has a password in it goes "
        "into LANCEWAY_STATE.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--state-token-file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="A file with the token for the server that keeps the runs; LANCEWAY_STATE_TOKEN if left out.",
    ),
]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into this file.")]


def _state(state: str | None, token_file: Path | None) -> str | Server | None:
    """Return the store of runs: a database, or a server with a token."""
    if token_file is None:
        return state
    from lanceway.pipelines.runs.http import SCHEMES, Server
    from lanceway.pipelines.runs.store import uri

    where = uri(state)
    if not where.startswith(SCHEMES):
        raise typer.BadParameter("it goes with a server's address as --state.", param_hint="'--state-token-file'")
    return Server(where, token_file=str(token_file))


@command(app, "check")
def check(session: Session, file: File) -> None:
    """Say what is wrong with a pipeline, line by line; functions are imported, and tables looked for.

    Exit code 1 if it could not run. No row is read, and Spark is not started.
    """
    from lanceway import pipelines

    problems = pipelines.check(file, config=session.config)
    session.output.findings([problem.as_record() for problem in problems])
    if any(problem.wrong for problem in problems):
        raise typer.Exit(FAILED)


@command(app, "run")
def run(
    session: Session,
    file: File,
    outputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OUTPUT]...", help="With --full: the outputs that are rebuilt, instead of all."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Read all of every source, and replace what the tables have. With outputs after it, as in --full "
            "notes, only these are rebuilt, and the others get what is new.",
        ),
    ] = False,
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt",
            help="Take what is in a table as written where a run stops because it cannot tell, and add only what is "
            "new from now on: after a pipeline, output or source was renamed, the state was lost, or a source was "
            "overwritten.",
        ),
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Start over instead of resuming the last run.")] = False,
    state: State = None,
    state_token_file: TokenFile = None,
    master: Annotated[
        str | None, typer.Option("--master", help="Where Spark runs, such as local[4]; on this machine if left out.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="How many tables are written at a time.")] = 4,
    events: Annotated[
        bool,
        typer.Option(
            "--events",
            help="Print a line of JSON on standard error for each step that begins, is under way and ends. Without it, "
            "progress is shown on a terminal alone.",
        ),
    ] = False,
) -> None:
    """Run the pipeline, resuming an interrupted or failed run.

    Exit code 0 if all is done, 1 if a step has failed, 130 after Ctrl-C. The same command resumes from there.
    """
    if outputs and not full:
        raise typer.BadParameter("outputs are named with --full, as in --full notes.", param_hint="'OUTPUT'")
    run_and_show(
        session,
        file,
        full=outputs or full,
        adopt=adopt,
        restart=restart,
        state=_state(state, state_token_file),
        master=master,
        threads=threads,
        config=session.config,
        events=events,
    )


@command(app, "status")
def status(session: Session, file: File, state: State = None, state_token_file: TokenFile = None) -> None:
    """Show the newest run: what each step came to, and who runs the pipeline now."""
    from lanceway import pipelines

    show(session, pipelines.status(file, state=_state(state, state_token_file), config=session.config))


@command(app, "cancel")
def cancel(session: Session, file: File, state: State = None, state_token_file: TokenFile = None) -> None:
    """Cancel the run that another process executes; it stops within a quarter of a minute.

    What it has committed stays. lanceway pipeline run resumes it.
    """
    from lanceway import pipelines

    show(session, pipelines.cancel(file, state=_state(state, state_token_file), config=session.config))


@command(app, "history")
def history(
    session: Session,
    file: File,
    state: State = None,
    state_token_file: TokenFile = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show so many runs at most.")] = 20,
) -> None:
    """Show the runs, newest first."""
    from lanceway import pipelines

    run_store = _state(state, state_token_file)
    runs = pipelines.history(file, state=run_store, config=session.config, limit=limit)
    columns = {
        "number": "run",
        "state": "state",
        "began_at": "began",
        "seconds": "seconds",
        "rows": "rows",
        "started_by": "by",
        "written": "written",
        "error": "error",
    }
    session.output.records(columns, timed(runs, session))


@command(app, "graph")
def graph(session: Session, file: File, svg: Svg = None) -> None:
    """Show the steps and what each of them reads, as a list or as a drawing."""
    from lanceway.lake.runs.lineage import Node
    from lanceway.pipelines import load
    from lanceway.pipelines import model as graphs

    graph_record = graphs.as_record(load(file))
    if svg is not None:
        _draw(session, svg, [Node.of(node) for node in graph_record["nodes"]], graph_record["pipeline"])
        return
    columns = {"name": "step", "kind": "kind", "shown": "what", "inputs": "reads"}
    session.output.records(columns, graph_record["nodes"] if session.json else map(_joined, graph_record["nodes"]))


def _joined(node: dict[str, Any]) -> dict[str, Any]:
    return {**node, "inputs": ", ".join(node["inputs"]) or None}


@command(app, "lineage")
def lineage(
    session: Session,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The pipeline whose tables are meant.")] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="One table instead, such as lake.sales.orders.")
    ] = None,
    depth: Annotated[int | None, typer.Option("--depth", min=1, help="Go so many steps each way at most.")] = None,
    every: Annotated[bool, typer.Option("--every", help="Show every run's, not only the newest.")] = False,
    state: State = None,
    state_token_file: TokenFile = None,
    svg: Svg = None,
) -> None:
    """Show the lineage of tables: which versions they were made from, and what was made from them."""
    from lanceway import pipelines
    from lanceway.lake.runs.lineage import nodes

    if (file is None) == (table is None):
        raise typer.BadParameter("give a pipeline's file or --table, one of the two.", param_hint="'FILE'")
    run_store = _state(state, state_token_file)
    edges = pipelines.lineage(file, table=table, state=run_store, config=session.config, depth=depth, every=every)
    if svg is not None:
        _draw(session, svg, nodes(edges), f"Lineage of {table or file}")
        return
    columns = {
        "source": "from",
        "source_version": "version",
        "table": "to",
        "version": "version ",
        "pipeline": "pipeline",
        "run": "run",
    }
    session.output.records(columns, [edge.as_record() for edge in edges])


def _draw(session: Session, file: Path, found: Iterable[Node], title: str) -> None:
    from lanceway.errors import InvalidInputError
    from lanceway.lake.runs.lineage import svg

    try:
        file.write_text(svg(found, title), encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"The drawing cannot be written to {file}: {error.strerror}.") from error
    session.output.done(f"Drawn into {file}.", {"file": str(file)})
