"""Changes that are made through a server in mounted catalogs leave events, by whichever interface they come."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.new_lakes import new_lake
from tests.server.api.test_catalogs import ARROW, CATALOGS, Site
from tests.server.server_helpers import stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers.run import Run

EVENTS = "/lanceway/v1/events"
CONFIGURED = "filed"
# All that can be granted, and yet no ownership.
READER = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "CREATE_TABLE", "CREATE_SCHEMA")


@pytest.fixture(scope="module")
def site(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home, configured = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("configured")
    allowed = tmp_path_factory.mktemp("allowed")
    settings = (
        f'[server]\nworker = false\nallowed_locations = "{home / "warehouse"},{allowed}"\n'
        f'[catalogs.{CONFIGURED}]\ntype = "dir"\npath = "{configured}"\nlayout = "manifest"\n'
    )
    server = lanceway_server.start(whole_run, name="mounted-events", home=home, settings=settings)
    yield Site([server], allowed)
    assert server.stop() == 0


@pytest.fixture
def made(site: Site) -> str:
    """A catalog that was made while the server runs, of nested folders."""
    name = f"c{uuid.uuid4().hex[:10]}"
    (site.allowed / name).mkdir()
    settings = {"path": str(site.allowed / name), "layout": "manifest"}
    site.make(name, type="dir", settings=settings).raise_for_status()
    return name


def ask(site: Site, method: str, path: str, token: str | None = None, **options: Any) -> Any:
    answer = site.ask(method, path, token=token, **options)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def latest(site: Site) -> str:
    return str(ask(site, "GET", EVENTS, params={"after": "latest"})["cursor"])


def told(site: Site, after: str, token: str | None = None, **query: Any) -> list[tuple[str, str]]:
    """The types and subjects of events about objects inside catalogs."""
    page = ask(site, "GET", EVENTS, token=token, params={"after": after, "types": "namespace,table", **query})
    return [(event["type"].removeprefix("io.lanceway."), event["subject"]) for event in page["events"]]


@pytest.mark.parametrize("kind", ["made", "configured"])
def test_every_change_by_every_interface_leaves_one(site: Site, made: str, kind: str) -> None:
    catalog = made if kind == "made" else CONFIGURED
    after = latest(site)
    ask(site, "POST", f"/lance/v1/namespace/{catalog}$lance/create", json={})
    ask(site, "POST", f"/lance/v1/table/{catalog}$lance$t/create", content=stream(table(1)), headers=ARROW)
    ask(site, "POST", f"/lance/v1/table/{catalog}$lance$d/declare", json={})
    schemas = f"/api/metalakes/lanceway/catalogs/{catalog}/schemas"
    ask(site, "POST", schemas, json={"name": "gravitino", "comment": None, "properties": {}})
    ask(site, "DELETE", f"{schemas}/gravitino")
    ask(site, "POST", f"/lance/v1/table/{catalog}$lance$t/drop", json={})
    ask(site, "POST", f"/lance/v1/table/{catalog}$lance$d/deregister", json={})
    ask(site, "POST", f"/lance/v1/namespace/{catalog}$lance/drop", json={})
    assert told(site, after) == [
        ("namespace.created", f"{catalog}$lance"),
        ("table.created", f"{catalog}$lance$t"),
        ("table.created", f"{catalog}$lance$d"),
        ("namespace.created", f"{catalog}$gravitino"),
        ("namespace.dropped", f"{catalog}$gravitino"),
        ("table.dropped", f"{catalog}$lance$t"),
        ("table.deregistered", f"{catalog}$lance$d"),
        ("namespace.dropped", f"{catalog}$lance"),
    ]
    assert told(site, after, under=f"{catalog}$gravitino") == [
        ("namespace.created", f"{catalog}$gravitino"),
        ("namespace.dropped", f"{catalog}$gravitino"),
    ]
    event = ask(site, "GET", EVENTS, params={"after": after, "under": f"{catalog}$lance$t"})["events"][0]
    assert event["data"] == {"kind": "table", "object": [catalog, "lance", "t"], "actor": "admin"}


def test_logical_paths_of_another_lake(site: Site, tmp_path: Path) -> None:
    name = f"c{uuid.uuid4().hex[:10]}"
    settings = {"uri": new_lake(tmp_path / "lake.db"), "root": str(tmp_path / "data")}
    site.make(name, type="lake", settings=settings).raise_for_status()
    after = latest(site)
    ask(site, "POST", "/lanceway/v1/schemas", json={"name": f"{name}.a:b"})
    ask(site, "POST", "/lanceway/v1/schemas", json={"name": f"{name}.a:c"})
    ask(site, "POST", "/lanceway/v1/schemas/alter", json={"name": f"{name}.a:b", "set": {"x": "y"}})
    ask(site, "POST", "/lanceway/v1/schemas/drop", json={"name": f"{name}.a:b"})
    assert told(site, after) == [
        ("namespace.created", f"{name}$a"),
        ("namespace.created", f"{name}$a$b"),
        ("namespace.created", f"{name}$a$c"),
        ("namespace.altered", f"{name}$a$b"),
        ("namespace.dropped", f"{name}$a$b"),
    ]


def test_a_table_that_is_renamed_says_what_it_was(site: Site, made: str) -> None:
    ask(site, "POST", f"/lance/v1/namespace/{made}$a/create", json={})
    ask(site, "POST", f"/lance/v1/table/{made}$a$t/create", content=stream(table(1)), headers=ARROW)
    after = latest(site)
    renamed = site.ask("POST", f"/lance/v1/table/{made}$a$t/rename", json={"new_table_name": "u"})
    assert renamed.is_success, renamed.text
    (event,) = ask(site, "GET", EVENTS, params={"after": after, "types": "table"})["events"]
    assert (event["type"], event["subject"]) == ("io.lanceway.table.renamed", f"{made}$a$u")
    assert event["data"]["previous"] == ["a", "t"]


def test_what_changed_nothing_leaves_none(site: Site, made: str) -> None:
    space = f"/lance/v1/namespace/{made}$a"
    ask(site, "POST", f"{space}/create", json={})
    after = latest(site)
    ask(site, "POST", f"{space}/create", json={"mode": "exist_ok"})
    assert site.ask("POST", f"{space}/create", json={}).status_code == 409
    assert site.ask("POST", f"/lance/v1/table/{made}$a$none/drop", json={}).status_code == 404
    ask(site, "POST", f"/lance/v1/namespace/{made}$none/drop", json={"mode": "skip"})
    assert told(site, after) == []
    ask(site, "POST", f"/lance/v1/namespace/{made}$b/create", json={"mode": "exist_ok"})
    assert told(site, after) == [("namespace.created", f"{made}$b")], "what was not there was made"


def test_they_are_for_those_who_own_the_catalog(site: Site, made: str) -> None:
    reader = site.token(f"reader-{made}", *READER)
    owner = site.token(f"owner-{made}", "USE_CATALOG")
    given = {"object": made, "kind": "catalog", "user": f"owner-{made}"}
    ask(site, "PUT", "/lanceway/v1/owners", json=given)
    after = latest(site)
    ask(site, "POST", f"/lance/v1/namespace/{made}$secret/create", json={})
    ask(site, "POST", f"/lance/v1/namespace/{CONFIGURED}$s{made}/create", json={})
    assert told(site, after, owner) == [("namespace.created", f"{made}$secret")]
    assert told(site, after, reader) == []
    page = ask(site, "GET", EVENTS, token=owner, params={"after": after, "types": "namespace"})
    assert "actor" not in page["events"][0]["data"], "who did it is for those who may manage users"
    assert "mount" not in page["events"][0]["data"]


def test_a_later_catalog_of_the_name_does_not_show_what_happened_in_the_former(site: Site, made: str) -> None:
    after = latest(site)
    ask(site, "POST", f"/lance/v1/namespace/{made}$secret/create", json={})
    ask(site, "POST", f"{CATALOGS}/{made}/alter", json={"name": f"{made}-new"})
    assert told(site, after) == [("namespace.created", f"{made}$secret")]
    maker = site.token(f"maker-{made}", "CREATE_CATALOG")
    (site.allowed / f"{made}-other").mkdir()
    settings = {"path": str(site.allowed / f"{made}-other"), "layout": "manifest"}
    site.make(made, token=maker, type="dir", settings=settings).raise_for_status()
    assert told(site, after, maker) == [], "the name is another's now"
    ask(site, "POST", f"/lance/v1/namespace/{made}$mine/create", token=maker, json={})
    assert told(site, after, maker) == [("namespace.created", f"{made}$mine")]


def test_a_change_stands_without_its_event_where_none_can_be_written(site: Site, made: str, tmp_path: Path) -> None:
    """At most once: the service has made the change by then, and the answer says so."""
    import sqlite3

    after = latest(site)
    with sqlite3.connect(site.home / "lake.db") as database:
        database.execute("CREATE TRIGGER refuse BEFORE INSERT ON feed BEGIN SELECT RAISE(ABORT, 'no room'); END")
    try:
        ask(site, "POST", f"/lance/v1/namespace/{made}$a/create", json={})
    finally:
        with sqlite3.connect(site.home / "lake.db") as database:
            database.execute("DROP TRIGGER refuse")
    ask(site, "POST", f"/lance/v1/namespace/{made}$a/exists", json={})
    assert told(site, after) == []
    assert "could not be recorded" in site.servers[0].lines()
