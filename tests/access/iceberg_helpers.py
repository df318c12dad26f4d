"""Iceberg tables and views in a site: what they are made of, and the calls of a guard that are about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg, NewIcebergTable, NewIcebergView

SCHEMA: Mapping[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}],
}
VERSION: Mapping[str, Any] = {
    "version-id": 1,
    "timestamp-ms": 1_700_000_000_000,
    "schema-id": 0,
    "summary": {},
    "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
    "default-namespace": ["A"],
}


def new_table(**options: Any) -> NewIcebergTable:
    return NewIcebergTable(SCHEMA, **options)


def new_view(**options: Any) -> NewIcebergView:
    return NewIcebergView(SCHEMA, VERSION, **options)


def set_properties(*names: str, **properties: str) -> IcebergCommit:
    return IcebergCommit(names, [], [{"action": "set-properties", "updates": properties}])


def creation(*names: str, location: str | None = None) -> IcebergCommit:
    """A commit that makes a table which was staged."""
    updates: list[dict[str, Any]] = [
        {"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "schema": SCHEMA, "last-column-id": 1},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]
    if location is not None:
        updates.append({"action": "set-location", "location": location})
    return IcebergCommit(names, [{"type": "assert-create"}], updates)


def create_table(guard: Any, *names: str, **options: Any) -> LoadedIceberg:
    loaded: LoadedIceberg = guard.create_iceberg_table(names, new_table(**options))
    return loaded


def create_view(guard: Any, *names: str, **options: Any) -> LoadedIceberg:
    loaded: LoadedIceberg = guard.create_iceberg_view(names, new_view(**options))
    return loaded


def snapshot(manifest_list: str, *names: str) -> IcebergCommit:
    """A commit that adds a snapshot with this manifest list, which need not be there."""
    row = {
        "snapshot-id": 1,
        "sequence-number": 1,
        "timestamp-ms": 1_900_000_000_000,
        "manifest-list": manifest_list,
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return IcebergCommit(names, [], [{"action": "add-snapshot", "snapshot": row}])
