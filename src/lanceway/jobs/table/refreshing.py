"""Indices brought up to the rows that came after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lanceway.errors import TableIndexNotFoundError
from lanceway.jobs import running
from lanceway.jobs.job_table import Held
from lanceway.jobs.running import Stop
from lanceway.jobs.summaries import Step, Summary, Watcher, unwatched
from lanceway.tables.errors import translated
from lanceway.writes import named
from lanceway.writes.conflicts import insistently

if TYPE_CHECKING:
    import lance


def refresh_index(
    table: named.Named,
    names: Sequence[str] = (),
    *,
    retrain: bool = False,
    dry_run: bool = False,
    watch: Watcher = unwatched,
    stop: Stop = running.never,
) -> Summary:
    """Add rows that are in no index yet to the indices of these names, or to all. One version is made for each.

    With `retrain` an index is made anew over all rows, for vectors that have drifted from what it was trained with.

    Raises TableIndexNotFoundError for a name that no index has.
    """
    found = Held.of(table)
    missing = _missing(found, found.open(), names)
    summary = Summary("refresh-index", found.name, dry_run, parts=len(missing))
    summary.rows = sum(missing.values())
    summary.facts = {"indices": missing}
    if not dry_run:
        summary.rows = 0
        for name, rows in missing.items():
            if stop():
                break
            watch(Step(summary.done, summary.parts, summary.rows))
            if rows or retrain:
                insistently(partial(_refresh, found, name, retrain))
                summary.changed = True
            summary.done += 1
            summary.rows += rows
    summary.version = int(found.open().version)
    return summary.ended(stopped=not dry_run and summary.done < summary.parts)


def _missing(found: Held, opened: lance.LanceDataset, names: Sequence[str]) -> Mapping[str, int]:
    """How many rows each index lacks."""
    with translated(found.handle(), "Looking at the indices"):
        known = sorted(index.name for index in opened.describe_indices())
        for name in names:
            if name not in known:
                has = f"It has: {', '.join(known)}." if known else "It has none."
                raise TableIndexNotFoundError(f"{found.name} has no index {name!r}. {has}")
        return {name: int(opened.stats.index_stats(name)["num_unindexed_rows"]) for name in names or known}


def _refresh(found: Held, name: str, retrain: bool) -> None:
    opened = found.open()
    with translated(found.handle(), f"Refreshing the index {name!r}"):
        opened.optimize.optimize_indices(index_names=[name], retrain=retrain)
