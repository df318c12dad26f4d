"""What the tests of the Unity catalog share: a catalog in Unity for each, short questions, and ways round Lanceway."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from lanceway.catalogs import UnityCatalog
from tests.servers.unity import API

ROWS = pa.table({"id": [1, 2, 3]})
Id = list[str]
_HTTP = httpx.Client()


@dataclass(frozen=True)
class Home:
    """A catalog in Unity, reached without Lanceway in between."""

    endpoint: str
    catalog: str

    def ask(self, method: str, path: str, **options: Any) -> Any:
        response = _HTTP.request(method, f"{self.endpoint}{API}{path}", **options)
        response.raise_for_status()
        return response.json() if method != "DELETE" else None

    def schema(self, name: str = "s", **options: Any) -> Id:
        self.ask("POST", "/schemas", json={"name": name, "catalog_name": self.catalog, **options})
        return [self.catalog, name]

    def table(self, name: str, schema: str = "s", **changes: Any) -> Id:
        """A Lance table in the least that Unity can have of one, made by somebody else."""
        row = {
            "name": name,
            "catalog_name": self.catalog,
            "schema_name": schema,
            "table_type": "EXTERNAL",
            "data_source_format": "TEXT",
            "storage_location": f"s3://bucket/somewhere/{name}.lance",
            "columns": [],
            "properties": {"table_type": "LANCE"},
        }
        self.ask("POST", "/tables", json={**row, **changes})
        return [self.catalog, schema, name]

    def stored(self, table: Id) -> dict[str, Any]:
        """A table as a stock client gets it."""
        row: dict[str, Any] = self.ask("GET", f"/tables/{'.'.join(table)}")
        return row

    def connect(self, root: Path | str | None = None, **settings: Any) -> UnityCatalog:
        defaults = {"endpoint": self.endpoint, "catalog": self.catalog, "root": None if root is None else str(root)}
        return UnityCatalog(**{**defaults, **settings})


@contextmanager
def home(endpoint: str, name: str | None = None) -> Iterator[Home]:
    place = Home(endpoint, name or f"c{uuid.uuid4().hex[:12]}")
    place.ask("POST", "/catalogs", json={"name": place.catalog, "properties": {"team": "red"}})
    try:
        yield place
    finally:
        _HTTP.delete(f"{endpoint}{API}/catalogs/{place.catalog}", params={"force": "true"})


def create(catalog: UnityCatalog, table: Id, data: pa.Table = ROWS, **options: Any) -> Id:
    catalog.create_table_stream({"id": table, **options}, data.to_reader())  # type: ignore[arg-type]
    return table


def declare(catalog: UnityCatalog, table: Id, **options: Any) -> Any:
    return catalog.declare_table({"id": table, **options})  # type: ignore[arg-type]


def describe(catalog: UnityCatalog, table: Id, **options: Any) -> Any:
    return catalog.describe_table({"id": table, **options})  # type: ignore[arg-type]


def count(catalog: UnityCatalog, table: Id) -> int | None:
    return catalog.count_table_rows({"id": table}).count  # type: ignore[arg-type]


def tables(catalog: UnityCatalog, namespace: Id, **options: Any) -> list[str]:
    return list(catalog.list_tables({"id": namespace, **options}).tables)  # type: ignore[arg-type]


def namespaces(catalog: UnityCatalog, namespace: Id, **options: Any) -> list[str]:
    return list(catalog.list_namespaces({"id": namespace, **options}).namespaces)  # type: ignore[arg-type]
