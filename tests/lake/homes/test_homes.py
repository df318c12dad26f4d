"""Homes of older versions: opened by this code they are upgraded, and all that was in them is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

import lanceway
from lanceway.access import decisions, rules, tokens, users
from lanceway.access.records.feed import read_page
from lanceway.access.rights.actor import Actor
from lanceway.errors import UnauthenticatedError
from lanceway.identifiers import Identifier
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.loop import Worker
from lanceway.lake import issuers
from lanceway.lake.access import facts, grants
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.securables import Securable
from lanceway.lake.feed.reading import FeedFilter, FeedPosition
from lanceway.lake.secrets import SecretKeys, SecretsUnavailableError
from lanceway.lake.store import upgrades
from lanceway.lake.store.database import open_store
from lanceway.lake.store.schema import DENY, OLDEST_CODE, TABLE, VERSION, feed
from lanceway.lake.store.upgrades import State
from lanceway.lake.tree import mounts
from lanceway.lake.users import LastAdminError
from lanceway.tables.read import ipc
from tests.lake.homes.restore import HOMES, SECRET_KEY, Home, restore
from tests.servers.postgres import Postgres

ORDERS = {"id": ["team", "orders"]}
FIRST_WITH_ACCESS_CONTROL, FIRST_WITH_MOUNTS = 6, 11
VERSIONS = sorted(int(folder.name.removeprefix("version")) for folder in HOMES.glob("version*"))


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest, version: int, tmp_path: Path) -> Iterator[Home]:
    server: Postgres | None = None if request.param == "sqlite" else request.getfixturevalue("postgres")
    restored = restore(version, tmp_path, server)
    yield restored
    if server is not None:
        server.execute(f"DROP DATABASE {restored.uri.rpartition('/')[2]} WITH (FORCE)")


@pytest.fixture
def lake(home: Home) -> Iterator[Any]:
    with lanceway.connect("lake", uri=home.uri, root=str(home.root), user="ada") as lake:
        yield lake


def test_an_older_home_is_upgraded_once(home: Home) -> None:
    store = open_store(home.uri)
    assert store.read(upgrades.state) == State(VERSION, OLDEST_CODE)
    store.close()
    open_store(home.uri, upgrade=False).close()


@pytest.mark.parametrize("version", [number for number in VERSIONS if number < FIRST_WITH_ACCESS_CONTROL])
def test_access_control_stays_off_in_a_home_from_before_it(home: Home) -> None:
    """Its objects have owners, and nothing is granted until an administrator turns it on."""
    store = open_store(home.uri)
    caller, place = Caller("stranger"), Securable("lanceway", "lake", Identifier(("team", "orders")), TABLE)
    assert store.read(decisions.decide, caller, "own table", place).reason == decisions.OFF
    found = store.read(facts.load, caller, place)
    assert found.found
    assert [(way.level, way.owner, way.owner_kind) for way in found.places][2:] == [
        ("schema", "ada", "user"),
        ("table", "ada", "user"),
    ]
    assert not decisions.judge_enabled(found, rules.BY_NAME["own table"])
    store.close()


@pytest.mark.parametrize("version", [number for number in VERSIONS if number >= FIRST_WITH_ACCESS_CONTROL])
def test_rights_of_an_older_home_hold(home: Home) -> None:
    store = open_store(home.uri)

    def may(user: str, *names: str) -> bool:
        place = Securable("lanceway", "lake", Identifier(names), TABLE)
        return bool(store.read(decisions.decide, Caller(user), "read table", place))

    assert may("bob", "team", "large")
    assert not may("bob", "team", "orders")  # denied
    assert may("ada", "team", "orders")  # its owner
    assert not may("stranger", "team", "large")
    grant = store.read(grants.on_place, Securable("lanceway", "lake", Identifier(("team", "orders")), TABLE))[0]
    assert (grant.role, grant.privilege, grant.effect, grant.granted_by) == ("readers", "SELECT_TABLE", DENY, "admin")
    store.close()


WITH_MOUNTS = [number for number in VERSIONS if number >= FIRST_WITH_MOUNTS]


@pytest.mark.parametrize("version", WITH_MOUNTS)
def test_the_mount_of_an_older_home_opens_with_its_key_alone(home: Home) -> None:
    store = open_store(home.uri)
    row = store.read(mounts.load, "lanceway", "archive")
    assert (row.type, row.comment, row.disabled, row.secret_names) == ("rest", "Old sales", False, ("token",))
    uri = "http://127.0.0.1:9/lance"
    assert row.opened(SecretKeys(SECRET_KEY)) == {"uri": uri, "token": "secret-of-the-mount"}
    with pytest.raises(SecretsUnavailableError):
        row.opened(SecretKeys("6b" * 32))
    assert "secret-of-the-mount" not in repr(row)
    place = Securable("lanceway", "archive", mounted=True)
    assert store.read(decisions.decide, Caller("bob"), "use catalog", place)
    assert not store.read(decisions.decide, Caller("stranger"), "use catalog", place)
    assert store.read(facts.load, Caller("ada"), place).places[-1].owner == "ada"
    changed = store.transact(mounts.set_enabled, "lanceway", "archive", False, by="ada")
    assert changed.disabled
    store.close()


@pytest.mark.parametrize("version", WITH_MOUNTS)
def test_the_feed_of_an_older_home_goes_on(home: Home) -> None:
    store = open_store(home.uri)

    def rows() -> list[Any]:
        def read(connection: Connection) -> list[Any]:
            return list(connection.execute(select(feed).order_by(feed.c.id)))

        return store.read(read)

    before = rows()
    about = [(row.type, row.catalog, row.name) for row in before]
    assert about.index(("table.created", "lake", "orders")) < about.index(("tag.created", "lake", "orders"))
    assert about[-2:] == [("catalog.created", "archive", ""), ("grant.made", "archive", "")]
    store.transact(mounts.set_enabled, "lanceway", "archive", False, by="ada")
    assert rows()[: len(before)] == before, "what was there is as it was"
    (new,) = rows()[len(before) :]
    assert (new.type, new.catalog, new.actor) == ("catalog.altered", "archive", "ada")
    if not store.is_shared:
        # A dump of PostgreSQL has numbers of transactions that mean something else here: the guide says what to do.
        wanted, start = FeedFilter.of("lanceway", [], None), FeedPosition(before[-1].turn, before[-1].id)
        page = read_page(store, Actor(Caller("admin"), "lanceway"), wanted, start, 10)
        assert [row.type for row, _ in page.events] == ["catalog.altered"]
    store.close()


def test_tokens_of_an_older_home_are_good(home: Home) -> None:
    store = open_store(home.uri)
    assert tokens.verify(store, home.token).token.user == "ada"
    listed = tokens.page(store, dead=True)
    assert [(token.user, token.admin, token.revoked_at is None) for token in listed] == [
        ("admin", True, True),
        ("ada", False, True),
        ("ada", False, True),
        ("bob", False, False),
    ]
    store.close()


def test_users_of_an_older_home_are_enabled_and_of_the_lake(home: Home) -> None:
    store = open_store(home.uri)
    listed, _ = users.described_page(store, disabled=False, limit=None, page_token=None)
    facts = [(user["name"], user["admin"], "issuer" in user) for user in listed]
    assert facts == [("ada", False, False), ("admin", True, False), ("bob", False, False)]
    with pytest.raises(LastAdminError):
        users.disable(store, "admin", by="admin")
    users.disable(store, "ada", by="admin")
    with pytest.raises(UnauthenticatedError, match="'ada' is disabled"):
        tokens.verify(store, home.token)
    users.enable(store, "ada")
    assert tokens.verify(store, home.token).token.user == "ada"
    store.close()


def test_what_an_issuers_user_had_in_an_older_home_is_moved_to_its_name(home: Home) -> None:
    store = open_store(home.uri)
    store.transact(issuers.register, "acme", "https://login.acme.example")
    name, moved = users.rename(store, "ada", "ada@acme")
    assert (name, moved > 0) == ("ada@acme", True)
    assert tokens.verify(store, home.token).token.user == "ada@acme"
    store.close()
    with lanceway.connect("lake", uri=home.uri, root=str(home.root), user="ada@acme") as lake:
        assert {job.requested_by for job in lake.list_jobs()[0]} == {"ada@acme"}


def test_the_tree_of_an_older_home_is_whole(lake: Any) -> None:
    assert lake.list_namespaces({"id": ["team"]}).namespaces == ["eu.west"]
    assert lake.list_tables({"id": ["team"]}).tables == ["large", "orders"]
    assert lake.describe_namespace({"id": ["team"]}).properties["purpose"] == "sales"
    people = lake.query_table({"id": ["team", "eu.west", "people"], "vector": {}, "k": 9})
    assert ipc.read(people.data).read_all()["name"].to_pylist() == ["Zoë"]


def test_tags_and_branches_of_an_older_home_are_there(lake: Any) -> None:
    tags = lake.list_table_tags(ORDERS).tags
    assert {name: (tag.version, tag.branch) for name, tag in tags.items()} == {
        "reviewed": (1, None),
        "tried": (2, "trial"),
    }
    assert list(lake.list_table_branches(ORDERS).branches) == ["trial"]
    lake.create_table_tag({**ORDERS, "tag": "later", "version": 3})
    lake.delete_table_tag({**ORDERS, "tag": "reviewed"})
    assert sorted(lake.list_table_tags(ORDERS).tags) == ["later", "tried"]


def test_views_and_jobs_of_an_older_home_go_on(lake: Any, tmp_path: Path) -> None:
    lake.refresh_materialized_view({"id": ["team", "large"]})
    Worker(Places(lake._lake), [], state=str(tmp_path / "jobs.sqlite")).run(once=True)
    assert {(job.kind, job.state) for job in lake.list_jobs()[0]} == {("backfill", "done"), ("refresh", "done")}
    rows = ipc.read(lake.query_table({"id": ["team", "large"], "vector": {}, "k": 9}).data).read_all()
    assert sorted(rows["total"].to_pylist()) == [40, 90]
