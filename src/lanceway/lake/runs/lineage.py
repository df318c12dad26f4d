"""Lineage: which versions of which tables a version was made from, as runs recorded it, and a drawing of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.sax import saxutils

from sqlalchemy import Connection, Row, Select, and_, func, select

from lanceway.errors import InvalidInputError
from lanceway.lake.runs.listing import seen_by
from lanceway.lake.store.schema import pipelines, run_reads, run_steps, runs

FARTHEST = 1000  # tables, over any number of steps
WIDEST = 10_000  # tables directly beside one, which are all that a single step reaches

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
    """Return what leads to the tables at some locations and away from them, newest first.

    Follow edges over `depth` steps each way, or over any number. Of each pair of tables there is the newest edge, or
    `every` one; of the runs that `user` may see. Raises InvalidInputError where that would be too much to read.
    """
    lineage: set[LineageEdge] = set()
    most = WIDEST if depth == 1 else FARTHEST
    for is_wanted, is_up in ((upstream, True), (downstream, False)):
        layer, visited, remaining = set(tables), set(tables), depth
        while is_wanted and layer and remaining != 0:
            edges = _edges(connection, layer, is_up=is_up, every=every, user=user)
            lineage.update(edges)
            beyond = (edge.source_location if is_up else edge.location for edge in edges)
            layer = {place for place in beyond if place is not None} - visited
            visited |= layer
            remaining = None if remaining is None else remaining - 1
            if len(visited) > most:
                raise InvalidInputError(
                    f"The lineage reaches more than {most:,} tables. Ask for less of it: give a depth."
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


_LETTER, _PADDING, _HEIGHT = 7.2, 12, 46
_BETWEEN_LAYERS, _BETWEEN_NODES, _MARGIN = 70, 20, 16
_SWEEPS = 4
_LONGEST = 34
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLOURS = {
    "source": "#dbeafe",
    "transform": "#f3f4f6",
    "output": "#dcfce7",
    "quarantine": "#fee2e2",
    "table": "#dcfce7",
    "files": "#dbeafe",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A box: its name, a second line, what kind it is, and the names of what leads to it. A label stands for a name."""

    name: str
    shown: str = ""
    kind: str = ""
    inputs: tuple[str, ...] = ()
    label: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Node:
        return cls(record["name"], record.get("shown", ""), record.get("kind", ""), tuple(record["inputs"]))

    @property
    def width(self) -> float:
        return max(len(_short(self.title)), len(_short(self.shown))) * _LETTER + 2 * _PADDING

    @property
    def title(self) -> str:
        return self.label or self.name


def svg(nodes: Iterable[Node], title: str) -> str:
    """Return the drawing.

    Edges to nodes that are not there are left out; of a circle, one edge goes from right to left.
    """
    layers = _layers({node.name: node for node in nodes})
    places, width, height = _places(layers)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="12">',
        f"<title>{_escaped(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    drawn = [node for layer in layers for node in layer]
    lines += [_edge(places[name], places[node.name]) for node in drawn for name in node.inputs if name in places]
    lines += [_box(node, *places[node.name]) for node in drawn]
    return "\n".join([*lines, "</svg>", ""])


def _layers(nodes: Mapping[str, Node]) -> list[list[Node]]:
    depths: dict[str, int] = {}
    for name, inputs in _sorted({name: node.inputs for name, node in nodes.items()}):
        depths[name] = 1 + max((depths[source] for source in inputs), default=-1)
    layers: list[list[Node]] = [[] for _ in range(1 + max(depths.values(), default=0))]
    for name, node in nodes.items():
        layers[depths[name]].append(node)
    for _ in range(_SWEEPS):
        for before, layer in pairwise(layers):
            _arrange(layer, before, lambda node, other: other.name in node.inputs)
        for layer, after in reversed(list(pairwise(layers))):
            _arrange(layer, after, lambda node, other: node.name in other.inputs)
    return layers


def _sorted(inputs: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield every name after what leads to it, with that; what would lead back to the name itself is left out."""
    done, path = set[str](), dict[str, Iterator[str]]()
    for first in inputs:
        waiting = [first] if first not in done else []
        while waiting:
            name = waiting[-1]
            remaining = path.setdefault(name, iter(inputs[name]))
            further = next(
                (source for source in remaining if source in inputs and source not in path and source not in done), None
            )
            if further is not None:
                waiting.append(further)
                continue
            yield name, [source for source in inputs[name] if source in done]
            done.add(waiting.pop())
            del path[name]


def _arrange(layer: list[Node], beside: Sequence[Node], joined: Any) -> None:
    """Order a layer by the middle of each node's neighbours; one without any stays where it is."""

    def middle(at: int, node: Node) -> float:
        places = [place for place, other in enumerate(beside) if joined(node, other)]
        return sum(places) / len(places) if places else float(at)

    weights = {node.name: middle(at, node) for at, node in enumerate(layer)}
    layer.sort(key=lambda node: weights[node.name])


def _places(layers: list[list[Node]]) -> tuple[dict[str, tuple[float, float, float]], float, float]:
    """Return where each box begins and how wide it is; and how large the whole is."""
    step = _HEIGHT + _BETWEEN_NODES
    tallest = max((len(layer) for layer in layers), default=0) * step
    places: dict[str, tuple[float, float, float]] = {}
    x = float(_MARGIN)
    for layer in layers:
        widest = max((node.width for node in layer), default=0)
        top = _MARGIN + (tallest - len(layer) * step) / 2
        for at, node in enumerate(layer):
            places[node.name] = (x, top + at * step, widest)
        x += widest + _BETWEEN_LAYERS
    return places, x - _BETWEEN_LAYERS + _MARGIN, tallest + 2 * _MARGIN - _BETWEEN_NODES


def _edge(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    x1, y1 = start[0] + start[2], start[1] + _HEIGHT / 2
    x2, y2 = end[0], end[1] + _HEIGHT / 2
    bend = max((x2 - x1) / 2, 20)
    return (
        f'<path d="M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}" '
        'fill="none" stroke="#9ca3af" stroke-width="1.5"/>'
    )


def _box(node: Node, x: float, y: float, width: float) -> str:
    colour = _COLOURS.get(node.kind, "#f3f4f6")
    return (
        f"<g><title>{_escaped(f'{node.kind} {node.title}: {node.shown}')}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_HEIGHT}" rx="6" fill="{colour}" '
        'stroke="#6b7280"/>'
        f'<text x="{x + _PADDING:.1f}" y="{y + 19:.1f}" font-weight="bold">{_escaped(_short(node.title))}</text>'
        f'<text x="{x + _PADDING:.1f}" y="{y + 36:.1f}" fill="#4b5563">{_escaped(_short(node.shown))}</text></g>'
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"


def _escaped(text: str) -> str:
    return saxutils.escape(_NOT_XML.sub("\ufffd", text))
