"""A pipeline's file: read, and held to what a pipeline may be. Every problem has its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lanceway.pipelines import graph
from lanceway.pipelines.file import yaml
from lanceway.pipelines.file.fields import Fields
from lanceway.pipelines.file.outputs import read_output
from lanceway.pipelines.file.problems import Problems
from lanceway.pipelines.file.steps import read_source, read_transform
from lanceway.pipelines.file.yaml import Value
from lanceway.pipelines.model import APPEND, OVERWRITE, Node, Output, Pipeline, Source, Transform

_KEYS = ("pipeline", "description", "together", "sources", "transforms", "outputs")
# Names become those of temporary views.
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def load(file: str | Path) -> Pipeline:
    """The pipeline that a file describes. Raises InvalidPipelineError with every problem that can be told without
    asking a catalog, and InvalidInputError where the file cannot be read."""
    path = Path(file)
    problems = Problems(path)
    found = _pipeline(path, problems)
    problems.raise_if_any()
    assert found is not None, "whatever makes it None is a problem"
    return found


def _pipeline(path: Path, problems: Problems) -> Pipeline | None:
    document = yaml.parse(yaml.read(path), problems)
    if document is None:
        return None
    whole = Fields("The pipeline", document, _KEYS, problems)
    whole.require("pipeline", "the name under which its runs are kept")
    whole.require("outputs", "the tables that it writes")
    sources = {name: read_source(name, value, problems) for name, value in _named(whole, "sources")}
    known = [*sources, *(name for name, _ in _named(whole, "transforms", tell=False))]
    transforms = {name: read_transform(name, value, known, problems) for name, value in _named(whole, "transforms")}
    outputs = {name: read_output(name, value, problems) for name, value in _named(whole, "outputs")}
    _check_names(whole, sources, transforms, outputs)
    _check_inputs(problems, sources, transforms, outputs)
    if problems.wrong:
        return None
    found = Pipeline(
        whole.text("pipeline") or "",
        path,
        sources,
        transforms,
        outputs,
        whole.flag("together", False),
        whole.text("description"),
    )
    _note(found, problems)
    return replace(found, notes=tuple(problem for problem in problems.found if not problem.wrong))


def _named(whole: Fields, key: str, *, tell: bool = True) -> Iterator[tuple[str, Value]]:
    for name, value in whole.mapping(key).items():
        if tell and not _NAME.fullmatch(name):
            whole.problems.add(
                value.line, f"{name!r} cannot be a name here: use letters, digits and _, and begin with no digit."
            )
        yield name, value


def _check_names(
    whole: Fields, sources: Mapping[str, Source], transforms: Mapping[str, Transform], outputs: Mapping[str, Output]
) -> None:
    seen: dict[str, int] = {}
    nodes: list[Node] = [*sources.values(), *transforms.values(), *outputs.values()]
    for node in nodes:
        if node.name in seen:
            whole.problems.add(node.line, f"The name {node.name!r} was given in line {seen[node.name]} already.")
        seen.setdefault(node.name, node.line)


def _check_inputs(
    problems: Problems,
    sources: Mapping[str, Source],
    transforms: Mapping[str, Transform],
    outputs: Mapping[str, Output],
) -> None:
    known = [*sources, *transforms]
    readers: list[Transform | Output] = [*transforms.values(), *outputs.values()]
    for node in readers:
        for name in node.inputs:
            if name and name not in known:
                problems.add(node.line, _missing(node.name, name, known, outputs), "missing input")
    circle = graph.cycle({name: tuple(one for one in node.inputs if one in known) for name, node in transforms.items()})
    if circle is not None:
        problems.add(transforms[circle[0]].line, f"These need one another: {' → '.join(circle)}.", "cycle")


def _missing(step: str, name: str, known: list[str], outputs: Mapping[str, Output]) -> str:
    if name in outputs:
        return f"{step!r} reads {name!r}, which is an output. Read what that is made from: {outputs[name].source}."
    from lanceway.config.settings import unknown

    return unknown(f"{step!r} reads {name!r}, but the pipeline", known, name, "step")


def _note(pipeline: Pipeline, problems: Problems) -> None:
    """What may be meant, and is more often a mistake."""
    for node in pipeline.steps.values():
        if not graph.consumers(pipeline, node.name):
            problems.warn(node.line, f"Nothing reads {node.name!r}, so it is not computed.")
    for transform in pipeline.transforms.values():
        new = [one.name for one in graph.sources_of(pipeline, transform.name) if one.incremental and one.has_versions]
        if len(transform.inputs) > 1 and len(new) > 1:
            problems.warn(
                transform.line,
                f"{transform.name!r} brings {' and '.join(new)} together, and of each it sees only what is new. Set "
                "incremental to false for a source in which rows of the others are looked up.",
            )
    for output in pipeline.outputs.values():
        whole = [one.name for one in graph.sources_of(pipeline, output.name) if not one.has_versions]
        if output.mode == APPEND and whole and whole == [one.name for one in graph.sources_of(pipeline, output.name)]:
            problems.warn(
                output.line,
                f"{', '.join(whole)} is read whole by each run, and its rows are added to {output.table} each time. "
                f"Give keys, or mode: {OVERWRITE}.",
            )
