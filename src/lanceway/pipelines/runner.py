"""A run of a pipeline: begun or gone on with, step by step, each recorded before and after.

What a run reads is decided once, when it begins, so that one that was killed goes on with the same. A step that wrote
a table is known by the name in its commit, whether its end was recorded or not.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock, local
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.jobs.context import Stop, check_threads, never_stop
from lanceway.lake.runs.runs import DONE, FAILED, FINISHED, GIVEN_UP, RUNNING, STOPPED, WAITING, Run
from lanceway.pipelines import atomic_outputs, model, outputs, steps
from lanceway.pipelines.file.load import load
from lanceway.pipelines.model import Pipeline
from lanceway.pipelines.run_context import PipelineContext
from lanceway.pipelines.runs import failures, store
from lanceway.pipelines.runs.report import Listener, RunReport, unheard
from lanceway.pipelines.runs.store import LEASE, Ending, HeldPipeline, State
from lanceway.pipelines.sources.sources import Sources
from lanceway.pipelines.steps import Chain
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
    full: bool = False,
    anew: bool = False,
    threads: int = THREADS,
    spark: SparkSession | None = None,
    master: str | None = None,
    listen: Listener = unheard,
    stop: Stop = never_stop,
    lease: float = LEASE,
) -> RunReport:
    """Run the pipeline of a file, or go on with a run of it that was stopped, killed, or has failed.

    Each output gets what is new to it; with `full` all of it, in place of what its table has. `anew` gives up a run
    that has not come to its end: what it has committed stays, and counts. `threads` outputs are written at a time.
    Without a session, one is started when it is first needed. Steps that fail are told by the report.

    Raises InvalidPipelineError for what is wrong with the file, and ConcurrentModificationError while somebody else
    runs the same pipeline.
    """
    check_threads(threads)
    pipeline = load(file)
    with ExitStack() as leaving:
        leaving.enter_context(functions.importable(pipeline.folder))
        ledger = leaving.enter_context(store.opened(state, config))
        held = leaving.enter_context(store.held(ledger, pipeline.name, lease=lease))
        session = _Session(spark, master, config)
        begun, continued = _begin(held, pipeline, full=full, anew=anew)
        finished = False
        try:
            end = _carry_out(held, begun, pipeline, session, config, threads, listen, stop)
            finished = True
        except LanceNamespaceError as error:
            message = str(error)
            held.end(begun, FAILED, message)
            finished = True
            raise
        finally:
            if not finished:  # whatever it was, it goes on its way
                held.end(begun, STOPPED)
        held.end(begun, *end)
        return replace(ledger.report(begun.key), continued=continued)


def _begin(held: HeldPipeline, pipeline: Pipeline, *, full: bool, anew: bool) -> tuple[Run, bool]:
    """The run to go on with, or a new one."""
    drawn = model.as_record(pipeline)
    newest = held.ledger.newest(held.name)
    open_ = newest if newest is not None and newest.state not in FINISHED else None
    if open_ is not None and not anew and (open_.full or not full):
        return held.resume(open_, drawn), True
    if open_ is not None:
        held.end(open_, GIVEN_UP, open_.error)
    return held.begin(str(uuid.uuid4()), full=full, graph=drawn), False


def _carry_out(
    held: HeldPipeline,
    begun: Run,
    pipeline: Pipeline,
    session: Callable[[], SparkSession],
    config: str | Path | None,
    threads: int,
    listen: Listener,
    stop: Stop,
) -> tuple[Ending, str | None]:
    """Do all that is to be done; how the run ends, and why."""
    sources = Sources(pipeline, held, begun, session, config, stop)
    pins = begun.pins
    if pins is None:
        pins, files = sources.pin(begun.number)
        held.pin(begun, pins, files)
    missing = [name for name in pipeline.sources if name not in pins]
    if missing:
        raise InvalidInputError(
            f"The run {begun.number} of {pipeline.name} did not know the source {missing[0]!r}, which the file has got "
            "since. Begin a new run with --anew; what was committed stays."
        )
    with Frames(pipeline, sources, pins, begun.key) as frames, outputs.Rooms() as rooms:
        work = PipelineContext(held, begun, pipeline, sources, frames, pins, session, config, listen, rooms)
        chains = steps.plan(work)
        for chain in chains:  # all is planned before anything is written
            chain.prepare()
        if pipeline.together:
            _gather(work, chains, threads, stop)
        if not work.stopping:
            _run_all(work, [chain.run for chain in chains if not chain.failed], threads, stop)
    found = held.ledger.report(begun.key)
    if found.failed:
        return FAILED, failures.outcome(found.steps)
    if stop() or any(step.state in (WAITING, RUNNING) for step in found.steps):
        return STOPPED, None
    return DONE, None


def _gather(work: PipelineContext, chains: list[Chain], threads: int, stop: Stop) -> None:
    """Write all tables, and make them visible at once; none of them, if one has failed."""
    writing = [chain for chain in chains if chain.frame is not None]
    if not writing:
        return
    with atomic_outputs.gathering([chain.target for chain in writing], work.run.key) as found:
        _run_all(work, [chain.gather for chain in writing], threads, stop)
        if work.stopping or any(chain.failed for chain in writing):
            for chain in chains:
                chain.failed = True
            return
        found.commit()


def _run_all(work: PipelineContext, tasks: list[Callable[[], None]], threads: int, stop: Stop) -> None:
    """Tasks side by side. Asked to stop, what is under way is interrupted and nothing more is begun."""
    with ThreadPoolExecutor(threads, thread_name_prefix="lanceway-step") as pool:
        running: set[Future[None]] = {pool.submit(task) for task in tasks}
        try:
            while running:
                done, running = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if work.listen is not unheard:
                    work.tell_progress()
                if stop() or work.held.lost.is_set():
                    work.interrupt()
                    running = {future for future in running if not future.cancel()}
        finally:
            if running:  # something is wrong here, and nobody waits for what is under way
                work.interrupt()
            for future in running:
                future.cancel()


@dataclass
class _Session:
    """The session, started when it is first needed; in a thread of its own, so that Ctrl-C stays ours."""

    given: SparkSession | None
    master: str | None
    config: str | Path | None
    _lock: Lock = field(default_factory=Lock)
    _threads: local = field(default_factory=local)

    def __call__(self) -> SparkSession:
        with self._lock:
            if self.given is None:
                with ThreadPoolExecutor(1) as pool:
                    self.given = pool.submit(self._start).result()
        if not getattr(self._threads, "ready", False):
            # Spark finds data sources in Python only in a thread that has the session for its own, as this makes it.
            self.given.createDataFrame([], "x INT")
            self._threads.ready = True
        return self.given

    def _start(self) -> SparkSession:
        from lanceway.spark.sessions import session

        return session(self.master, app_name="lanceway pipeline", config=self.config)
