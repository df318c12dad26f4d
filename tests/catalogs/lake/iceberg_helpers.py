"""What the tests of Iceberg tables in a lake share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg, NewIcebergTable, NewIcebergView
from lanceway.tables.storage.store import local_path

Json = dict[str, Any]
SCHEMA: Json = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "name", "required": False, "type": "string"},
    ],
}
TABLE = ["a", "t"]
VIEW = ["a", "v"]


def version(sql: str = "SELECT 1", *, number: int = 1, dialects: Sequence[str] = ("spark",)) -> Json:
    return {
        "version-id": number,
        "timestamp-ms": 1_700_000_000_000 + number,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["a"],
        "representations": [{"type": "sql", "sql": sql, "dialect": dialect} for dialect in dialects],
    }


def create(lake: LakeCatalog, table: Sequence[str] = TABLE, **options: Any) -> LoadedIceberg:
    """Make an Iceberg table, and the namespace that it is in."""
    if len(table) > 1:
        lake.create_namespace({"id": list(table[:-1]), "mode": "exist_ok"})  # type: ignore[arg-type]
    return lake.create_iceberg_table(table, NewIcebergTable(SCHEMA, **options))


def create_view(lake: LakeCatalog, view: Sequence[str] = VIEW, **options: Any) -> LoadedIceberg:
    lake.create_namespace({"id": list(view[:-1]), "mode": "exist_ok"})  # type: ignore[arg-type]
    return lake.create_iceberg_view(view, NewIcebergView(SCHEMA, options.pop("version", version()), **options))


def document(loaded: LoadedIceberg) -> Json:
    metadata: Json = json.loads(loaded.metadata)
    return metadata


def commit(
    lake: LakeCatalog, *updates: Json, table: Sequence[str] = TABLE, requirements: Sequence[Json] = ()
) -> LoadedIceberg:
    (loaded,) = lake.commit_iceberg_tables([IcebergCommit(table, requirements, updates)])
    return loaded


def set_properties(**properties: str) -> Json:
    return {"action": "set-properties", "updates": properties}


def uuid_is(loaded: LoadedIceberg) -> Json:
    return {"type": "assert-table-uuid", "uuid": document(loaded)["table-uuid"]}


def staged_updates(loaded: LoadedIceberg, properties: Mapping[str, str] | None = None) -> list[Json]:
    """The updates by which a client makes a table that it staged."""
    staged = document(loaded)
    return [
        {"action": "assign-uuid", "uuid": staged["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": staged["format-version"]},
        {"action": "add-schema", "schema": staged["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": staged["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": staged["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": staged["location"]},
        {"action": "set-properties", "updates": dict(properties or {})},
    ]


def files(loaded: LoadedIceberg) -> set[str]:
    """The names of the metadata files at a table's location."""
    folder = local_path(loaded.location)
    assert folder is not None
    return {path.name for path in (folder / "metadata").glob("*")}


def folders(root: Path) -> set[str]:
    return {path.name for path in (root / "warehouse").glob("*")}
