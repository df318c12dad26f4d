"""What the tests of the lake catalog share: small tables, short questions, and ways round the lake."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from lanceway.catalogs import LakeCatalog
from lanceway.identifiers import Identifier
from lanceway.lake.tree import lookups
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import Version, VersionClaim
from lanceway.tables.storage.store import Store, open_store
from lanceway.tables.versions import manifests

Id = list[str]
PASSWORD = "open-sesame"


def connect(uri: str, folder: Path, **settings: Any) -> LakeCatalog:
    """A new catalog, in a database that the tests of a module share."""
    return LakeCatalog(uri=uri, root=str(folder / "warehouse"), catalog=uuid.uuid4().hex, **settings)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def create(lake: LakeCatalog, *names: str, ids: tuple[int, ...] = (1,), **options: Any) -> Id:
    lake.create_table_stream({"id": list(names), **options}, rows(*ids).to_reader())  # type: ignore[arg-type]
    return list(names)


def insert(lake: LakeCatalog, table: Id, *ids: int, **options: Any) -> None:
    lake.insert_into_table_stream({"id": table, **options}, rows(*ids).to_reader())  # type: ignore[arg-type]


def ids(lake: LakeCatalog, table: Id, **options: Any) -> list[int]:
    request = {"id": table, "k": 1000, "vector": {}, **options}
    return sorted(lake.query_table_stream(request).read_all()["id"].to_pylist())  # type: ignore[arg-type]


def numbers(lake: LakeCatalog, table: Id, **options: Any) -> list[int]:
    """The versions that a table has, oldest first."""
    found = lake.list_table_versions({"id": table, **options}).versions  # type: ignore[arg-type]
    return sorted(version.version for version in found)


def location(lake: LakeCatalog, table: Id) -> str:
    return str(lake.describe_table({"id": table}).location)  # type: ignore[arg-type]


def storage(lake: LakeCatalog, table: Id) -> Store:
    return open_store(location(lake, table))


def files(lake: LakeCatalog, table: Id, folder: str = "_versions") -> set[str]:
    """The manifests in a folder of the table's, staged ones too, by their keys."""
    return {key for key in storage(lake, table).keys(folder) if ".manifest" in key}


def opened(lake: LakeCatalog, table: Id, **options: Any) -> lance.LanceDataset:
    """The table as a client has it that was given the catalog."""
    return lance.dataset(namespace_client=lake, table_id=table, **options)


def write_behind(lake: LakeCatalog, table: Id, *ids: int) -> None:
    """Write a version to storage without the lake."""
    lance.write_dataset(rows(*ids), location(lake, table), mode="append")


def stage(lake: LakeCatalog, table: Id, *ids: int) -> str:
    """Write the next version's manifest to a staging path, as a writer does before it claims; the path's key."""
    store, before = storage(lake, table), files(lake, table)
    write_behind(lake, table, *ids)
    (manifest,) = (key for key in files(lake, table) - before if key.endswith(".manifest"))
    staged = f"{manifest}-{uuid.uuid4()}"
    store.put(staged, store.read(manifest) or b"")
    store.delete(manifest)
    return staged


def claim_and_die(lake: LakeCatalog, table: Id, version: int, *ids: int) -> Version:
    """Claim a version in the database, and do nothing of what should follow: as a process that is killed there."""
    staged = stage(lake, table, *ids)
    asked = VersionClaim(version, staged, manifests.key(version), size=len(storage(lake, table).read(staged) or b""))
    return lake._lake.transact(
        lambda connection: versions.claim(
            connection, lookups.hold(connection, lake._catalog.id, Identifier(table)), asked, by="killed"
        )
    )
