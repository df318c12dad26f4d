"""A run of a pipeline: begun or resumed, step by step, each recorded before and after.

What a run reads is decided once, when it begins, so that a resumed run reads the same. A step that wrote a table is
recognized by the job name in its commit, whether or not its end was recorded.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock, local
from typing import TYPE_CHECKING

from lanceway.config.settings import unknown
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.jobs.executor import Stop, check_threads, never_stop
from lanceway.lake.runs.runs import DONE, FAILED, FINISHED, GIVEN_UP, RUNNING, STOPPED, WAITING, Run, RunReport
from lanceway.pipelines import model, outputs, steps
from lanceway.pipelines.continuity import FULL
from lanceway.pipelines.file.load import load
from lanceway.pipelines.model import Pipeline
from lanceway.pipelines.runs import store
from lanceway.pipelines.runs.report import Listener, no_progress, outcome
from lanceway.pipelines.runs.store import LEASE, Ending, PipelineLease, State
from lanceway.pipelines.sources import Sources
from lanceway.pipelines.steps import OutputTask, PipelineContext
from lanceway.pipelines.transforms import functions
from lanceway.pipelines.transforms.frames import Frames

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREADS = 4
_LOOK = 0.2  # seconds between two looks whether to stop


def run(
    file: str | Path,
    *,
    state: State = None,
    config: str | Path | None = None,
    full: bool | Collection[str] = False,
    adopt: bool = False,
    restart: bool = False,
    threads: int = THREADS,
    spark: SparkSession | None = None,
    master: str | None = None,
    listen: Listener = no_progress,
    stop: Stop = never_stop,
    lease: float = LEASE,
) -> RunReport:
    """Run the pipeline of a file, or resume a run of it that was stopped, killed, or has failed.

    Each output gets what is new to it; with `full` all of it, in place of what its table has, or only those outputs
    that `full` names. `adopt` takes what is in a table as written where it is not known what was written into it, or
    where a source is another table than before. `restart` gives up an unfinished run: what it has committed stays, and
    counts. `threads` outputs are written at a time. Without a session, one is started when it is first needed. The
    report lists the steps that failed, and warnings.

    Raise InvalidPipelineError if the file is wrong, or if it has to be decided how an output goes on, and
    ConcurrentModificationError while another process runs the same pipeline.
    """
    check_threads(threads)
    pipeline = load(file)
    rebuilt = _names(pipeline, full)
    with ExitStack() as leaving:
        leaving.enter_context(functions.importable(pipeline.folder))
        run_store = leaving.enter_context(store.open_run_store(state, config))
        holding = leaving.enter_context(store.hold(run_store, pipeline.name, lease=lease))
        session = _Session(spark, master, config)
        begun, continued = _begin(holding, pipeline, full=full is True, rebuilt=rebuilt, restart=restart)
        finished = False
        try:
            end = _run(holding, begun, pipeline, session, config, threads, listen, stop, adopt=adopt)
            finished = True
        except LanceNamespaceError as error:
            holding.end(begun, FAILED, str(error))
            finished = True
            raise
        finally:
            if not finished:  # whatever it was, it goes on its way
                holding.end(begun, STOPPED)
        holding.end(begun, *end)
        return replace(run_store.report(begun.key), continued=continued)


def _names(pipeline: Pipeline, full: bool | Collection[str]) -> frozenset[str]:
    """Return the outputs to rebuild, if only some are named. Raise InvalidInputError for one that cannot be."""
    if isinstance(full, bool):
        return frozenset()
    tables = {output.name: output.table for _, output in steps.table_outputs(pipeline)}
    names = frozenset([full] if isinstance(full, str) else full)
    for name in sorted(names):
        if name not in tables:
            raise InvalidInputError(unknown(f"The pipeline {pipeline.name}", list(tables), name, "output"))
        shared = [other for other in tables if tables[other] == tables[name] and other not in names]
        if shared:
            raise InvalidInputError(
                f"{name!r} cannot be rebuilt alone: {tables[name]} has the rows of {', '.join(shared)} as well, which "
                f"would be lost. Rebuild them together: --full {' '.join(sorted({*names, *shared}))}."
            )
    return names


def _begin(
    lease: PipelineLease, pipeline: Pipeline, *, full: bool, rebuilt: frozenset[str], restart: bool
) -> tuple[Run, bool]:
    """Resume the unfinished run, or begin a new one; return it, and whether it was resumed.

    One that rebuilds less than is asked for is given up. What it was to rebuild, the new one does.
    """
    newest = lease.run_store.newest(lease.name)
    open_ = newest if newest is not None and newest.state not in FINISHED else None
    before = frozenset(open_.graph.get(FULL, ())) if open_ is not None and not restart else frozenset()
    drawn = {**model.as_record(pipeline), FULL: sorted(before | rebuilt)}
    if open_ is not None and not restart and (open_.full or (not full and rebuilt <= before)):
        return lease.resume(open_, drawn), True
    if open_ is not None:
        lease.end(open_, GIVEN_UP, open_.error)
    return lease.begin(str(uuid.uuid4()), full=full, graph=drawn), False


def _run(
    lease: PipelineLease,
    begun: Run,
    pipeline: Pipeline,
    session: Callable[[], SparkSession],
    config: str | Path | None,
    threads: int,
    listen: Listener,
    stop: Stop,
    *,
    adopt: bool,
) -> tuple[Ending, str | None]:
    """Run all steps; return how the run ends, and why."""
    sources = Sources(pipeline, lease, begun, session, config, stop)
    source_versions = begun.pins
    if source_versions is None:
        source_versions, files = sources.pin(begun.number)
        lease.pin(begun, source_versions, files)
    missing = [name for name in pipeline.sources if name not in source_versions]
    if missing:
        raise InvalidInputError(
            f"The run {begun.number} of {pipeline.name} did not know the source {missing[0]!r}, which the file has got "
            "since. Begin a new run with --restart; what was committed stays."
        )
    with Frames(pipeline, sources, source_versions, begun.key) as frames, outputs.NamespaceScope() as namespaces:
        context = PipelineContext(
            lease, begun, pipeline, sources, frames, source_versions, session, config, listen, namespaces
        )
        tasks = steps.plan(context, adopt=adopt)
        for task in tasks:  # all is planned before anything is written
            task.prepare()
        if pipeline.together:
            _write_together(context, tasks, threads, stop)
        if not context.stopping:
            _run_all(context, _by_table(tasks, OutputTask.run), threads, stop)
    report = lease.run_store.report(begun.key)
    if report.failed:
        return FAILED, outcome(report.steps)
    if stop() or any(step.state in (WAITING, RUNNING) for step in report.steps):
        return STOPPED, None
    return DONE, None


def _write_together(context: PipelineContext, tasks: list[OutputTask], threads: int, stop: Stop) -> None:
    """Write all tables and make them visible at once; none of them, if one has failed."""
    writing = [task for task in tasks if task.frame is not None]
    if not writing:
        return
    with outputs.deferred_commit([task.target for task in writing], context.run.key) as deferred:
        _run_all(context, _by_table(writing, OutputTask.write_deferred), threads, stop)
        if context.stopping or any(task.failed for task in writing):
            for task in tasks:
                task.failed = True
            return
        deferred.commit()


def _by_table(tasks: list[OutputTask], action: Callable[[OutputTask], None]) -> list[Callable[[], None]]:
    """Return a call for each table. Tasks of one table run one after the other, and none after one that has failed:
    the first may replace what the others add to.
    """
    groups: dict[str, list[OutputTask]] = {}
    for task in tasks:
        groups.setdefault(task.output.table, []).append(task)

    def call(group: list[OutputTask]) -> None:
        for task in group:
            if task.failed:
                return
            action(task)

    return [partial(call, group) for group in groups.values()]


def _run_all(context: PipelineContext, calls: list[Callable[[], None]], threads: int, stop: Stop) -> None:
    """Run all calls side by side. When asked to stop, interrupt what is under way and begin nothing more."""
    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-step") as pool:
        running: set[Future[None]] = {pool.submit(call) for call in calls}
        try:
            while running:
                done, running = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if context.listen is not no_progress:
                    context.report_progress()
                if stop() or context.lease.lost.is_set():
                    # At each look again: a step may have been between two jobs of Spark's at the last one.
                    context.interrupt()
                    running = {future for future in running if not future.cancel()}
        finally:
            if running:  # a call has raised: the pool's exit would wait for the others to the end
                context.interrupt()
            for future in running:
                future.cancel()


@dataclass
class _Session:
    """The session, started when it is first needed; in a thread of its own, so that Ctrl-C still reaches this
    program.
    """

    spark: SparkSession | None
    master: str | None
    config: str | Path | None
    _lock: Lock = field(default_factory=Lock)
    _threads: local = field(default_factory=local)

    def __call__(self) -> SparkSession:
        with self._lock:
            if self.spark is None:
                with ThreadPoolExecutor(1) as pool:
                    self.spark = pool.submit(self._start).result()
        if not getattr(self._threads, "ready", False):
            # Spark finds data sources in Python only in a thread that has the session for its own, as this makes it.
            self.spark.createDataFrame([], "x INT")
            self._threads.ready = True
        return self.spark

    def _start(self) -> SparkSession:
        from lanceway.spark.sessions import session

        return session(self.master, app_name="lanceway pipeline", config=self.config)
