"""Nested mode and the separator: what stands in the way is shown, offered a way out, and mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError
from lanceway.identifiers import ROOT, Identifier, parse
from lanceway.lake.store.database import open_store
from lanceway.lake.tree import catalogs, lookups, namespaces, nesting, settings, tables
from lanceway.lake.tree.separators import Separator
from tests.lake.conftest import Lake, make_lake


@pytest.fixture
def loose(uri: str) -> Iterator[Lake]:
    """A lake with the unrestricted policy."""
    store = open_store(uri, policy="unrestricted")
    yield make_lake(store)
    store.close()


@pytest.fixture
def plain(loose: Lake) -> Lake:
    """A flat catalog in it, with names that hold separators as plain text."""
    made = loose.store.transact(catalogs.create, "m", "plain", by="me", location="/plain")
    flat = Lake(loose.store, made)
    for name in ("a:b", "a;b", "c", "50%", "x:"):
        flat.do(namespaces.create, Identifier([name]), by="me")
    return flat


def is_nested(lake: Lake) -> bool:
    return lake.see(catalogs.get).nested


def test_a_flat_catalog_has_one_level_and_works_beside_a_nested_one(lake: Lake, flat: Lake) -> None:
    flat.do(namespaces.create, parse("a"), by="me")
    flat.do(tables.create, parse("a.t"), by="me")
    for path in ("a.b", "x.y.z"):
        for parents in (False, True):
            with pytest.raises(InvalidInputError, match="'flat' is flat"):
                flat.do(namespaces.create, parse(path), by="me", parents=parents)
    lake.do(namespaces.create, parse("a.b"), by="me", parents=True)
    assert flat.see(namespaces.children, ROOT) == ["a"]


def test_under_the_restricted_policy_a_flat_catalog_refuses_the_separator(flat: Lake) -> None:
    with pytest.raises(InvalidInputError, match=r"'a:b' holds ':', which is kept free by the policy 'restricted'"):
        flat.do(namespaces.create, Identifier(["a:b"]), by="me")


def test_under_the_unrestricted_policy_it_is_plain_text_there(plain: Lake, loose: Lake) -> None:
    assert plain.see(namespaces.children, ROOT) == ["50%", "a:b", "a;b", "c", "x:"]
    with pytest.raises(InvalidInputError, match="separates the namespaces"):
        loose.do(namespaces.create, Identifier(["a:b"]), by="me")


def test_a_table_may_hold_the_separator(lake: Lake) -> None:
    """Its name never stands in a logical path."""
    lake.do(tables.create, Identifier(["2024:01"]), by="me")
    assert lake.see(lookups.children, ROOT) == ["2024:01"]


def test_enabling_is_refused_with_the_conflicts_and_a_way_out(plain: Lake) -> None:
    expected = [("a:b",), ("x:",)]
    dry = plain.do(nesting.enable, by="me", dry_run=True)
    assert [conflict.namespace for conflict in dry.conflicts] == expected
    assert dry.alternatives == ("$", "~", "|", "!", "@", "^")
    with pytest.raises(InvalidInputError) as refused:
        plain.do(nesting.enable, by="me")
    for part in ("'a:b'", "'x:'", "':'", "'$'", "2 namespaces", "Rename"):
        assert part in str(refused.value)
    assert "';'" not in str(refused.value)
    assert not is_nested(plain)


def test_mended_names_no_longer_stand_in_the_way(plain: Lake) -> None:
    table = plain.do(tables.create, Identifier(["a:b", "t"]), by="me")
    renamed = plain.do(nesting.fix, ":", "_", by="bob")
    assert renamed == [(("a:b",), ("a_b",)), (("x:",), ("x_",))]
    assert plain.do(nesting.enable, by="bob").conflicts == []
    assert is_nested(plain)
    assert plain.see(catalogs.get).audit.changed_by == "bob"
    assert plain.see(lookups.find, parse("a_b.t")).id == table.id
    plain.do(namespaces.create, parse("a_b.deeper.still"), by="me", parents=True)
    with pytest.raises(InvalidInputError, match="holds ':'"):
        plain.do(namespaces.create, Identifier(["n:m"]), by="me")


def test_mending_into_a_taken_name_changes_nothing(plain: Lake) -> None:
    plain.do(namespaces.create, Identifier(["x_"]), by="me")
    with pytest.raises(NamespaceAlreadyExistsError, match="x_"):
        plain.do(nesting.fix, ":", "_", by="me")
    assert "a:b" in plain.see(namespaces.children, ROOT)
    with pytest.raises(InvalidInputError, match="which it is to replace"):
        plain.do(nesting.fix, ":", "-:-", by="me")


def test_enabling_twice_does_no_harm_and_a_dry_run_changes_nothing(flat: Lake) -> None:
    assert flat.do(nesting.enable, by="me", dry_run=True).conflicts == []
    assert not is_nested(flat)
    flat.do(nesting.enable, by="me")
    first = flat.see(catalogs.get)
    flat.do(nesting.enable, by="you")
    assert flat.see(catalogs.get) == first


def change(lake: Lake, character: str, **options: object) -> nesting.Scan:
    return lake.store.transact(nesting.change_separator, character, **options)


def test_the_separator_changes_while_no_segment_holds_the_new_one(lake: Lake) -> None:
    lake.do(namespaces.create, Identifier(["a", "b;c"]), by="me", parents=True)
    dry = change(lake, ";", dry_run=True)
    assert [conflict.namespace for conflict in dry.conflicts] == [("a", "b;c")]
    assert dry.alternatives == (":", "$", "~", "|", "!", "@", "^")
    with pytest.raises(InvalidInputError, match=r"cannot be changed to ';'.*\['a', 'b;c'\].*'\$'"):
        change(lake, ";")
    assert change(lake, "$").conflicts == []
    assert lake.store.read(settings.separator) == Separator("$")
    lake.do(namespaces.create, Identifier(["a", "x:y"]), by="me")  # now a plain character
    with pytest.raises(InvalidInputError, match=r"holds '\$'"):
        lake.do(namespaces.create, Identifier(["a", "x$y"]), by="me")
    assert lake.see(namespaces.children, parse("a")) == ["b;c", "x:y"]


def test_a_deep_conflict_is_mended_from_the_bottom_up(lake: Lake) -> None:
    lake.do(namespaces.create, Identifier(["a;", "b", ";c;", "d;"]), by="me", parents=True)
    table = lake.do(tables.create, Identifier(["a;", "b", ";c;", "d;", "t;"]), by="me")
    lake.do(nesting.fix, ";", "-", by="me")
    assert lake.see(lookups.find, Identifier(["a-", "b", "-c-", "d-", "t;"])).id == table.id
    change(lake, ";")


def test_flat_catalogs_do_not_stand_in_the_way_of_a_change(flat: Lake) -> None:
    flat.do(namespaces.create, Identifier(["a;b"]), by="me")
    change(flat, ";")
    with pytest.raises(InvalidInputError, match="holds ';'"):
        flat.do(namespaces.create, Identifier(["c;d"]), by="me")
    with pytest.raises(InvalidInputError, match=r"\['a;b'\]"):
        flat.do(nesting.enable, by="me")


def test_a_change_is_checked_like_the_first_one(lake: Lake) -> None:
    for character, reason in {"/": "a route", "-": "allows only", "": "0 characters"}.items():
        with pytest.raises(InvalidInputError, match=reason):
            change(lake, character)
    change(lake, "-", policy="unrestricted")
    with pytest.raises(InvalidInputError, match="allows only"):
        change(lake, "-", policy="restricted")


def test_many_conflicts_are_counted_and_some_are_shown(plain: Lake) -> None:
    for number in range(30):
        plain.do(namespaces.create, Identifier([f"n:{number:02}"]), by="me")
    with pytest.raises(InvalidInputError, match=r"32 namespaces.*and 22 more"):
        plain.do(nesting.enable, by="me")
    assert len(plain.do(nesting.enable, by="me", dry_run=True).conflicts) == 32
