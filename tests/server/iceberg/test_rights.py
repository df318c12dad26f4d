"""Rights on Iceberg tables and views over HTTP, and where users who are no administrators may have files."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from lanceway.identifiers import Identifier
from lanceway.lake.access import grants, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.server.home import METALAKE
from tests.access.iceberg_helpers import SCHEMA, VERSION, creation, snapshot
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, new_catalog, new_token, refused
from tests.servers.lanceway import Lanceway

SPACE = "s"
SET = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
FORBIDDEN = (403, "ForbiddenException")


@dataclass(frozen=True)
class Desk:
    """A catalog with a namespace that has the Iceberg tables `ice` and `other` and the view `totals`, and a user."""

    store: LakeStore
    admin: IcebergAsker
    me: IcebergAsker
    role: str

    def grant(
        self, privilege: str, *path: str, kind: str = NAMESPACE, deny: bool = False, revoke: bool = False
    ) -> None:
        place = Securable(METALAKE, self.admin.catalog, Identifier(path), kind if path else NAMESPACE)
        change = GrantChange(self.role, place, privilege, deny, revoke)
        self.store.transact(grants.apply, METALAKE, [change], by="admin")

    def enter(self) -> None:
        for privilege in ("USE_CATALOG", "USE_SCHEMA"):
            self.grant(privilege)


@pytest.fixture
def desk(server: Lanceway) -> Iterator[Desk]:
    store = lake_of(server)
    catalog, user = new_catalog(store, server), f"u{uuid.uuid4().hex[:10]}"
    token = new_token(store, user)
    store.transact(roles.create, METALAKE, f"role-of-{user}", by="admin")
    store.transact(roles.give, METALAKE, f"role-of-{user}", user, by="admin")
    with asking(server, server.token, catalog) as admin, asking(server, token, catalog) as me:
        admin.make(SPACE)
        for name in ("ice", "other"):
            assert new_table(admin, name).status_code == 200
        assert new_view(admin, "totals").status_code == 200
        yield Desk(store, admin, me, f"role-of-{user}")
    store.close()


def new_table(asker: IcebergAsker, name: str, **more: Any) -> httpx.Response:
    return asker.ask("POST", asker.at(SPACE, then="/tables"), {"name": name, "schema": SCHEMA, **more})


def new_view(asker: IcebergAsker, name: str, **more: Any) -> httpx.Response:
    body = {"name": name, "schema": SCHEMA, "view-version": VERSION, "properties": {}, **more}
    return asker.ask("POST", asker.at(SPACE, then="/views"), body)


def table(asker: IcebergAsker, name: str = "ice") -> str:
    return asker.at(SPACE, then=f"/tables/{name}")


def view(asker: IcebergAsker, name: str = "totals") -> str:
    return asker.at(SPACE, then=f"/views/{name}")


def listed(asker: IcebergAsker, what: str) -> list[str]:
    answer = asker.ask("GET", asker.at(SPACE, then=f"/{what}")).raise_for_status()
    return [row["name"] for row in answer.json()["identifiers"]]


def location(asker: IcebergAsker, name: str) -> str:
    return str(asker.ask("GET", table(asker, name)).raise_for_status().json()["metadata"]["location"])


def test_each_right_opens_what_it_is_for(desk: Desk) -> None:
    me = desk.me
    desk.enter()
    assert listed(me, "tables") == listed(me, "views") == []
    assert refused(me.ask("GET", table(me))) == refused(me.ask("GET", view(me))) == FORBIDDEN
    desk.grant("SELECT_TABLE", SPACE, "ice", kind=TABLE)
    assert listed(me, "tables") == ["ice"]
    assert me.ask("HEAD", table(me)).status_code == 204
    assert me.ask("HEAD", table(me, "other")).status_code == 403
    assert refused(me.ask("POST", table(me), SET)) == FORBIDDEN
    desk.grant("MODIFY_TABLE", SPACE, "ice", kind=TABLE)
    assert me.ask("POST", table(me), SET).status_code == 200
    change = {"identifier": {"namespace": [SPACE], "name": "other"}, **SET}
    both = {"table-changes": [{"identifier": {"namespace": [SPACE], "name": "ice"}, **SET}, change]}
    assert refused(me.ask("POST", "/transactions/commit", both)) == FORBIDDEN
    assert refused(me.ask("DELETE", table(me))) == FORBIDDEN
    assert refused(me.ask("POST", table(me), {**SET, "requirements": [{"type": "assert-create"}]})) == FORBIDDEN
    desk.grant("SELECT_VIEW", SPACE)
    assert listed(me, "views") == ["totals"]
    assert me.ask("GET", view(me)).status_code == 200
    assert refused(me.ask("POST", view(me), SET)) == refused(me.ask("DELETE", view(me))) == FORBIDDEN
    for privilege in ("CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege, SPACE)
    assert new_table(me, "mine").status_code == new_view(me, "my_view").status_code == 200
    rename = {"source": {"namespace": [SPACE], "name": "mine"}, "destination": {"namespace": [SPACE], "name": "own"}}
    assert me.ask("POST", "/tables/rename", rename).status_code == 204
    assert me.ask("POST", view(me, "my_view"), SET).status_code == 200
    assert me.ask("DELETE", table(me, "own"), params={"purgeRequested": "true"}).status_code == 204
    assert me.ask("DELETE", view(me, "my_view")).status_code == 204


def test_a_denial_is_told_with_its_reason(desk: Desk) -> None:
    desk.enter()
    desk.grant("SELECT_TABLE", SPACE)
    desk.grant("SELECT_TABLE", SPACE, "ice", kind=TABLE, deny=True)
    answer = desk.me.ask("GET", table(desk.me))
    assert refused(answer) == FORBIDDEN
    assert "SELECT_TABLE is denied on the table ice" in answer.json()["error"]["message"]
    assert listed(desk.me, "tables") == ["other"]


@pytest.mark.parametrize("privileges", [(), ("SELECT_TABLE",), ("SELECT_VIEW",)], ids=lambda names: "+".join(names))
def test_what_is_hidden_and_what_is_missing_answer_alike(desk: Desk, privileges: tuple[str, ...]) -> None:
    me = desk.me
    desk.enter()
    for privilege in privileges:
        desk.grant(privilege, SPACE)

    def answers(path: Callable[[IcebergAsker, str], str], name: str) -> list[object]:
        calls = (("GET", None), ("HEAD", None), ("POST", SET), ("DELETE", None))
        found = (me.ask(method, path(me, name), body) for method, body in calls)
        return [(each.status_code, re.sub(rf"\b{name}\b", "…", each.text)) for each in found]

    hidden = {table: ["totals"], view: ["ice"]}
    if "SELECT_TABLE" not in privileges:
        hidden[table].append("ice")
    if "SELECT_VIEW" not in privileges:
        hidden[view].append("totals")
    for path, names in hidden.items():
        for name in names:
            assert answers(path, name) == answers(path, "zz"), f"{path.__name__} {name}"


def test_no_one_takes_files_of_another_table(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With the right to make tables and to change one: neither its location nor any of its files."""
    me = desk.me
    desk.enter()
    for privilege in ("CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege, SPACE)
    for privilege in ("SELECT_TABLE", "MODIFY_TABLE"):
        desk.grant(privilege, SPACE, "ice", kind=TABLE)
    victim = desk.admin.ask("GET", table(desk.admin, "other")).json()
    place, pointer = victim["metadata"]["location"], victim["metadata-location"]
    outside = f"file://{tmp_path_factory.mktemp('outside')}/t"

    def move(location: str) -> httpx.Response:
        update = {"action": "set-location", "location": location}
        return me.ask("POST", table(me), {"requirements": [], "updates": [update]})

    for at, status in ((place, 400), (f"{place}/data", 400), (outside, 403)):
        made = creation(SPACE, "new", location=at)
        staged = {"requirements": list(made.requirements), "updates": list(made.updates)}
        answers = [
            new_table(me, "new", location=at),
            new_view(me, "new", location=at),
            me.ask("POST", table(me, "new"), staged),
            move(at),
        ]
        assert [answer.status_code for answer in answers] == [status] * 4, [answer.text for answer in answers]
    for path in ("/register", "/register-view"):
        answer = me.ask("POST", me.at(SPACE, then=path), {"name": "new", "metadata-location": pointer})
        assert answer.status_code == 400, answer.text
        assert victim["metadata"]["table-uuid"] not in answer.text
    delegation = {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}
    body = {"name": "new", "schema": SCHEMA, "stage-create": True, "location": place}
    answer = me.ask("POST", me.at(SPACE, then="/tables"), body, headers=delegation)
    assert refused(answer)[0] == 400, answer.text
    around = new_table(me, "new", location=place.rpartition("/")[0])
    assert around.status_code == 400
    assert place not in around.text
    own = location(me, "ice")
    for path, status in ((f"{place}/metadata/snap.avro", 403), (f"{own}/metadata/snap.avro", 200)):
        commit = snapshot(path, SPACE, "ice")
        answer = me.ask("POST", table(me), {"requirements": [], "updates": list(commit.updates)})
        assert answer.status_code == status, answer.text
    assert listed(desk.admin, "tables") == ["ice", "other"]
    assert desk.admin.ask("GET", table(desk.admin, "other")).json() == victim


@dataclass
class Repeated:
    """A request that was carried out with a key, and can be sent again."""

    asker: IcebergAsker
    method: str
    path: str
    body: Any = None

    def __post_init__(self) -> None:
        self.headers = {"Idempotency-Key": str(uuid.uuid4())}
        self.first = self.send()

    def send(self) -> httpx.Response:
        return self.asker.ask(self.method, self.path, self.body, headers=self.headers)


def test_a_repeated_request_needs_the_rights_of_the_first(desk: Desk) -> None:
    me = desk.me
    desk.enter()
    for privilege in ("CREATE_SCHEMA", "CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege)
    for privilege in ("SELECT_TABLE", "MODIFY_TABLE"):
        desk.grant(privilege, SPACE, "ice", kind=TABLE)
    tables, views = me.at(SPACE, then="/tables"), me.at(SPACE, then="/views")
    change = {"identifier": {"namespace": [SPACE], "name": "ice"}, **SET}

    def rename(old: str, new: str) -> dict[str, Any]:
        return {"source": {"namespace": [SPACE], "name": old}, "destination": {"namespace": [SPACE], "name": new}}

    view = {"name": "v", "schema": SCHEMA, "view-version": VERSION, "properties": {}}
    stale = {**SET, "requirements": [{"type": "assert-current-schema-id", "current-schema-id": 7}]}
    for name in ("t", "gone"):
        assert new_table(me, name).status_code == 200
    sent = [
        Repeated(me, "POST", "/namespaces", {"namespace": ["mine"]}),
        Repeated(me, "POST", me.at("mine", then="/properties"), {"removals": [], "updates": {"k": "v"}}),
        Repeated(me, "DELETE", me.at("mine")),
        Repeated(me, "POST", tables, {"name": "s", "schema": SCHEMA}),
        Repeated(me, "POST", f"{tables}/t", SET),
        Repeated(me, "POST", "/tables/rename", rename("t", "u")),
        Repeated(me, "POST", f"{tables}/u/unregister"),
        Repeated(me, "POST", table(me), SET),
        Repeated(me, "POST", table(me), stale),
        Repeated(me, "POST", "/transactions/commit", {"table-changes": [change]}),
        Repeated(me, "POST", views, view),
        Repeated(me, "POST", f"{views}/v", SET),
        Repeated(me, "POST", "/views/rename", rename("v", "w")),
        Repeated(me, "DELETE", f"{views}/w"),
    ]
    place = sent[6].first.json()["metadata-location"]
    body = {"name": "r", "metadata-location": place}
    sent += [
        Repeated(me, "POST", me.at(SPACE, then="/register"), body),
        Repeated(me, "DELETE", f"{tables}/gone"),
    ]
    before = [each.first for each in sent]
    assert [each.status_code for each in before if each is not sent[8].first and each.is_error] == []
    again = [each.send() for each in sent]
    assert [each.status_code for each in again] == [each.status_code for each in before]
    assert [each.content for each in again] == [each.content for each in before]
    # One right less: what rests on it alone is refused, the rest is not.
    desk.grant("MODIFY_TABLE", SPACE, "ice", kind=TABLE, revoke=True)
    assert [number for number, each in enumerate(sent) if each.send().status_code == 403] == [7, 8, 9]
    for privilege in ("USE_CATALOG", "USE_SCHEMA", "CREATE_SCHEMA", "CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege, revoke=True)
    for each in sent:
        assert refused(each.send()) == FORBIDDEN, each.path
