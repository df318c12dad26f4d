"""Groups, roles, grants, owners and access control from the command line, on a server's database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake import users
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import ICEBERG_TABLE, TABLE, VIEW
from lanceway.lake.tree import catalogs, metalakes, namespaces, settings, tables
from tests.cli.conftest import Ended, Run


def _fill(connection: Connection) -> None:
    metalakes.create(connection, "lanceway", by="root")
    catalog = catalogs.create(connection, "lanceway", "lake", by="root", nested=True, location="/w").id
    namespaces.create(connection, catalog, HierarchicalName(["team"]), by="root")
    tables.create(connection, catalog, Identifier(["team", "sales"]), by="root", kind=TABLE)
    users.create(connection, "root", by="root", admin=True)
    for name in ("ada", "grace"):
        users.create(connection, name, by="root")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LakeStore]:
    opened = open_store(f"sqlite:///{tmp_path}/lake.db")
    opened.transact(_fill)
    yield opened
    opened.close()


@pytest.fixture
def run(bare: Run, store: LakeStore, tmp_path: Path) -> Run:
    return lambda *arguments: bare(*arguments, "--uri", f"sqlite:///{tmp_path}/lake.db")


def done(ended: Ended) -> Ended:
    assert ended.code == 0, ended
    return ended


@pytest.fixture
def reader(run: Run) -> str:
    """A role that a group has, with ada in it, and which may read what is in lake.team."""
    done(run("groups", "create", "analysts"))
    done(run("groups", "add", "analysts", "ada"))
    done(run("roles", "create", "reader", "--comment", "reads"))
    done(run("roles", "give", "reader", "analysts", "--group"))
    done(run("grants", "add", "reader", "lake", "USE_CATALOG"))
    added = done(run("grants", "add", "reader", "lake.team", "USE_SCHEMA", "select-table"))
    assert "Granted USE_SCHEMA, SELECT_TABLE on lake.team to reader." in added.out
    return "reader"


def test_the_life_of_a_group(run: Run) -> None:
    done(run("groups", "create", "team"))
    assert done(run("groups", "add", "team", "ada", "grace", "--json")).json["changed"] == {"ada": True, "grace": True}
    ended = run("groups", "add", "team", "root", "grcae")
    assert (ended.code, "Did you mean 'grace'" in ended.err) == (1, True)
    assert done(run("groups", "show", "team", "--json")).json["members"] == ["ada", "grace"], "all or none"
    done(run("groups", "remove", "team", "ada"))
    assert [group["name"] for group in done(run("groups", "list", "--json")).json] == ["team"]
    assert "Did you mean 'team'" in run("groups", "show", "tem").err
    done(run("groups", "delete", "team"))
    assert done(run("groups", "list", "--json")).json == []


def test_the_life_of_a_role(run: Run, reader: str) -> None:
    assert done(run("roles", "show", reader, "--json")).json["holders"][0]["name"] == "analysts"
    assert "group analysts" in done(run("roles", "show", reader)).out
    assert (
        "Nothing changed: group analysts already has role reader."
        in done(run("roles", "give", reader, "analysts", "--group")).out
    )
    assert run("roles", "create", reader).code == 1
    assert "Did you mean 'reader'" in run("roles", "give", "reder", "ada").err
    assert done(run("roles", "take", reader, "analysts", "--group", "--json")).json["changed"] is True
    first = done(run("roles", "list", "--limit", "1", "--json")).json
    assert [role["name"] for role in first["roles"]] == [reader]
    done(run("roles", "delete", reader))


def test_grants_denials_and_why(run: Run, reader: str) -> None:
    asked = ("grants", "why", "ada", "read table", "lake.team.sales")
    assert (
        "SELECT_TABLE is granted on the schema team to the role reader of the group analysts" in done(run(*asked)).out
    )
    tried = done(run("grants", "what-if", reader, "lake.team", "SELECT_TABLE", "--deny", "--json")).json
    effect = {"kind": "group", "name": "analysts", "gained": 0, "lost": 2}
    assert tried == {"effects": [effect], "effects_count": 1}
    assert done(run(*asked, "--json")).json["allowed"] is True, "nothing was changed"
    done(run("grants", "deny", reader, "lake.team.sales", "SELECT_TABLE"))
    assert done(run(*asked, "--json")).json["reason"] == "denied"
    done(run("grants", "revoke", reader, "lake.team.sales", "SELECT_TABLE", "--deny"))
    assert done(run(*asked, "--json")).json["allowed"] is True
    again = done(run("grants", "revoke", reader, "lake.team.sales", "SELECT_TABLE", "--json")).json
    assert again["changed"] == {"SELECT_TABLE": False}
    listed = done(run("grants", "list", "--object", "lake.team", "--json")).json
    assert [grant["privilege"] for grant in listed] == ["USE_SCHEMA", "SELECT_TABLE"]
    assert len(done(run("grants", "list", "--role", reader, "--json")).json) == 3
    assert done(run("grants", "list", "--dangling", "--json")).json == []
    assert done(run("grants", "purge-dangling", "--json")).json["deleted"] == 0
    assert "Deleted 0 dangling grants." in done(run("grants", "purge-dangling")).out
    assert run("grants", "list").code == 2


def test_who_and_user(run: Run, reader: str) -> None:
    shown = done(run("grants", "who", "lake.team.sales")).out
    assert "group analysts" in shown
    assert "owner" in shown
    assert len(done(run("grants", "user", "ada", "--json")).json["grants"]) == 3
    assert "reader of the group analysts" in done(run("grants", "user", "ada")).out


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("grants", "why", "adaa", "read table", "lake"), "'ada'"),
        (("grants", "why", "ada", "reed table", "lake"), "'read table'"),
        (("grants", "why", "ada", "read table", "lake.tem"), "'team'"),
        (("grants", "add", "reader", "lake.team.sale", "SELECT_TABLE"), "'sales'"),
        (("grants", "add", "reader", "lake", "USE_CATALOGUE"), "USE_CATALOG"),
        (("owners", "set", "lake.team", "analyst", "--group"), "'analysts'"),
    ],
)
def test_a_mistyped_name(run: Run, reader: str, arguments: tuple[str, ...], meant: str) -> None:
    ended = run(*arguments)
    assert (ended.code, f"Did you mean {meant}" in ended.err) == (1, True), ended


def test_privileges_and_actions(bare: Run) -> None:
    assert "SELECT_TABLE" in done(bare("grants", "privileges")).out
    actions = {action["name"]: action for action in done(bare("grants", "privileges", "--actions", "--json")).json}
    assert actions["query_table"]["kind"] == "operation"


def test_owners(run: Run, reader: str) -> None:
    assert done(run("owners", "show", "lake.team", "--json")).json["owner"] == "root"
    assert (
        "Changed the owner of lake.team from user root to group analysts."
        in done(run("owners", "set", "lake.team", "analysts", "--group")).out
    )
    assert "the group analysts owns the schema team" in done(run("grants", "why", "ada", "own schema", "lake.team")).out


def test_mounted_catalogs_are_those_of_the_configuration(run: Run, reader: str, tmp_path: Path) -> None:
    assert run("grants", "add", reader, "other", "USE_CATALOG").code == 1
    (tmp_path / "lanceway.toml").write_text('[catalogs.other]\ntype = "dir"\npath = "other"\n')
    done(run("grants", "add", reader, "other", "USE_CATALOG"))
    assert "Say it: kind" in run("grants", "add", reader, "other.t", "SELECT_TABLE").err
    done(run("grants", "add", reader, "other.t", "SELECT_TABLE", "--kind", "table"))
    assert done(run("grants", "why", "ada", "SELECT_TABLE", "other.t", "--json")).json["allowed"] is True
    tried = done(run("grants", "what-if", reader, "other.t", "SELECT_TABLE", "--kind", "table"))
    assert "analysts" in tried.out
    assert "is not counted" in tried.out


def test_access_control_of_an_upgraded_lake(run: Run, store: LakeStore, reader: str) -> None:
    store.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    shown = done(run("access", "status", "--json")).json
    assert (shown["enabled"], shown["catalogs_count"]) == (False, 1)
    # Who is granted nothing comes first.
    assert [(loss["user"], loss["catalogs"]) for loss in shown["losses"]] == [("grace", 0), ("ada", 1)]
    ended = run("access", "enable")
    assert (ended.code, "--yes" in ended.err, "grace" in ended.out) == (2, True, True)
    assert done(run("access", "status", "--json")).json["enabled"] is False
    assert "would see nothing" in done(run("access", "enable", "--yes")).out
    assert "already on" in done(run("access", "enable")).out, "there is nothing to ask"
    assert done(run("access", "disable", "--yes", "--json")).json == {"enabled": False, "was_enabled": True}


def test_access_control_needs_an_admin(bare: Run, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/empty.db"
    opened = open_store(uri)
    opened.transact(settings.store, {settings.ACCESS_CONTROL: settings.OFF})
    opened.transact(metalakes.create, "lanceway", by="root")
    opened.close()
    ended = bare("access", "enable", "--yes", "--uri", uri)
    assert (ended.code, "no admin is enabled" in ended.err) == (1, True), ended


def test_iceberg_tables_and_views_are_owned_and_granted_on(run: Run, store: LakeStore, reader: str) -> None:
    def add(connection: Connection) -> None:
        catalog = catalogs.load(connection, "lanceway", "lake").id
        for name, kind in (("ice", ICEBERG_TABLE), ("totals", VIEW)):
            pointer = f"/w/{name}/metadata/00000-x.metadata.json"
            tables.create(
                connection, catalog, Identifier(["team", name]), by="root", kind=kind, metadata_pointer=pointer
            )

    store.transact(add)
    assert done(run("owners", "show", "lake.team.ice", "--json")).json["kind"] == "table"
    assert done(run("owners", "show", "lake.team.totals", "--json")).json["kind"] == "view"
    assert done(run("grants", "why", "ada", "load_iceberg_table", "lake.team.ice", "--json")).json["allowed"] is True
    why = ("grants", "why", "ada", "commit_iceberg_table", "lake.team.ice")
    assert "MODIFY_TABLE is missing; it can be granted on the table ice" in run(*why).out
    done(run("grants", "add", reader, "lake.team.ice", "MODIFY_TABLE"))
    assert done(run(*why, "--json")).json["allowed"] is True
    done(run("grants", "add", reader, "lake.team.totals", "SELECT_VIEW"))
    assert done(run("grants", "why", "ada", "load_iceberg_view", "lake.team.totals", "--json")).json["allowed"] is True
    refused = run("grants", "add", reader, "lake.team.totals", "MODIFY_TABLE")
    assert (refused.code, "cannot be granted on a view" in refused.err) == (1, True)
    done(run("owners", "set", "lake.team.totals", "grace"))
    assert (
        done(run("grants", "why", "grace", "replace_iceberg_view", "lake.team.totals", "--json")).json["allowed"]
        is False
    )
    done(run("grants", "deny", reader, "lake.team.ice", "MODIFY_TABLE"))
    assert done(run(*why, "--json")).json["allowed"] is False
