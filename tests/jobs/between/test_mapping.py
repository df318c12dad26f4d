"""The names that tables get in a target: their own, joined where that is asked for, or refused with what would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.catalogs import GlueCatalog, UnityCatalog
from lanceway.errors import InvalidInputError, TableAlreadyExistsError
from lanceway.identifiers import parse
from lanceway.jobs.between.register import Naming
from tests.jobs import move_helpers as moves


def test_a_nested_target_keeps_names_as_they_are(tmp_path: Path) -> None:
    assert Naming(moves.lake(tmp_path)).target(parse("team.sales.orders")) == parse("team.sales.orders")


def test_a_flat_folder_refuses_nested_names_and_says_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"at most 1 level deep. With --flatten _ it becomes team_sales_orders"):
        Naming(moves.folder(tmp_path, layout="plain")).target(parse("team.sales.orders"))


def test_flattening_joins_only_what_it_must(tmp_path: Path) -> None:
    flat = Naming(moves.folder(tmp_path, layout="plain"), "-")
    assert [flat.target(parse(name)) for name in ("a", "a.b", "a.b.c")] == [("a",), ("a-b",), ("a-b-c",)]
    two = Naming(moves.inside(UnityCatalog(endpoint="http://127.0.0.1:9", catalog="main"), "main"), "_")
    assert two.target(parse("a.b.c")) == ("a_b", "c")


def test_two_tables_never_become_one(tmp_path: Path) -> None:
    flat = Naming(moves.folder(tmp_path, layout="plain"), "_")
    flat.target(parse("a_b.c"))
    with pytest.raises(TableAlreadyExistsError, match=r"a.b_c would become a_b_c in the target, and so would another"):
        flat.target(parse("a.b_c"))


def test_names_that_differ_by_case_alone_meet_where_case_is_folded() -> None:
    glue = Naming(GlueCatalog(region="us-east-1"))
    glue.target(parse("db.Orders"))
    with pytest.raises(TableAlreadyExistsError, match="and so would another"):
        glue.target(parse("db.orders"))


def test_a_table_that_lies_too_high_is_told_where_to_go() -> None:
    with pytest.raises(InvalidInputError, match=r"keeps tables 2 levels deep.*NAME:namespace"):
        Naming(GlueCatalog(region="us-east-1")).target(parse("orders"))


@pytest.mark.parametrize("name", ["a/b", "what?", "dots..", "x$y"])
def test_a_name_that_the_target_cannot_keep_is_refused_with_others(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="Use "):
        Naming(moves.folder(tmp_path)).target(parse(name, "|"))


def test_an_empty_separator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="flatten is empty"):
        Naming(moves.folder(tmp_path), "")
