"""A pipeline as its file describes it: sources, transforms of them, and the tables that come out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from lanceway.pipelines.file.yaml import Problem

FILES, TABLE, STREAM, JDBC, FORMAT, PYTHON = "files", "table", "stream", "jdbc", "format", "python"
SQL, BATCHES = "sql", "batches"
DROP, FAIL, QUARANTINE = "drop", "fail", "quarantine"
APPEND, OVERWRITE, MERGE = "append", "overwrite", "merge"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must hold of every row, as SQL, and what becomes of a row of which it does not."""

    name: str
    that: str
    otherwise: str
    into: str | None
    line: int


@dataclass(frozen=True, slots=True)
class PipelineSource:
    """Where rows come from. What is `incremental` gives each output only what is new to it."""

    name: str
    kind: str
    where: tuple[str, ...]
    line: int
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    arguments: Mapping[str, Any] = field(default_factory=dict)
    schema: str | None = None
    incremental: bool = True
    expect: tuple[Expectation, ...] = ()
    into: str | None = None
    checkpoint: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    @property
    def table(self) -> str:
        """The Lance table that its rows are in: those of a stream are taken over into one."""
        return self.into or self.where[0]

    @property
    def has_versions(self) -> bool:
        """Whether it can be told what is new."""
        return self.kind in (FILES, TABLE, STREAM)

    @property
    def shown(self) -> str:
        """What it is, for people: addresses may hold a password and are not shown."""
        if self.kind in (FILES, TABLE, PYTHON):
            return ", ".join(self.where)
        return f"{self.kind} {self.where[0] if self.kind == STREAM else self.format or ''}".strip()


@dataclass(frozen=True, slots=True)
class Transform:
    """Rows made of other rows: by SQL over its inputs, or by a function of Python."""

    name: str
    kind: str
    body: str
    inputs: tuple[str, ...]
    line: int
    first: int  # the line in which the body begins
    arguments: Mapping[str, Any] = field(default_factory=dict)
    schema: str | None = None
    expect: tuple[Expectation, ...] = ()

    @property
    def shown(self) -> str:
        return "SQL" if self.kind == SQL else self.body


@dataclass(frozen=True, slots=True)
class Index:
    column: str
    type: str
    name: str
    options: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Retention:
    """Which versions are kept: so many, or those of so many days."""

    versions: int | None
    days: int | None
    line: int


@dataclass(frozen=True, slots=True)
class PipelineOutput:
    """A table that is written."""

    name: str
    source: str
    table: str
    mode: str
    line: int
    lines: Mapping[str, int]
    keys: tuple[str, ...] = ()
    schema: str | None = None
    vectors: Mapping[str, int] = field(default_factory=dict)
    indices: tuple[Index, ...] = ()
    tags: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()
    retention: Retention | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def shown(self) -> str:
        return self.table

    def line_of(self, key: str) -> int:
        return self.lines.get(key, self.line)


Step = PipelineSource | Transform
Node = PipelineSource | Transform | PipelineOutput


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole file."""

    name: str
    file: Path
    sources: Mapping[str, PipelineSource]
    transforms: Mapping[str, Transform]
    outputs: Mapping[str, PipelineOutput]
    together: bool = False
    description: str | None = None
    notes: tuple[Problem, ...] = ()

    @property
    def steps(self) -> Mapping[str, Step]:
        """What others may have their rows from."""
        return {**self.sources, **self.transforms}

    @property
    def nodes(self) -> Mapping[str, Node]:
        return {**self.sources, **self.transforms, **self.outputs}

    @property
    def folder(self) -> Path:
        return self.file.absolute().parent


# Of SQL: what stands in quotes, and comments.
_NO_NAMES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"\w+")


def names_in(sql: str, known: Iterable[str]) -> tuple[str, ...]:
    """Which of the known names a query mentions, in the order in which it does."""
    names = set(known)
    found = (word for word in _WORD.findall(_NO_NAMES.sub(" ", sql)) if word in names)
    return tuple(dict.fromkeys(found))


def cycle(inputs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """Names that lead back to the first of them, None if there is no such thing."""
    try:
        TopologicalSorter(inputs).prepare()
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return None


def order(pipeline: Pipeline) -> list[str]:
    """Every name after all that it needs."""
    return list(TopologicalSorter({name: node.inputs for name, node in pipeline.nodes.items()}).static_order())


def sources_of(pipeline: Pipeline, name: str) -> tuple[PipelineSource, ...]:
    """The sources that a step has its rows from, in the order of the file."""
    found = _ancestors({name: node.inputs for name, node in pipeline.nodes.items()}, name)
    return tuple(source for source in pipeline.sources.values() if source.name in found)


def above(pipeline: Pipeline, name: str) -> list[str]:
    """A step and all that it has its rows from, without outputs, in the order of the file."""
    found = _ancestors({name: node.inputs for name, node in pipeline.nodes.items()}, name)
    return [one for one in pipeline.steps if one in found]


def _ancestors(inputs: Mapping[str, tuple[str, ...]], name: str) -> set[str]:
    @cache
    def above(one: str) -> frozenset[str]:
        return frozenset({one}).union(*(above(other) for other in inputs[one]))

    return set(above(name))


def consumers(pipeline: Pipeline, name: str) -> list[str]:
    return [other for other, node in pipeline.nodes.items() if name in node.inputs]


def as_record(pipeline: Pipeline) -> dict[str, Any]:
    """Nodes and edges, for a drawing and for the record of a run. Nothing of it is secret."""
    nodes = [
        {"name": name, "kind": _kind(node), "shown": node.shown, "inputs": list(node.inputs)}
        for name, node in pipeline.nodes.items()
    ]
    for name, step in pipeline.steps.items():
        for table in dict.fromkeys(rule.into for rule in step.expect if rule.into):
            nodes.append({"name": f"{name}/rejected", "kind": "quarantine", "shown": table, "inputs": [name]})
    return {"pipeline": pipeline.name, "nodes": nodes}


def _kind(node: PipelineSource | Transform | PipelineOutput) -> str:
    return "source" if isinstance(node, PipelineSource) else "transform" if isinstance(node, Transform) else "output"
