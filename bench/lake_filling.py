"""Lakes and manifests full of tables, made at once: what `bench/lake.py` measures."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from lanceway.identifiers import HierarchicalName
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE, objects, versions
from lanceway.tables.versions import manifests

NAMESPACES, DEPTH = 10_000, 8
WIDE = "wide"
PART = 20_000  # rows written at once


def spaces(count: int) -> list[HierarchicalName]:
    """Namespaces in chains: each lies in the one before, until a chain is deep enough and another begins."""
    found: list[HierarchicalName] = []
    for number in range(count):
        name = f"space_{number:05}"
        found.append(HierarchicalName([name] if number % DEPTH == 0 else [*found[-1], name]))
    return found


def tables(made: list[HierarchicalName], count: int) -> list[list[str]]:
    """The identifiers of `count` tables: half of them in one namespace, the others spread over those given."""
    wide = [[WIDE, f"table_{number:07}"] for number in range(count // 2)]
    return wide + [[*made[number % len(made)], f"table_{number:07}"] for number in range(count - count // 2)]


def fill(store: LakeStore, root: str, count: int) -> list[list[str]]:
    """Put tables with one version each into the lake's only catalog; their identifiers."""
    made = spaces(max(1, min(NAMESPACES, count // 10)))
    paths = tables(made, count)
    store.transact(_fill, root, [HierarchicalName([WIDE]), *made], paths)
    if store.read(lambda connection: connection.dialect.name) == "postgresql":
        store.read(lambda connection: connection.exec_driver_sql("ANALYZE"))
    return paths


def _fill(connection: Connection, root: str, made: list[HierarchicalName], paths: list[list[str]]) -> None:
    top = connection.execute(select(objects.c.id, objects.c.catalog_id).where(objects.c.physical == "")).one()
    ids = {(): top.id}
    common = {"catalog_id": top.catalog_id, "properties": {}, **audit()}
    rows = []
    for path in made:
        ids[tuple(path)] = top.id + len(ids)
        place = {"id": ids[tuple(path)], "parent_id": ids[tuple(path[:-1])], "kind": NAMESPACE, "managed": False}
        rows.append({**common, **place, "name": path.name, "physical": path.physical, "location": None})
    insert_rows(connection, objects, rows)
    first = top.id + len(ids)
    for start in range(0, len(paths), PART):
        part = list(enumerate(paths[start : start + PART], first + start))
        insert_rows(connection, objects, [{**common, **_table(number, path, ids, root)} for number, path in part])
        insert_rows(connection, versions, [version_row(number) for number, _ in part])
    if connection.dialect.name == "postgresql":
        highest = first + len(paths)
        connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('objects', 'id'), {highest})")


def _table(number: int, path: list[str], ids: dict[tuple[str, ...], int], root: str) -> dict[str, Any]:
    place = {"id": number, "parent_id": ids[tuple(path[:-1])], "kind": TABLE, "managed": True, "physical": None}
    return {**place, "name": path[-1], "location": f"{root}/{uuid.uuid4().hex}"}


def version_row(table: int) -> dict[str, Any]:
    """The first version of a table, as a row of the lake."""
    key = manifests.key(1)
    place = {"table_id": table, "branch": "", "version": 1, "staging_path": key, "final_path": key}
    return {**place, "naming_scheme": "V2", "metadata": {}, "copied": True, "created_by": "bench", "created_at": 0}


def audit() -> dict[str, Any]:
    """Whose an object is and who made it, as columns of its row."""
    return {"owner": "bench", "created_by": "bench", "created_at": 0, "changed_by": "bench", "changed_at": 0}


def insert_rows(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    """Insert rows of a table, which all have the same columns."""
    if connection.dialect.name != "postgresql":
        connection.execute(insert(table), rows)
        return
    columns = list(rows[0])
    cursor = connection.connection.cursor()
    with cursor.copy(f"COPY {table.name} ({', '.join(columns)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row([json.dumps(row[name]) if isinstance(row[name], dict) else row[name] for name in columns])


def fill_manifest(root: Path, count: int) -> list[list[str]]:
    """The same tables as rows of the manifest of pylance's directory namespace, which must be there."""
    import lance
    import pyarrow as pa

    made = spaces(max(1, min(NAMESPACES, count // 10)))
    paths = tables(made, count)
    rows = [(path, "namespace", None) for path in [[WIDE], *map(list, made)]]
    rows += [(path, "table", f"{number:08x}_{path[-1]}") for number, path in enumerate(paths)]
    columns = {
        "object_id": ["$".join(path) for path, _, _ in rows],
        "object_type": [kind for _, kind, _ in rows],
        "location": [location for _, _, location in rows],
        "metadata": [None] * len(rows),
        "base_objects": [None] * len(rows),
    }
    manifest = lance.dataset(str(root / "__manifest"))
    lance.write_dataset(pa.table(columns, schema=manifest.schema), manifest, mode="append")
    return paths
