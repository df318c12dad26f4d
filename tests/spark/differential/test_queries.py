"""Random queries over random tables: Lance answers as Parquet does, in the same session, on every backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from lanceway.errors import LanceNamespaceError
from tests.servers.lanceway import Lanceway
from tests.spark.differential.queries import ZONES, Generator
from tests.spark.differential.script import BACKENDS, backend, script
from tests.spark.differential.shrinking import shrink
from tests.spark.differential.tables import random_table
from tests.spark.differential.worlds import WAYS, Backend, Case, World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES_PER_ROUND = 5
MOST_DIFFERENCES = 3
ATTEMPTS = 300  # to make a difference smaller


@pytest.fixture(scope="module")
def backends(spark: SparkSession, server: Lanceway, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Backend]:
    folder = tmp_path_factory.mktemp("differential")
    registered = {type_: backend(type_, folder, server) for type_ in BACKENDS}
    for place in registered.values():
        place.register(spark)
    return registered


def cases(seed: str, backends: Mapping[str, Backend], count: int) -> Iterator[list[Case]]:
    """Yield so many cases, those that share their tables at once. Backends and ways to ask take turns."""
    together = 5 if count < 1000 else 20
    for number in range(count // together):
        random = Random(f"{seed} {number}")
        tables = {name: random_table(random) for name in "tu"}
        generator, place = Generator(random, tables), backends[BACKENDS[number % len(BACKENDS)]]
        yield [
            Case(tables, generator.query(), place, WAYS[(number + turn) % 2], random.choice(ZONES), number % 5 == 4)
            for turn in range(together)
        ]


def test_lance_answers_as_parquet_does(
    spark: SparkSession, backends: Mapping[str, Backend], rounds: int, seed: str, folder: Path
) -> None:
    differences: list[str] = []
    for together in cases(seed, backends, QUERIES_PER_ROUND * rounds):
        with World(spark, folder, together[0].backend, together[0].tables) as world:
            different = [case for case in together if _difference(world, case)]
        differences += [_smallest(spark, folder, case) for case in different]
        if len(differences) >= MOST_DIFFERENCES:
            break
    assert not differences, f"--seed {seed}: Lance and Parquet differ.\n\n" + "\n".join(differences)


def _difference(world: World, case: Case) -> tuple[str, str] | None:
    """Return how both answers ended if they differ."""
    parquet, lance = world.answers(case)
    return None if parquet.agrees(lance) else (parquet.sort, lance.sort)


def _smallest(spark: SparkSession, folder: Path, case: Case) -> str:
    """Make a difference small, first the query, for which the tables stay, and return it as a script."""
    with World(spark, folder, case.backend, case.tables) as world:
        kind = _difference(world, case)
        query = shrink(case.query, lambda query: _difference(world, replace(case, query=query)) == kind, ATTEMPTS)
    case = replace(case, query=query)

    def differs(smaller: Case) -> bool:
        try:
            with World(spark, folder, smaller.backend, smaller.tables) as world:
                return _difference(world, smaller) == kind
        except (OSError, ValueError, RuntimeError, IndexError, LanceNamespaceError):
            return False  # it has become a table that cannot be made

    return script(shrink(case, differs, ATTEMPTS))
