"""Every operation of the catalogs behind HTTP has the code of what its server answers: 16, 17 and 18.

On a fake, since no real server refuses and fails on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanceway.catalogs import GravitinoCatalog, IcebergCatalog, PolarisCatalog, RestCatalog, UnityCatalog
from lanceway.catalogs.contract.base import Catalog
from lanceway.errors import LanceNamespaceError
from lanceway.testing.requests import ask
from tests.servers.faults import Faults, Seen, answer, faults

NAMESPACE, TABLE = ["c", "s"], ["c", "s", "t"]
# Those that are about a namespace. The others are about a table.
ON_A_NAMESPACE = frozenset(
    {
        *("list_namespaces", "describe_namespace", "namespace_exists", "create_namespace", "drop_namespace"),
        *("list_tables", "list_all_tables"),
    }
)
# A transaction is named below its table.
ON_A_TRANSACTION = frozenset({"describe_transaction", "alter_transaction"})
CLASSES: dict[str, type[Catalog]] = {
    "gravitino": GravitinoCatalog,
    "iceberg": IcebergCatalog,
    "polaris": PolarisCatalog,
    "rest": RestCatalog,
    "unity": UnityCatalog,
}
EVERY = [(name, operation) for name, kind in CLASSES.items() for operation in sorted(kind.support()[name])]
STATUSES = {401: 16, 503: 17, 500: 18}


@pytest.fixture
def server() -> Iterator[Faults]:
    with faults() as running:
        yield running


def connect(name: str, uri: str, root: Path) -> Catalog:
    if name == "gravitino":
        return GravitinoCatalog(endpoint=uri, metalake="m", max_retries="0", root=str(root))
    if name == "polaris":
        return PolarisCatalog(endpoint=uri, warehouse="c", prefix="p", max_retries="0", root=str(root))
    if name == "unity":
        return UnityCatalog(endpoint=uri, catalog="c", max_retries="0", root=str(root))
    if name == "iceberg":
        return IcebergCatalog(endpoint=uri, warehouse="c", prefix="p", max_retries="0", root=str(root))
    return RestCatalog(uri=uri, retries="0")


def id_for(operation: str) -> list[str]:
    if operation in ON_A_NAMESPACE:
        return NAMESPACE
    return [*TABLE, "1"] if operation in ON_A_TRANSACTION else TABLE


@pytest.mark.parametrize("status", STATUSES, ids=lambda status: f"{status} is {STATUSES[status]}")
@pytest.mark.parametrize(("name", "operation"), EVERY, ids=lambda value: str(value))
def test_an_operation_has_the_code_of_the_answer(
    server: Faults, name: str, operation: str, status: int, tmp_path: Path
) -> None:
    def refuse(seen: Seen) -> bytes:
        if seen.path.endswith("/v1/config"):  # of Iceberg, which every operation begins with once
            return answer(200, {"defaults": {}, "overrides": {}})
        return answer(status)

    server.will(*[refuse] * 9)
    with connect(name, server.uri, tmp_path) as catalog, pytest.raises(LanceNamespaceError) as refused:
        ask(catalog, operation, id_for(operation))
    assert refused.value.code.value == STATUSES[status]
    assert [seen.path for seen in server.seen if not seen.path.endswith("/v1/config")], "it was asked"


def test_every_catalog_is_asked_for_all_that_it_supports() -> None:
    for name, kind in CLASSES.items():
        assert len(kind.support()[name]) > 45
