"""Tables: declared, registered, found, renamed and dropped; nobody's location meets another's."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import ROOT, parse
from lanceway.lake.store.schema import retired_locations
from lanceway.lake.tree import catalogs, locations, lookups, namespaces, nesting, tables
from tests.lake.conftest import Lake


@pytest.fixture
def lake(lake: Lake) -> Lake:
    for path in ("a.b", "c"):
        lake.do(namespaces.create, parse(path), by="me", parents=True)
    return lake


def test_a_declared_table_lies_under_the_catalog_by_an_id_of_its_own(lake: Lake) -> None:
    one = lake.do(tables.create, parse("a.b.t"), by="ann", comment="x", properties={"k": "v"})
    other = lake.do(tables.create, parse("a.b.u"), by="ann", owner="team", managed=False)
    assert one.location is not None
    assert one.location.startswith("/warehouse/")
    assert "t" not in one.location.removeprefix("/warehouse/")
    assert one.location != other.location
    assert (one.managed, one.owner, one.comment, one.properties) == (True, "ann", "x", {"k": "v"})
    assert (other.managed, other.owner) == (False, "team")
    assert lake.see(lookups.find, parse("a.b.t")) == one


def test_a_registered_table_lies_where_it_lies(lake: Lake) -> None:
    made = lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket//x/t.lance/")
    assert made.location == "s3://bucket/x/t.lance"
    assert lake.see(lookups.find, parse("a.t")) == made


def test_a_catalog_without_location_needs_one_for_each_table(lake: Lake) -> None:
    bare = Lake(lake.store, lake.store.transact(catalogs.create, "m", "bare", by="me"))
    with pytest.raises(InvalidInputError, match="needs a location"):
        bare.do(tables.create, parse("t"), by="me")
    assert bare.do(tables.create, parse("t"), by="me", location="/elsewhere/t").location == "/elsewhere/t"


def test_a_missing_table_is_told_from_a_missing_namespace(lake: Lake) -> None:
    for look in (lookups.find, lookups.lock, lookups.hold, tables.deregister):
        with pytest.raises(TableNotFoundError, match=r"a\.b\.t"):
            lake.do(look, parse("a.b.t"))
        with pytest.raises(NamespaceNotFoundError, match=r"a\.x"):
            lake.do(look, parse("a.x.t"))
        with pytest.raises(TableNotFoundError, match="a namespace has this name"):
            lake.do(look, parse("a.b"))
        with pytest.raises(InvalidInputError, match="needs a name"):
            lake.do(look, ROOT)


def test_a_name_is_taken_by_namespaces_tables_and_views_alike(lake: Lake) -> None:
    lake.do(tables.create, parse("a.t"), by="me")
    lake.do(tables.create, parse("a.v"), by="me", kind="view", metadata_pointer="p")
    for path, why in {"a.t": "table a.t exists", "a.b": "a namespace has", "a.v": "view a.v exists"}.items():
        for location in (None, "/elsewhere/x"):
            with pytest.raises(TableAlreadyExistsError, match=why):
                lake.do(tables.create, parse(path), by="me", location=location)
    with pytest.raises(NamespaceNotFoundError):
        lake.do(tables.create, parse("x.t"), by="me")
    with pytest.raises(NamespaceNotFoundError):
        lake.do(tables.create, parse("a.t.inside"), by="me")


def test_tables_are_listed_in_pages_and_apart_from_other_kinds(lake: Lake) -> None:
    for name in ("t1", "t2", "T", "é"):
        lake.do(tables.create, parse(f"a.{name}"), by="me")
    lake.do(tables.create, parse("a.v"), by="me", kind="view")
    assert lake.see(lookups.children, parse("a")) == ["T", "t1", "t2", "é"]
    assert lake.see(lookups.children, parse("a"), after="T", limit=2) == ["t1", "t2"]
    assert lake.see(lookups.children, parse("a"), kind="view") == ["v"]
    assert lake.see(lookups.children, parse("c")) == []
    for listing in (lookups.children, lookups.entries):
        with pytest.raises(NamespaceNotFoundError):
            lake.see(listing, parse("x"))
    assert [entry.name for entry in lake.see(lookups.entries, parse("a"), limit=2)] == ["T", "t1"]
    assert not any(entry.has_versions for entry in lake.see(lookups.entries, parse("a")))


def test_a_renamed_table_keeps_all_but_its_name(lake: Lake) -> None:
    made = lake.do(tables.create, parse("a.b.t"), by="ann", properties={"k": "v"})
    moved = made
    for path in ("a.b.u", "c.u", "u"):
        before, moved = moved, lake.do(tables.rename, moved.identifier, parse(path), by="bob")
        assert (moved.id, moved.location, moved.properties) == (made.id, made.location, made.properties)
        assert lake.see(lookups.find, parse(path)) == moved
        with pytest.raises(TableNotFoundError):
            lake.see(lookups.find, before.identifier)
    assert (moved.audit.changed_by, moved.audit.revision) == ("bob", 4)


def test_a_rename_that_cannot_be_changes_nothing(lake: Lake) -> None:
    made = lake.do(tables.create, parse("a.t"), by="me")
    lake.do(tables.create, parse("a.u"), by="me")
    attempts = {"a.u": TableAlreadyExistsError, "a.b": TableAlreadyExistsError, "x.t": NamespaceNotFoundError}
    for target, error in attempts.items():
        with pytest.raises(error):
            lake.do(tables.rename, parse("a.t"), parse(target), by="me")
    with pytest.raises(TableNotFoundError):
        lake.do(tables.rename, parse("a.x"), parse("a.y"), by="me")
    assert lake.see(lookups.find, parse("a.t")) == made


def test_altering_changes_what_is_given(lake: Lake) -> None:
    lake.do(tables.create, parse("a.t"), by="ann", properties={"k": "v", "l": "w"})
    changed = lake.do(tables.alter, parse("a.t"), by="bob", properties={"k": None}, managed=False, owner="bob")
    assert (changed.properties, changed.managed, changed.owner) == ({"l": "w"}, False, "bob")
    assert lake.see(lookups.find, parse("a.t")) == changed


def test_a_metadata_pointer_is_swapped_only_by_who_saw_the_last_one(lake: Lake) -> None:
    made = lake.do(tables.create, parse("a.i"), by="me", kind="iceberg_table", metadata_pointer="v1.json")
    swap = {"by": "me", "kind": "iceberg_table", "expected": made.audit.revision}
    assert lake.do(tables.alter, parse("a.i"), metadata_pointer="v2.json", **swap).metadata_pointer == "v2.json"
    with pytest.raises(ConcurrentModificationError, match="Load it again"):
        lake.do(tables.alter, parse("a.i"), metadata_pointer="v3.json", **swap)
    assert lake.see(lookups.find, parse("a.i"), kind="iceberg_table").metadata_pointer == "v2.json"
    assert not made.managed  # its versions are Iceberg's own


def test_an_unknown_kind_is_refused(lake: Lake) -> None:
    for kind in ("namespace", "materialized"):
        with pytest.raises(InvalidInputError, match="kind"):
            lake.do(tables.create, parse("a.t"), by="me", kind=kind)


def test_a_deregistered_table_may_be_registered_again(lake: Lake) -> None:
    made = lake.do(tables.create, parse("a.t"), by="me")
    assert lake.do(tables.deregister, parse("a.t")) == made
    assert lake.store.read(locations.pending) == []
    again = lake.do(tables.create, parse("c.t"), by="me", location=made.location)
    assert (again.location, again.id != made.id) == (made.location, True)


def test_the_location_of_a_dropped_table_is_kept_until_its_data_is_gone(lake: Lake) -> None:
    made = lake.do(tables.create, parse("a.t"), by="me")
    assert lake.do(tables.drop, parse("a.t"), by="bob") == made
    (waiting,) = lake.store.read(locations.pending)
    assert (waiting.location, waiting.dropped_by) == (made.location, "bob")
    for taken in (made.location, f"{made.location}/inside"):
        with pytest.raises(InvalidInputError, match="being removed"):
            lake.do(tables.create, parse("a.t"), by="me", location=taken)
    lake.store.transact(locations.done, waiting.location)
    assert lake.store.read(locations.pending) == []
    assert lake.do(tables.create, parse("a.t"), by="me", location=made.location).location == made.location


@pytest.mark.parametrize(
    ("taken", "wanted", "how"),
    [
        ("s3://b/x/t", "s3://b/x/t", "is the location"),
        ("s3://b/x/t", "S3://b//x/t/", "is the location"),
        ("s3://b/x/t", "s3://b/x/t/u", "is inside"),
        ("s3://b/x/t", "s3://b/x/t/u/v/w", "is inside"),
        ("s3://b/x/t", "s3://b/x", "contains"),
        ("s3://b/x/t", "s3://b", "contains"),
        ("/x/t", "file:///x/t", "is the location"),
        ("/x/t", "file://localhost/x/t/u", "is inside"),
        ("/x/a b$t", "file:///x/a%20b%24t", "is the location"),
        ("/x/t", "/x", "contains"),
        ("/x/t", "/warehouse", "is the location /warehouse of a catalog"),
        ("/warehouse/t", "/warehouse", "contains"),
    ],
)
def test_a_location_that_meets_another_is_refused(lake: Lake, taken: str, wanted: str, how: str) -> None:
    lake.do(tables.create, parse("a.t"), by="me", location=taken)
    with pytest.raises(InvalidInputError, match=how):
        lake.do(tables.create, parse("c.u"), by="me", location=wanted)
    assert lake.see(lookups.children, parse("c")) == []


@pytest.mark.parametrize("wanted", ["s3://b/x/tt", "s3://b/x/t2", "s3://b/x/t-", "s3://b/x/u", "s3://c/x/t", "/b/x/t"])
def test_a_location_beside_another_is_free(lake: Lake, wanted: str) -> None:
    lake.do(tables.create, parse("a.t"), by="me", location="s3://b/x/t")
    assert lake.do(tables.create, parse("c.u"), by="me", location=wanted).location == wanted


@pytest.mark.parametrize(
    "location",
    [
        "",
        "/",
        "x/t",
        "./x",
        "/x/../y",
        "s3://",
        "s3:///",
        "/x/./y",
        "file://x/t",
        "file:///x/%2e%2e/y",
        "/x\n",
        f"/{'x' * 2001}",
    ],
)
def test_what_is_no_location_is_refused(lake: Lake, location: str) -> None:
    with pytest.raises(InvalidInputError, match="location"):
        lake.do(tables.create, parse("a.t"), by="me", location=location)


def test_a_catalog_is_not_put_inside_a_table(lake: Lake) -> None:
    lake.do(tables.create, parse("a.t"), by="me", location="s3://b/x/t")
    for location in ("s3://b/x/t", "s3://b/x/t/u"):
        with pytest.raises(InvalidInputError, match="of a table"):
            lake.store.transact(lambda c, at=location: catalogs.create(c, "m", "other", by="me", location=at))
    assert lake.store.transact(catalogs.create, "m", "other", by="me", location="s3://b/x").location


# -- locations that credentials still open -------------------------------------------------------


def test_where_no_credentials_are_vended_a_location_is_free_at_once(lake: Lake) -> None:
    for _ in range(2):
        lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket/t")
        lake.do(tables.deregister, parse("a.t"))


@pytest.mark.parametrize("verb", ["drop", "deregister"])
@pytest.mark.parametrize("wanted", ["s3://bucket/x/t", "s3://bucket/x/t/inner", "s3://bucket/x"])
def test_a_location_is_not_given_again_while_credentials_live(lake: Lake, wanted: str, verb: str) -> None:
    lake.store.transact(locations.retire_for, 900)
    lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket/x/t")
    if verb == "drop":
        lake.do(tables.drop, parse("a.t"), by="me")
        lake.store.transact(locations.done, "s3://bucket/x/t")
    else:
        lake.do(tables.deregister, parse("a.t"))
    with pytest.raises(InvalidInputError, match=r"cannot be used yet.* seconds"):
        lake.do(tables.create, parse("a.t"), by="me", location=wanted)
    lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket/x/t2")


def test_so_it_is_for_all_that_goes_with_a_namespace(lake: Lake) -> None:
    lake.store.transact(locations.retire_for, 900)
    lake.do(tables.create, parse("a.b.t"), by="me", location="s3://bucket/t")
    lake.do(nesting.drop, parse("a"), by="me")
    lake.store.transact(locations.done, "s3://bucket/t")
    with pytest.raises(InvalidInputError, match="cannot be used yet"):
        lake.do(tables.create, parse("c.t"), by="me", location="s3://bucket/t")


def test_the_longest_life_counts_and_what_is_over_is_free(lake: Lake) -> None:
    lake.store.transact(locations.retire_for, 900)
    lake.store.transact(locations.retire_for, 1)
    lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket/t")
    lake.do(tables.deregister, parse("a.t"))
    with pytest.raises(InvalidInputError, match="cannot be used yet"):
        lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket/t")
    over = update(retired_locations).values(until=0)
    lake.store.transact(lambda connection: connection.execute(over))
    lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket/t")
    lake.do(tables.deregister, parse("a.t"))
    rows = lake.store.read(lambda connection: connection.execute(select(retired_locations)).all())
    assert [row.location for row in rows] == ["s3://bucket/t"]


def test_a_folder_has_no_credentials_and_is_free(lake: Lake) -> None:
    lake.store.transact(locations.retire_for, 900)
    for _ in range(2):
        lake.do(tables.create, parse("a.t"), by="me", location="/elsewhere/t")
        lake.do(tables.deregister, parse("a.t"))


def test_a_location_that_others_are_in_is_known(lake: Lake) -> None:
    lake.do(tables.create, parse("a.t"), by="me", location="s3://bucket/x/t")
    for location, holds in {"s3://bucket/x": True, "s3://bucket/x/t": False, "s3://bucket/x/t/u": False}.items():
        assert lake.store.read(locations.holds_others, location) is holds
    for location, holds in {"/warehouse": True, "/ware": False, "/warehouse/x": False}.items():
        assert lake.store.read(locations.holds_others, location) is holds
