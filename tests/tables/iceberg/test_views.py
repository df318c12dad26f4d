"""Metadata of views: built, changed by every update of the protocol, with its history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pyiceberg.view.metadata import ViewMetadata

from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.tables.iceberg import views
from tests.catalogs.lake.iceberg_helpers import SCHEMA, version

Json = dict[str, Any]
LOCATION = "file:///warehouse/v"
WIDER: Json = {**SCHEMA, "fields": [*SCHEMA["fields"], {"id": 3, "name": "x", "required": False, "type": "int"}]}
CURRENT = {"action": "set-current-view-version", "view-version-id": -1}


@pytest.fixture
def view() -> ViewMetadata:
    return views.build(SCHEMA, version(), location=LOCATION, properties={"k": "v"})


def add(row: Json) -> Json:
    return {"action": "add-view-version", "view-version": row}


def changed(before: ViewMetadata, *rows: Json) -> ViewMetadata:
    after = views.change(before, rows)
    assert ViewMetadata.model_validate_json(views.write(after)) == after
    return after


def test_a_view_is_built(view: ViewMetadata) -> None:
    assert (view.current_version_id, view.location, view.properties) == (1, LOCATION, {"k": "v"})
    assert view.versions[0].schema_id == view.schemas[0].schema_id == 0
    assert [entry.version_id for entry in view.version_log] == [1]
    assert views.read(views.write(view)) == view


def test_a_version_is_added_and_made_current(view: ViewMetadata) -> None:
    after = changed(
        view,
        {"action": "add-schema", "schema": WIDER},
        add({**version("SELECT 2", number=9), "schema-id": -1}),
        CURRENT,
    )
    assert (after.current_version_id, len(after.versions), after.versions[1].schema_id) == (2, 2, 1)
    assert [entry.version_id for entry in after.version_log] == [1, 2]
    back = changed(after, {"action": "set-current-view-version", "view-version-id": 1})
    assert back.current_version_id == 1
    assert [entry.version_id for entry in back.version_log] == [1, 2, 1]
    # What exists already is used again, whatever number the client gives it.
    again = changed(
        back, add(version("SELECT 1", number=7)), {"action": "set-current-view-version", "view-version-id": 7}
    )
    assert again is back


def test_the_other_updates(view: ViewMetadata) -> None:
    after = changed(
        view,
        {"action": "assign-uuid", "uuid": view.view_uuid},
        {"action": "upgrade-format-version", "format-version": 1},
        {"action": "set-location", "location": "file:///elsewhere"},
        {"action": "set-properties", "updates": {"a": "b"}},
        {"action": "remove-properties", "removals": ["k", "never"]},
    )
    assert (after.location, after.properties) == ("file:///elsewhere", {"a": "b"})
    assert after.version_log == view.version_log
    nothing = (
        {"action": "assign-uuid", "uuid": view.view_uuid},
        {"action": "remove-properties", "removals": ["never"]},
    )
    assert changed(view, *nothing) is view


def test_a_view_keeps_as_many_versions_as_it_says(view: ViewMetadata) -> None:
    after = changed(view, {"action": "set-properties", "updates": {"version.history.num-entries": "3"}})
    for number in range(2, 7):
        after = changed(after, add(version(f"SELECT {number}", number=number)), CURRENT)
    assert [row.version_id for row in after.versions] == [4, 5, 6]
    assert [entry.version_id for entry in after.version_log] == [4, 5, 6]
    old = changed(after, {"action": "set-current-view-version", "view-version-id": 4})
    newer = changed(old, add(version("SELECT 7", number=7)))
    assert [row.version_id for row in newer.versions] == [4, 6, 7]
    assert newer.current_version_id == 4


def test_a_dialect_is_not_lost_unless_that_is_allowed(view: ViewMetadata) -> None:
    both = changed(view, add(version("SELECT 2", dialects=("spark", "trino"))), CURRENT)
    one = (add(version("SELECT 3")), CURRENT)
    with pytest.raises(InvalidInputError, match=r"loss of view dialects.*trino"):
        changed(both, *one)
    allowed = changed(both, {"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "true"}}, *one)
    assert allowed.current_version_id == 3


def test_requirements(view: ViewMetadata) -> None:
    views.require([{"type": "assert-view-uuid", "uuid": view.view_uuid.upper()}], view)
    with pytest.raises(ConcurrentModificationError, match="view UUID does not match"):
        views.require([{"type": "assert-view-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}], view)
    for unknown in ({"type": "assert-create"}, {}, {"type": 7}):
        with pytest.raises(InvalidInputError, match="assert-view-uuid"):
            views.require([unknown], view)


@pytest.mark.parametrize(
    "rows",
    [
        [{"action": "add-snapshot"}],
        [{}],
        [{"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}],
        [{"action": "assign-uuid"}],
        [{"action": "upgrade-format-version", "format-version": 2}],
        [{"action": "add-schema", "schema": 5}],
        [{"action": "add-schema"}],
        [{"action": "add-view-version"}],
        [add({**version(), "schema-id": 9})],
        [add({**version(), "schema-id": -1})],
        [add({**version(), "representations": []})],
        [add(version(dialects=("spark", "Spark")))],
        [{"action": "set-current-view-version"}],
        [{"action": "set-current-view-version", "view-version-id": 9}],
        [CURRENT],
        [{"action": "set-location", "location": 3}],
        [{"action": "set-properties"}],
        [{"action": "set-properties", "updates": {"a": 1}}],
        [{"action": "set-properties", "updates": {"rest.signer": "x"}}],
        [{"action": "set-properties", "updates": {"version.history.num-entries": "many"}}],
        [{"action": "remove-properties", "removals": "k"}],
        [add(version("\ud800"))],
        [add({**version(), "timestamp-ms": 2**70})],
        [3],
    ],
)
def test_what_the_format_does_not_allow_is_refused(view: ViewMetadata, rows: Sequence[Json]) -> None:
    before = views.write(view)
    with pytest.raises(InvalidInputError):
        views.change(view, rows)
    assert views.write(view) == before


def test_a_commit_adds_at_most_a_hundred_versions(view: ViewMetadata) -> None:
    rows = [add(version(f"SELECT {number}")) for number in range(101)]
    assert len(views.change(view, rows[:100]).versions) > 1
    with pytest.raises(InvalidInputError, match="adds 101 schemas"):
        views.change(view, rows)


def test_what_is_no_view_is_not_built() -> None:
    for schema, row in ((SCHEMA, []), ([], version()), (SCHEMA, {}), (SCHEMA, version("\udfff"))):
        with pytest.raises(InvalidInputError):
            views.build(schema, row, location=LOCATION)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"format-version": 2}, {"current-version-id": 5}, {"view-uuid": "x"}, {"versions": 3}, {"location": None}]
)
def test_a_file_that_holds_no_view_is_not_read(view: ViewMetadata, wrong: Json) -> None:
    document = json.loads(views.write(view))
    with pytest.raises(InvalidInputError):
        views.read(json.dumps({**document, **wrong}).encode())
    with pytest.raises(InvalidInputError):
        views.read(b"[")
