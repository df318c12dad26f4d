"""Check whether a pipeline could run: its file, and the functions and tables that it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lanceway.errors import LanceNamespaceError
from lanceway.pipelines import model
from lanceway.pipelines.file.load import load
from lanceway.pipelines.file.yaml import InvalidPipelineError, Problem, Problems
from lanceway.pipelines.model import BATCHES, PYTHON, TABLE, Pipeline
from lanceway.pipelines.transforms import functions


def check(file: str | Path, *, config: str | Path | None = None) -> list[Problem]:
    """Return everything that is wrong with a pipeline or worth knowing, without reading a row and without Spark.

    Functions are imported, and catalogs are asked for the tables that are read.
    """
    try:
        pipeline = load(file)
    except InvalidPipelineError as error:
        return list(error.problems)
    problems = Problems(pipeline.file)
    _check_functions(pipeline, problems)
    _check_tables(pipeline, problems, config)
    return [*problems.reported, *pipeline.notes]


def _check_functions(pipeline: Pipeline, problems: Problems) -> None:
    with functions.importable(pipeline.folder):
        for line, path in _functions(pipeline):
            try:
                functions.find(path)
            except LanceNamespaceError as error:
                problems.add(line, str(error), "function")


def _functions(pipeline: Pipeline) -> Iterator[tuple[int, str]]:
    for source in pipeline.sources.values():
        if source.kind == PYTHON:
            yield source.line, source.where[0]
    for transform in pipeline.transforms.values():
        if transform.kind in (PYTHON, BATCHES):
            yield transform.first, transform.body


def _check_tables(pipeline: Pipeline, problems: Problems, config: str | Path | None) -> None:
    for source in pipeline.sources.values():
        if source.kind == TABLE:
            try:
                model.find(source.where[0], config).open()
            except LanceNamespaceError as error:
                problems.add(source.line, f"The source {source.name!r} cannot be read: {error}", "table")
    for line, name in _written(pipeline):
        try:
            model.find(name, config)
        except LanceNamespaceError as error:
            problems.add(line, str(error), "table")


def _written(pipeline: Pipeline) -> Iterator[tuple[int, str]]:
    for source in pipeline.sources.values():
        if source.into:
            yield source.line, source.into
    for output in pipeline.outputs.values():
        yield output.line_of("table"), output.table
        for name in output.publish:
            yield output.line_of("publish"), name
    for node in pipeline.steps.values():
        for rule in node.expect:
            if rule.into:
                yield rule.line, rule.into
