"""The routes of Gravitino REST: each path means one operation, with its names decoded."""

from __future__ import annotations

import pytest

from lanceway.errors import InvalidInputError
from lanceway.server.gravitino.dialect import HANDLERS
from lanceway.wire import gravitino
from lanceway.wire.gravitino import ROUTES, STATUS, TYPES


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_each_route_is_found_by_its_path(route: gravitino.GravitinoRoute) -> None:
    names = [part[1:-1] for part in route.parts if part.startswith("{")]
    path = route.path.format(**{name: f"a%3A%2F{name}" for name in names})
    for sent in (path, f"{path}/"):
        match = gravitino.match(sent)
        assert match.methods[route.method] is route
        assert match.names == {name: f"a:/{name}" for name in names}


def test_each_route_has_a_handler() -> None:
    assert {route.operation for route in ROUTES} == set(HANDLERS)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


def test_other_paths() -> None:
    assert gravitino.match("/metalakes/m/tags/t/more").unsupported == "Tags"
    assert not gravitino.match("/nothing").methods
    assert not gravitino.match("/metalakes//catalogs").methods
    with pytest.raises(InvalidInputError, match="UTF-8"):
        gravitino.match("/metalakes/%ff")


def test_every_code_has_a_status_and_a_type() -> None:
    assert set(STATUS) == set(TYPES)


def test_every_body_has_a_type() -> None:
    assert all(route.body is not None for route in ROUTES if route.reads)
