"""The proxy does the harm that it is told to do, and no other."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.servers.iceberg import Iceberg
from tests.servers.proxy import Break, Delay, Halve, Lose, Proxy, Refuse


@pytest.fixture
def proxy(iceberg: Iceberg) -> Iterator[Proxy]:
    with Proxy(iceberg.endpoint) as running:
        yield running


def config(proxy: Proxy, **options: float) -> httpx.Response:
    return httpx.get(f"{proxy.endpoint}/v1/config", **options)


def test_without_a_fault_it_is_the_server(proxy: Proxy, iceberg: Iceberg) -> None:
    assert config(proxy).json() == httpx.get(f"{iceberg.endpoint}/v1/config").json()
    assert proxy.requests == [("GET", "/v1/config")]


def test_a_fault_happens_once_and_to_whom_it_is_meant_for(proxy: Proxy) -> None:
    proxy.next(Refuse(503, {"Retry-After": "7"}, b"later", path="config"), Refuse(500, method="DELETE"))
    refused = config(proxy)
    assert (refused.status_code, refused.headers["retry-after"], refused.text) == (503, "7", "later")
    assert config(proxy).status_code == 200
    assert proxy.waiting == [Refuse(500, method="DELETE")]


@pytest.mark.parametrize("fault", [Break(), Lose(), Halve()], ids=lambda fault: type(fault).__name__)
def test_an_answer_that_does_not_come_whole(proxy: Proxy, fault: Break | Lose | Halve) -> None:
    proxy.next(fault)
    with pytest.raises(httpx.RemoteProtocolError):
        config(proxy)
    assert config(proxy).status_code == 200


def test_half_an_answer_may_look_whole(proxy: Proxy) -> None:
    proxy.next(Halve(honest=True))
    assert config(proxy).content == config(proxy).content[: len(config(proxy).content) // 2]


def test_an_answer_may_come_late(proxy: Proxy) -> None:
    proxy.next(Delay(5))
    with pytest.raises(httpx.ReadTimeout):
        config(proxy, timeout=0.5)
