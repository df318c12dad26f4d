"""How a server is asked for a warehouse: on a fake, since no server here calls one by an address."""

from __future__ import annotations

import pytest

from lanceway.catalogs import IcebergCatalog
from tests.servers.faults import answer, faults

CONFIG = answer(200, {"defaults": {}, "overrides": {"prefix": "p"}})
NONE = answer(200, {"namespaces": []})


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"warehouse": "bucket", "warehouse_id": "gs://bucket"}, "gs://bucket"),
        ({"warehouse": "bucket"}, "bucket"),
        ({"warehouse": "another", "warehouse_id": "gs://bucket"}, "bucket"),
    ],
    ids=str,
)
def test_a_warehouse_is_asked_for_by_its_id(settings: dict[str, str], asked: str) -> None:
    with faults() as server, IcebergCatalog(endpoint=server.uri, **settings) as catalog:
        server.will(CONFIG, NONE)
        assert catalog.list_namespaces({"id": ["bucket"]}).namespaces == []
        assert server.seen[0].query == [("warehouse", asked)]
        assert server.seen[1].path == "/v1/p/namespaces"


def test_its_id_is_what_pyiceberg_is_told() -> None:
    catalog = IcebergCatalog(endpoint="http://127.0.0.1:1", warehouse="bucket", warehouse_id="gs://bucket")
    assert catalog.client_properties()["warehouse"] == "gs://bucket"
