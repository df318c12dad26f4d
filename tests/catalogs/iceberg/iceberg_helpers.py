"""Iceberg catalogs for the tests that need one: a namespace of its own for each test."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from lanceway.catalogs import IcebergCatalog
from tests.servers.iceberg import WAREHOUSE

ROWS = pa.table({"id": [1, 2, 3]})
A_SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "n", "required": False, "type": "long"}]}


def connect(endpoint: str, root: Path | None = None, **settings: Any) -> IcebergCatalog:
    defaults = {"endpoint": endpoint, "warehouse": WAREHOUSE, "root": None if root is None else str(root), **settings}
    return IcebergCatalog(**defaults)


def namespace(catalog: IcebergCatalog, **options: Any) -> list[str]:
    """A new namespace that nobody else uses."""
    space = [*catalog.list_namespaces({}).namespaces, f"n{uuid.uuid4().hex[:12]}"]
    catalog.create_namespace({"id": space, **options})
    return space


def create(catalog: IcebergCatalog, id_: list[str], data: pa.Table = ROWS, **options: Any) -> list[str]:
    catalog.create_table_stream({"id": id_, **options}, data.to_reader())
    return id_


def iceberg_table(endpoint: str, space: list[str], name: str, properties: dict[str, str] | None = None) -> None:
    """A table that is Iceberg's own, made without Lanceway in between."""
    body = {"name": name, "schema": A_SCHEMA, "properties": properties or {}}
    httpx.post(f"{endpoint}/v1/namespaces/{space[1]}/tables", json=body).raise_for_status()
