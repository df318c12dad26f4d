"""The model that statements are compared with: nulls in conditions, merges, and sequences of which some is left out."""

from __future__ import annotations

from random import Random

import pytest

from tests.spark.differential.model import (
    Alter,
    Condition,
    Insert,
    MeaninglessError,
    Merge,
    Sequence,
    State,
    random_sequence,
)
from tests.spark.differential.shrinking import shrink

LARGE, EMPTY = Condition(">", "n", 3), Condition("null", "s")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (LARGE, None),
        (EMPTY, True),
        (Condition("not", parts=(LARGE,)), None),
        (Condition("and", parts=(LARGE, EMPTY)), None),
        (Condition("or", parts=(LARGE, EMPTY)), True),
        (Condition("and", parts=(LARGE, Condition("not", parts=(EMPTY,)))), False),
        (Condition("%", "id", -1), True),
    ],
)
def test_a_condition_on_a_null_is_null(condition: Condition, holds: bool | None) -> None:
    assert condition.holds({"id": -7, "n": None, "s": None}) is holds


def test_a_merge_updates_deletes_inserts_and_looks_at_the_others() -> None:
    columns = {"id": "bigint", "n": "int", "s": "string"}
    state = State(columns, tuple({"id": key, "n": key, "s": "a"} for key in (1, 2, 3, 4)))
    rows = ({"id": 1, "n": 10, "s": None}, {"id": 2, "n": None, "s": "b"}, {"id": 9, "n": None, "s": "c"})
    merge = Merge(rows, update=True, delete=True, insert=True, others=LARGE)
    left = [tuple(row.values()) for row in merge.change(state).rows]
    assert left == [(1, 10, None), (3, 3, "a"), (9, None, "c")]


def test_a_sequence_becomes_short() -> None:
    """Those that it does not make sense without stay."""
    sequence = random_sequence(Random(5), 6)
    added = Alter("add", "extra", "int")
    dropped = Insert(({"id": 77, "extra": 1}, {"id": 78, "extra": 2}), {"id": "bigint", "extra": "int"})
    sequence = Sequence((*sequence.statements, added, dropped))

    def differs(smaller: Sequence) -> bool:
        try:
            return any(row.get("extra") == 2 for row in smaller.states()[-1].rows) if smaller.statements else False
        except MeaninglessError:
            return False

    assert shrink(sequence, differs, 1000).statements == (added, Insert(dropped.rows[1:], dropped.types))
