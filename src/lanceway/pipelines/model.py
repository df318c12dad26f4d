"""A pipeline as its file describes it: sources, transforms of them, and the tables that come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanceway.pipelines.file.problems import Problem

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
class Source:
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
class Output:
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


Step = Source | Transform
Node = Source | Transform | Output


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole file."""

    name: str
    file: Path
    sources: Mapping[str, Source]
    transforms: Mapping[str, Transform]
    outputs: Mapping[str, Output]
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
