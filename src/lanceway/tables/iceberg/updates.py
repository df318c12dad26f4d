"""Updates of a commit as they are carried out: numbered by the server, and without what changes nothing.

pyiceberg applies an update as a client computed it. A server has to decide more: the ids of schemas, specs and orders
are its own, those that exist already are used again, and what is to be removed may be gone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.tables.iceberg import metadata as tables
from lanceway.tables.iceberg import properties
from lanceway.tables.iceberg.metadata import FIRST_FIELD, FORMATS, Json, kept_format, numbered, rows_of, valid

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableUpdate

LAST_ADDED = -1
_MAIN = "main"


def change(metadata: TableMetadata, rows: Sequence[Json], pointer: str | None) -> TableMetadata:
    """Return the metadata after some updates; the very same where they change nothing.

    `pointer` is the file that holds the metadata before, which enters the log. Raises InvalidInputError for updates
    that the format does not allow, and ConcurrentModificationError for a snapshot that others have overtaken.
    """
    return _apply(metadata, resolve(metadata, parse_updates(rows, metadata)), pointer)


def create(rows: Sequence[Json], location: str) -> TableMetadata:
    """Return the metadata of a table that was staged, from all the updates that make it."""
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadataV1, TableMetadataV2
    from pyiceberg.table.update import UpgradeFormatVersionUpdate

    updates = parse_updates(rows, None)
    versions = [update.format_version for update in updates if isinstance(update, UpgradeFormatVersionUpdate)]
    nothing: dict[str, Any] = {
        "location": location,
        "table_uuid": uuid.uuid4(),
        "last_updated_ms": 0,
        "last_column_id": 0,
        "current_schema_id": -1,
        "default_spec_id": -1,
        "last_partition_id": FIRST_FIELD - 1,
        "default_sort_order_id": -1,
    }
    empty: TableMetadata
    if kept_format(versions[0] if versions else 2) == 1:
        empty = TableMetadataV1.model_construct(**nothing, schema_=Schema())
    else:
        empty = TableMetadataV2.model_construct(**nothing)
    return _apply(empty, resolve(empty, updates, is_new=True), None)


def parse_updates(rows: Sequence[Json], metadata: TableMetadata | None) -> Sequence[TableUpdate]:
    """Return the updates of a commit. Raises InvalidInputError for one that is unknown or not well formed."""
    what = "An update of the commit cannot be carried out"
    last = None if metadata is None else metadata.last_partition_id
    complete = [
        {**row, "spec": numbered(row["spec"], (last or FIRST_FIELD - 1) + 1)}
        if row.get("action") == "add-spec" and isinstance(row.get("spec"), Mapping)
        else row
        for row in rows_of(what, rows)
    ]
    with valid(what):
        return _updates().validate_python(complete)


def _apply(metadata: TableMetadata, updates: Sequence[TableUpdate], pointer: str | None) -> TableMetadata:
    from pyiceberg.table.update import update_table_metadata

    if not updates:
        return metadata
    with valid("The commit cannot be carried out"):
        changed = update_table_metadata(metadata, tuple(updates), metadata_location=pointer)
        if changed == metadata:
            return metadata
    properties.checked(changed.properties)
    return tables.read(tables.write(_completed(changed, metadata)))


def _completed(metadata: TableMetadata, before: TableMetadata) -> TableMetadata:
    """Return metadata with what pyiceberg leaves as it was: fields of version 1, parents, the highest sequence."""
    parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in before.snapshots}
    added = [snapshot.timestamp_ms for snapshot in metadata.snapshots if snapshot.snapshot_id not in parents]
    values: dict[str, Any] = {
        "last_updated_ms": max([metadata.last_updated_ms, before.last_updated_ms, *added]),
        # The parent of a snapshot stays known when it is removed.
        "snapshots": [
            snapshot.model_copy(update={"parent_snapshot_id": parents[snapshot.snapshot_id]})
            if snapshot.snapshot_id in parents
            else snapshot
            for snapshot in metadata.snapshots
        ],
    }
    if metadata.format_version == 1:
        fields = [field.model_dump() for field in metadata.spec().fields]
        values |= {"schema_": metadata.schema(), "partition_spec": fields}
    else:
        sequence = getattr(before, "last_sequence_number", 0)
        values["last_sequence_number"] = max(sequence, metadata.last_sequence_number or 0)
    return metadata.model_copy(update=values)


def resolve(metadata: TableMetadata, updates: Sequence[TableUpdate], *, is_new: bool = False) -> list[TableUpdate]:
    """Return the updates that change metadata, with the ids that they have in it."""
    resolution = _Resolution(metadata, is_new=is_new)
    with valid("The commit cannot be carried out"):
        resolved = [row for update in _without_passing_refs(updates) for row in resolution.resolve(update)]
        return [*resolved, *resolution.missing()] if is_new else resolved


def _without_passing_refs(updates: Sequence[TableUpdate]) -> Iterator[TableUpdate]:
    """Leave out a state of the main branch that the same commit replaces: it was never the table's, nor in its log."""
    last = max((place for place, update in enumerate(updates) if _sets_main(update)), default=-1)
    return (update for place, update in enumerate(updates) if place >= last or not _sets_main(update))


def _sets_main(update: TableUpdate) -> bool:
    return update.action == "set-snapshot-ref" and update.ref_name == _MAIN


class _Known:
    """The schemas, specs or orders of a table, and those that a commit adds, by their ids."""

    def __init__(self, noun: str, values: Iterable[tuple[int, Any]], first: int) -> None:
        self._noun, self._values, self._first = noun, dict(values), first
        self._asked: dict[int, int] = {}  # ids in the commit that are others here
        self._last: int | None = None

    def __contains__(self, number: int) -> bool:
        return number in self._values

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: Any, asked: int, is_same: Callable[[Any, Any], bool], fixed: int | None = None) -> int | None:
        """Return the id that a value gets, None for one that is known already, which is used again."""
        known = next((number for number, other in self._values.items() if is_same(value, other)), None)
        number = known
        if number is None:
            number = max([self._first - 1, *self._values], default=0) + 1 if fixed is None else fixed
            self._values[number] = value
        self._asked[asked] = self._last = number
        return None if known is not None else number

    def resolve(self, asked: int) -> int:
        """Return the id that a commit means. Raises InvalidInputError for one that is not there."""
        if asked == LAST_ADDED:
            if self._last is None:
                raise InvalidInputError(f"The commit makes the last added {self._noun} current, and adds none.")
            return self._last
        number = asked if asked in self._values and asked not in self._asked else self._asked.get(asked, asked)
        if number not in self._values:
            raise InvalidInputError(f"The table has no {self._noun} with the id {asked}. Add it first.")
        return number

    def remove(self, numbers: Iterable[int], current: int) -> list[int]:
        """Return those of some ids that are there to be removed. Raises InvalidInputError for the current one."""
        chosen = sorted({number for number in numbers if number in self._values})
        if current in chosen:
            raise InvalidInputError(f"The {self._noun} {current} is the current one, and cannot be removed.")
        for number in chosen:
            del self._values[number]
        return chosen


class _Resolution:
    """The state of a table as far as the updates of a commit depend on each other."""

    def __init__(self, metadata: TableMetadata, *, is_new: bool) -> None:
        self._metadata, self._is_new = metadata, is_new
        self._format = metadata.format_version
        self._schemas = _Known("schema", ((row.schema_id, row) for row in metadata.schemas), 0)
        self._specs = _Known("partition spec", ((row.spec_id, row) for row in metadata.partition_specs), 0)
        self._orders = _Known("sort order", ((row.order_id, row) for row in metadata.sort_orders), 1)
        self._current = [metadata.current_schema_id, metadata.default_spec_id]
        self._keys = set(metadata.properties)
        self._snapshots = {snapshot.snapshot_id for snapshot in metadata.snapshots}
        self._sequence: int = getattr(metadata, "last_sequence_number", 0)
        self._statistics = {row.snapshot_id for row in metadata.statistics}
        self._partition_statistics = {row.snapshot_id for row in metadata.partition_statistics}

    def resolve(self, update: TableUpdate) -> Iterator[TableUpdate]:
        """Yield what an update comes to: itself with other ids, or nothing."""
        return _RULES[update.action](self, update)

    def missing(self) -> Iterator[TableUpdate]:
        """Yield what a new table needs that its commit left out. Raises InvalidInputError if it has no schema."""
        if not len(self._schemas):
            raise InvalidInputError("The commit makes a table without a schema. Add one, and make it current.")
        if not len(self._specs):
            yield from parse_updates(
                [{"action": "add-spec", "spec": {"fields": []}}, {"action": "set-default-spec", "spec-id": 0}], None
            )
        if not len(self._orders):
            unsorted = {"order-id": 0, "fields": []}
            yield from parse_updates(
                [
                    {"action": "add-sort-order", "sort-order": unsorted},
                    {"action": "set-default-sort-order", "sort-order-id": 0},
                ],
                None,
            )

    # -- one rule a kind -------------------------------------------------------------------------

    def _keep(self, update: Any) -> Iterator[TableUpdate]:
        yield update

    def _assign_uuid(self, update: Any) -> Iterator[TableUpdate]:
        if not self._is_new and update.uuid != self._metadata.table_uuid:
            raise InvalidInputError(
                f"The table has the UUID {self._metadata.table_uuid}, and keeps it: {update.uuid} cannot be assigned."
            )
        yield update

    def _upgrade(self, update: Any) -> Iterator[TableUpdate]:
        if update.format_version not in FORMATS:
            raise InvalidInputError(
                f"The table cannot be upgraded to format version {update.format_version}: this server reads and writes "
                "versions 1 and 2 of Iceberg's format."
            )
        if update.format_version < self._format:
            raise InvalidInputError(
                f"The table has format version {self._format}, and cannot go back to {update.format_version}."
            )
        self._format = update.format_version
        yield update

    def _add_schema(self, update: Any) -> Iterator[TableUpdate]:
        schema = update.schema_
        schema.check_format_version_compatibility(self._format)
        number = self._schemas.add(schema, schema.schema_id, lambda one, other: bool(one == other))
        if number is not None:
            yield update.model_copy(update={"schema_": schema.model_copy(update={"schema_id": number})})

    def _set_schema(self, update: Any) -> Iterator[TableUpdate]:
        self._current[0] = self._schemas.resolve(update.schema_id)
        yield update.model_copy(update={"schema_id": self._current[0]})

    def _add_spec(self, update: Any) -> Iterator[TableUpdate]:
        number = self._specs.add(update.spec, update.spec.spec_id, lambda one, other: bool(one.compatible_with(other)))
        if number is not None:
            yield update.model_copy(update={"spec": update.spec.model_copy(update={"spec_id": number})})

    def _set_spec(self, update: Any) -> Iterator[TableUpdate]:
        self._current[1] = self._specs.resolve(update.spec_id)
        yield update.model_copy(update={"spec_id": self._current[1]})

    def _add_order(self, update: Any) -> Iterator[TableUpdate]:
        order = update.sort_order
        # The order of no fields has an id of its own.
        fixed = None if order.fields else 0
        number = self._orders.add(order, order.order_id, lambda one, other: bool(one.fields == other.fields), fixed)
        if number is not None:
            yield update.model_copy(update={"sort_order": order.model_copy(update={"order_id": number})})

    def _set_order(self, update: Any) -> Iterator[TableUpdate]:
        yield update.model_copy(update={"sort_order_id": self._orders.resolve(update.sort_order_id)})

    def _add_snapshot(self, update: Any) -> Iterator[TableUpdate]:
        snapshot = update.snapshot
        if snapshot.snapshot_id in self._snapshots:
            raise InvalidInputError(f"The table has a snapshot with the id {snapshot.snapshot_id} already.")
        sequence = snapshot.sequence_number or 0
        if self._format > 1 and sequence <= self._sequence and snapshot.parent_snapshot_id is not None:
            # Another branch may have taken the number, with no requirement that says so.
            raise ConcurrentModificationError(
                f"Requirement failed: the snapshot {snapshot.snapshot_id} has the sequence number {sequence}, and the "
                f"table is at {self._sequence} already. Load the table again, and repeat."
            )
        self._sequence = max(self._sequence, sequence)
        self._snapshots.add(snapshot.snapshot_id)
        yield update

    def _set_ref(self, update: Any) -> Iterator[TableUpdate]:
        if update.snapshot_id not in self._snapshots:
            raise InvalidInputError(f"{update.ref_name!r} cannot refer to the unknown snapshot {update.snapshot_id}.")
        if update.ref_name == _MAIN and str(update.type) != "branch":
            raise InvalidInputError("The main branch cannot be made a tag.")
        yield update

    def _remove_snapshots(self, update: Any) -> Iterator[TableUpdate]:
        chosen = [number for number in update.snapshot_ids if number in self._snapshots]
        self._snapshots.difference_update(chosen)
        self._statistics.difference_update(chosen)
        # pyiceberg removes the other statistics itself.
        for number in sorted(self._partition_statistics.intersection(chosen)):
            yield from parse_updates([{"action": "remove-partition-statistics", "snapshot-id": number}], None)
        self._partition_statistics.difference_update(chosen)
        if chosen:
            yield update.model_copy(update={"snapshot_ids": chosen})

    def _set_properties(self, update: Any) -> Iterator[TableUpdate]:
        self._keys.update(update.updates)
        yield update

    def _remove_properties(self, update: Any) -> Iterator[TableUpdate]:
        chosen = sorted(self._keys.intersection(update.removals))
        self._keys.difference_update(chosen)
        if chosen:
            yield update.model_copy(update={"removals": chosen})

    def _set_statistics(self, update: Any) -> Iterator[TableUpdate]:
        self._statistics.add(update.statistics.snapshot_id)
        yield update

    def _remove_statistics(self, update: Any) -> Iterator[TableUpdate]:
        if update.snapshot_id in self._statistics:
            self._statistics.remove(update.snapshot_id)
            yield update

    def _set_partition_statistics(self, update: Any) -> Iterator[TableUpdate]:
        self._partition_statistics.add(update.partition_statistics.snapshot_id)
        yield update

    def _remove_partition_statistics(self, update: Any) -> Iterator[TableUpdate]:
        if update.snapshot_id in self._partition_statistics:
            self._partition_statistics.remove(update.snapshot_id)
            yield update

    def _remove_specs(self, update: Any) -> Iterator[TableUpdate]:
        chosen = self._specs.remove(update.spec_ids, self._current[1])
        if chosen:
            yield update.model_copy(update={"spec_ids": chosen})

    def _remove_schemas(self, update: Any) -> Iterator[TableUpdate]:
        chosen = self._schemas.remove(update.schema_ids, self._current[0])
        if chosen:
            yield update.model_copy(update={"schema_ids": chosen})


_RULES: Mapping[str, Callable[[_Resolution, Any], Iterator[TableUpdate]]] = {
    "assign-uuid": _Resolution._assign_uuid,
    "upgrade-format-version": _Resolution._upgrade,
    "add-schema": _Resolution._add_schema,
    "set-current-schema": _Resolution._set_schema,
    "add-spec": _Resolution._add_spec,
    "set-default-spec": _Resolution._set_spec,
    "add-sort-order": _Resolution._add_order,
    "set-default-sort-order": _Resolution._set_order,
    "add-snapshot": _Resolution._add_snapshot,
    "set-snapshot-ref": _Resolution._set_ref,
    "remove-snapshots": _Resolution._remove_snapshots,
    "remove-snapshot-ref": _Resolution._keep,
    "set-location": _Resolution._keep,
    "set-properties": _Resolution._set_properties,
    "remove-properties": _Resolution._remove_properties,
    "set-statistics": _Resolution._set_statistics,
    "remove-statistics": _Resolution._remove_statistics,
    "set-partition-statistics": _Resolution._set_partition_statistics,
    "remove-partition-statistics": _Resolution._remove_partition_statistics,
    "remove-partition-specs": _Resolution._remove_specs,
    "remove-schemas": _Resolution._remove_schemas,
}


@cache
def _updates() -> TypeAdapter[list[TableUpdate]]:
    from pyiceberg.table.update import TableUpdate

    return TypeAdapter(list[TableUpdate])
