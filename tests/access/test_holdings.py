"""What a caller has, read without waiting and for pages of catalogs, beside the facts of a decision."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from sqlite3 import Connection as DriverConnection

import pytest
from sqlalchemy import Connection, event

from lanceway.access import decisions, lists
from lanceway.identifiers import Identifier
from lanceway.lake import users
from lanceway.lake.access import facts, groups, roles
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.fast_holdings import load_fast
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW
from lanceway.lake.tree import catalogs, settings, tables
from tests.access.model import Worlds, worlds
from tests.access.rights_helpers import make_world, name
from tests.access.site_helpers import METALAKE, Site, make_site
from tests.access.test_model import BOSS, Real, asked, leaves
from tests.drilling import DrillProgress


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[LakeStore]:
    opened = open_store(f"sqlite:///{tmp_path / 'lake.db'}")
    yield opened
    opened.close()


CALLERS = (Caller("me"), Caller("me", ("claimed",)), Caller("nobody", ("claimed", "local")), BOSS)


def agree(store: LakeStore, caller: Caller, place: Securable) -> Holdings:
    """What both ways say, which is the same."""
    assert store.fast_reads is not None
    held = load_fast(store.fast_reads, caller, place)
    assert held is not None
    assert held == Holdings.of(store.read(facts.load, caller, place)), (caller, place)
    return held


def test_what_is_read_without_waiting_is_what_the_facts_say(
    sqlite: LakeStore, rounds: int, progress: DrillProgress
) -> None:
    def same(world: Worlds) -> None:
        real = Real(sqlite, world)
        for caller in CALLERS:
            agree(sqlite, caller, Securable(real.metalake))
            agree(sqlite, caller, Securable(real.metalake, "missing", Identifier(["a"]), TABLE))
            for path in {*asked(world), *leaves(world)}:
                for kind in (NAMESPACE, TABLE, VIEW) if path else (NAMESPACE,):  # what they are, and what they are not
                    agree(sqlite, caller, Securable(real.metalake, "c", Identifier(path), kind))

    progress.explore(12 * rounds, worlds(), same)


def test_owners_views_and_states(sqlite: LakeStore) -> None:
    world = make_world(sqlite, "m", ("A",), ("A:t",))
    sqlite.transact(tables.create, sqlite.read(catalogs.load, "m", "lake").id, name("A:v"), by="admin", kind=VIEW)
    sqlite.transact(groups.create, "team", by="admin")
    sqlite.transact(groups.add, "team", "me", by="admin")
    sqlite.transact(roles.give, "m", "r", "team", "group", by="admin")
    world.own("A", Owner("team", "group"))
    world.own("A:v", Owner("me"), VIEW)
    world.grant("r", None, "USE_CATALOG")
    world.grant("r", "A", "SELECT_VIEW", deny=True)
    view = agree(sqlite, Caller("me"), world.place("A:v", VIEW))
    assert view == Holdings(
        True, found=True, owned=frozenset({"schema", VIEW}), allowed=view.allowed, denied=frozenset({"SELECT_VIEW"})
    )
    assert view.allowed == {"USE_CATALOG"}
    assert not agree(sqlite, Caller("me"), world.place("A:v", TABLE)).found
    assert agree(sqlite, Caller("admin"), world.place("A:t", TABLE)).owned >= {"metalake", "catalog", TABLE}
    user = sqlite.read(users.find, "me")
    assert user is not None
    sqlite.transact(users.disable, user, by="admin")
    assert agree(sqlite, Caller("me"), world.place("A")).is_disabled


def test_what_is_not_answered_at_once(sqlite: LakeStore) -> None:
    world = make_world(sqlite, "m", ("A",))
    reads = sqlite.fast_reads
    assert reads is not None
    deep = Securable("m", "lake", Identifier(["a"] * 100))
    many = Caller("me", tuple(f"g{number}" for number in range(1000)))
    assert load_fast(reads, Caller("me"), deep) is None
    assert load_fast(reads, many, world.place("A")) is None
    assert load_fast(reads, Caller("me"), Securable("m", "lake", mounted=True)) is None
    sqlite.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    assert load_fast(reads, Caller("me"), world.place("A")) == Holdings(is_enabled=False)


def test_what_is_remembered_ends_with_the_next_commit_of_anybody(sqlite: LakeStore, tmp_path: Path) -> None:
    world = make_world(sqlite, "m", ("A",))
    reads, me, place = sqlite.fast_reads, Caller("me"), world.place("A")
    assert reads is not None

    def allowed() -> frozenset[str]:
        held = load_fast(reads, me, place)
        assert held is not None
        assert load_fast(reads, me, place) is held, "it is remembered"
        return held.allowed

    for _ in range(3):
        world.grant("r", "A", "USE_SCHEMA")
        assert allowed() == {"USE_SCHEMA"}
        world.change(GrantChange("r", place, "USE_SCHEMA", revoke=True))
        assert allowed() == set()
    program = "import sys, sqlite3; sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])"
    change = "UPDATE settings SET value = 'off' WHERE key = 'access_control'"
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "lake.db"), change], check=True)
    assert load_fast(reads, me, place) == Holdings(is_enabled=False)


def test_what_is_remembered_is_that_of_the_state_that_was_read(sqlite: LakeStore) -> None:
    """A commit while the look-ups run is not seen by them, and ends what they found."""
    make_world(sqlite, "m", ())
    reads = sqlite.fast_reads
    assert reads is not None

    def look(connection: DriverConnection, key: str) -> list[str]:
        sqlite.transact(settings.store, {key: f"{len(seen)}"})
        return [row[0] for row in connection.execute("SELECT value FROM settings WHERE key = ?", (key,))]

    seen: list[list[str]] = []
    for _ in range(3):
        seen.append(reads.remembered(look, "some") or [])
    assert seen == [[], ["0"], ["1"]]


# -- catalogs ------------------------------------------------------------------------------------


def one_by_one(connection: Connection, caller: Caller, names: list[str], mounted: set[str]) -> list[str]:
    places = [Securable(METALAKE, each, mounted=each in mounted) for each in names]
    return [str(place.catalog) for place in places if decisions.decide(connection, caller, "use catalog", place)]


def test_a_page_of_catalogs_is_what_decisions_say_of_each(store: LakeStore, tmp_path: Path) -> None:
    site = make_site(store, tmp_path)
    for each in ("second", "third", "fourth"):
        site.guard("admin", admin=True).create_namespace({"id": [each]})
    names, mounted = ["archive", "fourth", "lake", "missing", "second", "third"], {"archive"}
    store.transact(users.create, "boss", by="admin", admin=True)
    store.transact(groups.create, "team", by="admin")
    store.transact(groups.add, "team", "other", by="admin")
    shown: set[tuple[str, ...]] = set()

    def check() -> None:
        for caller in (Caller("me"), Caller("other"), Caller("none", ("claimed",)), Caller("boss"), Caller("admin")):
            page = store.read(lists.visible_catalogs, caller, METALAKE, names, mounted)
            assert page == store.read(one_by_one, caller, names, mounted), caller
            shown.add(tuple(page))

    for change in changes(site):
        change()
        check()
    store.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    check()
    assert len(shown) > 6


def changes(site: Site) -> list[Callable[[], None]]:
    own, grant = site.own, site.grant
    return [
        lambda: None,
        partial(grant, site.place("lake"), "USE_CATALOG"),
        partial(grant, site.place("archive"), "USE_CATALOG"),
        partial(grant, site.place("second"), "USE_SCHEMA"),
        partial(own, site.place("third"), "me"),
        partial(grant, site.place("lake"), "USE_CATALOG", deny=True),
        partial(grant, site.place("third"), "USE_CATALOG", deny=True),
        partial(grant, site.place(), "USE_CATALOG"),
        partial(grant, site.place("archive"), "USE_CATALOG", deny=True),
        partial(own, site.place("archive"), "me"),
    ]


def test_a_page_of_catalogs_is_two_statements(store: LakeStore) -> None:
    make_world(store, "m", ())
    statements: list[str] = []

    def show(connection: Connection) -> None:
        event.listen(connection, "before_cursor_execute", lambda *args: statements.append(args[2]))
        lists.visible_catalogs(connection, Caller("me"), "m", ["lake", *(f"c{number}" for number in range(50))], {"c7"})

    store.read(show)
    assert len(statements) == 2
