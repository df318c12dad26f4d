"""What the event loop answers itself is what the catalog would have answered on a thread."""

from __future__ import annotations

import pytest

from tests.server.server_helpers import Id, ask, created, refused, space
from tests.servers.lanceway import Lanceway

pytestmark = pytest.mark.server


@pytest.fixture
def table(server: Lanceway) -> Id:
    return created(server, 1, 2, 3)


def test_describe(server: Lanceway, table: Id) -> None:
    plain = ask(server, "table", table, "describe", {}).json()
    # `check_declared` is no question for the event loop.
    slow = ask(server, "table", table, "describe", {"check_declared": True}).json()
    assert slow.pop("is_only_declared") is False
    assert plain == slow
    assert plain["location"]
    assert plain["managed_versioning"] is True


def test_exists(server: Lanceway, table: Id) -> None:
    assert ask(server, "table", table, "exists", {}).status_code == 200
    assert refused(ask(server, "table", [*table[:-1], "other"], "exists", {})) == (404, 4)
    assert refused(ask(server, "table", ["lake", "nowhere", "t"], "exists", {})) == (404, 1)
    assert ask(server, "table", table, "drop").status_code == 200
    assert refused(ask(server, "table", table, "exists", {})) == (404, 4)


@pytest.mark.parametrize("field", ["vend_credentials", "load_detailed_metadata", "check_declared"])
def test_a_wrong_field_is_refused(server: Lanceway, table: Id, field: str) -> None:
    assert refused(ask(server, "table", table, "describe", {field: [1]})) == (400, 13)


def test_pages(server: Lanceway) -> None:
    """Short pages come from the event loop, long ones from a thread, and their tokens fit each other."""
    inside = space(server)
    names = [f"t{number:03}" for number in range(7)]
    for name in names:
        assert ask(server, "table", [*inside, name], "declare", {}).status_code == 200
    found: list[str] = []
    token: str | None = None
    for limit in (2, 1000, 3):
        if limit == 1000:
            whole = ask(server, "namespace", inside, "table/list", params={"limit": 1000, "page_token": token}).json()
            assert found + whole["tables"] == names
            continue
        asked = {"limit": str(limit), **({"page_token": token} if token else {})}
        page = ask(server, "namespace", inside, "table/list", params=asked).json()
        found, token = found + page["tables"], page.get("page_token")
    assert found == names[:5]
    last = ask(server, "namespace", inside, "table/list", params={"limit": 2, "page_token": token}).json()
    assert last == {"tables": names[5:]}
    assert ask(server, "namespace", space(server), "table/list", params={"limit": 2}).json() == {"tables": []}
    assert refused(ask(server, "namespace", inside, "table/list", params={"limit": 0})) == (400, 13)
    wrong = {"limit": 2, "page_token": "wrong"}
    assert refused(ask(server, "namespace", inside, "table/list", params=wrong)) == (400, 13)
