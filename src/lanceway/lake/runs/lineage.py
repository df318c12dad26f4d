"""Lineage: which versions of which tables a version was made from, and what was made from it, as runs recorded it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, select

from lanceway.errors import InvalidInputError
from lanceway.lake.runs.drawing import Node
from lanceway.lake.runs.listing import seen_by
from lanceway.lake.store.schema import pipelines, run_reads, run_steps, runs

FARTHEST = 1000  # tables

_SOURCE = func.coalesce(run_reads.c.table_name, run_reads.c.source)
_EDGES: Select[Any] = (
    select(
        _SOURCE.label("source"),
        run_reads.c.kind,
        run_reads.c.location.label("source_location"),
        run_reads.c.after,
        run_reads.c.version.label("source_version"),
        func.coalesce(run_steps.c.table_name, run_steps.c.name).label("table"),
        run_steps.c.location,
        run_steps.c.version,
        pipelines.c.name.label("pipeline"),
        runs.c.number.label("run"),
        run_steps.c.name.label("step"),
        run_steps.c.ended_at.label("at"),
    )
    .select_from(run_reads)
    .join(run_steps, and_(run_steps.c.run_id == run_reads.c.run_id, run_steps.c.name == run_reads.c.step))
    .join(runs, runs.c.id == run_reads.c.run_id)
    .join(pipelines, pipelines.c.id == runs.c.pipeline_id)
    .where(run_steps.c.location.is_not(None), run_steps.c.version > 0)
)
# Of each pair of tables, how many have come since.
_LATER = func.row_number().over(
    partition_by=(_SOURCE, run_reads.c.location, run_steps.c.location),
    order_by=(run_reads.c.run_id.desc(), run_steps.c.position.desc()),
)


@dataclass(frozen=True, slots=True)
class LineageEdge:
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

    @classmethod
    def of(cls, row: Row[Any]) -> LineageEdge:
        return cls(**{name: getattr(row, name) for name in cls.__slots__})

    def as_record(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def places(connection: Connection, name: str, *, user: str | None = None) -> set[str]:
    """Return the locations that runs have recorded under a table's name, of the runs that `user` may see."""
    locations: set[str] = set()
    for table in (run_steps, run_reads):
        question = (
            select(table.c.location)
            .join_from(table, runs, table.c.run_id == runs.c.id)
            .where(table.c.table_name == name, table.c.location.is_not(None))
            .distinct()
        )
        locations |= set(connection.scalars(question if user is None else question.where(seen_by(user))))
    return locations


def around(
    connection: Connection,
    tables: Iterable[str],
    *,
    upstream: bool = True,
    downstream: bool = True,
    depth: int | None = None,
    every: bool = False,
    user: str | None = None,
) -> list[LineageEdge]:
    """What leads to the tables at some locations and away from them, newest first: over so many steps each way, any
    number if no `depth` is given. Of each pair of tables there is the newest edge, or `every` one; of the runs that
    `user` may see. Raises InvalidInputError where that would be too much to read.
    """
    lineage: set[LineageEdge] = set()
    for is_wanted, is_up in ((upstream, True), (downstream, False)):
        layer, visited, remaining = set(tables), set(tables), depth
        while is_wanted and layer and remaining != 0:
            edges = _edges(connection, layer, is_up=is_up, every=every, user=user)
            lineage.update(edges)
            beyond = (edge.source_location if is_up else edge.location for edge in edges)
            layer = {place for place in beyond if place is not None} - visited
            visited |= layer
            remaining = None if remaining is None else remaining - 1
            if len(visited) > FARTHEST:
                raise InvalidInputError(
                    f"The lineage reaches more than {FARTHEST:,} tables. Ask for less of it: give a depth."
                )
    return sorted(lineage, key=lambda edge: (edge.at or 0, edge.step, edge.source), reverse=True)


def _edges(
    connection: Connection, places: set[str], *, is_up: bool, every: bool, user: str | None
) -> Sequence[LineageEdge]:
    where = run_steps.c.location if is_up else run_reads.c.location
    question = _EDGES.where(where.in_(sorted(places)))
    if user is not None:
        question = question.where(seen_by(user))
    if not every:
        ranked = question.add_columns(_LATER.label("later")).subquery()
        question = select(ranked).where(ranked.c.later == 1)
    return [LineageEdge.of(row) for row in connection.execute(question)]


def nodes(edges: Iterable[LineageEdge]) -> list[Node]:
    """Return edges for a drawing: a box for each table with its newest version, by the name it had then."""
    names: dict[str, str] = {}
    kinds: dict[str, str] = {}
    versions: dict[str, int] = {}
    inputs: dict[str, list[str]] = {}
    for edge in edges:
        source = edge.source_location or edge.source
        for place, name, version in (
            (source, edge.source, edge.source_version),
            (edge.location, edge.table, edge.version),
        ):
            names.setdefault(place, name)
            versions[place] = max(version, versions.get(place, 0))
            inputs.setdefault(place, [])
        kinds.setdefault(source, edge.kind)
        kinds[edge.location] = "table"
        if source not in inputs[edge.location] and source != edge.location:
            inputs[edge.location].append(source)
    return [
        Node(
            place,
            f"version {versions[place]}" if kinds[place] == "table" else kinds[place],
            kinds[place],
            tuple(before),
            label=names[place],
        )
        for place, before in inputs.items()
    ]
