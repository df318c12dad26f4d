"""Names and locations as Hive keeps them."""

from __future__ import annotations

import pytest

from lanceway.catalogs.hive.names import HivePlace, check_new, database_location, folded, normal
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("file:/srv/wh/t", "file:///srv/wh/t"),
        ("file:///srv//wh/t/", "file:///srv/wh/t"),
        ("s3a://bucket/wh/t/", "s3a://bucket/wh/t"),
        ("s3://bucket", "s3://bucket"),
        ("hdfs://name:8020/wh/a%20b", "hdfs://name:8020/wh/a%20b"),
        ("", ""),
    ],
)
def test_a_location_has_one_spelling(location: str, expected: str) -> None:
    assert normal(location) == expected
    assert normal(expected) == expected


def test_a_database_is_below_the_root_and_another_catalog() -> None:
    assert database_location("s3://b/wh/", HivePlace(None, "d")) == "s3://b/wh/d.db"
    assert database_location("s3://b/wh", HivePlace("hive", "d")) == "s3://b/wh/d.db"
    assert database_location("s3://b/wh", HivePlace("other", "d")) == "s3://b/wh/other/d.db"


def test_a_database_of_a_catalog_has_a_name_on_the_wire() -> None:
    assert HivePlace(None, "d").wire == "d"
    assert HivePlace("other", "d").wire == "@other#d"


def test_names_are_lower_case() -> None:
    assert folded(Identifier(("Hive", "Sales", "ORDERS"))) == ("hive", "sales", "orders")


@pytest.mark.parametrize("name", ["@other#d", "d!", "a/b", "a\\b", " d", "d\t", "d\x00"])
def test_a_name_that_hive_would_take_for_another_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError):
        folded(Identifier((name,)))


@pytest.mark.parametrize(("name", "instead"), [("a-b", "a_b"), ("a.b", "a_b"), ("naïve", "na_ve")])
def test_a_new_name_is_one_that_every_version_takes(name: str, instead: str) -> None:
    with pytest.raises(InvalidInputError, match=f"Use '{instead}'"):
        check_new(Identifier((name,)))
    check_new(Identifier((instead,)))
