"""The graph of a pipeline: what comes from what, in which order, and what goes round in a circle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

from lanceway.pipelines.model import Output, Pipeline, Source, Transform

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


def sources_of(pipeline: Pipeline, name: str) -> tuple[Source, ...]:
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


def _kind(node: Source | Transform | Output) -> str:
    return "source" if isinstance(node, Source) else "transform" if isinstance(node, Transform) else "output"
