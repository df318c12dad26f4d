"""The steps of a run that do something: tables written, and what follows on each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.errors import LanceNamespaceError
from lanceway.lake.runs.runs import DONE, FAILED, SKIPPED, Read, StepRow
from lanceway.pipelines import after_write, atomic_outputs, model, outputs, targets
from lanceway.pipelines.after_write import Finishing, WrittenOutput
from lanceway.pipelines.model import APPEND, OVERWRITE, Pipeline, PipelineOutput
from lanceway.pipelines.run_context import PipelineContext
from lanceway.pipelines.runs import failures
from lanceway.pipelines.runs.report import BEGUN, ENDED, WRITTEN, Event
from lanceway.pipelines.runs.store import StepEnding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lanceway.writes.table_ref import TableRef

OUTPUT, REJECTED = "output", "quarantine"
NOTHING_NEW = "nothing new"


@dataclass
class Chain:
    """One table: it is written, and then finished. What fails ends the chain, and no other."""

    work: PipelineContext
    output: PipelineOutput
    kind: str
    after: Mapping[str, int]
    known: Mapping[str, StepRow]
    target: TableRef
    had: Mapping[str, int]
    frame: DataFrame | None = None
    gathered: bool = False  # its version was made, together with others'
    failed: bool = False

    @property
    def mode(self) -> str:
        return OVERWRITE if self.work.run.full else self.output.mode

    @property
    def job(self) -> str:
        return f"{self.work.run.key}/{self.output.name}"

    def prepare(self) -> None:
        """Plan the rows, unless they are written or there are none."""
        step = self.known[self.output.name]
        if step.state in (DONE, SKIPPED) or self._found(step) is not None or not self._has_news():
            return
        frames, file = self.work.frames, self.work.pipeline.file
        give = frames.rejected if self.kind == REJECTED else frames.rows
        rows = give(self.output.source, self.after)
        self.frame = outputs.fitted(file, self.output, rows, self.target, replaces=self.mode == OVERWRITE)

    def gather(self) -> None:
        """Write the table and let its version wait for those of others."""
        self._carried(self.output.name, self._gather)

    def _gather(self, name: str) -> StepRow:
        base = outputs.version_of(self.target)
        self._begin(name, base=base, table_name=self.output.table)
        assert self.frame is not None
        target = atomic_outputs.gathered(self.target, self.work.run.key)
        with self.work.session(name) as spark:
            outputs.write(spark, self.frame, self.output, target, self.work.rooms, mode=self.mode, job=self.job)
        self.gathered = True
        self.known = {**self.known, name: replace(self.known[name], base=base)}
        return self.known[name]

    def run(self) -> None:
        written = self._carried(self.output.name, self._write)
        if written is None:
            return
        for one in after_write.of(self.output):
            if self.work.stopping:
                return
            state = self._carried(f"{self.output.name}/{one.kind}", partial(self._finish, one, written))
            if state is None:
                return
            version = state.details.get("version")
            if version:
                written = replace(written, version=version)

    # -- the table itself ------------------------------------------------------------------------

    def _found(self, step: StepRow) -> outputs.Committed | None:
        """What a run that was killed has committed and not recorded."""
        return None if step.base is None else outputs.committed(self.target, self.job, after=step.base)

    def _write(self, name: str) -> StepRow:
        step = self.known[name]
        found = self._found(step)
        if found is None and self.gathered:
            return self._record(name, None)
        if found is None and self.frame is None:
            return self._end(name, SKIPPED, details={"reason": NOTHING_NEW}, base=outputs.version_of(self.target))
        if found is None:
            base = outputs.version_of(self.target)
            self._begin(name, base=base, table_name=self.output.table)
            assert self.frame is not None
            with self.work.session(name) as spark:
                outputs.write(
                    spark, self.frame, self.output, self.target, self.work.rooms, mode=self.mode, job=self.job
                )
            found = outputs.committed(self.target, self.job, after=base)
            self._tell(WRITTEN, replace(step, version=found.version if found else base))
        return self._record(name, found)

    def _record(self, name: str, found: outputs.Committed | None) -> StepRow:
        pins = self.work.pins
        reads = [
            Read(
                name,
                source.name,
                source.kind,
                self.after[source.name],
                pins[source.name]["version"],
                pins[source.name].get("table_name") or source.shown,
                pins[source.name].get("location"),
            )
            for source in model.sources_of(self.work.pipeline, self.output.source)
        ]
        details: dict[str, Any] = {"mode": self.mode}
        if self.frame is not None:
            results = self.work.frames.results(self.output.source, self.after)
            details |= {"expectations": results} if results else {}
        values: dict[str, Any] = {"version": outputs.version_of(self.target), "rows": 0, "bytes": 0}
        if found is not None:
            values = {"version": found.version, "rows": found.rows, "bytes": found.bytes}
        if values["version"]:
            values["location"] = self.target.table().location
        return self._end(name, DONE, reads, details=details, table_name=self.output.table, **values)

    def _has_news(self) -> bool:
        """Whether anything is new that this output waits for: in all its sources, or in those it has part by part."""
        sources = model.sources_of(self.work.pipeline, self.output.source)
        by_parts = [] if self.mode == OVERWRITE else [source for source in sources if source.incremental]
        return any(
            self.work.sources.has_news(source, self._had(source.name), self.work.pins[source.name]["version"])
            for source in by_parts or sources
        )

    def _had(self, source: str) -> int:
        """Up to where this output has had a source, whether or not it wants all of it again."""
        return 0 if self.work.run.full else self.had.get(source, 0)

    # -- what follows ----------------------------------------------------------------------------

    def _finish(self, one: Finishing, step: StepRow, name: str) -> StepRow:
        is_new = step.state == DONE
        version = step.version or step.base
        if not version or (one.only_after_a_write and not is_new):
            return self._end(name, SKIPPED, details={"reason": NOTHING_NEW})
        self._begin(name, table_name=self.output.table)
        written = WrittenOutput(version, is_new, self.work.run.number, self.work.config)
        done = after_write.finish(self.work.pipeline.file, self.output, self.target, one, written)
        return self._end(name, DONE if done else SKIPPED, details=done or {"reason": NOTHING_NEW})

    # -- records ---------------------------------------------------------------------------------

    def _carried(self, name: str, work: Callable[[str], StepRow]) -> StepRow | None:
        """What a step came to, which may have been before; None if it failed."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        known = self.known[name]
        if known.state in (DONE, SKIPPED):
            return known
        if self.work.stopping:
            return None
        try:
            return work(name)
        except LanceNamespaceError as error:
            failure = error
        except (PySparkException, Py4JJavaError) as error:
            failure = failures.translated(name, error)
        self.failed = True
        if not self.work.stopping:
            step = self.work.held.end_step(self.work.run, name, FAILED, error=str(failure))
            self._tell(ENDED, step)
        return None

    def _begin(self, name: str, **values: Any) -> None:
        self._tell(BEGUN, self.work.held.begin_step(self.work.run, name, **values))

    def _end(self, name: str, state: StepEnding, reads: Sequence[Read] = (), **values: Any) -> StepRow:
        step = self.work.held.end_step(self.work.run, name, state, reads, **values)
        self._tell(ENDED, step)
        return step

    def _tell(self, moment: str, step: StepRow) -> None:
        self.work.listen(Event(moment, step, self.work.run))


def plan(work: PipelineContext) -> list[Chain]:
    """A chain for each table, in the order of the file; rows that are put aside come first. Steps are recorded."""
    pipeline, run = work.pipeline, work.run
    tables = [*_rejected(pipeline), *((OUTPUT, output) for output in pipeline.outputs.values())]
    named = [
        (name, kind)
        for kind, output in tables
        for name, kind in [
            (output.name, kind),
            *((f"{output.name}/{one.kind}", one.kind) for one in after_write.of(output)),
        ]
    ]
    planned = [StepRow(name, kind, position=at) for at, (name, kind) in enumerate(named)]
    known = {step.name: step for step in work.held.plan(run, planned)}
    had = work.held.ledger.had(run)
    chains = []
    for kind, output in tables:
        sources = model.sources_of(pipeline, output.source)
        places = {source.name: work.pins[source.name].get("location") for source in sources}
        seen = {name: had.get((output.name, name, place), 0) for name, place in places.items()}
        whole = run.full or output.mode == OVERWRITE
        after = {one.name: seen[one.name] if one.incremental and not whole else 0 for one in sources}
        chains.append(Chain(work, output, kind, after, known, targets.find(output.table, work.config), had=seen))
    return chains


def _rejected(pipeline: Pipeline) -> list[tuple[str, PipelineOutput]]:
    found = []
    for node in pipeline.steps.values():
        into = next((rule for rule in node.expect if rule.into), None)
        if into is not None:
            name = f"{node.name}/rejected"
            found.append((REJECTED, PipelineOutput(name, node.name, str(into.into), APPEND, into.line, {})))
    return found
