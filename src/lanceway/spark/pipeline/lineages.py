"""From which versions of which tables a version of a table was made, and what was made from it: as runs recorded it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from lanceway.lake import runs
from lanceway.lake.runs import Read, Run, Step
from lanceway.spark.pipeline import states, targets
from lanceway.spark.pipeline.drawing import Node
from lanceway.spark.pipeline.file import load

_FARTHEST = 1000  # tables


@dataclass(frozen=True, slots=True)
class Edge:
    """A step that has read a version of something and written a version of a table."""

    source: str
    kind: str
    source_location: str | None
    after: int
    source_version: int
    table: str
    location: str
    version: int
    pipeline: str
    run: int
    step: str
    at: int | None

    def as_record(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def lineage(
    file: str | Path | None = None,
    *,
    table: str | None = None,
    state: str | None = None,
    config: str | Path | None = None,
    every: bool = False,
) -> list[Edge]:
    """What leads to the tables of a pipeline, or to one table by its name, and away from them; over any number of
    pipelines with the same state. Of each pair of tables there is the newest edge, or `every` one.
    """
    names = [table] if table is not None else [output.table for output in load(str(file)).outputs.values()]
    places = [_place(name, config) for name in names]
    with states.opened(state, config) as store:
        found = store.look(lambda connection: _around(connection, [place for place in places if place is not None]))
    ordered = sorted(found, key=lambda edge: (edge.at or 0, edge.step, edge.source), reverse=True)
    return ordered if every else list({(edge.source, edge.location): edge for edge in reversed(ordered)}.values())


def _place(name: str, config: str | Path | None) -> str | None:
    from lanceway.errors import NamespaceNotFoundError, TableNotFoundError

    try:
        return targets.find(name, config).table().location
    except (NamespaceNotFoundError, TableNotFoundError):
        return None


def _around(connection: Connection, places: list[str]) -> set[Edge]:
    """All edges that can be reached: upwards through what was read, downwards through what was written."""
    found: set[Edge] = set()
    for writers in (True, False):
        waiting, seen = list(places), set(places)
        while waiting and len(seen) < _FARTHEST:
            place = waiting.pop()
            steps = runs.writers(connection, place) if writers else runs.readers(connection, place)
            edges = list(_edges(connection, steps, None if writers else place))
            found.update(edges)
            beyond = [edge.source_location if writers else edge.location for edge in edges]
            further = {one for one in beyond if one is not None} - seen
            waiting += sorted(further)
            seen |= further
    return found


def _edges(connection: Connection, steps: Iterable[tuple[Run, Step]], only: str | None) -> Iterable[Edge]:
    for run, step in steps:
        for read in runs.reads(connection, run.id):
            if read.step == step.name and (only is None or read.location == only) and step.location and step.version:
                yield _edge(run, step, read)


def _edge(run: Run, step: Step, read: Read) -> Edge:
    return Edge(
        read.table_name or read.source,
        read.kind,
        read.location,
        read.after,
        read.version,
        step.table_name or step.name,
        str(step.location),
        int(step.version or 0),
        run.pipeline,
        run.number,
        step.name,
        step.ended_at,
    )


def nodes(edges: Iterable[Edge]) -> list[Node]:
    """The same as a drawing has it: a box for each table with its newest version."""
    every = list(edges)
    versions: dict[str, int] = {}
    kinds: dict[str, str] = {}
    inputs: dict[str, list[str]] = {}
    for edge in every:
        versions[edge.source] = max(edge.source_version, versions.get(edge.source, 0))
        versions[edge.table] = max(edge.version, versions.get(edge.table, 0))
        kinds.setdefault(edge.source, edge.kind)
        kinds[edge.table] = "table"
        inputs.setdefault(edge.source, [])
        if edge.source not in inputs.setdefault(edge.table, []) and edge.source != edge.table:
            inputs[edge.table].append(edge.source)
    return [
        Node(name, f"version {versions[name]}" if kinds[name] == "table" else kinds[name], kinds[name], tuple(before))
        for name, before in inputs.items()
    ]
