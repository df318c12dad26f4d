"""The lineage of tables by the names that `lanceway.toml` gives them. Spark is not needed."""

from __future__ import annotations

from pathlib import Path

from lanceway.errors import NamespaceNotFoundError, TableNotFoundError
from lanceway.lake.runs.lineage import Edge
from lanceway.pipelines import targets
from lanceway.pipelines.file.load import load
from lanceway.pipelines.runs import store
from lanceway.pipelines.runs.store import State


def lineage(
    file: str | Path | None = None,
    *,
    table: str | None = None,
    state: State = None,
    config: str | Path | None = None,
    depth: int | None = None,
    every: bool = False,
) -> list[Edge]:
    """What leads to the tables of a pipeline, or to one table by its name, and away from them; over any number of
    pipelines with the same state, and so many steps each way as `depth` says. Of each pair of tables there is the
    newest edge, or `every` one.
    """
    names = [table] if table is not None else [output.table for output in load(str(file)).outputs.values()]
    found = (_place(name, config) for name in names)
    places = sorted({place for place in found if place is not None})
    with store.opened(state, config) as ledger:
        return ledger.lineage(places, depth=depth, every=every)


def _place(name: str, config: str | Path | None) -> str | None:
    try:
        return targets.find(name, config).table().location
    except (NamespaceNotFoundError, TableNotFoundError):
        return None
