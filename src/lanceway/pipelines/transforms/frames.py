"""Data frames of a pipeline's steps. Spark computes them when an output is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.errors import LanceNamespaceError
from lanceway.pipelines import model
from lanceway.pipelines.file.yaml import problem_at
from lanceway.pipelines.model import BATCHES, SQL, Pipeline, PipelineSource, Transform
from lanceway.pipelines.runs.report import said, user_function
from lanceway.pipelines.sources import MALFORMED, Sources, SourceVersions, keeps_malformed
from lanceway.pipelines.transforms import expectations, functions
from lanceway.pipelines.transforms.expectations import Checked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# From which version on each source is read, exclusively; 0 for all.
After = Mapping[str, int]
_Key = tuple[str, tuple[tuple[str, int], ...]]


@dataclass
class Frames:
    """The frames of one run. Outputs that have read different versions of a source see different rows of a step."""

    pipeline: Pipeline
    sources: Sources
    source_versions: SourceVersions
    run: str
    _checked_steps: dict[_Key, Checked] = field(default_factory=dict)
    _persisted: list[DataFrame] = field(default_factory=list)

    def rows(self, name: str, after: After) -> DataFrame:
        return self._checked(name, after).passing

    def rejected(self, name: str, after: After) -> DataFrame:
        rejected = self._checked(name, after).rejected
        assert rejected is not None, "only a step that puts rows aside is asked"
        return rejected

    def results(self, name: str, after: After) -> dict[str, Any]:
        """Return the results of the expectations of a step and of all above it."""
        results_by_step = {}
        for step in model.above(self.pipeline, name):
            results = self._checked_steps[self._key(step, after)].results()
            if results is not None:
                results_by_step[step] = results
        return results_by_step

    def release(self) -> None:
        """Release the frames that were persisted because several steps read them."""
        for frame in self._persisted:
            frame.unpersist()
        self._persisted.clear()

    def _key(self, name: str, after: After) -> _Key:
        return name, tuple((source.name, after[source.name]) for source in model.sources_of(self.pipeline, name))

    def _checked(self, name: str, after: After) -> Checked:
        key = self._key(name, after)
        if key not in self._checked_steps:
            node = self.pipeline.steps[name]
            frame = self._source(node, after) if isinstance(node, PipelineSource) else self._transform(node, after)
            if isinstance(node, Transform) and self._is_shared(node):
                frame = frame.persist()
                self._persisted.append(frame)
            is_read = isinstance(node, PipelineSource) and keeps_malformed(node) and MALFORMED in frame.columns
            self._checked_steps[key] = expectations.check(
                self.pipeline.file,
                name,
                frame,
                node.expect,
                run=self.run,
                malformed=MALFORMED if is_read else None,
                line=node.line,
            )
        return self._checked_steps[key]

    def _is_shared(self, node: Transform) -> bool:
        aside = any(rule.into for rule in node.expect)
        return len(model.consumers(self.pipeline, node.name)) + aside > 1

    def _source(self, node: PipelineSource, after: After) -> DataFrame:
        return self.sources.rows(node, after[node.name], self.source_versions[node.name]["version"])

    def _transform(self, node: Transform, after: After) -> DataFrame:
        from pyspark.errors import AnalysisException, ParseException

        inputs = {name: self.rows(name, after) for name in node.inputs}
        try:
            if node.kind == SQL:
                return self._sql(node, inputs)
            return self._batches(node, inputs) if node.kind == BATCHES else self._python(node, inputs)
        except (AnalysisException, ParseException) as error:
            line = node.first + _offset(error, node.body)
            raise problem_at(self.pipeline.file, line, f"The transform {node.name!r}: {said(error)}") from error
        except LanceNamespaceError as error:
            raise problem_at(self.pipeline.file, node.first, f"The transform {node.name!r}: {error}") from error

    def _sql(self, node: Transform, inputs: Mapping[str, DataFrame]) -> DataFrame:
        spark = self.sources.spark()
        for name, frame in inputs.items():
            frame.createOrReplaceTempView(name)
        try:
            return spark.sql(node.body)
        finally:
            for name in inputs:
                spark.catalog.dropTempView(name)

    def _python(self, node: Transform, inputs: Mapping[str, DataFrame]) -> DataFrame:
        function = functions.find(node.body)
        with user_function(node.name, node.body), functions.travelling(function, self.pipeline.folder):
            return function(*inputs.values(), **node.arguments)  # type: ignore[no-any-return]

    def _batches(self, node: Transform, inputs: Mapping[str, DataFrame]) -> DataFrame:
        function, (frame,) = functions.find(node.body), inputs.values()
        compute = partial(functions.apply, node.body, function, node.arguments)
        with functions.travelling(function, self.pipeline.folder):
            return frame.mapInArrow(compute, str(node.schema))

    def __enter__(self) -> Frames:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _offset(error: Any, text: str) -> int:
    """Return the line of a text, counted from 0, in which Spark found an error."""
    for context in _contexts(error):
        return text[: context.startIndex()].count("\n")
    return 0


def _contexts(error: Any) -> Iterator[Any]:
    from pyspark.errors import QueryContextType

    for context in error.getQueryContext() or ():
        if context.contextType() == QueryContextType.SQL and context.startIndex() >= 0:
            yield context
