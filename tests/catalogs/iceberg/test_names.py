"""Names in an Iceberg catalog, and the locations made from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceway.catalogs.metastore.iceberg.names import check, check_levels, default_location
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@pytest.mark.parametrize("name", ["a", "A-b_c", "a.b", "a$b", "ä漢", "e+f", "a b", ".hidden", "x" * 255])
def test_names_that_may_be_given(name: str) -> None:
    check(Identifier(["wh", "ns", name]))


@pytest.mark.parametrize(
    "name", ["a/b", "a\\b", "a\x00b", "a\x1fb", "a\nb", ".", "..", " a", "a ", " ", "x" * 256, "ä" * 128]
)
def test_names_that_no_server_could_keep(name: str) -> None:
    with pytest.raises(InvalidInputError, match="Use"):
        check(Identifier(["wh", "ns", name]))


def test_a_level_must_not_hold_the_servers_separator() -> None:
    check_levels(Identifier(["a.b"]), "\x1f")
    with pytest.raises(InvalidInputError, match="'a_b' or 'a-b'"):
        check_levels(Identifier(["a.b"]), ".")


@pytest.mark.parametrize(
    ("root", "location"),
    [
        ("/data", "/data/wh/a.b/t"),
        ("/data/", "/data/wh/a.b/t"),
        ("file:///data", "file:///data/wh/a.b/t"),
        ("s3://bucket/below", "s3://bucket/below/wh/a.b/t"),
        ("s3://", "s3://wh/a.b/t"),
    ],
)
def test_where_a_table_lies(root: str, location: str) -> None:
    assert default_location(root, Identifier(["wh", "a", "b", "t"])) == location


@pytest.mark.parametrize(
    "table", [["wh", "a.b", "t"], ["wh", "a", "50%"], ["wh", "a#", "t"], ["w?", "a", "t"], ["wh", "a", "t.."]], ids=str
)
def test_a_name_that_a_location_could_not_tell(table: list[str]) -> None:
    check(Identifier(table))
    with pytest.raises(InvalidInputError, match="Declare it with a location"):
        default_location("/data", Identifier(table))


@given(st.lists(NAMES, min_size=3, max_size=5), st.lists(NAMES, min_size=3, max_size=5))
def test_two_tables_never_lie_at_one_place_nor_inside_each_other(one: list[str], other: list[str]) -> None:
    try:
        for table in (one, other):
            check(Identifier(table))
        first, second = (default_location("/r", Identifier(table)) for table in (one, other))
    except InvalidInputError:
        return
    assert (first == second) == (one == other)
    assert not first.startswith(f"{second}/")
