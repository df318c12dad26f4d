"""The storage below a catalog, read and written without the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from lance_namespace import LanceNamespace

from lanceway.tables.storage.store import Store, open_store
from lanceway.testing.sandbox import Id, Sandbox

if TYPE_CHECKING:
    import lance


@dataclass(frozen=True)
class Raw:
    """Opens a table's location with the storage options that the catalog describes, or with the given ones."""

    space: Sandbox
    storage_options: Mapping[str, str] | None = None

    def place(self, id_: Id) -> TablePlace:
        described = self.space.describe(id_)
        assert described.location, "describe_table gives no location"
        options = self.storage_options or described.storage_options
        client = self.space.catalog if described.managed_versioning else None
        return TablePlace(described.location, dict(options) if options else None, client, tuple(id_))


@dataclass(frozen=True)
class TablePlace:
    """One table's location. A managed table also has the catalog through which its clients write."""

    location: str
    storage_options: dict[str, str] | None
    client: LanceNamespace | None = None
    id: tuple[str, ...] = ()

    def open(self) -> lance.LanceDataset:
        import lance

        return lance.dataset(self.location, storage_options=self.storage_options)

    def write(self, data: pa.Table) -> None:
        """Write the first version of a declared table, as a client does that knows the location."""
        import lance

        if self.client is None:
            lance.write_dataset(data, self.location, mode="create", storage_options=self.storage_options)
        else:
            lance.write_dataset(data, namespace_client=self.client, table_id=list(self.id), mode="append")

    def append(self, data: pa.Table) -> None:
        """Write another version to storage, even if the catalog owns the versions."""
        import lance

        lance.write_dataset(data, self.location, mode="append", storage_options=self.storage_options)

    def ids(self) -> list[int]:
        row_ids: list[int] = sorted(self.open().to_table(columns=["id"])["id"].to_pylist())
        return row_ids

    def store(self) -> Store:
        return open_store(self.location, self.storage_options)

    def is_empty(self) -> bool:
        return not self.store().has_any()
