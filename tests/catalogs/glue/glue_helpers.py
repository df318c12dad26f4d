"""What the tests of the Glue catalog share: short questions, and ways round the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from lanceway.catalogs import GlueCatalog
from tests.servers.moto import ACCOUNT, Glue

Id = list[str]


def connect(glue: Glue, **settings: Any) -> GlueCatalog:
    return GlueCatalog(**{**glue.settings, **settings})


def database(glue: Glue, name: str = "db", folder: Path | None = None, **input_: Any) -> None:
    """A database that somebody else has made."""
    location = {"LocationUri": folder.as_uri()} if folder else {}
    glue.client().create_database(DatabaseInput={"Name": name, **location, **input_})


def row(name: str, location: str = "s3://somewhere/t.lance", **changes: Any) -> dict[str, Any]:
    """A Lance table in the least that Glue can have of one."""
    least = {
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {"table_type": "LANCE"},
        "StorageDescriptor": {"Location": location},
    }
    return {**least, **changes}


def put(glue: Glue, *rows: dict[str, Any], inside: str = "db") -> None:
    """Tables that somebody else has made, without a request for each."""
    backend = glue.state.root(ACCOUNT)
    for table in rows:
        backend.create_table(inside, table["Name"], table)


def stored(glue: Glue, name: str, inside: str = "db") -> dict[str, Any]:
    """A table as a stock client gets it."""
    table: dict[str, Any] = glue.client().get_table(DatabaseName=inside, Name=name)["Table"]
    return table


def create(catalog: GlueCatalog, table: Id, data: pa.Table | None = None, **options: Any) -> Id:
    content = pa.table({"id": [1, 2, 3]}) if data is None else data
    catalog.create_table_stream({"id": table, **options}, content.to_reader())  # type: ignore[arg-type]
    return table


def declare(catalog: GlueCatalog, *table: str, **options: Any) -> Any:
    return catalog.declare_table({"id": list(table), **options})  # type: ignore[arg-type]


def describe(catalog: GlueCatalog, *table: str, **options: Any) -> Any:
    return catalog.describe_table({"id": list(table), **options})  # type: ignore[arg-type]


def count(catalog: GlueCatalog, *table: str) -> int | None:
    return catalog.count_table_rows({"id": list(table)}).count  # type: ignore[arg-type]


def tables(catalog: GlueCatalog, *namespace: str, **options: Any) -> list[str]:
    return list(catalog.list_tables({"id": list(namespace), **options}).tables)  # type: ignore[arg-type]


def every_table(catalog: GlueCatalog, *namespace: str) -> list[str]:
    return list(catalog.list_all_tables({"id": list(namespace)}).tables)  # type: ignore[arg-type]


def namespaces(catalog: GlueCatalog, *parent: str, **options: Any) -> list[str]:
    return list(catalog.list_namespaces({"id": list(parent), **options}).namespaces)  # type: ignore[arg-type]


def make(catalog: GlueCatalog, *namespace: str, **options: Any) -> Any:
    return catalog.create_namespace({"id": list(namespace), **options})  # type: ignore[arg-type]


def drop(catalog: GlueCatalog, *namespace: str, **options: Any) -> Any:
    return catalog.drop_namespace({"id": list(namespace), **options})  # type: ignore[arg-type]


def properties(catalog: GlueCatalog, *namespace: str) -> dict[str, str]:
    values = catalog.describe_namespace({"id": list(namespace)}).properties  # type: ignore[arg-type]
    return dict(values or {})
