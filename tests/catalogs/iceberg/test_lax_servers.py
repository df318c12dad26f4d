"""Servers of less strict kinds, which are fakes: the suite's own servers refuse what these take.

One makes tables in namespaces that are missing, as Iceberg's JDBC catalog does without its strict mode; others have
paths with a prefix alone, do not announce it, and answer a path without it in a way of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs import IcebergCatalog
from lanceway.errors import NamespaceNotFoundError
from tests.servers.faults import Seen, answer, faults

CONFIG = answer(200, {"defaults": {}, "overrides": {}})


def failure(status: int, type_: str) -> bytes:
    return answer(status, {"error": {"message": "so it is", "type": type_, "code": status}})


def loaded(seen: Seen) -> dict[str, Any]:
    body = seen.json
    return {"metadata": {"location": body["location"], "table-uuid": "u", "properties": body["properties"]}}


def lax(seen: Seen) -> bytes:
    """Make any table, in no namespace."""
    if seen.path == "/v1/config":
        return CONFIG
    if seen.method == "POST":
        return answer(200, loaded(seen))
    if seen.path == "/v1/namespaces":
        return answer(200, {"namespaces": []})
    return failure(404, "NoSuchNamespaceException")


def test_a_table_is_not_declared_in_a_namespace_that_is_missing(tmp_path: Path) -> None:
    with faults() as server, IcebergCatalog(endpoint=server.uri, warehouse="w", root=str(tmp_path)) as catalog:
        server.will(*[lax] * 9)
        with pytest.raises(NamespaceNotFoundError, match=r"no namespace w\.missing"):
            catalog.declare_table({"id": ["w", "missing", "t"]})
        assert [seen.path for seen in server.seen if seen.method == "POST"] == []


@pytest.mark.parametrize("status", [400, 404, 405])
@pytest.mark.parametrize("enveloped", [True, False], ids=["in Iceberg's form", "bare"])
def test_the_warehouse_is_the_prefix_of_last_resort(status: int, enveloped: bool) -> None:
    refusal = failure(status, "BadRequestException") if enveloped else answer(status, b"no such path")

    def prefixed(seen: Seen) -> bytes:
        if seen.path == "/v1/config":
            return CONFIG
        return answer(200, {"namespaces": [["s"]]}) if seen.path == "/v1/w/namespaces" else refusal

    with faults() as server, IcebergCatalog(endpoint=server.uri, warehouse="w") as catalog:
        server.will(*[prefixed] * 9)
        assert catalog.list_namespaces({"id": ["w"]}).namespaces == ["s"]
