"""Check whether a pipeline could run: its file, and the functions and tables that it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.catalogs.contract import limits
from lanceway.errors import InvalidInputError, LanceNamespaceError, TableAlreadyExistsError
from lanceway.pipelines import model
from lanceway.pipelines.file.load import load
from lanceway.pipelines.file.yaml import InvalidPipelineError, Problem, Problems
from lanceway.pipelines.model import BATCHES, PYTHON, TABLE, Pipeline, PipelineOutput
from lanceway.pipelines.transforms import functions

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.identifiers import Identifier
    from lanceway.writes.table_ref import TableRef

_DIRECTORY = "dir"


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
    for output in pipeline.outputs.values():
        for name in output.publish:
            try:
                _check_publish(output, name, config)
            except LanceNamespaceError as error:
                problems.add(
                    output.line_of("publish"),
                    f"The output {output.name!r} can never be published as {name}: {error}",
                    "publish",
                )


def _check_publish(output: PipelineOutput, name: str, config: str | Path | None) -> None:
    """Raise what would keep a table from being registered, as far as that is known before it is written."""
    from lanceway.jobs.between import register
    from lanceway.pipelines.after_write import closing_catalog

    target = model.find(output.table, config)
    catalog, table = model.catalog(name, config)
    with closing_catalog(catalog):
        limits.check_register(catalog)
        _check_name(catalog, table)
        exists = target.exists()
        location = target.table().location if exists else _future_location(target)
        registered = register.find(catalog, table)
        if registered is not None and register.is_same_place(registered.location, location):
            return
        if registered is not None and exists:
            raise TableAlreadyExistsError(f"{name} is another table, at {registered.location}. Choose another name.")
        if location is not None:
            limits.check_location(catalog, table, location)
        _check_second_name(catalog, table, target)


def _check_name(catalog: LanceNamespace, table: Identifier) -> None:
    least, most, _ = limits.identifier_limits(catalog)
    if table.depth < least or (most is not None and table.depth > most):
        levels = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
        raise InvalidInputError(
            f"its tables have {levels} names below the root namespace, and {table} has {table.depth}."
        )
    limits.check_new_table(catalog, table)


def _future_location(target: TableRef) -> str | None:
    """Return a location like that which a new table will get, None if only its catalog can tell."""
    if target.path is not None:
        return target.path
    root = target.settings.get("path" if target.type == _DIRECTORY else "root")
    return f"{root}/table" if root and target.type in (_DIRECTORY, "lake") else None


def _check_second_name(catalog: LanceNamespace, table: Identifier, target: TableRef) -> None:
    """Refuse a second name for a table in one directory catalog, where a folder has one name."""
    if target.type != _DIRECTORY:
        return
    (first, at), (second, below) = limits.unwrap(target.catalog()), limits.unwrap(catalog)
    if limits.address(first) == limits.address(second) and (*at, *target.id) != (*below, *table):
        raise InvalidInputError(
            f"{target.name} is in the same directory catalog, which has one name for each table. Use a catalog of "
            "another type."
        )


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
