"""How an output goes on from earlier runs: with what is new, from the beginning, or not before a person has decided.

What is recorded of earlier runs holds only as long as the tables are the same. So a version is known by the id of the
commit that made it, and each commit of an output says which pipeline made it and what it had read by then.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, TableVersionNotFoundError
from lanceway.jobs.between.register import is_same_place
from lanceway.lake.runs.runs import DONE, SKIPPED, Run, StepRow
from lanceway.pipelines import model, outputs
from lanceway.pipelines.file.yaml import InvalidPipelineError, Problem
from lanceway.pipelines.marks import Mark, SourceRead, marks
from lanceway.pipelines.model import APPEND, FAIL, FILES, OVERWRITE, SQL, Pipeline, PipelineOutput, PipelineSource
from lanceway.pipelines.runs.protocol import RunStore, VersionsRead
from lanceway.pipelines.transforms import functions
from lanceway.tables import dataset
from lanceway.tables.storage.store import local_path
from lanceway.writes import commit

if TYPE_CHECKING:
    from lanceway.pipelines.sources import SourceVersions
    from lanceway.writes.table_ref import TableRef

_LOG = logging.getLogger(__name__)
# Among the details of a step, and of the drawing that is kept with a run.
STATE, FULL = "state", "full"
_OVERWRITE, _RESTORE = "Overwrite", "Restore"


# -- tables --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """A version of a table as a run has met it; `transaction` is the id of the commit that made it, "" if unknown."""

    location: str | None
    version: int
    transaction: str = ""

    @classmethod
    def read(cls, target: TableRef, version: int | None = None) -> KnownVersion | None:
        """Return a version of a table, the latest if none is given; None if the table has no version."""
        if not outputs.version_of(target):
            return None
        table = target.table()
        latest = dataset.open_at(table)
        number = version or int(latest.version)
        made_by = commit.transaction_of(table, latest, number)
        return cls(table.location, number, "" if made_by is None else str(made_by.uuid))


def change_since(
    target: TableRef, known: KnownVersion, *, until: int | None = None, pipeline: str | None = None
) -> str | None:
    """Return what has become of a table since a version, if the version's rows went with it; None if they did not.

    It was dropped, created again, or overwritten, but not by the pipeline of this name; or, for a table that a
    pipeline writes, restored to an earlier version.
    """
    if not outputs.version_of(target):
        return "was dropped"
    table = target.table()
    latest = dataset.open_at(table)
    if known.version > int(latest.version):
        return "was dropped and created again"
    made_by = commit.transaction_of(table, latest, known.version)
    if made_by is not None and known.transaction:
        if str(made_by.uuid) != known.transaction:
            return "was dropped and created again"
    elif not is_same_place(table.location, known.location):
        return f"is another table than before, at {table.location} and no longer at {known.location}"
    for version in range(known.version + 1, (until or int(latest.version)) + 1):
        transaction = commit.transaction_of(table, latest, version)
        operation: Any = None if transaction is None else transaction.operation
        kind = type(operation).__name__
        if transaction is None or _written_by(transaction.transaction_properties or {}) == (pipeline or ""):
            continue
        if kind == _OVERWRITE and not _is_empty(target, version - 1):
            return f"was overwritten by another program, in its version {version}"
        if kind == _RESTORE and pipeline is not None and operation.version < known.version:
            return f"was restored to its version {operation.version}, in its version {version}"
    return None


def _written_by(properties: Mapping[str, str]) -> str | None:
    mark = Mark.parse(properties)
    return None if mark is None else mark.pipeline


def _is_empty(target: TableRef, version: int) -> bool:
    """Tell whether a version has no rows, so that none were lost. One that was cleaned up counts as having some."""
    try:
        return not target.open(version=version).get_fragments()
    except TableVersionNotFoundError:
        return False


# -- what is kept of an output --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputState:
    """What is known of an output after a run: its table, its sources as it has read them, and its definition."""

    table: KnownVersion | None = None
    sources: Mapping[str, KnownVersion] = field(default_factory=dict)
    definition: str = ""

    @classmethod
    def of(cls, step: StepRow | None) -> OutputState | None:
        """Return what a step has recorded; None if there is none, or it is of a version that recorded nothing."""
        values = None if step is None else step.details.get(STATE)
        if step is None or values is None:
            return None
        table = values.get("table")
        sources = {name: KnownVersion(**known) for name, known in values.get("sources", {}).items()}
        return cls(None if table is None else KnownVersion(**table), sources, values.get("definition", ""))


def definition(pipeline: Pipeline, output: PipelineOutput) -> str:
    """Return a hash of what computes the rows of an output: queries, functions, expectations and schemas."""
    parts: list[Any] = [output.schema, dict(output.vectors), list(output.keys)]
    for name in model.above(pipeline, output.source):
        step = pipeline.steps[name]
        rules = [[rule.that, rule.otherwise] for rule in step.expect]
        code: list[Any] = [step.name, step.kind, step.schema, step.arguments, rules]
        if isinstance(step, PipelineSource):
            code += [step.format, step.incremental]
            code += [functions.code(step.where[0])] if step.kind == model.PYTHON else []
        else:
            code += [step.inputs, " ".join(step.body.split())]
            code += [] if step.kind == SQL else [functions.code(step.body)]
        parts.append(code)
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()[:32]


# -- how to go on --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """From where an output goes on: `after` which version of each source. `read` is what it has had before.

    With `rebuild` its table is replaced by all that the sources have; with `adopted` all of that counts as written.
    `replaced` says that a source is another table than the one that was read.
    """

    after: Mapping[str, int]
    read: Mapping[str, int]
    state: OutputState | None = None
    rebuild: bool = False
    adopted: bool = False
    replaced: bool = False
    warnings: tuple[str, ...] = ()


@dataclass
class Continuity:
    """Decides for each output of a run how it goes on. Problems are collected, so that all are reported at once."""

    pipeline: Pipeline
    run: Run
    run_store: RunStore
    source_versions: SourceVersions
    config: str | Path | None
    adopt: bool
    # Every output that writes a table, by name, and tables of rejected rows as well.
    tables: Mapping[str, PipelineOutput]
    problems: list[Problem] = field(default_factory=list)
    versions_read: VersionsRead = field(init=False)
    last_steps: Mapping[str, StepRow] = field(init=False)

    def __post_init__(self) -> None:
        self.versions_read = self.run_store.versions_read(self.run)
        self.last_steps = self.run_store.last_steps(self.run)

    def raise_if_undecided(self) -> None:
        if self.problems:
            raise InvalidPipelineError(self.problems)

    def is_full(self, output: str) -> bool:
        """Tell whether the run rebuilds an output because that was asked for."""
        return self.run.full or output in self.run.graph.get(FULL, ())

    def start(self, output: PipelineOutput, target: TableRef, step: StepRow, written: int | None) -> Start:
        """Return how an output goes on. `written` is the version that an earlier attempt of this run has committed."""
        sources = model.sources_of(self.pipeline, output.source)
        nothing = {source.name: 0 for source in sources}
        state = OutputState.of(self.last_steps.get(output.name))
        has_ended = step.state in (DONE, SKIPPED)
        read = {source.name: self._read(output, source) for source in sources}
        if self.is_full(output.name) and not has_ended and written is None:
            return Start(nothing, read, state, rebuild=True)
        lost = self._lost(output, target, state, written)
        if lost is not None:
            return self._lost_start(output, target, lost, nothing, state)
        if output.mode == OVERWRITE or self.is_full(output.name):
            return Start(nothing, read, state, replaced=self._is_replaced(sources, state))
        after = {source.name: read[source.name] if source.incremental else 0 for source in sources}
        if has_ended or written is not None:
            return Start(after, read, state)
        return self._incremental(output, target, sources, Start(after, read, state))

    def _read(self, output: PipelineOutput, source: PipelineSource) -> int:
        location = self.source_versions[source.name].get("location")
        return self.versions_read.get((output.name, source.name, location), 0)

    # -- the output's table ----------------------------------------------------------------------

    def _lost(
        self, output: PipelineOutput, target: TableRef, state: OutputState | None, written: int | None
    ) -> str | None:
        """Return what has become of the table that was written, if its rows are gone."""
        known = KnownVersion.read(target, written) if written is not None else state and state.table
        return change_since(target, known, pipeline=self.pipeline.name) if known else None

    def _lost_start(
        self, output: PipelineOutput, target: TableRef, lost: str, nothing: Mapping[str, int], state: OutputState | None
    ) -> Start:
        what = f"The table {output.table} of the output {output.name!r} {lost} since it was written"
        if self.adopt and outputs.version_of(target):
            return Start(nothing, nothing, state, adopted=True, warnings=(self._adopted(output, what),))
        policy = output.on_lost_output or self.pipeline.on_lost_output
        if policy == FAIL:
            self._problem(
                output,
                f"{what}, and on_lost_output is fail. {_rebuild(output)}; or run it with --adopt to take what is there "
                "as written, if there is a table.",
                "on_lost_output",
            )
            return Start(nothing, nothing, state)
        warning = f"{what}. It is rebuilt from all that its sources have."
        _LOG.warning("%s: %s", self.pipeline.name, warning)
        return Start(nothing, nothing, state, rebuild=True, warnings=(warning,))

    def _adopted(self, output: PipelineOutput, what: str) -> str:
        warning = f"{what}. What is in {output.table} is taken as written; only what is new from now on is added."
        _LOG.warning("%s: %s", self.pipeline.name, warning)
        return warning

    # -- its sources -----------------------------------------------------------------------------

    def _is_replaced(self, sources: Sequence[PipelineSource], state: OutputState | None) -> bool:
        """Tell whether a source of the same version is another table: one that was dropped and created again."""
        for source in sources:
            known = None if state is None else state.sources.get(source.name)
            pin = self.source_versions[source.name]
            if (
                known is not None
                and known.version == pin["version"]
                and known.transaction != pin.get("transaction", "")
            ):
                return True
        return False

    def _incremental(
        self, output: PipelineOutput, target: TableRef, sources: Sequence[PipelineSource], start: Start
    ) -> Start:
        """Check that what is recorded of each source still holds, or look for it in the commits of the table."""
        followed = [source for source in sources if source.incremental and source.has_versions]
        after, warnings, undecided = dict(start.after), list[str](), list[str]()
        for name, read in self._unrecorded(output, target, followed, start).items():
            after[name] = max(after[name], read)
        for source in followed:
            if after[source.name] and source.kind != FILES:
                changed = self._changed(source, after[source.name], start.state)
                if changed is not None:
                    undecided.append(f"{source.table}, the source {source.name!r}, {changed} since it was read")
            elif not after[source.name]:
                after[source.name], text, problem = self._unread(output, target, source, start.state)
                warnings += text
                undecided += problem
        if not undecided:
            return Start(after, {**start.read, **after}, start.state, warnings=tuple(warnings))
        what = f"The output {output.name!r}: {'; '.join(undecided)}"
        if self.adopt:
            return Start(after, start.read, start.state, adopted=True, warnings=(self._adopted(output, what),))
        self._problem(
            output,
            f"{what}. What was made of it before is still in {output.table}, and would stand beside what is made now. "
            f"{_rebuild(output)}; run it with --adopt to keep what is there and add only what is new from now on; or "
            "set incremental: false for a source that is read whole.",
            "table",
        )
        return start

    def _changed(self, source: PipelineSource, after: int, state: OutputState | None) -> str | None:
        pin = self.source_versions[source.name]
        known = None if state is None else state.sources.get(source.name)
        if known is None or known.version != after:
            known = KnownVersion(pin.get("location"), after)
        return change_since(model.find(source.table, self.config), known, until=pin["version"])

    def _unrecorded(
        self, output: PipelineOutput, target: TableRef, sources: Sequence[PipelineSource], start: Start
    ) -> Mapping[str, int]:
        """Return what a commit has read that a killed run made and that was never recorded, because it was given up."""
        if output.mode != APPEND:  # a merge may happen twice
            return {}
        floor = start.state.table.version if start.state is not None and start.state.table is not None else 0
        if start.state is None and any(start.read.values()):
            return {}
        for mark in marks(target, after=floor):
            if (mark.pipeline, mark.output) == (self.pipeline.name, output.name) and self._knows(mark.run):
                reads = {source.name: mark.reads.get(source.name) for source in sources}
                places = {source.name: self._place(source) for source in sources}
                return {name: read.version for name, read in reads.items() if read and read.place == places[name]}
        return {}

    def _unread(
        self, output: PipelineOutput, target: TableRef, source: PipelineSource, state: OutputState | None
    ) -> tuple[int, list[str], list[str]]:
        """Return up to where a source was read under another name, with a warning; or with what is to be decided."""
        known = None if state is None else state.sources.get(source.name)
        if known is not None and source.kind != FILES:
            changed = self._changed(source, known.version, state)
            if changed is None:  # it was moved
                return known.version, [], []
            return 0, [], [f"{source.table}, the source {source.name!r}, {changed} since it was read"]
        if output.mode != APPEND:
            return 0, [], []
        others = {name for name, other in self.tables.items() if other.table == output.table and name != output.name}
        place = self._place(source)
        for mark in marks(target):
            if mark.pipeline == self.pipeline.name and mark.output in others:
                continue
            for name, read in mark.reads.items():
                if read.place == place:
                    return self._recognised(output, source, mark, name, read)
        return 0, [], []

    def _recognised(
        self, output: PipelineOutput, source: PipelineSource, mark: Mark, name: str, read: SourceRead
    ) -> tuple[int, list[str], list[str]]:
        """Take up what a commit says that was read of a source, under whatever names."""
        who = f"the output {mark.output!r} of the pipeline {mark.pipeline!r}, from its source {name!r}"
        if source.kind == FILES:
            own = mark.pipeline == self.pipeline.name and name == source.name
            version = self.versions_read.get((mark.output, name, None), 0) if own else 0
            if not version:
                unknown_files = (
                    f"the files of the source {source.name!r} were written into {output.table} by {who}, and which of "
                    "them is not recorded here. A pipeline, an output or a source has another name now, or the state "
                    "was lost"
                )
                return 0, [], [unknown_files]
        else:
            version = read.version
            target, until = model.find(source.table, self.config), self.source_versions[source.name]["version"]
            changed = change_since(target, KnownVersion(read.place, version, read.transaction), until=until)
            if changed is not None:
                return 0, [], [f"{source.table}, the source {source.name!r}, {changed} since it was read by {who}"]
        warning = (
            f"The output {output.name!r} continues where {who}, has stopped: {output.table} has the rows of "
            f"{source.shown} up to {'run' if source.kind == FILES else 'version'} {version}."
        )
        _LOG.warning("%s: %s", self.pipeline.name, warning)
        return version, [warning], []

    def _knows(self, run: str) -> bool:
        try:
            self.run_store.report(run)
        except InvalidInputError:
            return False
        return True

    # -- what is recorded ------------------------------------------------------------------------

    def mark(self, output: PipelineOutput) -> Mark:
        """Return the mark for the commit of an output in this run."""
        reads = {}
        for source in model.sources_of(self.pipeline, output.source):
            if source.has_versions:
                pin = self.source_versions[source.name]
                place = self._place(source)
                reads[source.name] = SourceRead(place, pin["version"], pin.get("transaction", ""))
        return Mark(self.pipeline.name, output.name, self.run.key, reads)

    def _place(self, source: PipelineSource) -> str | None:
        """Return where a source is: the location of a table, and a hash for files, whose paths may hold secrets."""
        if source.kind != FILES:
            location: str | None = self.source_versions[source.name].get("location")
            return location
        paths = sorted(str(path.absolute()) if (path := local_path(text)) else text for text in source.where)
        return hashlib.sha256("\0".join(paths).encode()).hexdigest()[:32]

    def state(self, output: PipelineOutput, target: TableRef, version: int | None) -> dict[str, Any]:
        """Return what to record of an output that has read its sources and written a version, if it has one."""
        sources = {}
        for source in model.sources_of(self.pipeline, output.source):
            pin = self.source_versions[source.name]
            if source.has_versions and source.kind != FILES:
                sources[source.name] = KnownVersion(pin.get("location"), pin["version"], pin.get("transaction", ""))
        table = KnownVersion.read(target, version) if version else None
        return asdict(OutputState(table, sources, definition(self.pipeline, output)))

    def _problem(self, output: PipelineOutput, message: str, key: str) -> None:
        self.problems.append(Problem(f"{self.pipeline.file}:{output.line_of(key)}", message))


def unchanged_state(state: OutputState | None, target: TableRef) -> dict[str, Any]:
    """Return what to record of an output that had nothing to do: as before, with the latest version of its table."""
    if state is None:
        return {}
    return asdict(OutputState(KnownVersion.read(target) or state.table, state.sources, state.definition))


def _rebuild(output: PipelineOutput) -> str:
    return f"Run the pipeline with --full {output.name} to rebuild it from all that its sources have"


def definition_warning(
    pipeline: Pipeline, output: PipelineOutput, state: OutputState | None, *, written: bool
) -> str | None:
    """Return what to say if the queries or functions of an output have changed, and its table was not rebuilt by them.

    `written` says that new rows were written; they have the new definition.
    """
    if state is None or not state.definition or state.definition == definition(pipeline, output):
        return None
    applied = (
        "only the rows of this run were made by the new one" if written else "nothing new was there to apply it to"
    )
    return (
        f"The definition of the output {output.name!r} (SQL, functions, expectations or schemas) has changed, but "
        f"{applied}. {_rebuild(output)}."
    )
