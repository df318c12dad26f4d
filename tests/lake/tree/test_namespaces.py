"""Namespaces at any depth: chains, lists, changes of one alone, and drops that leave nothing behind."""

from __future__ import annotations

import pytest

from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
)
from lanceway.identifiers import ROOT, Identifier, parse
from lanceway.lake.tree import catalogs, locations, lookups, namespaces, nesting, tables
from tests.lake.conftest import Lake


def make(lake: Lake, *paths: str) -> None:
    for path in paths:
        lake.do(namespaces.create, parse(path), by="me", parents=True)


def test_a_namespace_is_made_in_an_existing_parent_only(lake: Lake) -> None:
    made = lake.do(namespaces.create, parse("a"), by="ann", comment="x", properties={"k": "v"})
    assert lake.see(namespaces.load, parse("a")) == made
    assert (made.owner, made.comment, made.properties, made.identifier) == ("ann", "x", {"k": "v"}, ("a",))
    with pytest.raises(NamespaceNotFoundError, match="b"):
        lake.do(namespaces.create, parse("b.c"), by="me")
    assert lake.see(namespaces.children, ROOT) == ["a"]


def test_a_chain_makes_what_is_missing_with_one_owner(lake: Lake) -> None:
    made = lake.do(namespaces.create, parse("A.B.C"), by="ann", owner="team", parents=True, properties={"k": "v"})
    assert made.properties == {"k": "v"}
    for path in ("A", "A.B"):
        parent = lake.see(namespaces.load, parse(path))
        assert (parent.owner, parent.comment, parent.properties) == ("team", None, {})
        assert parent.audit.created_by == "ann"


def test_a_chain_leaves_existing_parents_as_they_are(lake: Lake) -> None:
    first = lake.do(namespaces.create, parse("A"), by="ann", comment="mine", properties={"k": "v"})
    lake.do(namespaces.create, parse("A.B.C"), by="bob", parents=True)
    assert lake.see(namespaces.load, parse("A")) == first
    assert lake.see(namespaces.load, parse("A.B")).owner == "bob"


def test_a_chain_that_fails_makes_nothing(lake: Lake) -> None:
    make(lake, "x")
    lake.do(tables.create, parse("x.t"), by="me")
    attempts = {
        "x.t.b.c": NamespaceAlreadyExistsError,  # a table is in the way
        "new.a:b": InvalidInputError,
        "new.a:b.c": InvalidInputError,
        "x": NamespaceAlreadyExistsError,
    }
    for path, error in attempts.items():
        with pytest.raises(error):
            lake.do(namespaces.create, parse(path), by="me", parents=True)
    assert lake.see(namespaces.children, ROOT) == ["x"]
    assert lake.see(namespaces.children, parse("x")) == []


def test_a_chain_stops_at_a_step_that_is_too_long(lake: Lake) -> None:
    with pytest.raises(InvalidInputError, match="256 characters"):
        lake.do(namespaces.create, Identifier(["a", "x" * 256, "b"]), by="me", parents=True)
    assert lake.see(namespaces.children, ROOT) == []


def test_a_name_is_taken_by_namespaces_and_tables_alike(lake: Lake) -> None:
    make(lake, "a")
    lake.do(tables.create, parse("t"), by="me")
    with pytest.raises(NamespaceAlreadyExistsError, match="namespace a exists"):
        lake.do(namespaces.create, parse("a"), by="me")
    with pytest.raises(NamespaceAlreadyExistsError, match="a table has this name"):
        lake.do(namespaces.create, parse("t"), by="me")


def test_the_root_is_always_there(lake: Lake) -> None:
    assert lake.see(namespaces.load, ROOT).identifier == ROOT
    with pytest.raises(NamespaceAlreadyExistsError, match="root"):
        lake.do(namespaces.create, ROOT, by="me")
    for attempt in (namespaces.drop, nesting.drop):
        options = {"by": "me"} if attempt is nesting.drop else {}
        with pytest.raises(InvalidInputError, match="root"):
            lake.do(attempt, ROOT, **options)


def test_lists_show_direct_children_only(lake: Lake) -> None:
    make(lake, "A", "B", "A.B", "A.B.C")
    lake.do(tables.create, parse("A.t"), by="me")
    assert lake.see(namespaces.children, ROOT) == ["A", "B"]
    assert lake.see(namespaces.children, parse("A")) == ["B"]
    assert lake.see(namespaces.children, parse("A.B")) == ["C"]
    assert lake.see(namespaces.children, parse("A.B.C")) == []
    with pytest.raises(NamespaceNotFoundError, match=r"A\.X"):
        lake.see(namespaces.children, parse("A.X"))
    with pytest.raises(NamespaceNotFoundError):
        lake.see(namespaces.children, parse("A.t"))


def test_lists_are_paged_by_name(lake: Lake) -> None:
    make(lake, *(f"n{number:03}" for number in range(25)))
    seen: list[str] = []
    while page := lake.see(namespaces.children, ROOT, after=seen[-1] if seen else None, limit=10):
        assert len(page) <= 10
        seen += page
    assert seen == [f"n{number:03}" for number in range(25)]
    assert lake.see(namespaces.children, ROOT, after="n023x") == ["n024"]
    assert lake.see(namespaces.children, ROOT, limit=0) == []
    assert len(lake.see(namespaces.children, ROOT, limit=2**70)) == 25


def test_altering_touches_the_target_alone(lake: Lake) -> None:
    make(lake, "A.B.C", "A.D")
    before = {path: lake.see(namespaces.load, parse(path)) for path in ("A", "A.B", "A.D")}
    changed = lake.do(
        namespaces.alter, parse("A.B.C"), by="bob", properties={"a": "1", "gone": None}, comment="new", owner="bob"
    )
    assert (changed.properties, changed.comment, changed.owner) == ({"a": "1"}, "new", "bob")
    assert (changed.audit.changed_by, changed.audit.revision) == ("bob", 2)
    assert before == {path: lake.see(namespaces.load, parse(path)) for path in before}
    with pytest.raises(NamespaceNotFoundError):
        lake.do(namespaces.alter, parse("A.X"), by="bob")


def test_a_drop_is_refused_while_anything_is_inside(lake: Lake) -> None:
    make(lake, "A.B.C")
    with pytest.raises(NamespaceNotEmptyError, match=r"A\.B is not empty"):
        lake.do(namespaces.drop, parse("A.B"))
    assert lake.do(namespaces.drop, parse("A.B.C")).identifier == parse("A.B.C")
    lake.do(tables.create, parse("A.B.t"), by="me")
    with pytest.raises(NamespaceNotEmptyError):
        lake.do(namespaces.drop, parse("A.B"))
    lake.do(tables.deregister, parse("A.B.t"))
    lake.do(namespaces.drop, parse("A.B"))
    assert lake.see(namespaces.children, ROOT) == ["A"]  # parents stay
    with pytest.raises(NamespaceNotFoundError):
        lake.do(namespaces.drop, parse("A.B"))


@pytest.mark.parametrize("kind", ["view", "iceberg_table"])
def test_rows_of_other_kinds_hold_their_namespace_too(lake: Lake, kind: str) -> None:
    make(lake, "A")
    lake.do(tables.create, parse("A.v"), by="me", kind=kind, metadata_pointer="s3://b/v.json")
    with pytest.raises(NamespaceNotEmptyError):
        lake.do(namespaces.drop, parse("A"))
    with pytest.raises(InvalidInputError, match=r"A\.v is (a view of Iceberg|an Iceberg table)"):
        lake.see(lookups.find, parse("A.v"))


def test_a_cascade_takes_all_that_is_inside_and_nothing_else(lake: Lake) -> None:
    make(lake, "A.B.C", "A.D", "AB.x", "B")
    inside = [lake.do(tables.create, parse(path), by="me").location for path in ("A.t", "A.B.C.t", "A.D.t")]
    outside = lake.do(tables.create, parse("AB.t"), by="me")
    assert lake.do(nesting.drop, parse("A"), by="bob") == sorted(inside)
    assert lake.see(namespaces.children, ROOT) == ["AB", "B"]
    assert lake.see(lookups.find, parse("AB.t")) == outside
    waiting = lake.store.read(locations.pending)
    assert sorted((each.location, each.dropped_by) for each in waiting) == [(each, "bob") for each in sorted(inside)]
    with pytest.raises(NamespaceNotFoundError):
        lake.do(nesting.drop, parse("A"), by="bob")


def test_what_was_dropped_can_be_made_anew_and_inherits_nothing(lake: Lake) -> None:
    first = lake.do(namespaces.create, parse("A"), by="ann", properties={"k": "v"})
    lake.do(namespaces.drop, parse("A"))
    second = lake.do(namespaces.create, parse("A"), by="bob")
    assert (second.owner, second.properties) == ("bob", {})
    assert second.id > first.id  # an id that somebody remembers never means something else


def test_a_renamed_namespace_takes_its_paths_along(lake: Lake) -> None:
    make(lake, "A.B.C.D", "A.Bx", "A.B-x", "AB")
    table = lake.do(tables.create, parse("A.B.C.t"), by="me")
    renamed = lake.do(nesting.rename, parse("A.B"), "b.2", by="bob")
    assert renamed.identifier == ("A", "b.2")
    assert lake.see(lookups.find, Identifier(["A", "b.2", "C", "t"])).id == table.id
    assert lake.see(namespaces.children, Identifier(["A", "b.2", "C"])) == ["D"]
    assert lake.see(namespaces.children, parse("A")) == ["B-x", "Bx", "b.2"]
    with pytest.raises(NamespaceNotFoundError):
        lake.see(namespaces.load, parse("A.B.C"))


def test_a_rename_to_what_cannot_be_is_refused(lake: Lake) -> None:
    make(lake, "A.B", "A.C")
    for name, error in {"C": NamespaceAlreadyExistsError, "x:y": InvalidInputError, "\x00": InvalidInputError}.items():
        with pytest.raises(error):
            lake.do(nesting.rename, parse("A.B"), name, by="me")
    with pytest.raises(NamespaceNotFoundError):
        lake.do(nesting.rename, parse("A.X"), "Y", by="me")
    with pytest.raises(InvalidInputError, match="root"):
        lake.do(nesting.rename, ROOT, "Y", by="me")
    deep = Identifier(["A", "B", *("x" * 250 for _ in range(7))])
    lake.do(namespaces.create, deep, by="me", parents=True)
    with pytest.raises(InvalidInputError, match="bytes"):
        lake.do(nesting.rename, parse("A.B"), "y" * 255, by="me")
    assert lake.see(namespaces.load, deep).identifier == deep


def test_nothing_can_be_made_in_a_catalog_that_is_gone(lake: Lake) -> None:
    lake.store.transact(catalogs.drop, "m", "lake")
    for attempt in (namespaces.create, tables.create):
        with pytest.raises(NamespaceNotFoundError):
            lake.do(attempt, parse("a"), by="me")
