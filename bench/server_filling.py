"""The tables that `bench/server.py` asks for: files in a folder, and the names that each server has for them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sqlalchemy import Connection, insert, select

from directory import SPACE, make_child, make_root, names
from lake_filling import audit, version_row
from lanceway.identifiers import HierarchicalName
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE, objects, versions


def fill_folder(root: Path, count: int) -> None:
    """So many tables in a folder, and again in a child namespace."""
    make_root(root, count)
    make_child(root, count)


def fill_lake(store: LakeStore, folder: Path, count: int) -> None:
    """The same tables as rows of a lake. A location is one table's alone, so that the child's are copies."""
    copies = folder / SPACE
    for name in names(count):
        shutil.copytree(folder / f"{name}.lance", copies / f"{name}.lance", copy_function=os.link)
    if count:
        store.transact(_fill, {"": folder, SPACE: copies}, count)


def _fill(connection: Connection, places: dict[str, Path], count: int) -> None:
    top = connection.execute(select(objects.c.id, objects.c.catalog_id).where(objects.c.physical == "")).one()
    common = {"catalog_id": top.catalog_id, "properties": {}, **audit()}
    space = top.id + 1
    path = HierarchicalName([SPACE])
    row = {"id": space, "parent_id": top.id, "kind": NAMESPACE, "managed": False, "name": SPACE}
    connection.execute(insert(objects), {**common, **row, "physical": path.physical, "location": None})
    number = space
    for parent, folder in zip((top.id, space), places.values(), strict=True):
        rows = []
        for name in names(count):
            number += 1
            place = {"id": number, "parent_id": parent, "kind": TABLE, "managed": True, "physical": None}
            rows.append({**common, **place, "name": name, "location": str(folder / f"{name}.lance")})
        connection.execute(insert(objects), rows)
        connection.execute(insert(versions), [version_row(row["id"]) for row in rows])
