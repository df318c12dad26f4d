"""Lists of a mounted catalog that is slow, with all tables hidden but one: 503 at the deadline, never a short page."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

import pytest

from lanceway.catalogs.contract.base import Catalog
from lanceway.identifiers import Identifier
from tests.paths import REPOSITORY
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

SECONDS = 2.0  # that a page takes
LIST = "/lance/v1/namespace/slow/table/list"


class SlowCatalog(Catalog):
    """A catalog without end: the tables of its root are t00000000, t00000001 and so on."""

    TYPE = "slow"

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        time.sleep(SECONDS)
        first = 0 if after is None else int(after[1:]) + 1
        return [f"t{number:08}" for number in range(first, first + (limit or 100))]


@pytest.fixture
def server(whole_run: Run) -> Iterator[Lanceway]:
    settings = f'[catalogs.slow]\ntype = "{__name__}.{SlowCatalog.__name__}"\n'
    path = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    started = lanceway.start(whole_run, name="slow", settings=settings, environment={"PYTHONPATH": path})
    yield started
    started.stop()


def test_a_page_that_cannot_be_filled_in_time_is_refused(server: Lanceway) -> None:
    """One name is found on the way, which is no page: others might follow."""
    token = server.token_for("ada", "USE_CATALOG", "USE_SCHEMA")
    change = {"role": "role-of-ada", "object": "slow$t00000012", "kind": "table", "privilege": "SELECT_TABLE"}
    with server.client() as admin, server.client(headers={"x-api-key": token}) as ada:
        admin.post("/lanceway/v1/grants", json={"changes": [change]}).raise_for_status()
        assert len(admin.get(LIST, params={"limit": 5}).raise_for_status().json()["tables"]) == 5
        answer = ada.get(LIST, params={"limit": 5})
    assert (answer.status_code, answer.json()["code"]) == (503, 17), answer.text
    assert "could not be completed within 20 seconds" in answer.json()["error"]
    assert "t00000012" not in answer.text
