"""What the tests of the federated tree share: a tree over a lake of its own and over a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from lance.namespace import DirectoryNamespace

from lanceway import config
from lanceway.catalogs import FederatedCatalog, LakeCatalog
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.config import CatalogSettings, ServerSettings
from lanceway.lake.store.database import LakeStore, open_store
from tests.new_lakes import new_lake

SECRET = "hush-hush"
LAKE = "lake"


def uri_in(folder: Path) -> str:
    return f"sqlite:///{folder}/lake.db"


def store_in(folder: Path) -> LakeStore:
    """The database of a lake with the catalog `lake`, as a fresh home has it."""
    if not (folder / "lake.db").exists():
        new_lake(folder / "lake.db")
    with LakeCatalog(uri=uri_in(folder), root=str(folder / "warehouse"), catalog=LAKE):
        pass
    return open_store(uri_in(folder))


def folder_of(path: Path, **options: Any) -> CatalogSettings:
    settings = {"path": str(path), "layout": "manifest", "storage.secret_access_key": SECRET}
    return CatalogSettings("dir", settings, **options)


def tree(folder: Path, catalogs: Mapping[str, CatalogSettings] | None = None) -> FederatedCatalog:
    """A tree over a lake in `folder`, and what else is to be mounted."""
    lake = OwnLake(store_in(folder), warehouse=str(folder / "warehouse"), storage={"secret_access_key": SECRET})
    return FederatedCatalog(catalogs or {}, lake)


def settings(**values: Any) -> ServerSettings:
    """A server's settings without any file."""
    catalogs = values.pop("catalogs", {})
    read = config.server("/dev/null", values)
    return ServerSettings(**{**{name: getattr(read, name) for name in read.__slots__}, "catalogs": catalogs})


def rows(*ids: int) -> Any:
    return pa.table({"id": pa.array(ids, pa.int64())}).to_reader()


def create(catalog: Any, *names: str, ids: tuple[int, ...] = (1,)) -> list[str]:
    catalog.create_table_stream({"id": list(names)}, rows(*ids))
    return list(names)


def names(catalog: Any, *namespace: str, **options: Any) -> list[str]:
    return list(catalog.list_namespaces({"id": list(namespace), **options}).namespaces)


class Listening(DirectoryNamespace):
    """pylance's own catalog, which remembers what it was asked."""

    heard: ClassVar[list[Any]] = []

    def list_tables(self, request: Any) -> Any:
        self.heard.append(request)
        return super().list_tables(request)
