"""A pipeline as its file describes it: sources, transforms of them, and the tables that come out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from lance_namespace import LanceNamespace

from lanceway import config as configuration
from lanceway.catalogs.connect import connect
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.pipelines.file.yaml import Problem
from lanceway.writes.table_ref import TableRef

FILES, TABLE, STREAM, JDBC, FORMAT, PYTHON = "files", "table", "stream", "jdbc", "format", "python"
SQL, BATCHES = "sql", "batches"
DROP, FAIL, QUARANTINE = "drop", "fail", "quarantine"
APPEND, OVERWRITE, MERGE = "append", "overwrite", "merge"
REBUILD = "rebuild"  # or FAIL, where the table of an output was lost


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition in SQL that must hold for every row, and what to do with a row for which it does not."""

    name: str
    that: str
    otherwise: str
    into: str | None
    line: int


@dataclass(frozen=True, slots=True)
class PipelineSource:
    """Where rows come from. An `incremental` source gives each output only what is new to it."""

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
        """Return the Lance table that has the source's rows; those of a stream are copied into one."""
        return self.into or self.where[0]

    @property
    def has_versions(self) -> bool:
        """Tell whether it is known which rows are new."""
        return self.kind in (FILES, TABLE, STREAM)

    @property
    def shown(self) -> str:
        """Return a description for people; addresses may contain a password and are left out."""
        if self.kind in (FILES, TABLE, PYTHON):
            return ", ".join(self.where)
        return f"{self.kind} {self.where[0] if self.kind == STREAM else self.format or ''}".strip()


@dataclass(frozen=True, slots=True)
class Transform:
    """Rows computed from other rows: by SQL over its inputs, or by a Python function."""

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
    """An index to create on the table of an output."""

    column: str
    type: str
    name: str
    options: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Retention:
    """How many versions of a table are kept, or for how many days."""

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
    on_lost_output: str | None = None  # the pipeline's, if it has none of its own

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
    """The content of a pipeline's file."""

    name: str
    file: Path
    sources: Mapping[str, PipelineSource]
    transforms: Mapping[str, Transform]
    outputs: Mapping[str, PipelineOutput]
    together: bool = False
    description: str | None = None
    notes: tuple[Problem, ...] = ()
    on_lost_output: str = REBUILD

    @property
    def steps(self) -> Mapping[str, Step]:
        """Return sources and transforms: the nodes that others read."""
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
    """Return those of the known names that a query mentions, in the query's order."""
    names = set(known)
    mentioned = (word for word in _WORD.findall(_NO_NAMES.sub(" ", sql)) if word in names)
    return tuple(dict.fromkeys(mentioned))


def cycle(inputs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return names that lead back to the first of them, or None if there is no cycle."""
    try:
        TopologicalSorter(inputs).prepare()
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return None


def order(pipeline: Pipeline) -> list[str]:
    """Return all names, each after those that it needs."""
    return list(TopologicalSorter({name: node.inputs for name, node in pipeline.nodes.items()}).static_order())


def sources_of(pipeline: Pipeline, name: str) -> tuple[PipelineSource, ...]:
    """Return the sources from which a step gets its rows, in the order of the file."""
    ancestors = _ancestors({name: node.inputs for name, node in pipeline.nodes.items()}, name)
    return tuple(source for source in pipeline.sources.values() if source.name in ancestors)


def above(pipeline: Pipeline, name: str) -> list[str]:
    """Return a step and all steps from which it gets its rows, without outputs, in the order of the file."""
    ancestors = _ancestors({name: node.inputs for name, node in pipeline.nodes.items()}, name)
    return [step for step in pipeline.steps if step in ancestors]


def _ancestors(inputs: Mapping[str, tuple[str, ...]], name: str) -> set[str]:
    @cache
    def above(one: str) -> frozenset[str]:
        return frozenset({one}).union(*(above(other) for other in inputs[one]))

    return set(above(name))


def consumers(pipeline: Pipeline, name: str) -> list[str]:
    return [other for other, node in pipeline.nodes.items() if name in node.inputs]


def as_record(pipeline: Pipeline) -> dict[str, Any]:
    """Return nodes and edges, for a drawing and for the record of a run. It contains no secrets."""
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


def find(name: str, config: str | Path | None = None) -> TableRef:
    """Return the table of a name. Raise InvalidInputError if no namespace has the name's first part."""
    if "/" in name:
        return TableRef.of({"path": name})
    root, table = _split(name)
    named = configuration.namespace(root, config)
    at = {"at": named.at} if named.at else {}
    settings = {f"namespace.{key}": value for key, value in {**named.settings, **at, "type": named.type}.items()}
    return TableRef.of({"table": json.dumps(list(table)), **settings})


def catalog(name: str, config: str | Path | None = None) -> tuple[LanceNamespace, Identifier]:
    """Open the catalog of a name; return it and the table's identifier in it."""
    root, table = _split(name)
    return connect(None, name=root, config=config), table


def _split(name: str) -> tuple[str, Identifier]:
    names = Identifier.parse(name, ".")
    if names.depth < 2:
        raise InvalidInputError(
            f"{name!r} names no table: give its name with the root namespace that has it, such as lake.sales.orders, "
            "or a path with a slash in it."
        )
    return names[0], Identifier(names[1:])
