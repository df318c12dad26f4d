"""The same tables by the layer for users, over a folder, a lake and a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import lanceway
from lanceway import Catalog, Table
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.identifiers import Identifier

FRUIT = [
    {"id": 1, "name": "apple", "price": 2.5, "taste": [0.9, 0.2]},
    {"id": 2, "name": "banana", "price": 1.5, "taste": [1.0, 0.0]},
    {"id": 3, "name": "cherry", "price": 8.0, "taste": [0.6, 0.8]},
]


@pytest.fixture(params=["dir", "lake", "rest"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    """An empty catalog."""
    if request.param == "rest":
        server = request.getfixturevalue("server")
        with lanceway.connect(server.address, token=server.token) as whole:
            place = ["lake", f"n{uuid.uuid4().hex}"]
            whole.create_namespace({"id": place})  # type: ignore[arg-type]
            yield Subtree(whole, Identifier(place))  # type: ignore[misc]
    else:
        place = "./warehouse" if request.param == "dir" else "sqlite:///lake.db"
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            opened = lanceway.connect(place if request.param == "lake" else tmp_path / "warehouse")
        with opened:
            yield opened


@pytest.fixture
def fruit(lake: Catalog) -> Table:
    return lake.create("team.fruit", FRUIT)
