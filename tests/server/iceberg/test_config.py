"""The configuration that a client asks for first."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from lanceway.wire import iceberg
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, new_token, refused
from tests.servers.lanceway import Lanceway


def test_a_warehouse_is_a_catalog_of_the_tree(admin: IcebergAsker) -> None:
    answer = admin.client.get("/iceberg/v1/config", params={"warehouse": admin.catalog})
    body = answer.json()
    assert body["overrides"] == {"prefix": admin.catalog, "namespace-separator": "%1F"}
    assert body["idempotency-key-lifetime"] == "PT30M"
    assert "token" not in body["defaults"]
    read = iceberg.read_config(body)
    assert read.has("create_namespace")
    assert read.separator == "\x1f"


def test_without_a_warehouse_it_is_the_lake(admin: IcebergAsker) -> None:
    assert admin.client.get("/iceberg/v1/config").json()["overrides"]["prefix"] == "lake"


def test_every_endpoint_that_is_announced_is_served(admin: IcebergAsker) -> None:
    body = admin.client.get("/iceberg/v1/config", params={"warehouse": admin.catalog}).json()
    for endpoint in body["endpoints"]:
        method, path = endpoint.split()
        filled = path.format(prefix=admin.catalog, namespace="none", table="none", view="none")
        answer = admin.client.request(method, f"/iceberg{filled}", content=b"", headers={"content-type": "text/plain"})
        assert answer.status_code not in (405, 501), endpoint
        if answer.status_code == 404 and method != "HEAD":
            assert answer.json()["error"]["type"] != iceberg.NO_ROUTE, endpoint


@pytest.mark.parametrize("name", ["none", "..", "ä b", "a/b"])
def test_a_warehouse_that_is_missing(admin: IcebergAsker, name: str) -> None:
    answer = admin.client.get("/iceberg/v1/config", params={"warehouse": name})
    assert refused(answer) == (404, "NoSuchWarehouseException")


def test_one_that_is_hidden_is_missing(server: Lanceway, admin: IcebergAsker) -> None:
    store = lake_of(server)
    token = new_token(store, "stranger-to-warehouses")
    store.close()
    with asking(server, token, admin.catalog) as stranger:
        hidden = stranger.client.get("/iceberg/v1/config", params={"warehouse": admin.catalog})
        missing = stranger.client.get("/iceberg/v1/config", params={"warehouse": "none"})
        assert refused(hidden) == refused(missing) == (404, "NoSuchWarehouseException")
        assert hidden.text.replace(admin.catalog, "none") == missing.text
        default = stranger.client.get("/iceberg/v1/config")
        assert refused(default) == (400, "BadRequestException")


def test_the_prefix_can_be_pasted_into_a_path(admin: IcebergAsker) -> None:
    name = f"{admin.catalog} ä"
    admin.client.post(f"/lance/v1/namespace/{quote(name)}/create", json={}).raise_for_status()
    prefix = admin.client.get("/iceberg/v1/config", params={"warehouse": name}).json()["overrides"]["prefix"]
    assert admin.client.get(f"/iceberg/v1/{prefix}/namespaces").json() == {"namespaces": []}


def test_the_description_has_every_operation(admin: IcebergAsker) -> None:
    document = admin.client.get("/openapi-iceberg.json").json()
    described = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    announced = admin.client.get("/iceberg/v1/config").json()["endpoints"]
    assert described == {*announced, "GET /v1/config"}
