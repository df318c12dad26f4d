"""Catalogs behind HTTP over a server that is slow: a fake, since no real one stalls when it is asked to."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import tenacity.nap

from lanceway.catalogs import IcebergCatalog, RestCatalog, UnityCatalog
from lanceway.catalogs.contract.base import Catalog
from lanceway.errors import ServiceUnavailableError
from tests.servers.faults import Step, answer, faults

Connect = Callable[..., Catalog]


def unity(uri: str, *, retries: int) -> Catalog:
    return UnityCatalog(endpoint=uri, catalog="c", read_timeout="0.3", max_retries=str(retries))


def iceberg(uri: str, *, retries: int) -> Catalog:
    return IcebergCatalog(endpoint=uri, warehouse="c", prefix="p", read_timeout="300", max_retries=str(retries))


def rest(uri: str, *, retries: int) -> Catalog:
    return RestCatalog(uri=uri, timeout="0.3", retries=str(retries))


# How each is connected to, what its server says before it lists namespaces, the list, and what its time-out is called.
CATALOGS: list[tuple[Connect, list[Step], Step, str]] = [
    (unity, [], answer(200, {"schemas": [{"name": "s"}]}), "read_timeout"),
    (iceberg, [answer(200, {"defaults": {}, "overrides": {}})], answer(200, {"namespaces": [["s"]]}), "read_timeout"),
    (rest, [], answer(200, {"namespaces": ["s"]}), "timeout"),
]
every_catalog = pytest.mark.parametrize(
    ("connect", "before", "page", "setting"), CATALOGS, ids=["unity", "iceberg", "rest"]
)


def listed(catalog: Catalog) -> list[str]:
    return list(catalog.list_namespaces({"id": ["c"]}).namespaces)  # type: ignore[arg-type]


@pytest.fixture
def no_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send again at once."""
    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=lambda seconds: None))


@every_catalog
@pytest.mark.usefixtures("no_naps")
def test_a_read_that_stalls_is_sent_again(connect: Connect, before: list[Step], page: Step, setting: str) -> None:
    with faults() as server, connect(server.uri, retries=2) as catalog:
        server.will(*before, server.stall, server.stall, page)
        assert listed(catalog) == ["s"]
        assert len(server.seen) == len(before) + 3


@every_catalog
@pytest.mark.usefixtures("no_naps")
def test_a_server_that_never_answers_is_left_with_the_setting_that_says_when(
    connect: Connect, before: list[Step], page: Step, setting: str
) -> None:
    with faults() as server, connect(server.uri, retries=1) as catalog:
        server.will(*before, server.stall, server.stall, page)
        with pytest.raises(ServiceUnavailableError, match=f"The setting {setting} says how long"):
            listed(catalog)
        assert len(server.seen) == len(before) + 2
