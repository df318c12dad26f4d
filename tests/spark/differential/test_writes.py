"""Random sequences of statements through Spark: after each, a table holds what a plain model says."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import lanceway.spark
from lanceway.errors import LanceNamespaceError
from tests.drilling import DrillProgress
from tests.servers.lanceway import Lanceway
from tests.spark.differential.answers import ask, multiset
from tests.spark.differential.model import COLUMNS, MeaninglessError, Sequence, State, random_sequence
from tests.spark.differential.script import BACKENDS, backend
from tests.spark.differential.shrinking import shrink
from tests.spark.differential.tables import LanceTable
from tests.spark.differential.worlds import Backend

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = 8
ATTEMPTS = 60
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def places(spark: SparkSession, server: Lanceway, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Backend]:
    folder = tmp_path_factory.mktemp("writes")
    registered = {type_: backend(type_, folder, server) for type_ in BACKENDS}
    for place in registered.values():
        place.register(spark)
    return registered


def test_statements_do_what_a_model_says(
    spark: SparkSession, places: Mapping[str, Backend], rounds: int, progress: DrillProgress
) -> None:
    """Through SQL, data frames and the functions of `lanceway.spark`; earlier versions stay as they were."""
    for number in range(max(len(BACKENDS), rounds // 20)):
        sequence = random_sequence(Random(f"{progress.seed} {number}"), STATEMENTS)
        place = places[BACKENDS[number % len(BACKENDS)]]
        problem = _problem(spark, place, sequence)
        progress.step("sequences of statements")
        if problem is not None:
            progress.failure(f"sequence {number}, {place.name}: {problem}\n\n{_script(sequence)}")
            small = shrink(sequence, lambda smaller, place=place: _problem(spark, place, smaller) is not None, ATTEMPTS)  # type: ignore[misc]
            raise AssertionError(
                f"--seed {progress.seed}, sequence {number}, {place.name}: {problem}\n\n"
                f"{_problem(spark, place, small)}\n\n{_script(small)}"
            )


def _problem(spark: SparkSession, place: Backend, sequence: Sequence) -> str | None:
    """Carry out statements on a new table, and return what is wrong with it; None if all is as the model says."""
    try:
        states = sequence.states()
    except MeaninglessError:
        return None
    name = f"written{next(_NUMBERS)}"
    table, options = f"{place.name}.{name}", {f"namespace.{key}": value for key, value in place.settings.items()}
    stored = LanceTable(place.connect(), [name])
    names = {"spark": spark, "lanceway": lanceway, "target": {**options, "table": name}}
    spark.sql(_create(table))
    versions: list[int] = []
    try:
        for number, (statement, state) in enumerate(zip(sequence.statements, states, strict=True), 1):
            try:
                exec(statement.code(table), names)
            except (PySparkException, Py4JJavaError, LanceNamespaceError) as error:
                return f"statement {number} failed: {statement.code('t')}\n{str(error)[:1000]}"
            versions.append(stored.open().version)
            difference = _difference(spark, table, state)
            if difference:
                return f"after statement {number}: {statement.code('t')}\n{difference}"
        for version, state in list(zip(versions, states, strict=True))[:-1:3]:
            difference = _difference(spark, f"{table} VERSION AS OF {version}", state)
            if difference:
                return f"version {version} has changed:\n{difference}"
    finally:
        spark.sql(f"DROP TABLE {table}")
    return None


def _create(table: str) -> str:
    return f"CREATE TABLE {table} ({', '.join(f'{column} {type_}' for column, type_ in COLUMNS.items())})"


def _difference(spark: SparkSession, table: str, state: State) -> str | None:
    answer = ask(spark, f"SELECT {', '.join(state.columns)} FROM {table}")
    expected = multiset(row.values() for row in state.rows)
    if (answer.error, answer.types, answer.rows) == (None, ", ".join(state.columns.values()), expected):
        return None
    return f"{answer.show()}\nbut the model has:\n" + "\n".join(f"{row} x {count}" for row, count in expected)


def _script(sequence: Sequence) -> str:
    lines = [f"spark.sql({_create('lake.t')!r})", *(statement.code("lake.t") for statement in sequence.statements)]
    return "\n".join(lines)
