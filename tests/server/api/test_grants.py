"""`/lanceway/v1/groups`, `roles`, `grants`, `owners` and `access`: over HTTP, by admins, managers and others."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.server.api.test_tokens import Caller, name, refused
from tests.server.api.test_users import change as change_user
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

API = "/lanceway/v1"
GROUPS, ROLES, GRANTS, OWNERS, ACCESS = (f"{API}/{noun}" for noun in ("groups", "roles", "grants", "owners", "access"))


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    """A server of this module's own: it switches access control on and off."""
    started = lanceway_server.start(
        whole_run, name="rights", settings=f'[catalogs.other]\ntype = "dir"\npath = "{whole_run.folder}/other"\n'
    )
    yield started
    started.stop()


@pytest.fixture(scope="module")
def admin(server: Lanceway) -> Caller:
    return Caller(server, server.token)


@pytest.fixture
def user(admin: Caller) -> Caller:
    return Caller(admin.server, admin.make(user=f"user-{uuid.uuid4().hex[:8]}")["token"])


@pytest.fixture
def schema(admin: Caller) -> str:
    made = f"lake$n{uuid.uuid4().hex[:8]}"
    assert admin.ask("POST", f"/lance/v1/namespace/{made}/create", json={}).is_success
    return made


@pytest.fixture
def role(admin: Caller, user: Caller) -> str:
    """A role that the user has."""
    made = f"role-{uuid.uuid4().hex[:8]}"
    ok(admin.ask("POST", ROLES, json={"name": made, "comment": "for a test"}), 201)
    ok(admin.ask("POST", f"{ROLES}/{made}/give", json={"user": name(user)}))
    return made


def ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def get(caller: Caller, path: str, **query: Any) -> Any:
    return ok(caller.ask("GET", path, params=query))


def grant(caller: Caller, role: str, object_: str, *privileges: str, **options: Any) -> httpx.Response:
    changes = [{"role": role, "object": object_, "privilege": privilege, **options} for privilege in privileges]
    return caller.ask("POST", GRANTS, json={"changes": changes})


def test_groups_and_their_members(admin: Caller, user: Caller) -> None:
    group, who = f"a/{uuid.uuid4().hex[:8]}", name(user)
    path = f"{GROUPS}/{quote(group, safe='')}"
    assert ok(admin.ask("POST", GROUPS, json={"name": group}), 201)["created_by"] == "admin"
    assert refused(admin.ask("POST", GROUPS, json={"name": group})) == (409, 13)
    assert ok(admin.ask("POST", f"{path}/add", json={"user": who}))["changed"] is True
    assert ok(admin.ask("POST", f"{path}/add", json={"user": who}))["changed"] is False
    mistyped = admin.ask("POST", f"{path}/add", json={"user": f"{who}x"})
    assert refused(mistyped) == (404, 13)
    assert f"Did you mean {who!r}" in mistyped.json()["error"]
    assert get(admin, path)["members"] == [who]
    assert [found["name"] for found in get(user, GROUPS)["groups"]] == [group], "one's own need no right"
    assert get(user, f"{ACCESS}/me")["groups"] == [group]
    assert refused(user.ask("GET", path)) == refused(user.ask("GET", f"{GROUPS}/missing")) == (403, 15)
    assert refused(user.ask("POST", f"{path}/remove", json={"user": who})) == (403, 15)
    assert ok(admin.ask("POST", f"{path}/remove", json={"user": who}))["changed"] is True
    ok(admin.ask("DELETE", path))
    assert refused(admin.ask("GET", path)) == (404, 13)


def test_lists_are_paged(admin: Caller) -> None:
    for noun in (GROUPS, ROLES):
        made = sorted(f"page-{uuid.uuid4().hex[:8]}" for _ in range(3))
        for each in made:
            ok(admin.ask("POST", noun, json={"name": each}), 201)
        seen: list[str] = []
        token: str | None = None
        while token is not None or not seen:
            page = get(admin, noun, limit=2, **({"page_token": token} if token else {}))
            items = page[noun.rpartition("/")[2]]
            seen, token = [*seen, *(item["name"] for item in items)], page["page_token"]
        assert [each for each in seen if each in made] == made


def test_roles_are_given_and_taken(admin: Caller, user: Caller, role: str) -> None:
    who = name(user)
    assert [(each["kind"], each["name"]) for each in get(admin, f"{ROLES}/{role}")["holders"]] == [("user", who)]
    assert [found["name"] for found in get(user, ROLES)["roles"]] == [role]
    assert "holders" not in get(user, f"{ROLES}/{role}")
    assert refused(user.ask("GET", f"{ROLES}/no-such-role")) == (403, 15)
    for body in ({}, {"user": who, "group": "g"}):
        assert refused(admin.ask("POST", f"{ROLES}/{role}/give", json=body)) == (400, 13)
    assert refused(admin.ask("POST", f"{ROLES}/{role}/give", json={"group": "no-such-group"})) == (404, 13)
    assert refused(user.ask("POST", f"{ROLES}/{role}/give", json={"user": who})) == (403, 15)
    assert ok(admin.ask("POST", f"{ROLES}/{role}/take", json={"user": who}))["changed"] is True
    assert get(user, f"{ACCESS}/me")["roles"] == []
    ok(admin.ask("DELETE", f"{ROLES}/{role}"))


def test_grants_are_made_together_or_not_at_all(admin: Caller, user: Caller, role: str, schema: str) -> None:
    assert ok(grant(admin, role, "lake", "USE_CATALOG"))["changed"] == [True]
    assert ok(grant(admin, role, schema, "USE_SCHEMA", "SELECT_TABLE"))["changed"] == [True, True]
    assert ok(grant(admin, role, schema, "use schema"))["changed"] == [False], "it may be sent again"
    assert refused(grant(admin, role, schema, "MODIFY_TABLE", "CREATE_CATALOG")) == (400, 13)
    listed = get(admin, GRANTS, object=schema)["grants"]
    assert [(each["privilege"], each["granted_by"], each["kind"]) for each in listed] == [
        ("USE_SCHEMA", "admin", "schema"),
        ("SELECT_TABLE", "admin", "schema"),
    ]
    assert len(get(user, GRANTS, role=role)["grants"]) == 3, "one's own need no right"
    assert refused(user.ask("GET", GRANTS, params={"object": schema})) == (403, 15)
    assert refused(user.ask("GET", GRANTS, params={"dangling": "true"})) == (403, 15)
    assert get(admin, GRANTS, dangling="true")["grants"] == []
    assert refused(user.ask("DELETE", f"{GRANTS}/dangling")) == (403, 15)
    assert refused(admin.ask("GET", GRANTS)) == (400, 13)
    assert refused(grant(admin, role, schema, "USE_SCHEMA", expected=False)) == (409, 14)
    assert refused(grant(admin, role, schema, *["USE_SCHEMA"] * 101)) == (400, 13)
    assert ok(grant(admin, role, schema, "SELECT_TABLE", revoke=True))["changed"] == [True]


def test_of_clients_that_expect_the_same_one_wins(admin: Caller, role: str, schema: str, rounds: int) -> None:
    """The others are told of the race, and nothing of their batches is done."""
    own = ("CREATE_SCHEMA", "CREATE_TABLE", "SELECT_TABLE", "MODIFY_TABLE")

    def ask(privilege: str, start: threading.Barrier) -> tuple[int, str]:
        changes = [{"privilege": privilege}, {"privilege": "USE_SCHEMA", "expected": False}]
        start.wait()
        answer = admin.ask(
            "POST", GRANTS, json={"changes": [{"role": role, "object": schema, **each} for each in changes]}
        )
        return answer.status_code, privilege

    for _ in range(rounds):
        with ThreadPoolExecutor(len(own)) as threads:
            answers = sorted(threads.map(ask, own, [threading.Barrier(len(own))] * len(own)))
        assert [status for status, _ in answers] == [200, 409, 409, 409]
        granted = [each["privilege"] for each in get(admin, GRANTS, object=schema)["grants"]]
        assert sorted(granted) == sorted(["USE_SCHEMA", answers[0][1]])
        assert grant(admin, role, schema, *granted, revoke=True).is_success


def test_grants_that_dangle_are_deleted(admin: Caller, user: Caller, role: str) -> None:
    table = f"other$t{uuid.uuid4().hex[:8]}"
    ok(admin.ask("POST", f"/lance/v1/table/{table}/declare", json={}))
    ok(grant(admin, role, table, "SELECT_TABLE", kind="table"))
    ok(admin.ask("POST", f"/lance/v1/table/{table}/drop", json={}))
    assert [each["object"] for each in get(admin, GRANTS, dangling="true")["grants"]] == [table]
    assert refused(user.ask("DELETE", f"{GRANTS}/dangling")) == (403, 15)
    assert ok(admin.ask("DELETE", f"{GRANTS}/dangling")) == {"deleted": 1}
    assert get(admin, GRANTS, dangling="true")["grants"] == []
    for _ in range(200):
        events = get(admin, f"{API}/audit", operation="purge_dangling_grants")["events"]
        if {event["user"] for event in events} >= {"admin", name(user)}:
            return
    raise AssertionError(events)


def test_a_mistyped_name_is_refused_with_the_nearest(admin: Caller, role: str, schema: str) -> None:
    for answer, meant in (
        (grant(admin, role, f"{schema}x", "USE_SCHEMA"), schema.partition("$")[2]),
        (grant(admin, f"{role}x", schema, "USE_SCHEMA"), role),
        (grant(admin, role, schema, "USE_SCHEMAS"), "USE_SCHEMA"),
    ):
        assert answer.status_code in (400, 404)
        assert f"Did you mean {meant}" in answer.json()["error"].replace("'", "")


def test_what_one_may_hand_on_and_what_it_would_do(admin: Caller, user: Caller, role: str, schema: str) -> None:
    grant(admin, role, "lake", "USE_CATALOG")
    grant(admin, role, schema, "USE_SCHEMA")
    wanted = {"role": role, "object": schema, "privilege": "SELECT_TABLE"}
    assert get(user, f"{GRANTS}/grantable", object=schema)["privileges"] == []
    assert refused(user.ask("POST", f"{GRANTS}/what-if", json=wanted)) == (403, 15)
    assert refused(grant(user, role, schema, "SELECT_TABLE")) == (403, 15)
    grant(admin, role, schema, "MANAGE_GRANTS")
    found = {each["name"]: each for each in get(user, f"{GRANTS}/grantable", object=schema)["privileges"]}
    assert found["SELECT_TABLE"]["category"] == "read"
    assert found["SELECT_TABLE"]["allows"] == "read tables in this schema and in all schemas inside"
    told = ok(user.ask("POST", f"{GRANTS}/what-if", json=wanted))
    assert told == {"effects": [{"kind": "user", "name": name(user), "gained": 1, "lost": 0}], "effects_count": 1}
    assert ok(grant(user, role, schema, "SELECT_TABLE"))["changed"] == [True]
    assert refused(grant(user, role, "lake", "SELECT_TABLE")) == (403, 15)
    assert name(user) in [holder["name"] for holder in get(user, f"{ACCESS}/who", object=schema)["holders"]]


def test_owners(admin: Caller, user: Caller, role: str, schema: str) -> None:
    hidden = user.ask("GET", OWNERS, params={"object": schema})
    missing = user.ask("GET", OWNERS, params={"object": f"{schema}x"})
    assert refused(hidden) == refused(missing) == (404, 13)
    assert hidden.json()["error"] == missing.json()["error"].replace(f"{schema}x", schema)
    given = ok(admin.ask("PUT", OWNERS, json={"object": schema, "user": name(user)}))
    assert (given["owner"], given["previous_owner"]) == (name(user), "admin")
    grant(admin, role, "lake", "USE_CATALOG")
    assert get(user, OWNERS, object=schema)["owner"] == name(user)
    assert refused(user.ask("PUT", OWNERS, json={"object": schema, "user": "no-such-user"})) == (404, 13)
    assert ok(user.ask("PUT", OWNERS, json={"object": schema, "user": "admin"}))["owner"] == "admin"
    assert refused(user.ask("PUT", OWNERS, json={"object": schema, "user": name(user)})) == (404, 13)


def test_mounted_catalogs(admin: Caller, role: str) -> None:
    assert ok(grant(admin, role, "other", "USE_CATALOG"))["changed"] == [True]
    assert refused(grant(admin, role, "other$t", "SELECT_TABLE")) == (400, 13)
    assert ok(grant(admin, role, "other$t", "SELECT_TABLE", kind="table"))["changed"] == [True]
    listed = get(admin, GRANTS, role=role)["grants"]
    assert [(each["object"], each["kind"]) for each in listed] == [("other", "catalog"), ("other$t", "table")]
    (holder,) = get(admin, f"{ROLES}/{role}")["holders"]
    for object_, kind in (("other", "catalog"), ("other$t", "table"), ("other$new", "table")):
        body = {"role": role, "object": object_, "privilege": "SELECT_TABLE", "kind": kind}
        told = ok(admin.ask("POST", f"{GRANTS}/what-if", json=body))
        assert told["effects"] == [{"kind": "user", "name": holder["name"], "gained": None, "lost": None}]


def test_why(admin: Caller, user: Caller, role: str, schema: str) -> None:
    ask = {"action": "load schema", "object": schema}
    hidden, missing = (get(user, f"{ACCESS}/why", **{**ask, "object": each}) for each in (schema, f"{schema}x"))
    assert hidden == {
        **missing,
        "object": schema,
        "text": missing["text"].replace(f"{schema}x", schema),
    }
    about = get(admin, f"{ACCESS}/why", user=name(user), **ask)
    assert about["allowed"] is False
    assert "USE_CATALOG is missing" in about["text"]
    grant(admin, role, "lake", "USE_CATALOG", "USE_SCHEMA")
    assert get(user, f"{ACCESS}/why", **ask)["reason"] == "granted"
    grant(admin, role, schema, "USE_SCHEMA", deny=True)
    assert get(admin, f"{ACCESS}/why", user=name(user), **ask)["reason"] == "denied"
    assert refused(user.ask("GET", f"{ACCESS}/why", params={**ask, "user": "admin"})) == (403, 15)
    assert refused(user.ask("GET", f"{ACCESS}/user", params={"name": "admin"})) == (403, 15)
    assert get(admin, f"{ACCESS}/user", name=name(user))["roles"][0]["role"] == role
    mistyped = admin.ask("GET", f"{ACCESS}/why", params={**ask, "action": "laod schema"})
    assert "Did you mean 'load schema'" in mistyped.json()["error"]


def test_the_tables_as_data(user: Caller) -> None:
    found = {each["name"]: each for each in get(user, f"{ACCESS}/privileges")["privileges"]}
    assert list(found["SELECT_TABLE"]["allows"]) == ["metalake", "catalog", "schema", "table"]
    listed = {each["name"]: each for each in get(user, f"{ACCESS}/actions")["actions"]}
    assert listed["query_table"]["demands"][0]["rule"] == "read table"
    assert ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"] in listed["read table"]["demands"][0]["sufficient"]


def test_who_may_manage_users_makes_no_one_an_admin(admin: Caller, user: Caller, role: str) -> None:
    users = f"{API}/users"
    grant(admin, role, "metalake", "MANAGE_USERS")
    other = f"user-{uuid.uuid4().hex[:8]}"
    ok(user.ask("POST", users, json={"name": other}), 201)
    assert other in [each["name"] for each in get(user, users, limit=1000)["users"]]
    assert ok(change_user(user, other, "disable"))["enabled"] is False
    assert ok(change_user(user, other, "enable"))["enabled"] is True
    assert refused(user.ask("POST", users, json={"name": f"{other}x", "admin": True})) == (403, 15)
    for who in (name(user), other, "admin"):
        assert refused(change_user(user, who, "promote")) == (403, 15)
        assert refused(change_user(user, who, "rename", json={"name": "x"})) == (403, 15)
    assert refused(change_user(user, "admin", "disable")) == (403, 15)
    assert refused(user.ask("DELETE", f"{users}/admin")) == (403, 15)
    ok(user.ask("DELETE", f"{users}/{other}"))
    assert refused(user.ask("POST", GROUPS, json={"name": "x"})) == (403, 15)
    assert refused(user.ask("POST", ROLES, json={"name": "x"})) == (403, 15)


@pytest.fixture(params=["sqlite", "postgresql"])
def several(request: pytest.FixtureRequest, whole_run: Run, server: Lanceway) -> Iterator[list[Lanceway]]:
    """Servers on one database, each a process of its own."""
    if request.param == "postgresql":
        yield request.getfixturevalue("cluster").servers
        return
    beside = lanceway_server.start(whole_run, name="beside", home=server.home)
    yield [server, beside]
    beside.stop()


def test_a_revoke_counts_at_once_in_every_server(several: list[Lanceway], rounds: int) -> None:
    """Every server has answered before, in the way that remembers most, and answers so again after each change."""
    first, user = several[0], f"user-{uuid.uuid4().hex[:8]}"
    table = f"lake$n{uuid.uuid4().hex[:8]}$t"
    admins = [Caller(each, first.token) for each in several]
    for path in (f"namespace/{table[:-2]}/create", f"table/{table}/declare"):
        ok(admins[0].ask("POST", f"/lance/v1/{path}", json={}))
    token = first.token_for(user, "USE_CATALOG", "USE_SCHEMA")
    users = [Caller(each, token) for each in several]
    for number in range(5 * rounds):
        changing = admins[number % len(admins)]
        for revoke in (False, True):
            ok(grant(changing, f"role-of-{user}", table, "SELECT_TABLE", revoke=revoke))
            for each in users:
                answer = each.ask("POST", f"/lance/v1/table/{table}/describe", json={})
                assert answer.status_code == (403 if revoke else 200), answer.text


def loss(admin: Caller, who: str) -> tuple[int, int, str]:
    """What is shown of a non-admin: the catalogs that it reaches, the objects that it owns, the effect."""
    told = ok(admin.ask("POST", f"{ACCESS}/enable"))
    assert told["catalogs_count"] == 2
    assert told["losses_count"] == len(told["losses"])
    return next((row["catalogs"], row["objects"], row["effect"]) for row in told["losses"] if row["user"] == who)


def test_the_switch_tells_who_would_lose_what(admin: Caller, user: Caller, role: str, schema: str) -> None:
    who = name(user)
    assert get(user, ACCESS)["enabled"] is True
    for verb in ("enable", "disable"):
        assert refused(user.ask("POST", f"{ACCESS}/{verb}", json={})) == (403, 15)
    assert ok(admin.ask("POST", f"{ACCESS}/disable")) == {"enabled": False, "was_enabled": True}
    try:
        assert loss(admin, who) == (0, 0, "would see nothing")
        assert get(user, ACCESS)["enabled"] is False, "it was not confirmed"
        assert refused(grant(user, role, "lake", "USE_CATALOG")) == (403, 15)
        ok(admin.ask("PUT", OWNERS, json={"object": schema, "user": who}))
        assert loss(admin, who) == (0, 1, "owns objects, and needs USE_CATALOG to reach them")
        kept = "keeps what it is granted and owns there"
        grant(admin, role, "lake", "USE_CATALOG")
        assert loss(admin, who) == (1, 1, kept)
        grant(admin, role, "other", "USE_CATALOG")
        assert loss(admin, who) == (2, 1, kept), "one is mounted"
        grant(admin, role, "lake", "USE_CATALOG", deny=True)
        assert loss(admin, who) == (1, 1, kept)
    finally:
        assert ok(admin.ask("POST", f"{ACCESS}/enable", json={"confirm": True}))["enabled"] is True
    assert get(user, ACCESS)["enabled"] is True


def test_the_audit_names_what_was_granted(admin: Caller, user: Caller, role: str, schema: str) -> None:
    grant(user, role, "metalake", "MANAGE_USERS")
    for _ in range(200):
        events = get(admin, f"{API}/audit", operation="change_grants", user=name(user), outcome="denied")["events"]
        if events:
            break
    assert events[0]["object"] == f"/grants?role={role}&privilege=MANAGE_USERS&object=metalake&effect=allow"
