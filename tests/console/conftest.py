"""A browser, and a person in front of it."""

from __future__ import annotations

import base64
import shutil
import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask, stream
from tests.servers.lanceway import Lanceway

# A picture of one pixel.
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
CHROMIUM = shutil.which("chromium") or "chromium: make sure that there is one with scripts/machine test"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


# Of this folder alone: as long as it runs, no other test of the process can have an event loop of its own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A real Chromium, with a profile of its own; each person has a context, which shares nothing with others."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def person(browser: Browser, server: Lanceway) -> Iterator[Person]:
    """A person who has signed in as the administrator of the shared server."""
    with Person(browser, server.address, server.token) as one:
        yield one


@pytest.fixture(scope="module")
def shop(server: Lanceway) -> Id:
    """A namespace of this module's own."""
    id_ = ["lake", f"shop{uuid.uuid4().hex[:8]}"]
    assert ask(server, "namespace", id_, "create").status_code == 200
    return id_


@pytest.fixture(scope="module")
def fruit(server: Lanceway, shop: Id) -> Id:
    """A table with texts, vectors, nested values and images."""
    id_ = [*shop, "fruit"]
    assert ask(server, "table", id_, "create", content=stream(fruit_rows(40))).status_code == 200
    return id_


def fruit_rows(count: int) -> pa.Table:
    vectors = [[float(row), 1.0, 0.0, -1.0] for row in range(count)]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "name": [f"fruit {row}" for row in range(count)],
            "vector": pa.array(vectors, pa.list_(pa.float32(), 4)),
            "large": pa.array([2**60 + row for row in range(count)], pa.int64()),
            "picture": pa.array([DOT] * count, pa.binary()),
            "origin": [{"country": "Peru", "farms": [1, 2]}] * count,
        }
    )
