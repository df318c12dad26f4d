"""Every test of tokens runs on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.access.issuer import Issuer
from tests.catalogs.conftest import fake_unity as fake_unity
from tests.catalogs.conftest import glue as glue
from tests.catalogs.conftest import glue_server as glue_server
from tests.catalogs.conftest import unity as unity
from tests.catalogs.conftest import unity_process as unity_process
from tests.lake.conftest import store as store
from tests.lake.conftest import uri as uri


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running
