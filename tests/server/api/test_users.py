"""`/lanceway/v1/users`: seen and changed by admins alone, with effect from the next request on, in every process."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx
import pytest

from tests.server.api.test_tokens import Caller, name, refused
from tests.server.api.test_tokens import admin as admin
from tests.server.api.test_tokens import user as user
from tests.server.conftest import Cluster
from tests.servers.lanceway import Lanceway

USERS, ME = "/lanceway/v1/users", "/lanceway/v1/me"


def change(caller: Caller, name: str, verb: str, **options: object) -> httpx.Response:
    return caller.ask("POST", f"{USERS}/{quote(name, safe='')}/{verb}", **options)


def test_a_disabled_user_is_refused_at_once_until_it_is_enabled(admin: Caller, user: Caller) -> None:
    who = name(user)
    answer = change(admin, who, "disable")
    assert (answer.status_code, answer.json()["enabled"], answer.json()["disabled_by"]) == (200, False, "admin")
    again = user.ask("GET", ME)
    assert refused(again) == (401, 16)
    assert f"{who!r} is disabled" in again.json()["error"]
    assert refused(user.ask("POST", "/lance/v1/namespace/$/exists")) == (401, 16)
    assert change(admin, who, "enable").json()["enabled"] is True
    assert name(user) == who


def test_no_tokens_are_made_for_a_disabled_user(admin: Caller, user: Caller) -> None:
    who = name(user)
    change(admin, who, "disable")
    answer = admin.ask("POST", json={"user": who})
    assert refused(answer) == (403, 15)
    assert f"lanceway users enable {who}" in answer.json()["error"]


def test_admins_are_made_and_unmade_at_once(admin: Caller, user: Caller) -> None:
    who = name(user)
    assert user.ask("GET", USERS).status_code == 403
    assert change(admin, who, "promote").json()["admin"] is True
    assert user.ask("GET", ME).json()["admin"] is True
    assert user.ask("GET", USERS).status_code == 200
    assert change(user, who, "demote").json()["admin"] is False
    assert refused(user.ask("GET", USERS)) == (403, 15)


def test_others_neither_see_nor_change_users(admin: Caller, user: Caller) -> None:
    assert user.ask("GET", f"{USERS}/{name(user)}").json()["name"] == name(user)
    for other in ("admin", "no-such-user"):
        assert refused(user.ask("GET", f"{USERS}/{other}")) == (403, 15)
        assert refused(user.ask("DELETE", f"{USERS}/{other}")) == (403, 15)
        for verb in ("disable", "enable", "promote", "demote"):
            assert refused(change(user, other, verb)) == (403, 15)
        assert refused(change(user, other, "rename", json={"name": "mine"})) == (403, 15)
    assert refused(user.ask("POST", USERS, json={"name": "x", "admin": True})) == (403, 15)
    for verb in ("promote", "enable"):
        assert refused(change(user, name(user), verb)) == (403, 15)


def test_a_user_is_made_once_listed_renamed_and_deleted(admin: Caller) -> None:
    names = [f"list/{uuid.uuid4().hex}" for _ in range(3)]
    for each in names:
        assert admin.ask("POST", USERS, json={"name": each}).status_code == 201
    assert refused(admin.ask("POST", USERS, json={"name": names[0]})) == (409, 13)
    seen: list[str] = []
    token: str | None = None
    while token is not None or not seen:
        page = admin.ask("GET", USERS, params={"limit": 2, **({"page_token": token} if token else {})}).json()
        seen, token = [*seen, *(found["name"] for found in page["users"])], page["page_token"]
    assert set(names) <= set(seen)
    assert seen == sorted(set(seen))
    renamed = change(admin, names[0], "rename", json={"name": f"{names[0]}-x"})
    assert renamed.json() == {"name": f"{names[0]}-x", "moved": 0}
    assert admin.ask("DELETE", f"{USERS}/{quote(names[1], safe='')}").status_code == 200
    assert refused(admin.ask("GET", f"{USERS}/{quote(names[1], safe='')}")) == (404, 13)


@pytest.mark.parametrize("wanted", ["", "anonymous", "a@b", "a@", "@", "a\x00b", "x" * 300, "a\u200bb"])
def test_a_name_that_no_user_can_have(admin: Caller, wanted: str) -> None:
    assert refused(admin.ask("POST", USERS, json={"name": wanted})) == (400, 13)


def test_a_deleted_user_is_refused_at_once(admin: Caller, user: Caller) -> None:
    admin.ask("DELETE", f"{USERS}/{name(user)}")
    assert refused(user.ask("GET", ME)) == (401, 16)


def test_every_server_refuses_a_disabled_user_at_once(cluster: Cluster) -> None:
    callers = [Caller(server, cluster.servers[0].token) for server in cluster.servers]
    made = callers[0].make(user=f"user-{uuid.uuid4().hex[:8]}")
    theirs = [Caller(server, made["token"]) for server in cluster.servers]
    assert [caller.ask("GET", ME).status_code for caller in theirs] == [200] * len(theirs)
    change(callers[1], made["user"], "disable")
    assert [caller.ask("GET", ME).status_code for caller in theirs] == [401] * len(theirs)
    change(callers[2], made["user"], "enable")
    assert [caller.ask("GET", ME).status_code for caller in theirs] == [200] * len(theirs)


def test_of_admins_who_remove_each_other_one_stays(server: Lanceway, admin: Caller) -> None:
    """The last admin stays, also when two take each other's rights at the same moment."""
    pair = [f"admin-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    callers = []
    for each in pair:
        callers.append(Caller(server, admin.make(user=each)["token"]))
        change(admin, each, "promote")
    change(callers[0], "admin", "demote")
    try:
        with ThreadPoolExecutor(2) as both:
            answers = list(both.map(lambda one: change(callers[one], pair[1 - one], "demote").status_code, (0, 1)))
        left = [caller for caller in callers if caller.ask("GET", ME).json()["admin"]]
        assert len(left) == 1, answers
    finally:
        for caller in callers:
            change(caller, "admin", "promote")
    assert admin.ask("GET", ME).json()["admin"] is True
