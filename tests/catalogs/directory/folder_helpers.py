"""What the tests of the directory catalog share: small tables, short questions, and pylance as the peer."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import lance
import pyarrow as pa
from lance.namespace import DirectoryNamespace
from lance_namespace import (
    CreateNamespaceRequest,
    CreateTableRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    LanceNamespace,
    ListNamespacesRequest,
    ListTablesRequest,
)

# pylance's three modes: directories and a manifest, the manifest alone, directories alone.
PYLANCE_MODES: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "manifest-only": {"dir_listing_enabled": "false"},
    "listing-only": {"manifest_enabled": "false"},
}


def pylance(root: str | Path, mode: str = "default", **properties: str) -> DirectoryNamespace:
    return DirectoryNamespace(root=str(root), **PYLANCE_MODES[mode], **properties)


def rows(count: int = 3) -> bytes:
    """An Arrow stream of `count` rows."""
    table = pa.table({"x": list(range(count))})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def write(path: str | Path, count: int = 3) -> None:
    """A Lance table made without any catalog."""
    lance.write_dataset(pa.table({"x": list(range(count))}), str(path))


def create(catalog: LanceNamespace, *names: str, count: int = 3, mode: str | None = None) -> str:
    response = catalog.create_table(CreateTableRequest(id=list(names), mode=mode), rows(count))
    return str(response.location)


def declare(catalog: LanceNamespace, *names: str, properties: dict[str, str] | None = None) -> str:
    return str(catalog.declare_table(DeclareTableRequest(id=list(names), properties=properties)).location)


def make_namespace(catalog: LanceNamespace, *names: str) -> None:
    catalog.create_namespace(CreateNamespaceRequest(id=list(names)))


def location(catalog: LanceNamespace, *names: str) -> str:
    return str(catalog.describe_table(DescribeTableRequest(id=list(names))).location)


def tables(catalog: LanceNamespace, *namespace: str, include_declared: bool | None = None) -> list[str]:
    response = catalog.list_tables(ListTablesRequest(id=list(namespace), include_declared=include_declared))
    return list(response.tables)


def namespaces(catalog: LanceNamespace, *namespace: str) -> list[str]:
    return list(catalog.list_namespaces(ListNamespacesRequest(id=list(namespace))).namespaces)


def count(catalog: LanceNamespace, *names: str) -> int:
    """The rows that pylance finds where the catalog says that the table lies."""
    response = catalog.describe_table(DescribeTableRequest(id=list(names)))
    return lance.dataset(str(response.location), storage_options=response.storage_options).count_rows()


def is_declared(catalog: LanceNamespace, *names: str) -> bool | None:
    response = catalog.describe_table(DescribeTableRequest(id=list(names), check_declared=True))
    return response.is_only_declared
