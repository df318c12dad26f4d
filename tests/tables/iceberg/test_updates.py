"""Every requirement and every update of the protocol, on metadata of format versions 1 and 2."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.tables.iceberg import metadata, updates

Json = dict[str, Any]
LOCATION = "file:///warehouse/t"
POINTER = f"{LOCATION}/metadata/00000-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
SCHEMA: Json = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "at", "required": False, "type": "timestamp"},
    ],
}
WIDER: Json = {
    **SCHEMA,
    "schema-id": 1,
    "fields": [*SCHEMA["fields"], {"id": 3, "name": "x", "required": False, "type": "int"}],
}
BY_ID: Json = {"spec-id": 1, "fields": [{"source-id": 1, "field-id": 1000, "name": "b", "transform": "bucket[8]"}]}
BY_DAY: Json = {
    "order-id": 1,
    "fields": [{"source-id": 2, "transform": "day", "direction": "asc", "null-order": "nulls-last"}],
}


@pytest.fixture(params=[1, 2])
def table(request: pytest.FixtureRequest) -> TableMetadata:
    return metadata.build(SCHEMA, location=LOCATION, properties={"k": "v", "format-version": str(request.param)})


def changed(before: TableMetadata, *rows: Json) -> TableMetadata:
    after = updates.change(before, rows, POINTER)
    # What is written is what others read, and has the fields that version 1 has twice.
    written = json.loads(metadata.write(after))
    assert TableMetadataUtil.parse_raw(json.dumps(written)) == after
    if after.format_version == 1:
        current = next(row for row in written["schemas"] if row["schema-id"] == written["current-schema-id"])
        spec = next(row for row in written["partition-specs"] if row["spec-id"] == written["default-spec-id"])
        assert written["schema"] == current
        assert written["partition-spec"] == spec["fields"]
    return after


def snapshot(number: int, *, parent: int | None = None, sequence: int | None = None) -> Json:
    row = {
        "snapshot-id": number,
        "sequence-number": number if sequence is None else sequence,
        "timestamp-ms": 1_900_000_000_000 + number,
        "manifest-list": f"{LOCATION}/metadata/snap-{number}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return {"action": "add-snapshot", "snapshot": row if parent is None else {**row, "parent-snapshot-id": parent}}


def ref(name: str, number: int, kind: str = "branch", **options: int) -> Json:
    return {"action": "set-snapshot-ref", "ref-name": name, "snapshot-id": number, "type": kind, **options}


def with_snapshots(table: TableMetadata) -> TableMetadata:
    return changed(table, snapshot(1), snapshot(2, parent=1), ref("main", 2), ref("old", 1, "tag"))


# -- requirements ----------------------------------------------------------------------------------


def requirements(table: TableMetadata) -> list[tuple[Json, Json, str]]:
    """Each kind of requirement as it holds, as it does not, and what is said then."""
    return [
        (
            {"type": "assert-table-uuid", "uuid": str(table.table_uuid)},
            {"type": "assert-table-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
            "UUID does not match",
        ),
        (
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2},
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
            "branch main has changed: expected id 1 != 2",
        ),
        (
            {"type": "assert-ref-snapshot-id", "ref": "none", "snapshot-id": None},
            {"type": "assert-ref-snapshot-id", "ref": "old", "snapshot-id": None},
            "tag old was created concurrently",
        ),
        (
            {"type": "assert-ref-snapshot-id", "ref": "old", "snapshot-id": 1},
            {"type": "assert-ref-snapshot-id", "ref": "none", "snapshot-id": 1},
            "branch or tag none is missing",
        ),
        (
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2},
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3},
            "last assigned field id changed",
        ),
        (
            {"type": "assert-current-schema-id", "current-schema-id": 0},
            {"type": "assert-current-schema-id", "current-schema-id": 1},
            "current schema changed",
        ),
        (
            {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999},
            {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000},
            "last assigned partition id changed",
        ),
        (
            {"type": "assert-default-spec-id", "default-spec-id": 0},
            {"type": "assert-default-spec-id", "default-spec-id": 1},
            "default partition spec changed",
        ),
        (
            {"type": "assert-default-sort-order-id", "default-sort-order-id": 0},
            {"type": "assert-default-sort-order-id", "default-sort-order-id": 1},
            "default sort order changed",
        ),
    ]


def test_every_requirement_holds_or_does_not(table: TableMetadata) -> None:
    current = with_snapshots(table)
    rows = requirements(current)
    metadata.require(metadata.parse_requirements([holds for holds, _, _ in rows]), current)
    for _, broken, reason in rows:
        parsed = metadata.parse_requirements([broken])
        with pytest.raises(ConcurrentModificationError, match=f"Requirement failed: {reason}"):
            metadata.require(parsed, current)
        with pytest.raises(ConcurrentModificationError, match="does not exist"):
            metadata.require(parsed, None)
    creation = metadata.parse_requirements([{"type": "assert-create"}])
    metadata.require(creation, None)
    with pytest.raises(ConcurrentModificationError, match="already exists"):
        metadata.require(creation, current)


def test_a_branch_may_be_begun_on_a_table_without_snapshots(table: TableMetadata) -> None:
    rows = [{"type": "assert-ref-snapshot-id", "ref": "audit", "snapshot-id": None}]
    metadata.require(metadata.parse_requirements(rows), table)


@pytest.mark.parametrize(
    "row",
    [
        {"type": "assert-unheard-of"},
        {},
        {"type": "assert-table-uuid"},
        {"type": "assert-table-uuid", "uuid": "no"},
        {"type": "assert-current-schema-id", "current-schema-id": "x"},
        {"type": "assert-ref-snapshot-id", "ref": "\udfff", "snapshot-id": None},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": -(2**63) - 1},
        7,
    ],
)
def test_a_requirement_that_is_unknown_or_not_well_formed(row: Json) -> None:
    with pytest.raises(InvalidInputError, match="requirement"):
        metadata.parse_requirements([row])


# -- updates: what they do -------------------------------------------------------------------------


def test_uuid_location_and_properties(table: TableMetadata) -> None:
    after = changed(
        table,
        {"action": "assign-uuid", "uuid": str(table.table_uuid)},
        {"action": "set-location", "location": "file:///elsewhere"},
        {"action": "set-properties", "updates": {"a": "b", "c": "d"}},
        {"action": "remove-properties", "removals": ["k", "c", "never"]},
    )
    assert after.table_uuid == table.table_uuid
    assert after.location == "file:///elsewhere"
    assert after.properties == {"a": "b"}
    with pytest.raises(InvalidInputError, match="keeps it"):
        changed(table, {"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"})


def test_a_format_is_upgraded_and_never_goes_back(table: TableMetadata) -> None:
    current = with_snapshots(table)
    after = changed(current, {"action": "upgrade-format-version", "format-version": 2})
    assert after.format_version == 2
    assert [row.snapshot_id for row in after.snapshots] == [1, 2]
    with pytest.raises(InvalidInputError, match="cannot go back"):
        changed(after, {"action": "upgrade-format-version", "format-version": 1})
    with pytest.raises(InvalidInputError, match="versions 1 and 2"):
        changed(after, {"action": "upgrade-format-version", "format-version": 3})


def test_schemas(table: TableMetadata) -> None:
    after = changed(table, {"action": "add-schema", "schema": WIDER}, {"action": "set-current-schema", "schema-id": -1})
    assert (after.current_schema_id, after.last_column_id, len(after.schemas)) == (1, 3, 2)
    # The schema from before is there already, whatever number the client gives it.
    back = changed(
        after,
        {"action": "add-schema", "schema": {**SCHEMA, "schema-id": 2}},
        {"action": "set-current-schema", "schema-id": 2},
    )
    assert (back.current_schema_id, len(back.schemas)) == (0, 2)
    removed = changed(back, {"action": "remove-schemas", "schema-ids": [1, 7]})
    assert [row.schema_id for row in removed.schemas] == [0]
    assert removed.last_column_id == 3
    with pytest.raises(InvalidInputError, match="is the current one"):
        changed(back, {"action": "remove-schemas", "schema-ids": [0]})
    with pytest.raises(InvalidInputError, match="no schema with the id 9"):
        changed(table, {"action": "set-current-schema", "schema-id": 9})
    with pytest.raises(InvalidInputError, match="adds none"):
        changed(table, {"action": "set-current-schema", "schema-id": -1})
    newer = {**WIDER, "fields": [{"id": 3, "name": "x", "required": False, "type": "timestamp_ns"}]}
    with pytest.raises(InvalidInputError, match="cannot be carried out"):
        changed(table, {"action": "add-schema", "schema": newer})


def test_two_writers_may_give_two_schemas_one_number(table: TableMetadata) -> None:
    other = {**SCHEMA, "schema-id": 1, "fields": [{**SCHEMA["fields"][0]}, {**SCHEMA["fields"][1], "name": "when"}]}
    after = changed(
        changed(table, {"action": "add-schema", "schema": WIDER}),
        {"action": "add-schema", "schema": other},
        {"action": "set-current-schema", "schema-id": 1},
    )
    assert sorted(row.schema_id for row in after.schemas) == [0, 1, 2]
    assert after.schema().fields[1].name == "when"


def test_partition_specs(table: TableMetadata) -> None:
    after = changed(table, {"action": "add-spec", "spec": BY_ID}, {"action": "set-default-spec", "spec-id": -1})
    assert (after.default_spec_id, after.last_partition_id, len(after.partition_specs)) == (1, 1000, 2)
    # The protocol lets a client leave ids of fields to the server.
    unnumbered = {"fields": [{"source-id": 2, "name": "at_day", "transform": "day"}]}
    more = changed(after, {"action": "add-spec", "spec": unnumbered})
    assert more.specs()[2].fields[0].field_id == 1001
    same = changed(
        more, {"action": "add-spec", "spec": {**BY_ID, "spec-id": 9}}, {"action": "set-default-spec", "spec-id": 9}
    )
    assert same is more
    removed = changed(more, {"action": "remove-partition-specs", "spec-ids": [0, 2, 8]})
    assert [row.spec_id for row in removed.partition_specs] == [1]
    with pytest.raises(InvalidInputError, match="is the current one"):
        changed(more, {"action": "remove-partition-specs", "spec-ids": [1]})
    with pytest.raises(InvalidInputError, match="no partition spec"):
        changed(table, {"action": "set-default-spec", "spec-id": 3})
    unknown = {"fields": [{"source-id": 77, "field-id": 1000, "name": "n", "transform": "identity"}]}
    with pytest.raises(InvalidInputError, match="cannot be carried out"):
        changed(table, {"action": "add-spec", "spec": unknown}, {"action": "set-default-spec", "spec-id": -1})


def test_sort_orders(table: TableMetadata) -> None:
    rows = [
        {"action": "add-sort-order", "sort-order": BY_DAY},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]
    after = changed(table, *rows)
    assert (after.default_sort_order_id, len(after.sort_orders)) == (1, 2)
    assert changed(after, *rows) is after
    unsorted = {"action": "add-sort-order", "sort-order": {"order-id": 5, "fields": []}}
    back = changed(after, unsorted, {"action": "set-default-sort-order", "sort-order-id": 5})
    assert (back.default_sort_order_id, len(back.sort_orders)) == (0, 2)
    with pytest.raises(InvalidInputError, match="no sort order"):
        changed(table, {"action": "set-default-sort-order", "sort-order-id": 4})


def test_snapshots_and_their_names(table: TableMetadata) -> None:
    current = with_snapshots(table)
    assert current.current_snapshot_id == 2
    assert [entry.snapshot_id for entry in current.snapshot_log] == [2]
    assert set(current.refs) == {"main", "old"}
    assert current.last_updated_ms >= 1_900_000_000_002
    kept = ref("audit", 2, **{"max-ref-age-ms": 5, "max-snapshot-age-ms": 6, "min-snapshots-to-keep": 7})
    named = changed(current, kept, {"action": "remove-snapshot-ref", "ref-name": "old"})
    assert json.loads(metadata.write(named))["refs"]["audit"] == {
        "snapshot-id": 2,
        "type": "branch",
        "max-ref-age-ms": 5,
        "max-snapshot-age-ms": 6,
        "min-snapshots-to-keep": 7,
    }
    assert "old" not in named.refs
    removed = changed(current, {"action": "remove-snapshots", "snapshot-ids": [1, 99]})
    assert [row.snapshot_id for row in removed.snapshots] == [2]
    assert set(removed.refs) == {"main"}
    assert removed.snapshots[0].parent_snapshot_id == 1
    gone = changed(current, {"action": "remove-snapshot-ref", "ref-name": "main"})
    assert gone.current_snapshot_id is None
    for wrong in (ref("main", 99), ref("main", 2, "tag"), snapshot(2)):
        with pytest.raises(InvalidInputError):
            changed(current, wrong)


def test_a_state_that_the_same_commit_replaces_is_not_in_the_log(table: TableMetadata) -> None:
    after = changed(table, snapshot(1), ref("main", 1), snapshot(2, parent=1), ref("main", 2))
    assert [entry.snapshot_id for entry in after.snapshot_log] == [2]
    assert len(after.snapshots) == 2


def test_a_snapshot_that_others_have_overtaken_is_a_conflict() -> None:
    current = with_snapshots(metadata.build(SCHEMA, location=LOCATION))
    with pytest.raises(ConcurrentModificationError, match="sequence number 2"):
        updates.change(current, [snapshot(3, parent=1, sequence=2), ref("audit", 3)], POINTER)
    first_of_branch = changed(current, snapshot(4, sequence=1), ref("audit", 4))
    assert getattr(first_of_branch, "last_sequence_number", None) == 2


def test_statistics(table: TableMetadata) -> None:
    current = with_snapshots(table)
    file = {
        "snapshot-id": 2,
        "statistics-path": f"{LOCATION}/metadata/2.stats",
        "file-size-in-bytes": 10,
        "file-footer-size-in-bytes": 5,
        "blob-metadata": [],
    }
    partitions = {"snapshot-id": 2, "statistics-path": f"{LOCATION}/metadata/2.parquet", "file-size-in-bytes": 10}
    after = changed(
        current,
        {"action": "set-statistics", "snapshot-id": 2, "statistics": file},
        {"action": "set-partition-statistics", "partition-statistics": partitions},
    )
    assert ([row.snapshot_id for row in after.statistics], len(after.partition_statistics)) == ([2], 1)
    back = changed(
        after,
        {"action": "remove-statistics", "snapshot-id": 2},
        {"action": "remove-partition-statistics", "snapshot-id": 2},
        {"action": "remove-statistics", "snapshot-id": 99},
    )
    assert (back.statistics, back.partition_statistics) == ([], [])
    gone = changed(after, {"action": "remove-snapshots", "snapshot-ids": [2]})
    assert (gone.statistics, gone.partition_statistics) == ([], [])


# -- updates: bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        [{"action": "no-such-update"}],
        [{"action": "add-encryption-key", "encryption-key": {}}],
        [{}],
        [{"action": "add-schema"}],
        [{"action": "add-schema", "schema": 5}],
        [{"action": "add-schema", "schema": {**SCHEMA, "fields": [{"id": 1}]}}],
        [{"action": "add-schema", "schema": {**SCHEMA, "identifier-field-ids": [9]}}],
        [{"action": "add-spec", "spec": None}],
        [{"action": "add-spec", "spec": {"fields": [{"source-id": "x"}]}}],
        [{"action": "add-sort-order", "sort-order": {"fields": [{}]}}],
        [{"action": "add-snapshot", "snapshot": {}}],
        [{"action": "set-statistics"}],
        [{"action": "set-statistics", "statistics": 3}],
        [{"action": "set-snapshot-ref", "ref-name": "x", "type": "twig", "snapshot-id": 1}],
        [{"action": "set-properties", "updates": {"a": None}}],
        [{"action": "set-properties", "updates": {"write.metadata.previous-versions-max": "many"}}],
        [{"action": "set-properties", "updates": {"S3.Signer.Uri": "https://evil"}}],
        [{"action": "set-properties", "updates": {"py-io-impl": "os"}}],
        [{"action": "upgrade-format-version", "format-version": "x"}],
        [{"action": "set-properties", "updates": {"a": "\ud800"}}],
        [{"action": "add-schema", "schema": {**SCHEMA, "schema-id": 2**63}}],
        ["set-properties"],
    ],
)
def test_what_the_format_does_not_allow_is_refused(table: TableMetadata, rows: Sequence[Json]) -> None:
    before = metadata.write(table)
    with pytest.raises(InvalidInputError) as refusal:
        updates.change(table, rows, POINTER)
    assert len(str(refusal.value)) < 700
    assert metadata.write(table) == before


@pytest.mark.parametrize("more", [0, 1])
def test_a_commit_adds_at_most_a_hundred_of_what_is_compared_with_all_others(table: TableMetadata, more: int) -> None:
    """Ten thousand schemas fit into one request, and to compare them took a thread for more than a minute."""
    rows = [{"action": "add-schema", "schema": {**SCHEMA, "fields": fields(number)}} for number in range(98 + more)]
    rows += [{"action": "add-spec", "spec": BY_ID}, {"action": "add-sort-order", "sort-order": BY_DAY}]
    if more:
        with pytest.raises(InvalidInputError, match="adds 101 schemas"):
            updates.change(table, rows, POINTER)
    else:
        assert len(updates.change(table, rows, POINTER).schemas) == 99


def fields(number: int) -> list[Json]:
    return [*SCHEMA["fields"], {"id": 3, "name": f"x{number}", "required": False, "type": "int"}]


@pytest.mark.parametrize("value", ["{}", "[]", "0"])
def test_a_file_of_countless_values_is_refused_before_they_are_made(value: str) -> None:
    """Unpacked, a file may have 256 MiB: of empty objects, these would take 7 GiB."""
    written = json.loads(metadata.write(metadata.build(SCHEMA, location=LOCATION)))
    data = json.dumps(written)[:-1] + f', "more": [{",".join([value] * 5_000_000)}]}}'
    for read in (metadata.read, metadata.checked_file):
        with pytest.raises(InvalidInputError, match="more than 5,000,000 values"):
            read(data.encode())


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    type_: Any = "long"
    for number in range(3000, 0, -1):
        field = {"id": number, "name": "f", "required": False, "type": type_}
        type_ = {"type": "struct", "fields": [field]}
    with pytest.raises(InvalidInputError):
        metadata.build({**type_, "schema-id": 0}, location=LOCATION)


def test_the_log_has_the_files_from_before(table: TableMetadata) -> None:
    limited = changed(table, {"action": "set-properties", "updates": {"write.metadata.previous-versions-max": "2"}})
    for number in range(4):
        pointer = f"{LOCATION}/metadata/{number}.json"
        limited = updates.change(limited, [{"action": "set-properties", "updates": {"n": str(number)}}], pointer)
    assert [entry.metadata_file.rpartition("/")[2] for entry in limited.metadata_log] == ["2.json", "3.json"]


# -- new tables --------------------------------------------------------------------------------------


def test_a_new_table_needs_a_schema_and_gets_the_rest() -> None:
    rows = [{"action": "add-schema", "schema": WIDER}, {"action": "set-current-schema", "schema-id": -1}]
    made = updates.create(rows, LOCATION)
    assert (made.format_version, made.location, made.last_column_id) == (2, LOCATION, 3)
    assert (made.spec().fields, made.sort_order().fields) == ((), [])
    with pytest.raises(InvalidInputError, match="without a schema"):
        updates.create([{"action": "set-properties", "updates": {"a": "b"}}], LOCATION)
    with pytest.raises(InvalidInputError):
        updates.create(rows[:1], LOCATION)
    with pytest.raises(InvalidInputError, match="versions 1 and 2"):
        updates.create([{"action": "upgrade-format-version", "format-version": 3}, *rows], LOCATION)


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ({}, {}),
        ({"type": "struct", "fields": "x"}, {}),
        ({**SCHEMA, "fields": [SCHEMA["fields"][0], SCHEMA["fields"][0]]}, {}),
        (SCHEMA, {"partition_spec": {"fields": [{"source-id": 9, "name": "x", "transform": "identity"}]}}),
        (SCHEMA, {"sort_order": {"order-id": 1, "fields": [{"source-id": 9}]}}),
        (SCHEMA, {"properties": {"a": 1}}),
        (SCHEMA, {"properties": {"uri": "https://evil"}}),
        (SCHEMA, {"properties": {"a": "\ud800"}}),
    ],
)
def test_a_table_that_the_format_does_not_allow_is_not_built(schema: Json, options: Json) -> None:
    with pytest.raises(InvalidInputError):
        metadata.build(schema, location=LOCATION, **options)
