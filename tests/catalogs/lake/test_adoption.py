"""Tables that an older version made: tags, branches and definitions in their storage become rows once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pytest
from sqlalchemy import text

import lanceway
from lanceway.identifiers import Identifier
from lanceway.lake.versions import refs
from tests.lake.homes.restore import Home, restore
from tests.servers.postgres import Postgres

ORDERS, LARGE = ["team", "orders"], ["team", "large"]
VERSION = 4  # of the database before tags, branches and definitions were rows


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    server: Postgres | None = None if request.param == "sqlite" else request.getfixturevalue("postgres")
    restored = restore(VERSION, tmp_path, server)
    yield restored
    if server is not None:
        server.execute(f"DROP DATABASE {restored.uri.rpartition('/')[2]} WITH (FORCE)")


@pytest.fixture
def lake(home: Home) -> Iterator[Any]:
    with lanceway.connect("lake", uri=home.uri, root=str(home.root), user="bob") as lake:
        yield lake


def tags(lake: Any) -> dict[str, tuple[str | None, int]]:
    listed = lake.list_table_tags({"id": ORDERS}).tags
    return {name: (tag.branch, tag.version) for name, tag in listed.items()}


BOTH = {"reviewed": (None, 1), "tried": ("trial", 2)}


def test_what_storage_has_is_adopted_for_the_owner_of_the_table(lake: Any) -> None:
    row = lake._tables.row(Identifier(ORDERS))
    assert not row.adopted
    assert tags(lake) == BOTH
    assert lake._tables.row(Identifier(ORDERS)).adopted
    (branch,) = lake._lake.read(refs.branches_of, row.id)
    assert (branch.name, branch.parent, branch.parent_version, branch.state) == ("trial", "", 1, "written")
    assert {tag.owner for tag in lake._lake.read(refs.tags_of, row.id)} == {"ada"}
    (column, *of_branch) = lake.list_definitions(ORDERS)
    assert (column.name, column.definition, column.owner) == ("total", {"expression": "price * amount"}, "ada")
    assert {each.branch for each in of_branch} <= {"trial"}
    (view,) = lake.list_definitions(LARGE)
    assert (view.kind, view.definition["source"], view.owner) == ("view", ORDERS, "ada")


def test_it_is_adopted_once(lake: Any) -> None:
    place = lake.describe_table({"id": ORDERS}).location
    assert tags(lake) == BOTH
    lance.dataset(place).tags.create("rogue", 1)
    lake.delete_table_tag({"id": ORDERS, "tag": "reviewed"})
    assert sorted(tags(lake)) == ["tried"]


@pytest.mark.parametrize(
    "touch",
    [
        lambda lake: lake.get_table_tag_version({"id": ORDERS, "tag": "reviewed"}),
        lambda lake: lake.create_table_tag({"id": ORDERS, "tag": "reviewed2", "version": 1}),
        lambda lake: lake.list_table_branches({"id": ORDERS}),
        lambda lake: lake.describe_table({"id": ORDERS, "tag": "reviewed"}),
        lambda lake: lake.column_definitions(ORDERS, None),
        lambda lake: lake.reconcile(ORDERS),
    ],
    ids=["get", "create", "branches", "describe", "definitions", "reconcile"],
)
def test_whatever_touches_it_first_adopts_it(lake: Any, touch: Any) -> None:
    touch(lake)
    assert lake._tables.row(Identifier(ORDERS)).adopted
    assert tags(lake).items() >= BOTH.items()


def test_a_tagged_version_of_an_older_home_is_not_deleted(lake: Any) -> None:
    ranges = [{"start_version": 1, "end_version": 2}]
    with pytest.raises(lanceway.errors.InvalidTableStateError, match=r"1 \(reviewed\)"):
        lake.batch_delete_table_versions({"id": ORDERS, "ranges": ranges})


def test_many_at_once_adopt_it_once(home: Home, lake: Any) -> None:
    others = [lanceway.connect("lake", uri=home.uri, root=str(home.root), user=f"u{number}") for number in range(6)]
    found: list[object] = []

    def touch(other: Any) -> None:
        found.append((tags(other), list(other.list_table_branches({"id": ORDERS}).branches)))

    threads = [threading.Thread(target=touch, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(BOTH, ["trial"])] * 6
    row = lake._tables.row(Identifier(ORDERS))
    assert len(lake._lake.read(refs.tags_of, row.id)) == 2
    for other in others:
        other.close()  # type: ignore[attr-defined]


def test_a_failure_half_way_adopts_nothing(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from lanceway.lake.tree import tables

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(tables, "mark_adopted", die)
        with pytest.raises(Killed):
            tags(lake)
    assert lake._lake.read(lambda connection: connection.execute(text("SELECT count(*) FROM tags")).scalar()) == 0
    assert tags(lake) == BOTH


def test_a_new_table_has_nothing_to_adopt(lake: Any) -> None:
    lake.declare_table({"id": ["new"]})
    assert lake._tables.row(Identifier(["new"])).adopted
