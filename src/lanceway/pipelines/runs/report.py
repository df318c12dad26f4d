"""The report of a run: progress, steps, and what made a step fail, as one sentence that names it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.lake.runs import runs
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.listing import KILLED
from lanceway.lake.runs.runs import FAILED, Run, StepRow, committed
from lanceway.pipelines import model
from lanceway.pipelines.file.load import load
from lanceway.pipelines.runs import store
from lanceway.pipelines.runs.store import State

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark import StatusTracker
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

# How Python ends the story of an exception: its class and what it says.
_LAST_LINE = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception|Exit|Interrupt|Warning)): (.*)$", re.MULTILINE)
# The same of an error of the contract's, wherever Spark puts it.
_CONTRACT = re.compile(r"lance_namespace\.errors\.(\w+): (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: |$)", re.MULTILINE)
_LONGEST = 600


@contextmanager
def user_function(step: str, path: str) -> Iterator[None]:
    """Turn what a user's function raises in the driver into an InvalidInputError that names the step."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (LanceNamespaceError, PySparkException):
        raise
    except Exception as error:  # a user's function may raise anything
        raise InvalidInputError(f"{path} of {step!r} raised {shown(error)}.") from error


def shown(error: BaseException) -> str:
    """Return an exception in one line, with the file and line of the innermost call."""
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}:{where[-1].lineno})" if where else ""
    return f"{type(error).__name__}: {short(str(error))}{place}"


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def said(error: PySparkException | Py4JJavaError) -> str:
    """Return the message of Spark's analysis in one line."""
    java = getattr(error, "java_exception", None)  # of what PySpark has no class for
    return short(str((error.getMessage() if java is None else java.getMessage()) or error))


def translated(step: str, error: PySparkException) -> LanceNamespaceError:
    """Turn the error of a step that failed in Spark into one of the contract, with the message of the step's own
    code.
    """
    text = str(error)
    raised = _RAISED.search(text)
    if raised:
        return InvalidInputError(f"{step!r}: {short(raised[1])}")
    match = _CONTRACT.search(text) or _LAST_LINE.search(text)
    if match:
        return _of_kind(step, match[1], match[2])
    return InternalError(f"{step!r} failed in Spark: {short(text)}")


def _of_kind(step: str, kind: str, words: str) -> LanceNamespaceError:
    """Return an error of the contract's class of this name, which it had in the worker, or an InvalidInputError."""
    from lanceway import errors

    error_class = getattr(errors, kind, None)
    if (
        isinstance(error_class, type)
        and issubclass(error_class, LanceNamespaceError)
        and error_class is not LanceNamespaceError
    ):
        return error_class(f"{step!r}: {short(words)}")
    return InvalidInputError(f"{step!r} failed: {kind}: {short(words)}")


def outcome(steps: Sequence[StepRow]) -> str:
    """Return why a run has failed, what it has committed nevertheless, and how to go on."""
    errors = [f"{step.error.rstrip('.')}." for step in steps if step.state == FAILED and step.error]
    done = [f"{step.table_name} version {step.version}" for step in committed(steps)]
    result = f"Committed: {', '.join(done)}." if done else "Nothing was committed."
    return " ".join([*errors, result, "Run it again to resume from there."])


_RUNNING = "RUNNING"
_SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True)
class Progress:
    """Tasks done and tasks known so far; rows and bytes read, as far as Spark counts them.

    A sum over stages whose total grows while Spark plans, where a `JobProgress` counts parts known from the start.
    """

    done: int = 0
    tasks: int = 0
    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.done + other.done, self.tasks + other.tasks, self.rows + other.rows, self.bytes + other.bytes
        )


@dataclass
class SparkJobWatch:
    """The jobs of one group. A finished job is asked for once, since a step may have many."""

    spark: SparkSession
    group: str
    _over: dict[int, Progress] = field(default_factory=dict)

    def begin(self) -> None:
        """Put the jobs that this thread starts into the group. Spark Connect has no groups."""
        if not _is_remote():
            self.spark.sparkContext.setJobGroup(self.group, self.group.rpartition("/")[2])

    def interrupt(self, tag: str) -> None:
        """Stop the jobs of the group; by the tag on Spark Connect. The tag alone does not find all jobs elsewhere."""
        if _is_remote():
            self.spark.interruptTag(tag)
        else:
            self.spark.sparkContext.cancelJobGroup(self.group)

    def progress(self) -> Progress:
        if _is_remote():
            return Progress()
        tracker = self.spark.sparkContext.statusTracker()
        stages = self.spark.sparkContext._jsc.sc().statusStore()
        total = Progress()
        for job in tracker.getJobIdsForGroup(self.group):
            total += self._over.get(job) or self._job(tracker, stages, job)
        return total

    def _job(self, tracker: StatusTracker, stages: Any, job: int) -> Progress:
        info = tracker.getJobInfo(job)
        if info is None:
            return Progress()
        total = Progress()
        for stage in info.stageIds:
            total += _stage(stages, stage)
        if info.status != _RUNNING:
            self._over[job] = total
        return total


def _stage(stages: Any, stage: int) -> Progress:
    from py4j.protocol import Py4JJavaError

    try:
        data = stages.lastStageAttempt(stage)
    except Py4JJavaError:  # Spark has forgotten it: it keeps so many
        return Progress()
    if data.status().name() == _SKIPPED:  # what another job has computed
        return Progress()
    rows, size = data.inputRecords(), data.inputBytes()
    # Of some files Spark counts nothing but the footers.
    return Progress(data.numCompleteTasks(), data.numTasks(), rows, size if size >= rows else 0)


def _is_remote() -> bool:
    from pyspark.sql.utils import is_remote

    return is_remote()


# Moments of a step: it begins; Spark is so far with it; its table has a new version, which is not yet recorded; it is
# over.
BEGUN, UNDER_WAY, WRITTEN, ENDED = "begun", "under way", "written", "ended"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a step. `moment` is begun, under way, written or ended; `step` has what is known by then.

    While a step is under way, `tasks` is the number of Spark tasks known so far and `done` of those finished; `rows`
    and `bytes` were read, as far as Spark counts them.
    """

    moment: str
    step: StepRow
    run: Run
    done: int = 0
    tasks: int = 0
    rows: int = 0
    bytes: int = 0


Listener = Callable[[Event], None]


def no_progress(event: Event) -> None:
    """Ignore the event: the listener of a run that no one watches."""


_NONE = {"state": "never run"}


def status(file: str | Path, *, state: State = None, config: str | Path | None = None) -> dict[str, Any]:
    """Return the newest run of a pipeline with its steps, and who is running it now."""
    name = load(file).name
    with store.open_existing_run_store(state, config) as run_store:
        if run_store is None:
            return {"pipeline": name, **_NONE}
        newest, pipeline = run_store.newest(name), run_store.find(name)
        if newest is None:
            return {"pipeline": name, **_NONE}
        record = run_store.report(newest.key).as_record()
    lease = (
        {"held_by": pipeline.held_by, "held_since": pipeline.held_since} if pipeline and _is_running(pipeline) else {}
    )
    return {**record, **lease, "state": _state(record["state"], running=bool(lease))}


def history(
    file: str | Path, *, state: State = None, config: str | Path | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """Return the runs of a pipeline, newest first."""
    name = load(file).name
    with store.open_existing_run_store(state, config) as run_store:
        if run_store is None:
            return []
        history, pipeline = run_store.history(name, limit=limit), run_store.find(name)
    running = pipeline is not None and _is_running(pipeline)
    return [{**run, "state": _state(run["state"], running=running)} for run in history]


def cancel(file: str | Path, *, state: State = None, config: str | Path | None = None) -> dict[str, Any]:
    """Cancel the run of a pipeline that some process executes, and return it. The process stops soon.

    What the run has committed stays, and the next run resumes it. Raise InvalidInputError if nothing runs.
    """
    name = load(file).name
    with store.open_existing_run_store(state, config) as run_store:
        newest = run_store.newest(name) if run_store is not None else None
        if run_store is None or newest is None:
            raise InvalidInputError(f"The pipeline {name} was never run, so there is nothing to cancel.")
        return run_store.cancel(newest).as_record()


def _is_running(pipeline: PipelineRow) -> bool:
    return pipeline.process is not None and not store.has_ended(pipeline.process)


def _state(shown: str, *, running: bool) -> str:
    """Return the state to show. A run recorded as running whose process has ended was killed; its lease may outlast
    it.
    """
    return KILLED if shown == runs.RUNNING and not running else shown


def lineage(
    file: str | Path | None = None,
    *,
    table: str | None = None,
    state: State = None,
    config: str | Path | None = None,
    depth: int | None = None,
    every: bool = False,
) -> list[LineageEdge]:
    """Return the edges that lead to the tables of a pipeline, or to one table by its name, and away from them.

    Edges go through all pipelines with the same state, `depth` steps each way. Of each pair of tables the newest edge
    is returned, or `every` one.
    """
    names = [table] if table is not None else [output.table for output in load(str(file)).outputs.values()]
    locations = (_place(name, config) for name in names)
    places = sorted({place for place in locations if place is not None})
    with store.open_existing_run_store(state, config) as run_store:
        return [] if run_store is None else run_store.lineage(places, depth=depth, every=every)


def _place(name: str, config: str | Path | None) -> str | None:
    try:
        return model.find(name, config).table().location
    except (NamespaceNotFoundError, TableNotFoundError):
        return None
