"""Runs of pipelines: what each of them read and wrote, step by step.

Times are the database's, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, bindparam, func, select, update

from lanceway.lake.feed import outbox
from lanceway.lake.runs.limits import Count, Key, Place, Words
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import Insert
from lanceway.lake.store.schema import pipelines, run_reads, run_steps, runs
from lanceway.lake.tree.names import checked_text
from lanceway.lake.tree.pages import at_most

RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
STOPPED: Final = "stopped"
GIVEN_UP: Final = "given up"
WAITING: Final = "waiting"  # as only steps do
SKIPPED: Final = "skipped"
FINISHED = (DONE, GIVEN_UP)
WARNINGS: Final = "warnings"  # among the details of a step

_INSERT = Insert(runs, began_at=now())
_INSERT_STEP = Insert(run_steps)
_INSERT_READ = Insert(run_reads)
_RUNS: Select[Any] = select(runs, pipelines.c.name.label("pipeline")).join_from(runs, pipelines)
_NEWEST = _RUNS.where(runs.c.pipeline_id == bindparam("pipeline_row")).order_by(runs.c.number.desc())
_BY_KEY = select(runs.c.id).where(runs.c.pipeline_id == bindparam("pipeline_row"), runs.c.key == bindparam("of"))
_OWNER = select(runs.c.started_by).where(runs.c.pipeline_id == bindparam("pipeline_row"), runs.c.number == 1)
_NUMBER = select(func.coalesce(func.max(runs.c.number), 0)).where(runs.c.pipeline_id == bindparam("pipeline_row"))
_OF_RUN = run_steps.c.run_id == bindparam("run")
_STEPS = select(run_steps).where(_OF_RUN).order_by(run_steps.c.position, run_steps.c.name)
_STEP = select(run_steps).where(_OF_RUN, run_steps.c.name == bindparam("of"))
_READS = select(run_reads).where(run_reads.c.run_id == bindparam("run")).order_by(run_reads.c.step, run_reads.c.source)
# What each output has had of each source: of the steps that are done, in whatever became of their runs. The newest run
# counts, not the highest version: a table that was dropped and created again counts from the beginning.
_HAD_LAST = (
    select(run_reads.c.step, run_reads.c.source, run_reads.c.location, func.max(run_reads.c.run_id).label("run_id"))
    .join_from(run_reads, runs, run_reads.c.run_id == runs.c.id)
    .where(runs.c.pipeline_id == bindparam("pipeline_row"))
    .group_by(run_reads.c.step, run_reads.c.source, run_reads.c.location)
    .subquery()
)
_HAD = select(run_reads.c.step, run_reads.c.source, run_reads.c.location, run_reads.c.version).join_from(
    run_reads,
    _HAD_LAST,
    (run_reads.c.run_id == _HAD_LAST.c.run_id)
    & (run_reads.c.step == _HAD_LAST.c.step)
    & (run_reads.c.source == _HAD_LAST.c.source),
)
# The last step of each name that has come to its end, with the run's number.
_LAST = (
    select(run_steps.c.name, func.max(run_steps.c.run_id).label("run_id"))
    .join_from(run_steps, runs, run_steps.c.run_id == runs.c.id)
    .where(runs.c.pipeline_id == bindparam("pipeline_row"), run_steps.c.state.in_((DONE, SKIPPED)))
    .group_by(run_steps.c.name)
    .subquery()
)
_LAST_STEPS = (
    select(run_steps)
    .join_from(run_steps, _LAST, (run_steps.c.run_id == _LAST.c.run_id) & (run_steps.c.name == _LAST.c.name))
    .order_by(run_steps.c.name)
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `pins` say what it reads of each source, whatever comes later; None until that is decided."""

    id: int
    pipeline: str
    number: int
    key: str
    state: str
    full: bool
    attempts: int
    started_by: str
    graph: Mapping[str, Any] = field(repr=False)
    pins: Mapping[str, Mapping[str, Any]] | None
    error: str | None
    began_at: int
    ended_at: int | None

    @classmethod
    def of(cls, row: Row[Any]) -> Run:
        return cls(**{name: getattr(row, name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of a run. `base` is the version that its table had before, 0 if there was none."""

    name: Key
    kind: Key
    state: Key = WAITING
    position: Count = 0
    base: Count | None = None
    table_name: Words | None = None
    location: Place | None = None
    version: Count | None = None
    rows: Count | None = None
    bytes: Count | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    error: Words | None = None
    began_at: Count | None = None
    ended_at: Count | None = None

    @classmethod
    def of(cls, row: Row[Any]) -> StepRow:
        return cls(**{name: getattr(row, name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class Read:
    """What a step read of a source: what came after the version `after`, up to `version`."""

    step: Key
    source: Key
    kind: Key
    after: Count
    version: Count
    table_name: Words | None = None
    location: Place | None = None

    @classmethod
    def of(cls, row: Row[Any]) -> Read:
        return cls(**{name: getattr(row, name) for name in cls.__slots__})


def create(connection: Connection, pipeline: int, key: str, *, by: str, full: bool, graph: Mapping[str, Any]) -> Run:
    """Begin a run. Asked again with the same key, it is the same one."""
    begun = find(connection, pipeline, key)
    if begun is not None:
        return load(connection, begun)
    number = connection.execute(_NUMBER, {"pipeline_row": pipeline}).scalar_one() + 1
    values = {
        "pipeline_id": pipeline,
        "number": number,
        "key": key,
        "state": RUNNING,
        "full": full,
        "attempts": 1,
        "started_by": checked_text("The user", by),
        "graph": graph,
    }
    if _INSERT(connection, values) is None:
        raise RetryError("Another run has just begun. Try again.")
    run = page(connection, pipeline, limit=1)[0]
    _record(connection, "run.started", run)
    return run


def _record(connection: Connection, event: str, run: Run) -> None:
    data = {"pipeline": run.pipeline, "number": run.number, "state": run.state, "attempt": run.attempts}
    outbox.record(connection, event, run.key, by=run.started_by, row=run.id, data=data)


def page(connection: Connection, pipeline: int, *, limit: int | None = None) -> Sequence[Run]:
    """Return the newest runs of a pipeline, newest first."""
    return [Run.of(row) for row in connection.execute(_NEWEST.limit(at_most(limit)), {"pipeline_row": pipeline})]


def find(connection: Connection, pipeline: int, key: str) -> int | None:
    """Return the id of a pipeline's run by its key, None if there is none."""
    return connection.execute(_BY_KEY, {"pipeline_row": pipeline, "of": key}).scalar_one_or_none()


def owner(connection: Connection, pipeline: int) -> str | None:
    """Return the user who ran a pipeline first."""
    return connection.execute(_OWNER, {"pipeline_row": pipeline}).scalar_one_or_none()


def people(connection: Connection, run: int) -> set[str]:
    """Return who may see a run: the user who started it, and the one who ran its pipeline first."""
    row = connection.execute(select(runs.c.started_by, runs.c.pipeline_id).where(runs.c.id == run)).one_or_none()
    if row is None:
        return set()
    first = owner(connection, row.pipeline_id)
    return {row.started_by} if first is None else {row.started_by, first}


def resume(connection: Connection, run: int, attempts: int, graph: Mapping[str, Any]) -> Run:
    """Resume a run that has not finished; `attempts` is this attempt's number."""
    change(connection, run, state=RUNNING, attempts=attempts, graph=graph, error=None, ended_at=None)
    resumed = load(connection, run)
    _record(connection, "run.resumed", resumed)
    return resumed


def load(connection: Connection, run: int) -> Run:
    return Run.of(connection.execute(_RUNS.where(runs.c.id == run)).one())


def change(connection: Connection, run: int, **values: Any) -> None:
    connection.execute(update(runs).where(runs.c.id == run).values(**values))


def end(connection: Connection, run: int, state: str, error: str | None = None) -> None:
    change(connection, run, state=state, error=error, ended_at=now())
    _record(connection, "run.ended", load(connection, run))


# -- steps ---------------------------------------------------------------------------------------


def plan(connection: Connection, run: int, steps: Iterable[StepRow]) -> None:
    """Keep the steps of a run. Those that are there stay as they are."""
    _INSERT_STEP.many(connection, [{"run_id": run, **asdict(step)} for step in steps])


def steps(connection: Connection, run: int) -> Sequence[StepRow]:
    return [StepRow.of(row) for row in connection.execute(_STEPS, {"run": run})]


def step(connection: Connection, run: int, name: str) -> StepRow | None:
    row = connection.execute(_STEP, {"run": run, "of": name}).one_or_none()
    return StepRow.of(row) if row is not None else None


def begin_step(connection: Connection, run: int, name: str, **values: Any) -> None:
    """Record that a step begins. One that has ended stays so: the request may have been delayed for long."""
    is_open = run_steps.c.state.not_in((DONE, SKIPPED))
    _change_step(connection, run, name, is_open, state=RUNNING, began_at=now(), error=None, ended_at=None, **values)


def end_step(
    connection: Connection, run: int, name: str, state: str, reads: Iterable[Read] = (), **values: Any
) -> None:
    """Record how a step ended and what it read: both or neither."""
    _change_step(connection, run, name, state=state, ended_at=now(), **values)
    _INSERT_READ.many(connection, [{"run_id": run, **asdict(read)} for read in reads])


def _change_step(connection: Connection, run: int, name: str, *conditions: Any, **values: Any) -> None:
    conditions_of_step = (run_steps.c.run_id == run, run_steps.c.name == name, *conditions)
    connection.execute(update(run_steps).where(*conditions_of_step).values(**values))


# -- what was read -------------------------------------------------------------------------------


def reads(connection: Connection, run: int) -> Sequence[Read]:
    return [Read.of(row) for row in connection.execute(_READS, {"run": run})]


def had(connection: Connection, pipeline: int) -> Mapping[tuple[str, str, str | None], int]:
    """Return the latest version that each output has read of each source, by (output, source, source's location)."""
    rows = connection.execute(_HAD, {"pipeline_row": pipeline})
    return {(row.step, row.source, row.location): row.version for row in rows}


def last_steps(connection: Connection, pipeline: int) -> Sequence[StepRow]:
    """Return the newest step of each name that is done or was skipped, whatever became of its run."""
    return [StepRow.of(row) for row in connection.execute(_LAST_STEPS, {"pipeline_row": pipeline})]


@dataclass(slots=True)
class RunReport:
    """A run, with its steps and what they read."""

    run: Run
    steps: list[StepRow]
    reads: list[Read] = field(default_factory=list)
    continued: bool = False

    @property
    def ok(self) -> bool:
        return self.run.state == DONE

    @property
    def rows(self) -> int:
        return sum(step.rows or 0 for step in self.steps if step.kind == "output")

    @property
    def seconds(self) -> float:
        return duration(self.run, self.steps) or 0.0

    @property
    def failed(self) -> list[StepRow]:
        return [step for step in self.steps if step.state == FAILED]

    @property
    def committed(self) -> list[StepRow]:
        """Return the steps that committed a new version, even if others failed."""
        return committed(self.steps)

    @property
    def idle(self) -> bool:
        """Return whether there was nothing new to do."""
        return self.ok and all(step.state == SKIPPED for step in self.steps if step.kind == "output")

    @property
    def warnings(self) -> list[str]:
        """Return what needs attention but is not a failure, such as a table that was dropped and has been rebuilt."""
        return [warning for step in self.steps for warning in step.details.get(WARNINGS, ())]

    def as_record(self) -> dict[str, Any]:
        run = asdict(self.run)
        del run["graph"], run["id"]
        return {
            **run,
            "ok": self.ok,
            "continued": self.continued,
            "rows": self.rows,
            "seconds": self.seconds,
            "warnings": self.warnings,
            "committed": [{"table": step.table_name, "version": step.version} for step in self.committed],
            "steps": [step_record(step) for step in self.steps],
            "reads": [asdict(read) for read in self.reads],
        }


def duration(run: Run, steps: Iterable[StepRow]) -> float | None:
    """Return how many seconds a run took, None while it has no end.

    Of a run that was resumed, it is the time in which a step was running, and not that for which the run was stopped.
    """
    if run.ended_at is None:
        return None
    if run.attempts == 1:
        return (run.ended_at - run.began_at) / 1000
    milliseconds, until = 0, run.began_at
    spans = sorted((step.began_at, step.ended_at) for step in steps if step.began_at and step.ended_at)
    for began, ended in spans:
        milliseconds += max(0, ended - max(began, until))
        until = max(until, ended)
    return milliseconds / 1000


def committed(steps: Iterable[StepRow]) -> list[StepRow]:
    return [step for step in steps if step.state == DONE and step.version]


def of(connection: Connection, run: Run) -> RunReport:
    """Return a run with its steps and what they have read so far."""
    return RunReport(run, list(steps(connection, run.id)), list(reads(connection, run.id)))


def step_record(step: StepRow) -> dict[str, Any]:
    """Return a step as a record, without values that are not known."""
    record = {key: value for key, value in asdict(step).items() if value not in (None, {}) and key != "position"}
    if step.began_at is not None and step.ended_at is not None:
        record["seconds"] = (step.ended_at - step.began_at) / 1000
    return record
