"""A server that breaks on demand, and naps that are noted and not taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tenacity.nap

from lanceway.wire.http import Client
from tests.servers import faults as fake
from tests.servers.faults import Faults
from tests.wire.client_helpers import connected


@pytest.fixture
def faults() -> Iterator[Faults]:
    with fake.faults() as server:
        yield server


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each wait between two attempts would have been."""
    waits: list[float] = []
    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=waits.append))
    return waits


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def make(*args: Any, **given: Any) -> Client:
        clients.append(connected(*args, **given))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
