"""The tasks of a run, each of which writes one table and runs its follow-ups; and what they share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidTableStateError, LanceNamespaceError
from lanceway.lake.runs.runs import DONE, FAILED, SKIPPED, WAITING, WARNINGS, Read, Run, StepRow
from lanceway.pipelines import after_write, continuity, marks, model, outputs
from lanceway.pipelines.after_write import FollowUp, WrittenOutput
from lanceway.pipelines.continuity import Continuity, Start
from lanceway.pipelines.marks import OutputWriteId
from lanceway.pipelines.model import APPEND, OVERWRITE, Pipeline, PipelineOutput
from lanceway.pipelines.runs import report
from lanceway.pipelines.runs.report import BEGUN, ENDED, UNDER_WAY, WRITTEN, Event, Listener, SparkJobWatch
from lanceway.pipelines.runs.store import PipelineLease, StepEnding
from lanceway.pipelines.sources import Sources, SourceVersions
from lanceway.pipelines.transforms.frames import Frames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lanceway.writes.table_ref import TableRef

OUTPUT, REJECTED = "output", "quarantine"
NOTHING_NEW = "nothing new"
ADOPTED = "adopted"
_BETWEEN = 0.5  # seconds between two looks at how far Spark is


@dataclass
class PipelineContext:
    """What the steps of one run share."""

    lease: PipelineLease
    run: Run
    pipeline: Pipeline
    sources: Sources
    frames: Frames
    source_versions: SourceVersions
    spark: Callable[[], SparkSession]
    config: str | Path | None
    listen: Listener
    namespaces: outputs.NamespaceScope
    stopping: bool = False
    _computing: dict[str, SparkJobWatch] = field(default_factory=dict)
    _reported: float = 0.0  # by the monotonic clock

    @contextmanager
    def session(self, step: str) -> Iterator[SparkSession]:
        """Yield the session to a step that computes, with its jobs in a group and under a tag so they can be
        interrupted.
        """
        spark = self.spark()
        spark.addTag(self.run.key)
        watch = SparkJobWatch(spark, f"{self.run.key}/{step}")
        watch.begin()
        self._computing[step] = watch
        try:
            yield spark
        finally:
            del self._computing[step]
            spark.removeTag(self.run.key)

    def interrupt(self) -> None:
        """Stop what is under way. Call it until all has ended: a step may be between two Spark jobs."""
        self.stopping = True
        for watch in list(self._computing.values()):
            watch.interrupt(self.run.key)

    def report_progress(self) -> None:
        """Report the progress of the steps that are computing; only now and then, since asking costs Spark
        something.
        """
        if time.monotonic() - self._reported < _BETWEEN:
            return
        for step, watch in list(self._computing.items()):
            progress = watch.progress()
            if progress.tasks:
                self.listen(Event(UNDER_WAY, StepRow(step, ""), self.run, **asdict(progress)))
        self._reported = time.monotonic()


@dataclass
class OutputTask:
    """One table: write it, then run its follow-ups. A failure ends this task and no other that has its own table."""

    context: PipelineContext
    continuity: Continuity
    output: PipelineOutput
    kind: str
    start: Start
    steps: Mapping[str, StepRow]
    target: TableRef
    # Another output of the run replaces what is in the same table, and comes first.
    adds_to_rebuilt: bool = False
    # A version that an earlier attempt has committed, and that was lost since.
    lost_commit: int = 0
    frame: DataFrame | None = None
    deferred: bool = False  # its version is written, and committed together with others
    failed: bool = False

    @property
    def rebuilds(self) -> bool:
        """Return whether its table is to be replaced by what comes out of all that the sources have."""
        return self.start.rebuild or self.continuity.is_full(self.output.name)

    @property
    def mode(self) -> str:
        return OVERWRITE if self.rebuilds and not self.adds_to_rebuilt else self.output.mode

    @property
    def after(self) -> Mapping[str, int]:
        return self.start.after

    @property
    def job(self) -> str:
        return job_name(self.context.run, self.output)

    @property
    def write_id(self) -> OutputWriteId:
        return OutputWriteId(job=self.job, mark=self.continuity.mark(self.output))

    def prepare(self) -> None:
        """Plan the rows, unless they are written already or there are no new ones."""
        step = self.steps[self.output.name]
        if step.state in (DONE, SKIPPED) or self._committed(step) is not None:
            return
        if self.start.adopted or not self._has_news():
            return
        frames, file = self.context.frames, self.context.pipeline.file
        give = frames.rejected if self.kind == REJECTED else frames.rows
        rows = give(self.output.source, self.after)
        self.frame = outputs.fitted(file, self.output, rows, self.target, replaces=self.mode == OVERWRITE)

    def write_deferred(self) -> None:
        """Write the table, and leave its version to be committed together with others."""
        self._run_step(self.output.name, self._write_deferred)

    def _write_deferred(self, name: str) -> StepRow:
        self._require_table()
        base = outputs.version_of(self.target)
        self._begin(name, base=base, table_name=self.output.table)
        assert self.frame is not None
        target = outputs.deferred(self.target, self.context.run.key)
        with self.context.session(name) as spark:
            outputs.write(
                spark, self.frame, self.output, target, self.context.namespaces, mode=self.mode, job=self.write_id
            )
        self.deferred = True
        self.steps = {**self.steps, name: replace(self.steps[name], base=base)}
        return self.steps[name]

    def run(self) -> None:
        """Write the table, unless it is written already, and run its follow-ups."""
        written = self._run_step(self.output.name, self._write)
        if written is None:
            return
        for follow_up in after_write.follow_ups(self.output):
            if self.context.stopping:
                return
            state = self._run_step(f"{self.output.name}/{follow_up.kind}", partial(self._follow_up, follow_up, written))
            if state is None:
                return
            version = state.details.get("version")
            if version:
                written = replace(written, version=version)

    # -- the table itself ------------------------------------------------------------------------

    def _committed(self, step: StepRow) -> outputs.Committed | None:
        """Return what a killed run has committed and not recorded."""
        if step.base is None:
            return None
        return outputs.committed(self.target, self.job, after=max(step.base, self.lost_commit))

    def _require_table(self) -> None:
        """Raise InvalidTableStateError if the table was lost since the run has begun: new rows alone must not be there.

        The run goes on when it is started again, and decides then what to do.
        """
        state = self.start.state
        if self.rebuilds or state is None or state.table is None:
            return
        lost = continuity.change_since(self.target, state.table, pipeline=self.context.pipeline.name)
        if lost is not None:
            raise InvalidTableStateError(f"The table {self.output.table} {lost} while the run was under way.")

    def _write(self, name: str) -> StepRow:
        step = self.steps[name]
        commit = self._committed(step)
        if commit is None and self.deferred:
            return self._record(name, None)
        if commit is None and self.start.adopted:
            return self._record(name, None)
        if commit is None and self.frame is None:
            return self._skip(name)
        if commit is None:
            self._require_table()
            base = outputs.version_of(self.target)
            self._begin(name, base=base, table_name=self.output.table)
            assert self.frame is not None
            with self.context.session(name) as spark:
                outputs.write(
                    spark,
                    self.frame,
                    self.output,
                    self.target,
                    self.context.namespaces,
                    mode=self.mode,
                    job=self.write_id,
                )
            commit = outputs.committed(self.target, self.job, after=base)
            self._report(WRITTEN, replace(step, version=commit.version if commit else base))
        return self._record(name, commit)

    def _skip(self, name: str) -> StepRow:
        details = {"reason": NOTHING_NEW, **self._warnings(written=False)}
        state = continuity.unchanged_state(self.start.state, self.target)
        if state:
            details[continuity.STATE] = state
        return self._end(name, SKIPPED, details=details, base=outputs.version_of(self.target))

    def _warnings(self, *, written: bool) -> dict[str, Any]:
        """Return what is to be said of the step, for its details."""
        warnings = list(self.start.warnings)
        if not self.start.adopted and not (written and self.rebuilds | (self.mode == OVERWRITE)):
            changed = continuity.definition_warning(
                self.context.pipeline, self.output, self.start.state, written=written
            )
            warnings += [changed] if changed else []
        return {WARNINGS: warnings} if warnings else {}

    def _record(self, name: str, commit: outputs.Committed | None) -> StepRow:
        versions = self.context.source_versions
        reads = [
            Read(
                name,
                source.name,
                source.kind,
                self.after[source.name],
                versions[source.name]["version"],
                versions[source.name].get("table_name") or source.shown,
                versions[source.name].get("location"),
            )
            for source in model.sources_of(self.context.pipeline, self.output.source)
        ]
        details: dict[str, Any] = {"mode": self.mode, **self._warnings(written=True)}
        details |= {ADOPTED: True} if self.start.adopted else {}
        if self.frame is not None:
            results = self.context.frames.results(self.output.source, self.after)
            details |= {"expectations": results} if results else {}
        values: dict[str, Any] = {"version": outputs.version_of(self.target), "rows": 0, "bytes": 0}
        if commit is not None:
            values = {"version": commit.version, "rows": commit.rows, "bytes": commit.bytes}
            marks.keep(self.target, self.continuity.mark(self.output))
        if values["version"]:
            values["location"] = self.target.table().location
        details[continuity.STATE] = self.continuity.state(self.output, self.target, values["version"])
        return self._end(name, DONE, reads, details=details, table_name=self.output.table, **values)

    def _has_news(self) -> bool:
        """Tell whether anything is new in the incremental sources of this output, or in all if it has none."""
        if self.start.replaced or (self.start.rebuild and self.start.warnings):
            return True
        sources = model.sources_of(self.context.pipeline, self.output.source)
        versions = self.context.source_versions
        by_parts = [] if self.mode == OVERWRITE else [source for source in sources if source.incremental]
        return any(
            self.context.sources.has_news(source, self._version_read(source.name), versions[source.name]["version"])
            for source in by_parts or sources
        )

    def _version_read(self, source: str) -> int:
        """Return the version up to which this output has read a source, even if it reads all of it again."""
        return 0 if self.rebuilds else self.start.read.get(source, 0)

    # -- what follows ----------------------------------------------------------------------------

    def _follow_up(self, follow_up: FollowUp, step: StepRow, name: str) -> StepRow:
        is_new = step.state == DONE and not step.details.get(ADOPTED)
        version = step.version or step.base
        if not version or (follow_up.only_after_write and not is_new):
            return self._end(name, SKIPPED, details={"reason": NOTHING_NEW})
        self._begin(name, table_name=self.output.table)
        written = WrittenOutput(version, is_new, self.context.run.number, self.context.config)
        done = after_write.run(self.context.pipeline.file, self.output, self.target, follow_up, written)
        return self._end(name, DONE if done else SKIPPED, details=done or {"reason": NOTHING_NEW})

    # -- records ---------------------------------------------------------------------------------

    def _run_step(self, name: str, action: Callable[[str], StepRow]) -> StepRow | None:
        """Run a step, unless it is done already; return its record, None if it failed."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        step_row = self.steps[name]
        if step_row.state in (DONE, SKIPPED):
            return step_row
        if self.context.stopping:
            return None
        try:
            return action(name)
        except LanceNamespaceError as error:
            failure = error
        except (PySparkException, Py4JJavaError) as error:
            failure = report.translated(name, error)
        self.failed = True
        if not self.context.stopping:
            step = self.context.lease.end_step(self.context.run, name, FAILED, error=str(failure))
            self._report(ENDED, step)
        return None

    def _begin(self, name: str, **values: Any) -> None:
        self._report(BEGUN, self.context.lease.begin_step(self.context.run, name, **values))

    def _end(self, name: str, state: StepEnding, reads: Sequence[Read] = (), **values: Any) -> StepRow:
        step = self.context.lease.end_step(self.context.run, name, state, reads, **values)
        self._report(ENDED, step)
        return step

    def _report(self, moment: str, step: StepRow) -> None:
        self.context.listen(Event(moment, step, self.context.run))


def plan(context: PipelineContext, *, adopt: bool) -> list[OutputTask]:
    """Return a task for each table, in the order of the file; tables of rejected rows come first. Record the steps.

    Raise InvalidPipelineError if it has to be decided first how outputs go on; with `adopt`, they take what is there.
    """
    pipeline, run = context.pipeline, context.run
    tables = table_outputs(pipeline)
    planned: list[StepRow] = []
    for kind, output in tables:
        planned.append(StepRow(output.name, kind, position=len(planned)))
        for follow_up in after_write.follow_ups(output):
            planned.append(StepRow(f"{output.name}/{follow_up.kind}", follow_up.kind, position=len(planned)))
    recorded = {step.name: step for step in context.lease.plan(run, planned)}
    by_name = {output.name: output for _, output in tables}
    deciding = Continuity(
        pipeline, run, context.lease.run_store, context.source_versions, context.config, adopt, by_name
    )
    tasks: list[OutputTask] = []
    for kind, output in tables:
        target = model.find(output.table, context.config)
        step = recorded[output.name]
        commit = None if step.base is None else outputs.committed(target, job_name(run, output), after=step.base)
        start = deciding.start(output, target, step, None if commit is None else commit.version)
        task = OutputTask(context, deciding, output, kind, start, recorded, target)
        if start.rebuild and start.warnings:
            task.lost_commit = 0 if commit is None else commit.version
        if start.rebuild or start.adopted:  # what was done before the table was lost is to be done again
            task.steps = {name: _again(row) if _is_of(name, output) else row for name, row in recorded.items()}
        others = (other for other in tasks if other.output.table == output.table)
        task.adds_to_rebuilt = task.rebuilds and any(other.rebuilds for other in others)
        tasks.append(task)
    deciding.raise_if_undecided()
    return tasks


def _again(step: StepRow) -> StepRow:
    return replace(step, state=WAITING)


def _is_of(step: str, output: PipelineOutput) -> bool:
    return step == output.name or step.startswith(f"{output.name}/")


def job_name(run: Run, output: PipelineOutput) -> str:
    """Return the name by which the commit of an output in a run is recognised."""
    return f"{run.key}/{output.name}"


def table_outputs(pipeline: Pipeline) -> list[tuple[str, PipelineOutput]]:
    """Return every table that a pipeline writes, with its kind of step; tables of rejected rows come first."""
    return [*_rejected(pipeline), *((OUTPUT, output) for output in pipeline.outputs.values())]


def _rejected(pipeline: Pipeline) -> list[tuple[str, PipelineOutput]]:
    rejected = []
    for node in pipeline.steps.values():
        into = next((rule for rule in node.expect if rule.into), None)
        if into is not None:
            name = f"{node.name}/rejected"
            rejected.append((REJECTED, PipelineOutput(name, node.name, str(into.into), APPEND, into.line, {})))
    return rejected
