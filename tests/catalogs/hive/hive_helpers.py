"""Catalogs over a Hive Metastore for tests, and the metastore as its other clients see it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from lanceway.catalogs import HiveCatalog
from tests.servers.hive import Hive

ROWS = pa.table({"id": [1, 2, 3]})


def connect(hive: Hive, root: Path | None = None, **settings: Any) -> HiveCatalog:
    return HiveCatalog(uri=hive.uri, root=None if root is None else str(root), **settings)


def database(catalog: HiveCatalog, parent: str = "hive", **properties: str) -> list[str]:
    """A new database that nothing else uses."""
    space = [parent, f"d{uuid.uuid4().hex[:12]}"]
    catalog.create_namespace({"id": space, "properties": properties})
    return space


def create(catalog: HiveCatalog, id_: list[str], **options: Any) -> list[str]:
    catalog.create_table_stream({"id": id_, **options}, ROWS.to_reader())
    return id_


@contextmanager
def other_client(hive: Hive) -> Iterator[Any]:
    """The metastore without Lanceway in between, as Hive and Spark speak to it."""
    parts = urlsplit(hive.uri)
    transport = TBufferedTransport(TSocket(parts.hostname, parts.port))
    transport.open()
    try:
        yield ThriftHiveMetastore.Client(TBinaryProtocol(transport))
    finally:
        transport.close()


def seen_by_hive(hive: Hive, table: list[str]) -> Any:
    """The row of a table as the metastore gives it to others."""
    catalog, name, table_name = table
    with other_client(hive) as client:
        request = ttypes.GetTableRequest(dbName=name, tblName=table_name, catName=catalog)
        return client.get_table_req(request).table
