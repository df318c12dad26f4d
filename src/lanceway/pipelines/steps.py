"""The tasks of a run, each of which writes one table and runs its follow-ups; and what they share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import LanceNamespaceError
from lanceway.lake.runs.runs import DONE, FAILED, SKIPPED, Read, Run, StepRow
from lanceway.pipelines import after_write, atomic_outputs, model, outputs
from lanceway.pipelines.after_write import FollowUp, WrittenOutput
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
    """One table: write it, then run its follow-ups. A failure ends this task and no other."""

    context: PipelineContext
    output: PipelineOutput
    kind: str
    after: Mapping[str, int]
    steps: Mapping[str, StepRow]
    target: TableRef
    versions_read: Mapping[str, int]
    frame: DataFrame | None = None
    deferred: bool = False  # its version is written, and committed together with others
    failed: bool = False

    @property
    def mode(self) -> str:
        return OVERWRITE if self.context.run.full else self.output.mode

    @property
    def job(self) -> str:
        return f"{self.context.run.key}/{self.output.name}"

    def prepare(self) -> None:
        """Plan the rows, unless they are written already or there are no new ones."""
        step = self.steps[self.output.name]
        if step.state in (DONE, SKIPPED) or self._committed(step) is not None or not self._has_news():
            return
        frames, file = self.context.frames, self.context.pipeline.file
        give = frames.rejected if self.kind == REJECTED else frames.rows
        rows = give(self.output.source, self.after)
        self.frame = outputs.fitted(file, self.output, rows, self.target, replaces=self.mode == OVERWRITE)

    def write_deferred(self) -> None:
        """Write the table, and leave its version to be committed together with others."""
        self._run_step(self.output.name, self._write_deferred)

    def _write_deferred(self, name: str) -> StepRow:
        base = outputs.version_of(self.target)
        self._begin(name, base=base, table_name=self.output.table)
        assert self.frame is not None
        target = atomic_outputs.deferred(self.target, self.context.run.key)
        with self.context.session(name) as spark:
            outputs.write(spark, self.frame, self.output, target, self.context.namespaces, mode=self.mode, job=self.job)
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
        return None if step.base is None else outputs.committed(self.target, self.job, after=step.base)

    def _write(self, name: str) -> StepRow:
        step = self.steps[name]
        commit = self._committed(step)
        if commit is None and self.deferred:
            return self._record(name, None)
        if commit is None and self.frame is None:
            return self._end(name, SKIPPED, details={"reason": NOTHING_NEW}, base=outputs.version_of(self.target))
        if commit is None:
            base = outputs.version_of(self.target)
            self._begin(name, base=base, table_name=self.output.table)
            assert self.frame is not None
            with self.context.session(name) as spark:
                outputs.write(
                    spark, self.frame, self.output, self.target, self.context.namespaces, mode=self.mode, job=self.job
                )
            commit = outputs.committed(self.target, self.job, after=base)
            self._report(WRITTEN, replace(step, version=commit.version if commit else base))
        return self._record(name, commit)

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
        details: dict[str, Any] = {"mode": self.mode}
        if self.frame is not None:
            results = self.context.frames.results(self.output.source, self.after)
            details |= {"expectations": results} if results else {}
        values: dict[str, Any] = {"version": outputs.version_of(self.target), "rows": 0, "bytes": 0}
        if commit is not None:
            values = {"version": commit.version, "rows": commit.rows, "bytes": commit.bytes}
        if values["version"]:
            values["location"] = self.target.table().location
        return self._end(name, DONE, reads, details=details, table_name=self.output.table, **values)

    def _has_news(self) -> bool:
        """Tell whether anything is new in the incremental sources of this output, or in all if it has none."""
        sources = model.sources_of(self.context.pipeline, self.output.source)
        versions = self.context.source_versions
        by_parts = [] if self.mode == OVERWRITE else [source for source in sources if source.incremental]
        return any(
            self.context.sources.has_news(source, self._version_read(source.name), versions[source.name]["version"])
            for source in by_parts or sources
        )

    def _version_read(self, source: str) -> int:
        """Return the version up to which this output has read a source, even if it reads all of it again."""
        return 0 if self.context.run.full else self.versions_read.get(source, 0)

    # -- what follows ----------------------------------------------------------------------------

    def _follow_up(self, follow_up: FollowUp, step: StepRow, name: str) -> StepRow:
        is_new = step.state == DONE
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


def plan(context: PipelineContext) -> list[OutputTask]:
    """Return a task for each table, in the order of the file; tables of rejected rows come first. Record the steps."""
    pipeline, run = context.pipeline, context.run
    tables = [*_rejected(pipeline), *((OUTPUT, output) for output in pipeline.outputs.values())]
    planned: list[StepRow] = []
    for kind, output in tables:
        planned.append(StepRow(output.name, kind, position=len(planned)))
        for follow_up in after_write.follow_ups(output):
            planned.append(StepRow(f"{output.name}/{follow_up.kind}", follow_up.kind, position=len(planned)))
    recorded = {step.name: step for step in context.lease.plan(run, planned)}
    versions_read = context.lease.run_store.versions_read(run)
    tasks = []
    for kind, output in tables:
        sources = model.sources_of(pipeline, output.source)
        locations = {source.name: context.source_versions[source.name].get("location") for source in sources}
        read = {name: versions_read.get((output.name, name, location), 0) for name, location in locations.items()}
        everything = run.full or output.mode == OVERWRITE
        after = {source.name: read[source.name] if source.incremental and not everything else 0 for source in sources}
        target = model.find(output.table, context.config)
        tasks.append(OutputTask(context, output, kind, after, recorded, target, read))
    return tasks


def _rejected(pipeline: Pipeline) -> list[tuple[str, PipelineOutput]]:
    rejected = []
    for node in pipeline.steps.values():
        into = next((rule for rule in node.expect if rule.into), None)
        if into is not None:
            name = f"{node.name}/rejected"
            rejected.append((REJECTED, PipelineOutput(name, node.name, str(into.into), APPEND, into.line, {})))
    return rejected
