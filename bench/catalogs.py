"""The foreign catalogs beside lance-namespace-impls, on the same servers: `make bench-catalogs`.

Glue on moto, Unity on the suite's fake in two versions, Iceberg on SeaweedFS, also behind a proxy that takes five
milliseconds for each request, as a network would, and on the reference server, Hive on a metastore 3.1.3, Polaris on
the suite's fake. Each has 1,000 tables in one namespace. For Gravitino the other library has no catalog.
They are listed and described, and others are declared and deregistered. First both libraries go through a proxy that
counts what they send for one operation, then they ask the server directly and take turns, and the best of several
turns is shown, in milliseconds for one operation. A ratio below 1 means that Lanceway takes less time. What the
other library cannot do on a server is said below the table. Neither's first request is counted, by which they find
out about the server.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start servers
sys.path.append(str(Path(__file__).parents[1] / ".venv" / "hive-client"))  # the peer's for Hive, see Makefile

from lance_namespace import DeregisterTableRequest, DescribeTableRequest, LanceNamespace, ListTablesRequest
from lance_namespace_impls import NamespaceException
from rich.console import Console
from rich.table import Table

from catalogs_servers import Place, places
from lanceway.errors import LanceNamespaceError
from sheet import Sheet

TABLES = 1_000
TURNS = 3
# How many tables one turn describes, declares and deregisters.
BATCH = 50
COUNTED = 5
# What the other library raises, and what Lanceway does.
REFUSED = (NamespaceException, RuntimeError, ValueError, LanceNamespaceError)

Operation = Callable[[int], None]


class Unable(Exception):  # noqa: N818 - a result, rather than an error
    """Why a library cannot do an operation on a server."""


@dataclass
class Result:
    """What one library needs for one operation."""

    requests: float = 0
    milliseconds: float = float("inf")
    reason: str = ""


# -- the operations --------------------------------------------------------------------------------


def operations(catalog: LanceNamespace, place: Place, names: list[str], prefix: str) -> dict[str, Operation]:
    """Each takes the number of a repetition, which no other has.

    What is deregistered has been declared by Lanceway, since the other cannot declare everywhere.
    """

    def list_all(_: int) -> None:
        listed = catalog.list_tables(ListTablesRequest(id=place.full)).tables
        missing = set(names) - set(listed)
        if missing:
            raise Unable(f"lists {len(names) - len(missing):,} of {len(names):,} tables")

    def describe(number: int) -> None:
        catalog.describe_table(DescribeTableRequest(id=[*place.full, names[number % len(names)]]))

    def declare(number: int) -> None:
        catalog.declare_table(place.table(place.work, f"{prefix}_new_{number}"))

    def deregister(number: int) -> None:
        catalog.deregister_table(DeregisterTableRequest(id=[*place.work, f"{prefix}_old_{number}"]))

    return {"list": list_all, "describe": describe, "declare": declare, "deregister": deregister}


def attempt(work: Operation, numbers: range, result: Result) -> None:
    """Carry an operation out for each number, unless it cannot be done."""
    for number in numbers:
        if result.reason:
            return
        try:
            work(number)
        except (Unable, *REFUSED) as error:
            result.reason = str(error).partition("\n")[0][:200]


# -- measuring -------------------------------------------------------------------------------------


def count(place: Place, connect: Callable[[str], LanceNamespace], names: list[str], prefix: str) -> dict[str, Result]:
    """How many requests each operation takes."""
    found: dict[str, Result] = {}
    place.fill(place.work, [f"{prefix}_old_{number}" for number in range(COUNTED)])
    with place.proxy(place.endpoint) as proxy:
        known = operations(connect(proxy.endpoint), place, names, prefix)
        attempt(known["describe"], range(1), Result())
        for name, work in known.items():
            repeats = 1 if name == "list" else COUNTED
            before, result = len(proxy.requests), Result()
            attempt(work, range(repeats), result)
            result.requests = (len(proxy.requests) - before) / repeats
            found[name] = result
    return found


def measure(place: Place, names: list[str]) -> dict[str, tuple[Result, Result]]:
    """Ours and the other's, by operation."""
    sides = (place.ours, place.peer)
    counted = [count(place, connect, names, f"counted_{side}") for side, connect in enumerate(sides)]
    known = [operations(connect(place.endpoint), place, names, f"timed_{side}") for side, connect in enumerate(sides)]
    for number, side in enumerate(known):
        place.fill(place.work, [f"timed_{number}_old_{count}" for count in range(TURNS * BATCH)])
        attempt(side["describe"], range(1), Result())
    for turn in range(TURNS):
        for name in known[0]:
            numbers = range(1) if name == "list" else range(turn * BATCH, (turn + 1) * BATCH)
            for side, results in zip(known, counted, strict=True):
                began = time.perf_counter()
                attempt(side[name], numbers, results[name])
                took = (time.perf_counter() - began) * 1000 / len(numbers)
                results[name].milliseconds = min(results[name].milliseconds, took)
    return {name: (counted[0][name], counted[1][name]) for name in known[0]}


# -- showing ---------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="?", type=int, default=TABLES, help="How many tables.")
    names = [f"table_{number:06}" for number in range(parser.parse_args().tables)]
    logging.disable(logging.WARNING)
    console = Sheet(width=100)
    with places() as found:
        for place in found:
            place.fill(place.full, names)
            show(console, place, measure(place, names), len(names))


def show(console: Console, place: Place, found: dict[str, tuple[Result, Result]], tables: int) -> None:
    report = Table(title=f"{place.name}, {tables:,} tables")
    report.add_column("operation")
    for column in ("requests", "of the peer", "ms", "of the peer", "ratio"):
        report.add_column(column, justify="right")
    for operation, (ours, theirs) in found.items():
        if ours.reason:
            raise SystemExit(f"{place.name}, {operation}: Lanceway fails: {ours.reason}")
        report.add_row(operation, *shown(ours, theirs))
    console.print(report)
    for operation, (_, theirs) in found.items():
        if theirs.reason:
            console.print(f"lance-namespace-impls cannot {operation}: {theirs.reason}", highlight=False)


def shown(ours: Result, theirs: Result) -> tuple[str, ...]:
    mine = (f"{ours.requests:,.4g}", f"{ours.milliseconds:.2f}")
    if theirs.reason:
        return mine[0], "-", mine[1], "-", "-"
    ratio = ours.milliseconds / theirs.milliseconds
    return mine[0], f"{theirs.requests:,.4g}", mine[1], f"{theirs.milliseconds:.2f}", f"{ratio:.2f}"


if __name__ == "__main__":
    main()
