"""Companions: Lance tables as Iceberg clients see them, by the Lance Namespace specification for Iceberg REST.

A companion is an Iceberg table without data, at the location of a Lance table. Nothing of it is stored: it is written
from what the catalog knows of the Lance table, whose dataset is not opened.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping

from lanceway.tables.iceberg.properties import is_trusted
from lanceway.wire.iceberg import DUMMY_SCHEMA, LANCE, TABLE_TYPE

_SPACE = uuid.UUID("5f8c33c1-6f0c-5d1a-9c7c-1c1b7b0d7a11")  # of the names below, and nothing else
_FIRST_PARTITION_FIELD = 1000


def is_lance(properties: Mapping[str, str]) -> bool:
    """Return whether properties are those of a companion."""
    return str(properties.get(TABLE_TYPE, "")).lower() == LANCE


def identity(name: str) -> str:
    """Return the UUID of a companion, always the same for a name that no other Lance table ever has."""
    return str(uuid.uuid5(_SPACE, name))


def metadata(*, name: str, location: str, properties: Mapping[str, str], updated_at: int) -> bytes:
    """Return the metadata of the companion of a Lance table, as JSON.

    `name` tells the table from every other one, whatever it is called; `location` is a URI. Properties by which one
    user could redirect the clients of others are left out: to Lance they mean nothing, and so were not refused.
    """
    shown = {key: value for key, value in properties.items() if is_trusted(key)}
    document = {
        "format-version": 2,
        "table-uuid": identity(name),
        "location": location,
        "last-sequence-number": 0,
        "last-updated-ms": updated_at,
        "last-column-id": 1,
        "current-schema-id": 0,
        "schemas": [dict(DUMMY_SCHEMA)],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": _FIRST_PARTITION_FIELD - 1,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {**shown, TABLE_TYPE: LANCE},
        "current-snapshot-id": -1,
        "refs": {},
        "snapshots": [],
        "statistics": [],
        "snapshot-log": [],
        "metadata-log": [],
    }
    return json.dumps(document).encode()
