"""Random queries over random tables: Lance answers as Parquet does, in the same session, on every backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from lanceway.errors import LanceNamespaceError
from tests.drilling import DrillProgress
from tests.servers.lanceway import Lanceway
from tests.spark.differential.answers import Answer, multiset
from tests.spark.differential.queries import ZONES, Generator
from tests.spark.differential.script import BACKENDS, backend, script
from tests.spark.differential.shrinking import shrink
from tests.spark.differential.tables import Append, Column, Table, random_table
from tests.spark.differential.tree import QUERY, Node
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
    """Yield so many cases, those that share their tables at once. Backends, ways to ask and ANSI take turns."""
    together = 5 if count < 1000 else 20
    for number in range(count // together):
        random = Random(f"{seed} {number}")
        tables = {name: random_table(random) for name in "tu"}
        generator, place = Generator(random, tables), backends[BACKENDS[number % len(BACKENDS)]]
        yield [
            Case(
                tables,
                generator.query(),
                place,
                WAYS[(number + turn) % 2],
                random.choice(ZONES),
                codegen=number % 5 == 4,
                ansi=turn % 3 > 0,
            )
            for turn in range(together)
        ]


@dataclass(frozen=True)
class Difference:
    """Two answers that should be one."""

    parquet: Answer
    lance: Answer

    @property
    def sort(self) -> tuple[str, str]:
        """How both ended."""
        return self.parquet.sort, self.lance.sort

    def show(self, case: Case) -> str:
        return f"{case.sql}\nParquet:\n{self.parquet.show()}\nLance:\n{self.lance.show()}\n"


def test_lance_answers_as_parquet_does(
    spark: SparkSession,
    backends: Mapping[str, Backend],
    rounds: int,
    progress: DrillProgress,
    folder: Path,
) -> None:
    differences: list[str] = []
    for together in cases(progress.seed, backends, QUERIES_PER_ROUND * rounds):
        with World(spark, folder, together[0].backend, together[0].tables) as world:
            different = [(case, difference) for case in together if (difference := _difference(world, case))]
        for case, difference in different:
            progress.failure(f"{script(case)}\n{difference.show(case)}")
            differences.append(_smallest(spark, folder, case, difference))
        progress.step("queries", len(together))
        if len(differences) >= MOST_DIFFERENCES:
            break
    assert not differences, f"--seed {progress.seed}: Lance and Parquet differ.\n\n" + "\n".join(differences)


FLOATS = (0.0, 0.0, float("nan"), -1.5, None)
FLOAT_CONDITIONS = {
    "r.a IN (-0.0F)": (1, 2),
    "r.a = -0.0F": (1, 2),
    "r.a >= float('NaN')": (3,),
    "r.a > 2F": (3,),
    "r.b IN (-0.0D, 5D)": (1, 2),
    "r.b <=> -0.0D": (1, 2),
    "r.b >= double('NaN')": (3,),
    "r.b > 1E300D": (3,),
}


@pytest.mark.parametrize("way", WAYS)
def test_zeros_of_either_sign_are_equal_and_nan_is_the_largest_number(
    spark: SparkSession, backends: Mapping[str, Backend], folder: Path, way: str
) -> None:
    """Seed 915410998: Spark skipped such files of Parquet by their statistics and dictionaries."""
    rows = tuple({"id": number, "a": value, "b": value} for number, value in enumerate(FLOATS, 1))
    tables = {"t": Table((Column("id", "i64"), Column("a", "f32"), Column("b", "f64")), (Append(rows, 2),))}
    with World(spark, folder, backends["lake"], tables) as world:
        for condition, ids in FLOAT_CONDITIONS.items():
            query = Node(QUERY, f"SELECT r.id FROM $t r WHERE {condition}")
            parquet, lance = world.answers(Case(tables, query, backends["lake"], way, "UTC", codegen=True, ansi=True))
            assert parquet.rows == lance.rows == multiset((id_,) for id_ in ids), condition


def _difference(world: World, case: Case) -> Difference | None:
    parquet, lance = world.answers(case)
    return None if parquet.agrees(lance) else Difference(parquet, lance)


def _smallest(spark: SparkSession, folder: Path, case: Case, first: Difference) -> str:
    """Make a difference small, first the query, for which the tables stay, and return it as a script."""
    answers = first.show(case)

    def differs_in(world: World, smaller: Case) -> bool:
        difference = _difference(world, smaller)
        return difference is not None and difference.sort == first.sort

    with World(spark, folder, case.backend, case.tables) as world:
        if not differs_in(world, case):
            return f"{script(case)}\nIt differed once, and not when it was asked again:\n{answers}"
        query = shrink(case.query, lambda query: differs_in(world, replace(case, query=query)), ATTEMPTS)

    def differs(smaller: Case) -> bool:
        try:
            with World(spark, folder, smaller.backend, smaller.tables) as world:
                return differs_in(world, smaller)
        except (OSError, ValueError, RuntimeError, IndexError, LanceNamespaceError):
            return False  # it has become a table that cannot be made

    small = shrink(replace(case, query=query), differs, ATTEMPTS)
    return f"{script(small)}\nBefore it was made small:\n{answers}"
