"""Catalogs behind HTTP: how long they wait and how often they ask again.

The server that is slow is a fake, since no real one stalls when it is asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import tenacity.nap

from lanceway.catalogs import IcebergCatalog, RestCatalog, UnityCatalog
from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.metastore.iceberg.settings import IcebergSettings
from lanceway.catalogs.unity.client import UnitySettings
from lanceway.config import read_settings
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


# -- defaults ------------------------------------------------------------------------------------


def seconds(settings: Mapping[str, Any]) -> tuple[float, float, int]:
    """Return what the HTTP client gets: for a connection, for an answer, and how often it asks again."""
    return settings["connect_timeout"], settings["timeout"], settings["retries"]


def unity_client(**given: str) -> Mapping[str, Any]:
    properties = {"endpoint": "http://localhost", "catalog": "c", **given}
    return UnitySettings.read("Unity", read_settings("Unity", UnityCatalog.SETTINGS, properties)).client


def iceberg_client(**given: str) -> Mapping[str, Any]:
    properties = {"endpoint": "http://localhost", **given}
    return IcebergSettings.read("Iceberg", read_settings("Iceberg", IcebergCatalog.SETTINGS, properties)).client


def test_time_outs_and_retries_are_the_specifications_in_its_units() -> None:
    assert seconds(unity_client()) == (10.0, 60.0, 3)
    assert seconds(iceberg_client()) == (10.0, 30.0, 3)
    assert seconds(read_settings("REST", RestCatalog.SETTINGS, {"uri": "http://localhost"})) == (10.0, 300.0, 3)
    times = {"connect_timeout": "1500", "read_timeout": "2500", "max_retries": "7"}
    assert seconds(unity_client(**times)) == (1500.0, 2500.0, 7)
    assert seconds(iceberg_client(**times)) == (1.5, 2.5, 7)


def test_iceberg_tells_its_time_outs_in_milliseconds_and_unity_in_seconds() -> None:
    shown = {kind: {row.name: row.help for row in kind.SETTINGS} for kind in (IcebergCatalog, UnityCatalog)}
    for name in ("connect_timeout", "read_timeout"):
        assert "milliseconds" in shown[IcebergCatalog][name]
        assert " seconds" in shown[UnityCatalog][name]
