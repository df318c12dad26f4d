"""What a difference becomes before it is shown: as small as it can be, and a script that Python reads."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from random import Random

from tests.spark.differential import tables
from tests.spark.differential.queries import Generator
from tests.spark.differential.script import script
from tests.spark.differential.shrinking import shrink
from tests.spark.differential.tables import AddColumn, Append, Column, Delete, Table, random_table
from tests.spark.differential.tree import QUERY, Items, Node
from tests.spark.differential.worlds import Backend, Case

PLACE = Backend("diff_dir", {"type": "dir", "path": "here"})
COLUMNS = (Column("id", "i64"), Column("k", "small"), Column("a", "s"))
ROWS = tuple({"id": number, "k": None if number == 7 else number, "a": "x"} for number in range(20))
WHERE = Node("boolean", "({} AND {})", (Node("boolean", "(r.k IS NULL)"), Node("boolean", "(r.a = 'x')")))
SELECT = Items(
    ", ", (Node("item", "r.id"), Node("item", "{}", (Node("string", "upper({})", (Node("string", "r.a"),)),))), 1
)


def test_rows_steps_columns_and_conditions_that_do_not_matter_are_left_out() -> None:
    steps = (Append(ROWS, 4), AddColumn(Column("g", "bool")), Delete((1, 2)))
    query = Node(QUERY, "SELECT {} FROM $t r{}", (SELECT, Items("", (Node("clause", " WHERE {}", (WHERE,)),))))
    case = Case({"t": Table(COLUMNS, steps), "u": Table(COLUMNS, steps)}, query, PLACE, "catalog", "UTC", False, True)

    def differs(smaller: Case) -> bool:
        rows = smaller.tables["t"].history()[-1].rows
        return (
            "r.id" in smaller.sql
            and "r.k IS NULL" in smaller.sql
            and any(row["k"] is None for row in rows if "k" in row)
        )

    small = shrink(case, differs, 1000)
    assert small.sql == "SELECT r.id FROM $t r WHERE (r.k IS NULL)"
    assert small.tables == {"t": Table(COLUMNS[:2], (Append(({"id": 7, "k": None},), 4),))}


def test_a_case_stays_as_it_is_where_nothing_simpler_differs() -> None:
    case = Case({"t": Table(COLUMNS, ())}, Node(QUERY, "SELECT * FROM $t"), PLACE, "source", "UTC", True, True)
    assert shrink(case, lambda smaller: False, 100) is case


def test_no_more_attempts_are_made_than_allowed() -> None:
    asked: list[Table] = []
    shrink(Table(COLUMNS, (Append(ROWS, 4),)), lambda table: bool(asked.append(table)), 5)
    assert len(asked) == 5


def test_a_script_has_the_tables_as_they_are() -> None:
    """Whatever a table holds: times, decimals, and numbers that are none."""
    names = {**vars(tables), "datetime": dt, "Decimal": Decimal, "nan": float("nan"), "inf": float("inf")}
    shown: list[tuple[object, ...]] = []
    names["show"] = lambda *values, **_: shown.append(values)
    for seed in range(20):
        random = Random(seed)
        both = {name: random_table(random) for name in "tu"}
        case = Case(both, Generator(random, both).query(), PLACE, "catalog", "Europe/Rome", False, True)
        code = script(replace(case, query=Node(QUERY, "{} $t $u", (case.query,))))
        lines = [line for line in code.splitlines() if not line.startswith(("from tests", "nan, inf"))]
        exec("\n".join(lines), names.copy())
        assert repr(shown[-1][0]) == repr(both)
        assert shown[-1][1] == f"{case.sql} $t $u"


def test_the_same_seed_makes_the_same_tables_and_queries() -> None:
    def sample() -> str:
        random = Random("7")
        both = {name: random_table(random) for name in "tu"}
        generator = Generator(random, both)
        return repr(both) + "".join(generator.query().sql() for _ in range(50))

    assert sample() == sample()


def test_a_test_that_fails_shows_no_token() -> None:
    """pytest prints the arguments of every function on the way, in its report of a failure too."""
    place = Backend("diff_rest", {"type": "rest", "token": "lw_secret"})
    assert "lw_secret" not in repr({"rest": place})
