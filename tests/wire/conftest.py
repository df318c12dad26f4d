"""A server that breaks on demand, and naps that are noted and not taken."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import tenacity.nap

from tests.servers import faults as fake
from tests.servers.faults import Faults


@pytest.fixture
def faults() -> Iterator[Faults]:
    with fake.faults() as server:
        yield server


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each wait between two attempts would have been."""
    taken: list[float] = []
    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=taken.append))
    return taken
