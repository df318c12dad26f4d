"""Metalakes and catalogs: made, altered, listed and dropped, with who and when."""

from __future__ import annotations

import time

import pytest

from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import catalogs, lookups, metalakes, namespaces, tables
from tests.lake.conftest import Lake


def test_a_metalake_is_kept_as_it_was_made(store: LakeStore) -> None:
    made = store.transact(metalakes.create, "m", by="ann", owner="team", comment="all of it", properties={"a": "1"})
    assert (made.name, made.owner, made.comment, made.properties) == ("m", "team", "all of it", {"a": "1"})
    assert (made.audit.created_by, made.audit.changed_by, made.audit.revision) == ("ann", "ann", 1)
    assert store.read(metalakes.load, "m") == made


def test_time_is_in_milliseconds_since_1970(store: LakeStore) -> None:
    made = store.transact(metalakes.create, "m", by="ann")
    assert abs(made.audit.created_at / 1000 - time.time()) < 3600


def test_who_makes_something_owns_it_unless_told(store: LakeStore) -> None:
    assert store.transact(metalakes.create, "m", by="ann").owner == "ann"


def test_altering_says_who_and_keeps_the_rest(store: LakeStore) -> None:
    first = store.transact(metalakes.create, "m", by="ann", comment="x", properties={"a": "1", "b": "2"})
    second = store.transact(metalakes.alter, "m", by="bob", properties={"a": None, "c": "3"}, owner="bob")
    assert (second.properties, second.comment, second.owner) == ({"b": "2", "c": "3"}, "x", "bob")
    assert (second.audit.created_by, second.audit.changed_by, second.audit.revision) == ("ann", "bob", 2)
    assert second.audit.created_at == first.audit.created_at <= second.audit.changed_at
    assert store.transact(metalakes.alter, "m", by="bob", comment=None).comment is None


def test_metalakes_are_listed_in_pages(store: LakeStore) -> None:
    for name in ("c", "a", "B", "b"):
        store.transact(lambda c, name=name: metalakes.create(c, name, by="me"))
    assert store.read(metalakes.names) == ["B", "a", "b", "c"]
    assert store.read(metalakes.names, after="a", limit=1) == ["b"]


def test_what_is_there_twice_or_not_at_all_is_refused(lake: Lake) -> None:
    run = lake.store.transact
    with pytest.raises(NamespaceAlreadyExistsError, match="'m'"):
        run(lambda c: metalakes.create(c, "m", by="me"))
    with pytest.raises(NamespaceAlreadyExistsError, match="'lake'"):
        run(lambda c: catalogs.create(c, "m", "lake", by="me"))
    for attempt in (
        lambda c: metalakes.load(c, "x"),
        lambda c: metalakes.alter(c, "x", by="me"),
        lambda c: metalakes.drop(c, "x"),
        lambda c: catalogs.create(c, "x", "c", by="me"),
        lambda c: catalogs.names(c, "x"),
        lambda c: catalogs.load(c, "m", "x"),
        lambda c: catalogs.alter(c, "m", "x", by="me"),
        lambda c: catalogs.drop(c, "m", "x"),
        lambda c: catalogs.get(c, 99),
    ):
        with pytest.raises(NamespaceNotFoundError):
            run(attempt)


@pytest.mark.parametrize("name", ["", "a\x00", "x" * 256])
def test_a_bad_name_is_refused(store: LakeStore, name: str) -> None:
    with pytest.raises(InvalidInputError):
        store.transact(metalakes.create, name, by="me")
    assert store.read(metalakes.names) == []


@pytest.mark.parametrize("bad", [{"comment": "a\x00"}, {"owner": "\ud800"}, {"properties": {"a": 1}}])
def test_what_no_database_can_keep_is_refused(store: LakeStore, bad: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        store.transact(metalakes.create, "m", by="me", **bad)


def test_a_property_may_hold_any_text(store: LakeStore) -> None:
    odd = {"": "", "a\x00": "\x00\ud800", "ключ": "значение", "💧": '"'}
    store.transact(metalakes.create, "m", by="me", properties=odd)
    assert store.read(metalakes.load, "m").properties == odd


def test_a_catalog_is_kept_as_it_was_made(lake: Lake) -> None:
    made = lake.store.transact(
        catalogs.create,
        "m",
        "other",
        by="ann",
        kind="glue",
        managed=False,
        location="s3://b/x/",
        properties={"region": "here"},
    )
    assert (made.kind, made.nested, made.managed, made.location) == ("glue", False, False, "s3://b/x")
    assert lake.store.read(catalogs.load, "m", "other") == made
    assert lake.store.read(catalogs.get, made.id) == made
    assert lake.store.read(catalogs.names, "m") == ["lake", "other"]
    assert lake.store.read(catalogs.names, "m", after="lake", limit=5) == ["other"]


def test_two_metalakes_may_have_catalogs_of_one_name(lake: Lake) -> None:
    lake.store.transact(metalakes.create, "n", by="me")
    other = Lake(lake.store, lake.store.transact(catalogs.create, "n", "lake", by="me", location="/n"))
    for each in (lake, other):
        each.do(namespaces.create, Identifier(["a"]), by="me")
        each.do(tables.create, Identifier(["t"]), by="me")
    assert lake.see(lookups.find, Identifier(["t"])).id != other.see(lookups.find, Identifier(["t"])).id


def test_altering_a_catalog_changes_what_is_given(lake: Lake) -> None:
    changed = lake.store.transact(
        catalogs.alter, "m", "lake", by="bob", managed=False, properties={"a": "1"}, comment="hello"
    )
    assert (changed.managed, changed.nested, changed.properties, changed.comment) == (False, True, {"a": "1"}, "hello")
    assert changed.audit.changed_by == "bob"
    assert not lake.do(tables.create, Identifier(["t"]), by="me").managed


def test_nothing_is_dropped_while_anything_is_inside(lake: Lake) -> None:
    run = lake.store.transact
    lake.do(tables.create, Identifier(["t"]), by="me")
    with pytest.raises(NamespaceNotEmptyError, match="'lake'"):
        run(lambda c: catalogs.drop(c, "m", "lake"))
    with pytest.raises(NamespaceNotEmptyError, match="'m'"):
        run(lambda c: metalakes.drop(c, "m"))
    assert lake.see(lookups.find, Identifier(["t"]))
    lake.do(tables.deregister, Identifier(["t"]))
    assert run(lambda c: catalogs.drop(c, "m", "lake")).name == "lake"
    assert run(lambda c: metalakes.drop(c, "m")).name == "m"
    with pytest.raises(NamespaceNotFoundError):
        lake.see(namespaces.load, Identifier())
